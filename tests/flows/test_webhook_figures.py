"""Signed events count as a wave's figures: each person once, never less than the report, and nobody else's mail."""

import hashlib
import random
from itertools import permutations

import pytest

from campaignbridge.bootstrap import assemble
from campaignbridge.domain.errors import InvalidState
from campaignbridge.domain.gate import Figures, Verdict
from campaignbridge.domain.webhook import Fate
from campaignbridge.flows import gating, webhook_people, webhooks
from campaignbridge.store.unit import Store
from flows.test_webhook_people import mailchimp_event, resend_event
from support.posting import SIGNING_KEY, SVIX_KEY, Address, keeping_keys, mail_event, signed, svix_signed
from support.ramps import Died, resend_of
from support.world import DANA, Costs

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]


class Heard:
    """A ramp whose first wave has gone, and the address at which its provider's signed events come in."""

    def __init__(self, ramping) -> None:
        self.ramping, self.world = ramping, ramping.world
        self.mailchimp = bool(ramping.container)
        self.label = "news" if self.mailchimp else "letters"
        key = SIGNING_KEY if self.mailchimp else SVIX_KEY
        ramping.people(600)
        ramping.behave(hard_bounces=0, soft_bounces=0, complaints=0, unsubscribes=0)
        ramping.init(tiers=(200, 300))
        ramping.wave()
        self.address = Address.signing(self.world, self.label, key)
        (wave,) = ramping.waves()
        with ramping.wiring.store.reading() as unit:
            self.people = [one.email for one in unit.assignments.members(wave.id)]
        self.wave_id = wave.id
        self.remote_id = self.world.remote_id(wave.campaign_id)
        self.late = 0

    def body(self, name, email, **data):
        """Return the provider's event that somebody bounced for good (hard) or complained (abuse)."""
        self.late += 1_000
        at_ms = self.world.now() - self.late
        if self.mailchimp:
            return mailchimp_event(name, at_ms, email, **{"campaign_id": self.remote_id, **data})
        kind = {"hard": "email.bounced", "abuse": "email.complained"}[name]
        return resend_event(kind, at_ms, email, data.get("campaign_id", self.remote_id))

    def mail(self, name, email):
        """Return Resend's event about a mail that says nothing of the person."""
        bounce = {"bounce": {"type": "Transient"}} if name == "soft" else {}
        kind = "email.bounced" if name == "soft" else "email.delivered"
        return mail_event(kind, self.world.now(), email, self.remote_id, **bounce)

    def posted(self, body):
        sign = (
            signed(body, SIGNING_KEY, self.world.now())
            if self.mailchimp
            else svix_signed(body, self.world.now())
        )
        return webhooks.Posted(self.address.connection_id, self.address.secret, sign, body)

    def told(self, *bodies, bridge=None):
        found = (bridge or self.address.bridge).receive_webhooks([self.posted(body) for body in bodies])
        return {one.value for one in found}

    def figures(self):
        with self.ramping.wiring.store.reading() as unit:
            return unit.fates.figures([self.wave_id]).get(self.wave_id, Figures())

    def judged(self):
        return gating.judge_ramp(self.ramping.wiring, self.ramping.ramp().id)

    def without_reports(self):
        """Return a judgement by a process that can't ask the provider, for want of its key."""
        wiring = self.ramping.wiring
        bridge = assemble(
            self.world.home.store(), no_provider, self.world.clock, wiring.chance, "host:78:aaaa"
        )
        return gating.judge_ramp(bridge.wiring, self.ramping.ramp().id)


def no_provider(*_args, **_facts):
    raise InvalidState("There is no key here.", todo="Nothing.")


@pytest.fixture
def heard(ramp):
    return Heard(ramp)


@pytest.fixture
def light(lite):
    return Heard(lite)


@pytest.fixture
def mails(sqlite_home, tmp_path):
    """Return a wave at Resend, which tells of single mails."""
    for ramping in resend_of(sqlite_home, tmp_path):
        yield Heard(ramping)


def test_complaints_that_the_report_does_not_have_yet_trip_the_gate(heard):
    """The report says that all is well; two people have complained, and the provider has signed that."""
    assert heard.told(*[heard.body("abuse", email) for email in heard.people[:2]]) == {"stored"}
    assert heard.judged().tripped
    wave = heard.ramping.waves()[0]
    assert wave.figures == Figures(200, 0, 2)
    assert heard.ramping.ramp().gate_tripped["complained"] == 2
    heard.world.later(hours=24)
    assert heard.ramping.tick() == "paused"


def test_each_person_counts_once_for_a_wave_however_often_and_by_whatever_event_they_are_named(heard):
    email = heard.people[0]
    for _ in range(3):
        heard.told(heard.body("abuse", email), heard.body("abuse", email.upper()))
    heard.told(heard.body("hard", heard.people[1]), heard.body("hard", heard.people[1]))
    assert heard.figures() == Figures(1, 1, 1)
    assert not heard.judged().tripped, "one complaint never trips"


def test_the_higher_of_report_and_events_counts_and_neither_lowers_the_other(light):
    light.told(*[light.body("hard", email) for email in light.people[:5]])
    assert not light.judged().tripped
    assert light.ramping.waves()[0].figures == Figures(200, 5, 0)
    with light.ramping.wiring.store.unit() as unit:
        unit.waves.judged(light.wave_id, Verdict.PASSED, Figures(200, 7, 1))
    light.told(light.body("hard", light.people[0]))
    light.judged()
    assert light.ramping.waves()[0].figures == Figures(200, 7, 1)
    light.world.home.rows("DELETE FROM wave_fates")
    light.judged()
    assert light.ramping.waves()[0].figures == Figures(200, 7, 1)


def test_without_the_events_a_late_report_would_hide_the_complaints(light, monkeypatch):
    """The mutant of the first test."""
    monkeypatch.setattr(gating, "_with_events", lambda waves, read, _told: without(waves, read))
    light.told(*[light.body("abuse", email) for email in light.people[:2]])
    assert not light.judged().tripped


def without(waves, read):
    return {wave.id: wave.figures.at_least(read.get(wave.id) or Figures()) for wave in waves}


def test_bounces_alone_are_no_sample_while_nothing_tells_of_deliveries(light):
    """Mailchimp tells of no delivery: 120 bounces of a wave without a report would look like all there is."""
    forget_figures(light)
    light.told(*[light.body("hard", email) for email in light.people[:120]])
    judged = light.without_reports()
    assert (judged.awaits, judged.tripped) == (True, False)
    assert light.ramping.waves()[0].verdict is Verdict.WAITING
    assert light.judged().tripped, "with the report they count: 120 of 200"


def test_without_the_guard_bounces_alone_would_trip(light, monkeypatch):
    """The mutant of the test above."""
    forget_figures(light)
    monkeypatch.setattr(gating, "_deliveries", lambda _events: True)
    light.told(*[light.body("hard", email) for email in light.people[:120]])
    assert light.without_reports().tripped


def forget_figures(heard):
    """Have the wave be one of which no report has been read."""
    heard.world.home.rows("UPDATE waves SET delivered = 0, bounced = 0, complained = 0, verdict = NULL")


def test_where_there_is_no_report_deliveries_and_bounces_that_events_tell_of_are_the_figures(mails):
    forget_figures(mails)
    mails.told(*[mails.mail("delivered", email) for email in mails.people[:150]])
    assert not mails.without_reports().awaits
    assert mails.ramping.waves()[0].figures == Figures(150, 0, 0)
    mails.told(*[mails.body("hard", email) for email in mails.people[150:160]])
    assert mails.without_reports().tripped
    assert mails.ramping.ramp().gate_tripped["bounced"] == 10


def test_in_every_order_one_mail_s_events_end_the_same(mails):
    """WH-4: a soft bounce and then a delivery ends delivered, and a complaint is never lost."""
    stories = {
        ("soft", "delivered"): Figures(1, 0, 0),
        ("soft", "delivered", "hard"): Figures(0, 1, 0),
        ("soft", "delivered", "abuse"): Figures(1, 0, 1),
        ("delivered", "delivered", "hard", "abuse"): Figures(1, 0, 1),
        ("soft",): Figures(0, 1, 0),
    }
    for story, expected in stories.items():
        for order in set(permutations(story)):
            mails.world.home.rows("DELETE FROM wave_fates")
            for name in order:
                make = mails.mail if name in ("soft", "delivered") else mails.body
                mails.told(make(name, mails.people[0]))
            assert mails.figures() == expected, order


def test_without_the_guard_a_late_delivery_would_hide_a_complaint(mails):
    """The mutant of the test above."""
    store = mails.world.home.mutant("fates.add", " WHERE excluded.fate > wave_fates.fate")
    with store.unit() as unit:
        for fate in (Fate.COMPLAINED, Fate.DELIVERED):
            unit.fates.add({(mails.wave_id, "p"): fate})
        assert unit.fates.figures([mails.wave_id])[mails.wave_id].complained == 0


def test_a_delivery_counts_for_each_person_though_its_event_is_kept_once_a_minute(mails):
    assert mails.told(*[mails.mail("delivered", email) for email in mails.people]) <= {"stored", "known"}
    assert mails.figures() == Figures(200, 0, 0)
    assert len(mails.address.rows()) == 1


def test_what_the_provider_does_not_sign_and_what_is_of_another_campaign_or_list_counts_for_nothing(heard):
    """WH-1, WH-2: neither can trip a gate."""
    people = heard.people[:3]
    heard.told(*[heard.body("abuse", email, campaign_id=elsewhere(heard)) for email in people])
    if heard.mailchimp:
        heard.told(*[heard.body("abuse", email, list_id="f0e1d2c3b4") for email in people])
    for email in people:
        body = heard.body("abuse", email)
        assert heard.address.hear(body) == "unknown"
    heard.world.run(hours=0.5)
    assert heard.figures() == Figures()
    assert not heard.judged().tripped


def elsewhere(heard):
    return "abcdef0123" if heard.mailchimp else "11111111-2222-4333-8444-555555555555"


def test_without_the_guard_another_list_s_complaints_would_trip(one, monkeypatch):
    """The mutant of the test above, at Mailchimp: Resend's events name no list."""
    light = Heard(one)

    def careless(fates, wave, _event, person, fate):
        fates[wave.wave_id, person] = fate

    monkeypatch.setattr(webhook_people, "_rise", careless)
    light.told(*[light.body("abuse", email, list_id="f0e1d2c3b4") for email in light.people[:2]])
    assert light.judged().tripped


def test_an_event_that_comes_before_its_campaign_is_known_counts_once_it_is(heard):
    """WH-6."""
    with unknown(heard):
        heard.told(*[heard.body("abuse", email) for email in heard.people[:2]])
        heard.world.bridge.tick()
        assert (heard.figures(), heard.address.outcomes()) == (Figures(), [None, None])
    heard.ramping.work()
    assert heard.figures() == Figures(2, 0, 2)
    assert heard.address.outcomes() == ["counted"] * 2
    assert heard.judged().tripped


def test_a_complaint_that_comes_weeks_later_counts(light):
    """WH-6: they do come after three weeks, when no report is read any more."""
    light.judged()
    light.world.later(hours=24 * 61)
    light.told(*[light.body("abuse", email) for email in light.people[:2]])
    assert light.judged().tripped


class unknown:  # noqa: N801  reads as a sentence
    """While it lasts, the wave's remote id is one that nobody knows."""

    def __init__(self, heard) -> None:
        self.rows, self.remote_id = heard.world.home.rows, heard.remote_id

    def __enter__(self):
        self.rows("UPDATE remote_campaigns SET remote_id = 'x' WHERE remote_id = ?", self.remote_id)

    def __exit__(self, *_):
        self.rows("UPDATE remote_campaigns SET remote_id = ? WHERE remote_id = 'x'", self.remote_id)


@pytest.mark.parametrize("after", [False, True], ids=["before each commit", "after each commit"])
def test_a_process_that_dies_anywhere_between_stored_and_handled_loses_nothing_and_counts_nobody_twice(
    heard, after
):
    with unknown(heard):
        heard.told(*[heard.body("abuse", email) for email in heard.people[:2]])
    deaths = 0
    for nth in range(40):
        dying, bridge = heard.ramping.dying()
        dying.left, dying.after = nth, after
        try:
            bridge.tick(batch=10)
        except Died:
            deaths += 1
            heard.world.later(minutes=11)  # its lease ends
        else:
            break
        assert heard.figures().complained in (0, 1, 2)
        assert len(heard.address.rows()) == 2
    heard.ramping.work()
    assert deaths > 3
    assert heard.address.outcomes() == ["counted"] * 2
    assert heard.figures() == Figures(2, 0, 2)


def test_without_the_guard_a_death_between_settled_and_counted_would_lose_a_complaint(light, monkeypatch):
    """The mutant of the test above: the event is settled, and its fate stored, in two transactions."""
    with unknown(light):
        light.told(light.body("abuse", light.people[0]))

    def careless(_wiring, unit, event, *, keep_ms):
        assert keep_ms > 0
        unit.webhooks.settle(event, "counted")  # and then it dies before it has counted

    monkeypatch.setattr(webhooks, "look_at_person", careless)
    light.ramping.work()
    assert light.figures() == Figures()


def test_a_repeated_complaint_that_was_lost_with_its_transaction_counts_when_it_comes_again(heard):
    dying, _ = heard.ramping.dying()
    bridge = keeping_keys(heard.world, Store(dying))
    body = heard.body("abuse", heard.people[0])
    dying.left = 1
    with pytest.raises(Died):
        heard.told(body, bridge=bridge)
    dying.left = None
    assert (heard.figures(), heard.address.rows()) == (Figures(), [])
    assert heard.told(body) == {"stored"}
    assert heard.figures().complained == 1


def test_any_number_of_events_in_any_order_with_repetitions_counts_each_person_once(mails):
    chance = random.Random(7)
    people = mails.people[:30]
    stories = [(email, name) for email in people for name in ("soft", "delivered")]
    stories += [(email, "hard") for email in people[:9]] + [(email, "abuse") for email in people[25:]]
    bodies = [
        (mails.mail if name in ("soft", "delivered") else mails.body)(name, email) for email, name in stories
    ] * 3
    chance.shuffle(bodies)
    while bodies:
        batch, bodies = bodies[:17], bodies[17:]
        mails.told(*batch)
    assert mails.figures() == Figures(21, 9, 5)


def test_no_address_of_a_mailed_person_is_kept_with_what_became_of_their_mail(heard):
    heard.told(heard.body("abuse", heard.people[0]))
    kept = str(heard.world.home.rows("SELECT * FROM wave_fates")) + str(heard.address.rows())
    assert heard.people[0] not in kept
    assert "@" not in kept
    assert "example.com" not in kept


def test_what_became_of_a_person_s_mail_is_in_what_is_told_and_handed_out_of_them(heard):
    email = heard.people[0]
    heard.told(heard.body("abuse", email))
    bridge = heard.address.bridge
    assert [one["fate"] for one in bridge.export_person(email, actor=DANA).waves] == ["complained"]
    assert [one["fate"] for one in bridge.why(heard.people[1], actor=DANA).waves] == [None]


def test_an_unsigned_departure_has_the_provider_s_own_record_read_within_a_minute_and_no_more_often(one):
    """At Mailchimp: Resend signs whatever it posts."""
    heard = Heard(one)
    opened = heard.world.bridge.open_webhook(
        heard.label, public_url="https://a.example", replace=True, actor=DANA
    )
    heard.address.secret = opened.url.reveal().rpartition("/")[2]  # and no signing key
    gone = heard.people[0]
    digest = hashlib.md5(gone.encode()).hexdigest()
    heard.world.by_hand("PATCH", f"/lists/{one.container}/members/{digest}", {"status": "unsubscribed"})
    heard.world.heard()
    for _ in range(20):
        heard.address.hear(heard.body("unsubscribe", gone))
    heard.world.run(hours=0.005)
    assert heard.world.heard() == []
    heard.world.run(hours=0.05)
    assert len([one for one in heard.world.heard() if "members" in one]) <= 1
    assert heard.world.bridge.why(gone, actor=DANA).suppression["source"] == "provider"


def test_what_events_say_of_waves_is_one_statement_of_a_judgement_and_of_a_commit(light):
    costs = Costs(light.world.home.open())
    bridge = keeping_keys(light.world, Store(costs))
    bodies = [light.body("hard", email) for email in light.people[:100]]
    light.told(*bodies, bridge=bridge)
    assert costs.names.count("fates.waves") == costs.names.count("fates.add") == 1
    assert costs.names.count("webhooks.keep") == 100
    print(f"100 bounces of a wave: {len(costs.names)} statements in {costs.transactions} transactions")
    assert len(costs.names) <= 114, costs.names
    costs.names.clear()
    gating.judge_ramp(bridge.wiring, light.ramping.ramp().id)
    assert costs.names.count("fates.figures") == 1


def test_deliveries_of_one_minute_cost_a_row_each_in_one_batch_and_a_dozen_statements(mails):
    costs = Costs(mails.world.home.open())
    bridge = keeping_keys(mails.world, Store(costs))
    mails.told(*[mails.mail("delivered", email) for email in mails.people[:100]], bridge=bridge)
    print(f"100 deliveries: {len(costs.names)} statements in {costs.transactions} transactions")
    assert costs.names.count("fates.add") == 1
    assert len(costs.names) <= 12, costs.names
