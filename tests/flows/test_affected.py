"""Whom a delivery reached badly: by the provider's record and our own store, masked, for whoever operates."""

import re
from dataclasses import replace

import pytest

from campaignbridge.bootstrap import behind_gates
from campaignbridge.domain.actor import Actor
from campaignbridge.domain.provider import RecipientKind
from campaignbridge.flows.affected import MOST, Affected, Of, affected
from campaignbridge.flows.gate import AccountGate
from campaignbridge.store.limits import ORDINARY_SLOTS
from campaignbridge.store.sql import catalogue
from campaignbridge.store.unit import Store
from support.world import DANA, Costs, refused

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]

WINTER = Of(ramp="winter")
MASKED = re.compile(r"p?…@example\.com")
MOST_STATEMENTS = 6


def listed(ramp, of=WINTER, *, kind=None, most=500, bridge=None):
    return (bridge or ramp.world.bridge).affected(of, kind=kind, most=most, actor=DANA)


def by_kind(found):
    return {one.kind.value: one for one in found.found}


def gone(ramp, **rates):
    """Have a wave of 200 go out badly, and its results come in; return the sandbox's own figures."""
    ramp.people(600)
    ramp.behave(
        **(rates or {"hard_bounces": 100, "soft_bounces": 100, "unsubscribes": 100, "complaints": 100})
    )
    ramp.init(tiers=(200, 300))
    ramp.wave()
    ramp.world.later(hours=24 * 14)
    (wave,) = ramp.waves()
    with ramp.wiring.store.reading() as unit:
        remote_id = unit.campaigns.get(wave.campaign_id).remote.remote_id
    ramp.world.heard()
    return ramp.provider().report(remote_id, limit_ms=15_000).value


def test_a_wave_names_as_many_of_each_kind_as_the_report_counts_and_nobody_in_clear(ramp):
    report = gone(ramp)
    found = listed(ramp)
    assert (found.of.wave, found.connection.provider) == (
        "wave-1",
        ramp.world.sandbox and found.connection.provider,
    )
    kinds = by_kind(found)
    counts = {kind: len(one.people) for kind, one in kinds.items()}
    assert counts == {
        "complaint": report.complaints,
        "bounce": report.hard_bounces + report.soft_bounces,
        "unsubscribe": report.unsubscribed,
        "refused": 0,
    }
    assert min(report.complaints, report.hard_bounces, report.soft_bounces, report.unsubscribed) > 0
    reasons = [one.reason for one in kinds["bounce"].people]
    assert (reasons.count("permanent"), reasons.count("transient")) == (
        report.hard_bounces,
        report.soft_bounces,
    )
    assert all(one.complete for one in found.found)
    for one in found.found:
        assert all(MASKED.fullmatch(each.person) for each in one.people), one
        assert {each.domain for each in one.people} <= {"example.com"}


def test_one_kind_is_one_reading_and_names_no_more_people_than_asked_for(ramp):
    gone(ramp)
    ramp.world.calls.clear()
    (found,) = listed(ramp, kind=Affected.BOUNCE, most=3).found
    assert (found.kind, len(found.people), found.complete) == (Affected.BOUNCE, 3, False)
    assert ramp.world.calls == ["recipients"]


def test_a_waves_campaign_names_the_same_people(ramp):
    gone(ramp)
    campaign = Of(campaign=ramp.campaign())
    ours = [one for one in listed(ramp).found if one.kind is not Affected.REFUSED]
    assert list(listed(ramp, campaign).found) == ours


def test_whom_the_provider_refused_is_told_from_our_store_alone_even_before_the_wave_goes(ramp):
    ramp.people(400)
    ramp.init()
    ramp.started("picked")
    wave = ramp.opened()
    with ramp.wiring.store.unit() as unit:
        first, second = [one.contact_id for one in unit.assignments.members(wave.id)[:2]]
        unit.assignments.pushed(wave.id, [(first, "refused", "bad_address", None)])
        unit.assignments.pushed(wave.id, [(second, "refused", "on_no_list", None)])
    ramp.world.calls.clear()
    of = Of(ramp="winter", wave="wave-1")
    (found,) = listed(ramp, of, kind=Affected.REFUSED).found
    assert sorted(one.reason for one in found.people) == ["bad_address", "on_no_list"]
    assert all(MASKED.fullmatch(one.person) for one in found.people)
    assert found.complete
    (cut,) = listed(ramp, of, kind=Affected.REFUSED, most=1).found
    assert (len(cut.people), cut.complete) == (1, False)
    assert ramp.world.calls == []
    with refused("invalid_state") as caught:
        listed(ramp, of)
    assert "has not gone" in caught.value.what
    assert ramp.world.calls == []


def test_an_erased_person_is_nobody_in_the_list_of_the_refused(ramp):
    ramp.people(400)
    ramp.init()
    ramp.started("picked")
    wave = ramp.opened()
    with ramp.wiring.store.unit() as unit:
        somebody = unit.assignments.members(wave.id)[0]
        unit.assignments.pushed(wave.id, [(somebody.contact_id, "refused", "bad_address", None)])
    of = Of(ramp="winter", wave="wave-1")
    assert len(listed(ramp, of, kind=Affected.REFUSED).found[0].people) == 1
    ramp.world.bridge.erase_person(somebody.email, actor=DANA)
    assert listed(ramp, of, kind=Affected.REFUSED).found[0].people == ()


def test_the_newest_wave_that_went_is_meant_where_none_is_named(lite):
    lite.people(600)
    lite.init(tiers=(100, 150))
    with refused("invalid_state"):
        listed(lite)
    lite.wave()
    lite.next_day()
    assert listed(lite).of.wave == "wave-2"
    assert listed(lite, Of(ramp="winter", wave="wave-1")).of.wave == "wave-1"
    with refused("not_found"):
        listed(lite, Of(ramp="winter", wave="wave-9"))
    with refused("not_found"):
        listed(lite, Of(ramp="summer"))
    with refused("not_found"):
        listed(lite, Of(campaign="cmp_nothing00000"))


def test_only_whoever_operates_may_list_people(one):
    reader = Actor("token:dash", frozenset({"read", "author", "manage", "deliver"}))
    with refused("forbidden"):
        affected(one.wiring, WINTER, most=1, actor=reader)
    operator = Actor("token:ops", frozenset({"operate"}))
    with refused("not_found"):
        affected(one.wiring, WINTER, most=1, actor=operator)


@pytest.mark.parametrize("most", [0, -1, MOST + 1])
def test_a_list_is_bounded(one, most):
    with refused("invalid_input"):
        listed(one, most=most)


def test_who_was_refused_is_asked_of_a_wave_and_not_of_a_campaign(one):
    with refused("invalid_input"):
        listed(one, Of(campaign="cmp_nothing00000"), kind=Affected.REFUSED)


def test_a_campaign_that_was_never_handed_over_has_nobody(one):
    campaign = one.world.approved()
    with refused("invalid_state"):
        listed(one, Of(campaign=campaign))


def test_a_draft_has_no_record_yet(one):
    campaign = one.world.drafted()
    with refused("not_found") as caught:
        listed(one, Of(campaign=campaign))
    assert "Mailchimp has no record" in caught.value.what


@pytest.mark.parametrize(
    ("kind", "code"), [("refuse_5xx", "provider_failed"), ("status_429", "provider_failed")]
)
def test_a_reading_that_fails_is_told_and_asks_for_no_confirmation(one, kind, code):
    gone(one, hard_bounces=100)
    one.world.fault("unsubscribed", kind)
    with refused(code) as caught:
        listed(one, kind=Affected.UNSUBSCRIBE)
    assert "confirmation" not in caught.value.todo
    assert "example.com" not in f"{caught.value.what} {caught.value.todo} {caught.value.facts}"


def test_a_list_for_people_takes_no_slot_that_is_kept_for_deliveries(one):
    gone(one, hard_bounces=100)
    dossier, store, clock = one.world.dossier(one.campaign()), one.wiring.store, one.world.clock
    opener = behind_gates(one.wiring.open_provider, store, clock, "ours:1")
    gated = replace(one.wiring, open_provider=opener)
    gate = AccountGate(store, clock, dossier.connection.account, "others:1")
    for _ in range(ORDINARY_SLOTS):
        assert isinstance(gate.enter(hold_ms=60_000, urgent=False), int)
    one.world.calls.clear()
    with refused("rate_limited"):
        affected(gated, WINTER, kind=Affected.BOUNCE, most=1, actor=DANA)
    assert one.world.calls == []
    proof = opener(dossier.connection).recipients(
        dossier.remote.remote_id, RecipientKind.SENT, most=1, limit_ms=10_000
    )
    assert len(proof.value.items) == 1


def test_looking_changes_nothing_of_ours_and_costs_a_fixed_number_of_statements(ramp):
    gone(ramp)
    before = ramp.world.home.rows("SELECT count(*) AS n FROM audit_events"), ramp.log()
    costs = Costs(ramp.world.home.open())
    bridge = ramp.world.process(store=Store(costs))
    listed(ramp, bridge=bridge)
    ours = [name for name in costs.names if not name.startswith(("limits.", "connections.", "accounts."))]
    assert len(ours) <= MOST_STATEMENTS, costs.names
    bridge.close()
    assert (ramp.world.home.rows("SELECT count(*) AS n FROM audit_events"), ramp.log()) == before


def test_the_refused_of_a_wave_are_found_by_its_key(ramp):
    text = catalogue(ramp.world.home.dialect)["assignments.refused"]
    facts = {"wave_id": "wav_1", "most_literal": 5}
    ramp.people(2_000)
    ramp.init(tiers=(500, 600))
    ramp.started("picked")
    with ramp.world.home.open().transaction() as tx:
        if ramp.world.home.dialect == "sqlite":
            rows = tx._connection.execute(f"EXPLAIN QUERY PLAN {text.filled(facts)}", facts).fetchall()
            plan = " ".join(row["detail"] for row in rows)
            assert "SCAN" not in plan
            assert "TEMP B-TREE" not in plan
        else:
            tx._connection.execute("SET LOCAL enable_seqscan = off")
            rows = tx._connection.execute(f"EXPLAIN {text.filled(facts)}".encode(), facts).fetchall()
            plan = " ".join(row["QUERY PLAN"] for row in rows)
            assert "Seq Scan" not in plan
