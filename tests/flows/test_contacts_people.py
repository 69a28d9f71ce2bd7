"""One person's data, and who is not mailed."""

import itertools
import json

import pytest

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.audience import Suppressed
from campaignbridge.domain.errors import Refusal
from campaignbridge.flows import people
from support.contacts import ACTOR, FILES, Desk
from support.stores import together

pytest_plugins = ["support.stores"]

CANARY = "canary.person@example.com"


@pytest.fixture
def desk(home, tmp_path) -> Desk:
    return Desk(home, tmp_path)


def suppress(desk, *addresses, reason=Suppressed.MANUAL):
    return people.suppress(desk.wiring, addresses, reason=reason, actor=ACTOR)


def reason_of(desk, address=CANARY):
    found = people.why(desk.wiring, address, actor=ACTOR).suppression
    return found and found["reason"]


@pytest.mark.parametrize("order", list(itertools.permutations(Suppressed)))
def test_the_strongest_reason_stays_in_any_order(desk, order):
    for reason in order:
        suppress(desk, CANARY, reason=reason)
    assert reason_of(desk) == "complaint"


def test_a_weaker_reason_does_not_change_since_when(desk):
    suppress(desk, CANARY, reason=Suppressed.BOUNCE)
    since = people.why(desk.wiring, CANARY, actor=ACTOR).suppression["at"]
    desk.home.pass_ms(60_000)
    assert suppress(desk, CANARY, reason=Suppressed.MANUAL).changed == 0
    assert people.why(desk.wiring, CANARY, actor=ACTOR).suppression["at"] == since


def test_every_address_of_a_list_is_counted_once(desk):
    done = suppress(desk, "ann@example.com", "ANN@example.com", "bad", "", "bob@example.com")
    assert (done.read, done.changed, done.unchanged, done.rejected) == (5, 2, 1, 2)
    assert done.reasons == {"no_at": 1, "empty": 1}


def test_a_list_without_any_address_is_an_error(desk):
    with pytest.raises(Refusal, match="no address"):
        suppress(desk, "bad")


def test_only_the_reason_that_was_named_is_lifted(desk):
    suppress(desk, CANARY, reason=Suppressed.COMPLAINT)
    for reason in ("manual", "unsubscribe", "bounce"):
        assert people.unsuppress(desk.wiring, [CANARY], reason=reason, actor=ACTOR).changed == 0
    assert reason_of(desk) == "complaint"
    assert people.unsuppress(desk.wiring, [CANARY], reason="complaint", actor=ACTOR).changed == 1
    assert reason_of(desk) is None


def test_lists_at_once_in_opposite_orders_do_not_deadlock(desk):
    numbers = [f"p{n}@example.com" for n in range(400)]

    def work(number: int):
        other = Desk(desk.home, desk.folder)
        reason = list(Suppressed)[number]
        return suppress(other, *(numbers if number % 2 else numbers[::-1]), reason=reason).read

    assert together(desk.home, 4, work) == [400] * 4
    rows = desk.home.rows("SELECT DISTINCT reason FROM suppressions")
    assert [row["reason"] for row in rows] == ["complaint"]


# erasing


def brought(desk) -> None:
    desk.bring(f"email,name,lang\n{CANARY},Canary Bird,de\nann@example.com,Ann,\n".encode())
    desk.bring(f"email\n{CANARY.upper()}\n".encode(), "other")


def test_an_export_has_all_that_is_kept_of_a_person_and_is_audited_without_the_address(desk):
    brought(desk)
    suppress(desk, CANARY, reason=Suppressed.BOUNCE)
    found = people.export_person(desk.wiring, CANARY, actor=ACTOR)
    assert [one["slug"] for one in found.contacts] == ["eu", "other"]
    assert found.contacts[0]["attributes"] == {"name": "Canary Bird"}
    assert found.suppression["reason"] == "bounce"
    (event,) = desk.home.rows("SELECT actor, data FROM audit_events WHERE kind = 'person_exported'")
    assert event["actor"] == ACTOR.name
    assert len(json.loads(event["data"])["person"]) == 32


def test_of_nobody_there_is_nothing_to_export(desk):
    with pytest.raises(Refusal) as refused:
        people.export_person(desk.wiring, CANARY, actor=ACTOR)
    assert refused.value.code == "not_found"


def test_who_was_erased_is_nowhere_in_the_store_and_never_mailed(desk):
    brought(desk)
    suppress(desk, CANARY, reason=Suppressed.UNSUBSCRIBE)
    assert people.erase_person(desk.wiring, CANARY, actor=ACTOR).contacts == 2
    everything = desk.home.everything().lower()
    assert "canary" not in everything
    assert "ann@example.com" in everything
    found = people.why(desk.wiring, CANARY, actor=ACTOR)
    assert found.erased
    assert found.suppression["reason"] == "unsubscribe"
    listed = {row["slug"]: row["people"] for row in people.list_audiences(desk.wiring, actor=ACTOR)}
    assert listed == {"eu": 1, "other": 0}


def test_no_import_brings_back_who_was_erased(desk):
    brought(desk)
    people.erase_person(desk.wiring, CANARY, actor=ACTOR)
    done = desk.bring(f"email\n{CANARY}\nbob@example.com\n".encode())
    assert done.reasons == {"erased": 1}
    assert done.people == 2
    assert "canary" not in desk.home.everything().lower()


def test_somebody_erased_before_they_were_ever_there_stays_out(desk):
    people.erase_person(desk.wiring, CANARY, actor=ACTOR)
    assert desk.bring(f"email\n{CANARY}\nbob@example.com\n".encode()).counts["added"] == 1


def test_suppressing_somebody_who_was_erased_does_not_store_them_again(desk):
    people.erase_person(desk.wiring, CANARY, actor=ACTOR)
    assert suppress(desk, CANARY).changed == 0
    assert "canary" not in desk.home.everything().lower()


def test_an_erased_person_may_come_back_when_an_administrator_says_so(desk):
    brought(desk)
    people.erase_person(desk.wiring, CANARY, actor=ACTOR)
    operator = Actor("cli:op", frozenset({"read", "manage", "operate"}))
    with pytest.raises(Refusal) as refused:
        people.unsuppress(desk.wiring, [CANARY], reason="erased", actor=operator)
    assert refused.value.code == "forbidden"
    assert people.unsuppress(desk.wiring, [CANARY], reason="erased", actor=ACTOR).changed == 1
    desk.bring(f"email,name\n{CANARY},New\n".encode())
    assert desk.contacts()[CANARY]["erased_at"] is None
    assert people.erase_person(desk.wiring, CANARY, actor=ACTOR).contacts == 1
    listed = {row["slug"]: row["people"] for row in people.list_audiences(desk.wiring, actor=ACTOR)}
    assert listed == {"eu": 1, "other": 0}
    assert "canary" not in desk.home.everything().lower()


def test_erasing_and_importing_one_person_at_once_never_leaves_them_in(desk):
    data = f"email\n{CANARY}\n".encode() + b"".join(b"p%d@example.com\n" % n for n in range(300))
    path = desk.file(data)

    def work(number: int):
        other = Desk(desk.home, desk.folder)
        if number:
            people.erase_person(other.wiring, CANARY, actor=ACTOR)
        else:
            other.bring(path, batch_rows=20)

    together(desk.home, 2, work)
    assert "canary" not in desk.home.everything().lower()
    assert people.list_audiences(desk.wiring, actor=ACTOR)[0]["people"] == 300


@pytest.mark.parametrize("role", [{"read"}, {"read", "manage"}, {"read", "manage", "deliver"}])
def test_looking_at_one_person_is_for_operators_and_administrators(desk, role):
    brought(desk)
    for act in (people.why, people.export_person, people.erase_person):
        with pytest.raises(Refusal) as refused:
            act(desk.wiring, CANARY, actor=Actor("cli:eve", frozenset(role)))
        assert refused.value.code == "forbidden"


def test_no_event_names_anybody(desk):
    brought(desk)
    suppress(desk, CANARY)
    people.unsuppress(desk.wiring, [CANARY], reason="manual", actor=ACTOR)
    people.export_person(desk.wiring, CANARY, actor=ACTOR)
    people.erase_person(desk.wiring, CANARY, actor=ACTOR)
    desk.bring(FILES["formula"])
    events = desk.home.rows("SELECT * FROM audit_events")
    assert {row["kind"] for row in events} == {
        "audience_created",
        "contacts_imported",
        "people_suppressed",
        "people_unsuppressed",
        "person_exported",
        "person_erased",
    }
    assert "@" not in repr(events)
    assert "canary" not in repr(events).lower()


def test_a_text_that_is_no_address_is_not_repeated_in_the_refusal(desk):
    with pytest.raises(Refusal) as refused:
        people.why(desk.wiring, "canary@@example.com", actor=ACTOR)
    assert "canary" not in repr((refused.value.what, refused.value.todo, refused.value.facts))
