"""Signed events act on people: whoever left, bounced or complained is suppressed at once, and for the right reason."""

import random
import threading
from contextlib import contextmanager
from dataclasses import replace
from itertools import permutations
from urllib.parse import parse_qsl

import pytest

from campaignbridge.domain.audience import Suppressed, person_hash
from campaignbridge.domain.errors import StoreGone
from campaignbridge.domain.webhook import EventKind, Fate, fate_of, suppresses
from campaignbridge.flows import suppressing, webhook_people, webhooks
from campaignbridge.store.unit import Store
from support.posting import (
    SIGNING_KEY,
    SVIX_KEY,
    Address,
    form,
    json_event,
    keeping_keys,
    mail_event,
    signed,
    stamp,
    svix_signed,
)
from support.world import AUDIENCE, DANA, Costs, refused

pytest_plugins = ["support.stores", "support.world", "support.resend"]

ANN = "Ann.Canary@wh-test.example"
BROADCAST = "11111111-2222-4333-8444-555555555555"
MAILCHIMP = {
    "unsubscribe": "unsubscribe",
    "unsubscribe_abuse": "complaint",
    "hard": "bounce",
    "abuse": "complaint",
    "delete": "manual",
    "upemail": "manual",
}
RESEND = {
    "email.bounced": "bounce",
    "email.complained": "complaint",
    "email.suppressed": "manual",
    "contact.updated": "unsubscribe",
    "contact.deleted": "manual",
}


@pytest.fixture
def signing(world):
    return Address.signing(world)


@pytest.fixture
def letters(resend):
    return Address.signing(resend, "letters", SVIX_KEY)


def mailchimp_event(name, at_ms, email=ANN, **data):
    """Return what Mailchimp posts of a person."""
    facts = {"email": email, "list_id": AUDIENCE, **data}
    match name:
        case "unsubscribe" | "delete":
            facts |= {"action": name.replace("unsubscribe", "unsub"), "reason": "manual"}
            return form("unsubscribe", stamp(at_ms), **facts)
        case "unsubscribe_abuse":
            return form("unsubscribe", stamp(at_ms), action="unsub", **{**facts, "reason": "abuse"})
        case "upemail":
            moved = {"old_email": facts.pop("email"), "new_email": "new@wh-test.example"}
            return form("upemail", stamp(at_ms), **facts, **moved)
        case _:
            return form("cleaned", stamp(at_ms), **facts, reason=name)


def resend_event(name, at_ms, email=ANN, broadcast_id="", **data):
    """Return what Resend posts of a person."""
    if name.startswith("contact."):
        return json_event(name, at_ms, email=email, unsubscribed=True, **data)
    bounce = {"bounce": {"type": "Permanent"}} if name == "email.bounced" else {}
    return mail_event(name, at_ms, email, broadcast_id, **bounce, **data)


def listed(world, email=ANN):
    """Return why somebody isn't mailed, and who said so."""
    found = world.bridge.why(email, actor=DANA).suppression
    return None if found is None else (found["reason"], found["source"])


# who is suppressed, and for what


@pytest.mark.parametrize("name", MAILCHIMP)
def test_whom_mailchimp_s_signed_event_names_is_suppressed_before_it_is_answered_for(world, signing, name):
    assert signing.told(mailchimp_event(name, world.now())) == "stored"
    assert listed(world) == (MAILCHIMP[name], "webhook")
    assert signing.outcomes() == ["suppressed"], "nothing waits"
    if name == "upemail":
        assert listed(world, "new@wh-test.example") is None


@pytest.mark.parametrize("name", RESEND)
def test_whom_resend_s_signed_event_names_is_suppressed_before_it_is_answered_for(resend, letters, name):
    assert letters.told(resend_event(name, resend.now())) == "stored"
    assert listed(resend) == (RESEND[name], "webhook")
    assert letters.outcomes() == ["suppressed"]


def test_a_soft_bounce_a_delivery_and_a_contact_that_stays_suppress_nobody(resend, letters):
    now = resend.now()
    soft = mail_event("email.bounced", now, ANN, BROADCAST, bounce={"type": "Transient"})
    stays = json_event("contact.updated", now, email=ANN, unsubscribed=False)
    assert [letters.told(one) for one in (soft, stays)] == ["stored", "of_no_use"]
    assert letters.told(mail_event("email.delivered", now + 60_000, ANN, BROADCAST)) == "stored"
    assert listed(resend) is None


@pytest.mark.parametrize("name", MAILCHIMP)
def test_an_unsigned_event_suppresses_nobody(world, name):
    """WH-1: anyone who knows the address could have anybody suppressed."""
    address = Address.of(world)
    assert address.hear(mailchimp_event(name, world.now())) == "stored"
    world.run(hours=0.1)
    assert listed(world) is None
    assert address.outcomes() == ["noted"]


def test_without_the_guard_of_the_signature_anyone_could_have_anybody_suppressed(world, monkeypatch):
    """The mutant of the test above."""
    address = Address.of(world)
    real = webhook_people.suppress
    monkeypatch.setattr(webhooks, "suppress", lambda unit, taken: real(unit, [trusted(one) for one in taken]))
    address.hear(mailchimp_event("unsubscribe", world.now()))
    assert listed(world) is not None


def trusted(one):
    """Return an event as if it had been signed."""
    return replace(one, event=replace(one.event, verified=True), identity=ANN.lower())


def test_in_every_order_the_strongest_reason_wins(world, signing):
    names = ("upemail", "unsubscribe", "hard", "abuse")
    for number, order in enumerate(permutations(names)):
        email = f"p{number}@wh-test.example"
        for late, name in enumerate(order):
            signing.told(mailchimp_event(name, world.now() - 1_000 * late, email))
        assert listed(world, email) == ("complaint", "webhook"), order


def test_one_commit_with_several_events_of_one_person_keeps_the_strongest_reason(world, signing):
    now = world.now()
    bodies = [mailchimp_event(name, now) for name in ("unsubscribe", "abuse", "delete")]
    posted = [posted_to(signing, body) for body in bodies]
    assert [one.value for one in signing.bridge.receive_webhooks(posted)] == ["stored"] * 3
    assert listed(world) == ("complaint", "webhook")


def posted_to(address, body):
    return webhooks.Posted(
        address.connection_id, address.secret, signed(body, SIGNING_KEY, address.world.now()), body
    )


def test_a_stronger_reason_of_somebody_else_stays(world, signing):
    world.bridge.suppress([ANN], reason=Suppressed.COMPLAINT, actor=DANA)
    signing.told(mailchimp_event("unsubscribe", world.now()))
    assert listed(world) == ("complaint", "by_hand")


def test_a_repetition_after_an_operator_has_lifted_it_changes_nothing(world, signing):
    """An event acts with its first delivery only, or a replay from the provider's pages would undo a decision."""
    body = mailchimp_event("unsubscribe", world.now())
    signing.told(body)
    world.bridge.unsuppress([ANN], reason="unsubscribe", actor=DANA)
    assert listed(world) is None
    world.later(hours=30)
    assert signing.told(body) == "known"
    world.run(hours=1)
    assert listed(world) is None
    assert signing.told(mailchimp_event("unsubscribe", world.now())) == "stored", (
        "another departure is another"
    )
    assert listed(world) == ("unsubscribe", "webhook")


def test_without_the_guard_a_repetition_would_undo_what_an_operator_decided(world, signing, monkeypatch):
    """The mutant of the test above."""
    body = mailchimp_event("unsubscribe", world.now())
    signing.told(body)
    world.bridge.unsuppress([ANN], reason="unsubscribe", actor=DANA)
    real = webhook_people.count

    def careless(unit, taken, waves):
        webhook_people.suppress(unit, taken)
        real(unit, taken, waves)

    monkeypatch.setattr(webhooks, "count", careless)
    assert signing.told(body) == "known"
    assert listed(world) is not None


def test_whoever_was_erased_is_not_written_down_again(world, signing):
    world.bridge.suppress([ANN], reason=Suppressed.MANUAL, actor=DANA)
    world.bridge.erase_person(ANN, actor=DANA)
    signing.told(mailchimp_event("abuse", world.now()))
    assert "canary" not in world.home.everything().lower()
    assert world.bridge.why(ANN, actor=DANA).erased


def test_without_the_guard_an_erased_person_would_be_written_down_again(world, signing, monkeypatch):
    """The mutant of the test above."""
    world.bridge.erase_person(ANN, actor=DANA)

    def careless(unit, reasons, *, source):
        return unit.suppressions.add_each(reasons, source=source)

    monkeypatch.setattr(webhook_people, "take_off", careless)
    signing.told(mailchimp_event("abuse", world.now()))
    assert "canary" in world.home.everything().lower()
    assert suppressing.take_off is not careless


def test_what_is_no_address_of_ours_suppresses_nobody_and_is_no_error(world, signing):
    assert signing.told(mailchimp_event("hard", world.now(), "a b@x.example")) == "stored"
    assert signing.outcomes() == ["noted"]


# what is kept


def test_an_address_is_in_the_list_of_the_suppressed_and_nowhere_else(world, signing, caplog):
    caplog.set_level("DEBUG")
    for late, name in enumerate(MAILCHIMP):
        signing.told(mailchimp_event(name, world.now() - 1_000 * late))
    world.run(hours=1)
    (row,) = world.home.rows("SELECT * FROM suppressions")
    assert row["identity"] == ANN.lower()
    world.home.rows("DELETE FROM suppressions")
    assert "canary" not in (world.home.everything() + caplog.text).lower()


def test_the_hash_of_a_person_is_the_same_at_every_address_of_ours(world, signing):
    """So somebody is one person in a wave's figures also after the address was replaced."""
    signing.told(mailchimp_event("hard", world.now()))
    with signing.bridge.wiring.store.reading() as unit:
        expected = person_hash(unit.audiences.key(), ANN.lower()).hex()
    opened = signing.bridge.open_webhook("news", public_url="https://a.example", replace=True, actor=DANA)
    signing.secret = opened.url.reveal().rpartition("/")[2]
    signing.bridge.sign_webhook("news", signing_key=SIGNING_KEY, actor=DANA)
    signing.told(mailchimp_event("hard", world.now() - 5_000))
    assert [row["subject"] for row in signing.rows()] == [expected] * 2


# one transaction


class Dying:
    """A database that dies at the end of its next writing transaction: nothing of that is committed."""

    def __init__(self, database) -> None:
        self.database, self.dies = database, False

    @contextmanager
    def transaction(self, *, write=True):
        with self.database.transaction(write=write) as tx:
            yield tx
            if write and self.dies:
                self.dies = False
                raise StoreGone("It died before its commit.")

    def close(self) -> None:
        self.database.close()


def test_event_and_suppression_are_committed_together_or_not_at_all(world, signing):
    database = Dying(world.home.open())
    signing.bridge = keeping_keys(world, Store(database))
    body = mailchimp_event("abuse", world.now())
    database.dies = True
    with pytest.raises(StoreGone):
        signing.told(body)
    assert (signing.rows(), listed(world)) == ([], None)
    assert signing.told(body) == "stored"
    assert listed(world) == ("complaint", "webhook")


def test_a_hundred_people_in_one_commit_cost_one_statement_each_and_a_dozen_beside(world, signing):
    costs = Costs(world.home.open())
    bridge = keeping_keys(world, Store(costs))
    bodies = [mailchimp_event("hard", world.now(), f"p{number}@wh-test.example") for number in range(100)]
    found = bridge.receive_webhooks([posted_to(signing, body) for body in bodies])
    assert {one.value for one in found} == {"stored"}
    assert costs.names.count("webhooks.keep") == 100
    assert costs.names.count("suppressions.add") == 1, "one batch"
    beside = [name for name in costs.names if name != "webhooks.keep"]
    print(f"100 people: {len(costs.names)} statements in {costs.transactions} transactions")
    assert len(beside) <= 12, beside
    assert costs.transactions == 2


PEOPLE = [f"p{number}@wh-test.example" for number in range(12)]


def batches_of(seed, now_ms):
    """Return what one receiver gets: batches of events about people in random order."""
    chance, batches = random.Random(seed), []
    for number in range(15):
        pairs = zip(
            chance.choices(["unsubscribe", "hard", "delete", "abuse"], k=6),
            chance.sample(PEOPLE, 6),
            strict=True,
        )
        at_ms = now_ms - 1_000 * (100 * seed + number)
        batches.append([mailchimp_event(name, at_ms, email) for name, email in pairs])
    return batches


def strongest(bodies):
    """Return the strongest reason that bodies name for each person, unsubscribed by hand at the least."""
    found = dict.fromkeys(PEOPLE, Suppressed.UNSUBSCRIBE)
    for body in bodies:
        fields = dict(parse_qsl(body.decode()))
        if fields["type"] == "cleaned":
            reason = Suppressed.COMPLAINT if fields["data[reason]"] == "abuse" else Suppressed.BOUNCE
            email = fields["data[email]"]
            found[email] = max(found[email], reason, key=lambda one: one.rank)
    return {email: reason.value for email, reason in found.items()}


def test_receivers_and_an_operator_at_the_same_time_hinder_nobody_and_the_strongest_stays(world, signing):
    plans = [batches_of(seed, world.now()) for seed in range(3)]
    posted = [[[posted_to(signing, body) for body in batch] for batch in plan] for plan in plans]
    troubles = []

    def work(calls):
        with keeping_keys(world) as bridge:
            try:
                for call in calls:
                    call(bridge)
            except Exception as error:  # noqa: BLE001  told by the test
                troubles.append(error)

    def taking(batch):
        return lambda bridge: bridge.receive_webhooks(batch)

    def listing(bridge):
        bridge.suppress(reversed(PEOPLE), reason=Suppressed.UNSUBSCRIBE, actor=DANA)

    work_of = [[taking(batch) for batch in plan] for plan in posted] + [[listing] * 15]
    crew = [threading.Thread(target=work, args=(calls,)) for calls in work_of]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    assert troubles == []
    assert len(signing.rows()) == 3 * 15 * 6
    expected = strongest(body for plan in plans for batch in plan for body in batch)
    assert {email: listed(world, email)[0] for email in PEOPLE} == expected


# what unsigned ones are good for, and the rules themselves


def test_what_each_event_says_is_told_by_kind_and_word():
    assert suppresses(EventKind.CAMPAIGN, "delivered") is None
    assert suppresses("cleaned", "") is Suppressed.BOUNCE
    assert suppresses("removed", "abuse") is Suppressed.COMPLAINT
    assert [fate_of("campaign", word) for word in ("sent", "delivered", "soft")] == [
        None,
        Fate.DELIVERED,
        Fate.SOFT,
    ]
    assert (fate_of("cleaned", "hard"), fate_of("unsubscribe", "abuse")) == (Fate.HARD, Fate.COMPLAINED)
    assert fate_of("unsubscribe", "manual") is fate_of("removed", "") is None


def test_a_wrong_signature_changes_nothing_at_all(resend, letters):
    before = resend.home.everything()
    body = resend_event("email.complained", resend.now())
    assert letters.hear(body, svix_signed(body, resend.now() - 400_000)) == "unknown"
    assert resend.home.everything() == before


@pytest.mark.parametrize("word", ["email.delivered", "soft", "email.complained"])
def test_a_signed_event_of_a_mail_rules_out_that_its_broadcast_was_not_sent(resend, letters, word):
    """A mail that arrived, bounced for now, or was complained of had left."""
    campaign_id = resend.drafted()
    resend.fault("send", "drop_before")
    with refused("reconciliation_required"):
        resend.send(campaign_id)
    soft = {"bounce": {"type": "Transient"}} if word == "soft" else {}
    kind = "email.bounced" if word == "soft" else word
    letters.told(mail_event(kind, resend.now(), ANN, resend.remote_id(campaign_id), **soft))
    resend.run(hours=30)
    assert resend.statuses(campaign_id) == ["unknown"]
    assert resend.campaign(campaign_id).stopped_reason == "contradiction"
    assert resend.posts() == 1
