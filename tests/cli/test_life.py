"""The whole life of a campaign by hand: what each command does, says, and refuses."""

import sqlite3
import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from campaignbridge import open_bridge
from campaignbridge.sandbox import Fault, Sandbox, SandboxServer
from cli.program import ACTOR, AUDIENCE, KEY_ENV, PEOPLE, campaign, connect
from cli.test_bad_input import refused
from cli.test_terminal import converse

CONFIRMED = ("--confirm-recipients", str(PEOPLE), "--confirm-audience", AUDIENCE)
QUARTER = 15 * 60


def quarter(ahead: timedelta = timedelta(hours=2)) -> datetime:
    """Return the next full quarter of an hour after so long, in UTC."""
    at = datetime.now(UTC) + ahead
    return datetime.fromtimestamp((at.timestamp() // QUARTER + 1) * QUARTER, UTC)


def life(program, name, campaign_id, *flags, **more):
    return program.run("campaigns", name, campaign_id, *flags, **more)


def scheduled(program, campaign_id=None, at=None):
    campaign_id = campaign_id or campaign(program, "provider_draft")
    done = life(program, "schedule", campaign_id, "--at", (at or quarter()).isoformat(), *CONFIRMED)
    assert done.code == 0, done.words
    return campaign_id


def test_draft_test_schedule_unschedule_schedule_cancel(connected, server):
    berlin = ZoneInfo("Europe/Berlin")
    first, second = quarter(), quarter(timedelta(days=3))
    campaign_id = campaign(connected, "approved")
    assert "Nobody was mailed." in life(connected, "draft", campaign_id).words
    tested = life(connected, "test", campaign_id, "--to", "ann@example.com", "--to", "bob@example.com")
    assert "Mailchimp accepted a test to 2 addresses." in tested.words

    local = first.astimezone(berlin)
    asked = ("--at", f"{local:%Y-%m-%dT%H:%M}", "--zone", "Europe/Berlin")
    done = life(connected, "schedule", campaign_id, *asked, *CONFIRMED)
    assert done.code == 0
    assert "Mailchimp accepted the schedule at" in done.out
    assert f"{local:%H:%M} {local:%Z} ({first.day} {first:%b %Y %H:%M} UTC)." in done.out
    shown = life(connected, "show", campaign_id, TZ="Europe/Berlin").out
    assert f"SCHEDULED FOR {local.day} {local:%b %Y %H:%M %Z}".upper() in shown
    assert f"Send time   {local.day} {local:%b %Y %H:%M %Z} ({first.day} {first:%b %Y %H:%M} UTC)" in shown
    assert "Mailchimp starts at" in shown

    off = life(connected, "unschedule", campaign_id)
    assert "Mailchimp took it off the schedule. Nobody was mailed. It is: Ready at Mailchimp." in off.words
    scheduled(connected, campaign_id, second)
    stopped = life(connected, "cancel", campaign_id, "--yes", "--json").document
    assert (stopped["asked"], stopped["state"], stopped["replay"]) == ("unschedule", "provider_draft", False)
    closed = life(connected, "cancel", campaign_id)
    assert "Cancelled here. The provider was asked for nothing. It is: Cancelled." in closed.words

    told = life(connected, "timeline", campaign_id).words
    for words in (
        "Test accepted by Mailchimp; only its own addresses were mailed",
        f"Schedule requested for {first.day} {first:%b %Y %H:%M} UTC",
        "Schedule accepted by Mailchimp",
        "Unschedule requested",
        "Unschedule accepted by Mailchimp",
        f"Schedule requested for {second.day} {second:%b %Y %H:%M} UTC",
        "Cancelled here; Mailchimp was asked for nothing",
    ):
        assert words in told
    kinds = [event.kind for event in server.sandbox.truth.events()]
    assert [kind for kind in kinds if "sched" in kind] == ["scheduled", "unscheduled"] * 2
    assert kinds.count("test_mailed") == 1
    assert server.sandbox.truth.sends_accepted() == 0


def test_a_send_with_a_lost_answer_is_shown_as_in_the_sample(connected, server):
    campaign_id = campaign(connected, "provider_draft")
    server.sandbox.faults.add(Fault("send", "accept_then_drop"))
    assert life(connected, "send", campaign_id, *CONFIRMED).code == 5
    shown = life(connected, "show", campaign_id)
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert lines[0] == f"December news   {campaign_id}   news (Mailchimp, sandbox)"
    assert lines[1].startswith("? NOT CONFIRMED   since ")
    assert "Why Mailchimp was asked to send this and" in shown.words
    assert "It may be going out." in shown.words
    assert "Reading never sends." in shown.words
    assert "Held    by nobody" in shown.out
    below = " ".join(shown.out[shown.out.index("You can") :].split())
    assert f"campaigns reconcile {campaign_id}" in below
    assert "read Mailchimp now; changes nothing there" in below
    assert "send, schedule, test" in below
    assert "an earlier send is not confirmed" in below
    assert "only when Mailchimp can never tell" in below
    assert "approve" not in below
    assert lines[-1] == "Help    campaignbridge help send_unconfirmed"
    assert life(connected, "show", campaign_id, "--check", "--json").code == 5


def test_a_remote_that_was_deleted_is_resolved_by_hand_with_evidence(connected, server):
    campaign_id = campaign(connected, "provider_draft")
    server.sandbox.faults.add(Fault("send", "accept_then_drop"))
    assert life(connected, "send", campaign_id, *CONFIRMED).code == 5
    for remote in server.sandbox.world.campaigns():
        server.sandbox.world.hide(remote.id)
    deciding = ("--as", "sent", "--evidence", "three of us got it", "--confirm", campaign_id)
    early = life(connected, "resolve", campaign_id, *deciding)
    refused(early, "invalid_state")
    assert "Checks of this campaign have not stopped" in early.words
    for pause in (600_000, 120_000):  # past the settle window; then the second reading
        let_pass(connected, pause)
        life(connected, "reconcile", campaign_id)
    shown = life(connected, "show", campaign_id)
    assert "NEEDS A PERSON" in shown.out
    assert f"campaigns resolve {campaign_id}" in shown.out
    before = connected.dump()
    refused(life(connected, "resolve", campaign_id, *deciding[:-1], "cmp_other"), "validation_failed")
    missing = life(connected, "resolve", campaign_id, *deciding[:-2])
    assert missing.code == 2
    assert (
        missing.err.splitlines()[-1]
        .strip()
        .endswith(f"--evidence 'three of us got it' --confirm {campaign_id}")
    )
    for wrong, code in (
        (("--as", "stopped", "--evidence", "x"), "invalid_input"),
        (("--as", "sent", "--evidence", " "), "invalid_input"),
        (("--as", "sent", "--evidence", "x", "--mailed", "5"), "invalid_input"),
        (("--as", "not_created", "--evidence", "x"), "invalid_input"),
        (("--as", "sent", "--evidence", "x", "--expected-version", "1"), "conflict"),
    ):
        done = life(connected, "resolve", campaign_id, *wrong, "--confirm", campaign_id, "--json")
        assert (done.code, done.document["code"]) == (3, code), wrong
    assert life(connected, "resolve", campaign_id, "--as", "perhaps", "--evidence", "x").code == 2
    for typed, code in (("sent\n", 3), ("\x03", 130)):
        ended, screen = converse(connected, ("campaigns", "resolve", campaign_id, *deciding[:-2]), typed)
        assert ended == code
        assert "Mailchimp no longer has this campaign" in screen
    assert unlocked(connected.dump()) == unlocked(before)
    done = life(connected, "resolve", campaign_id, *deciding)
    assert "Settled by hand as sent. It is: Sent." in done.words
    told = life(connected, "timeline", campaign_id).words
    assert "Settled by hand as sent: three of us got it" in told


LEFT_BEHIND = tuple(f'INSERT INTO "{name}"' for name in ("audit_events", "locks", "sqlite_sequence"))


def unlocked(dump):
    """Return a dump without what a refused command leaves by design: its lock's use, and its audit event."""
    return [line for line in dump if not line.startswith(LEFT_BEHIND)]


def let_pass(program, ms):
    """Make the open request and the last reading older."""
    store = sqlite3.connect(program.database)
    with store:
        store.execute(
            "UPDATE attempts SET created_at = created_at - ?, deadline_at = deadline_at - ?"
            " WHERE status = 'unknown'",
            (ms, ms),
        )
        store.execute("UPDATE remote_campaigns SET negative_answered_at = negative_answered_at - ?", (ms,))
    store.close()


BAD_TIMES = {
    "2030-05-01T09:00": "has no offset",
    "next tuesday": "can't be read",
    "2030-05-01T09:00:00+99:00": "can't be read",
    "2027-03-28T02:30 Europe/Berlin": "does not happen in Europe/Berlin",
    "2027-10-31T02:30 Europe/Berlin": "happens twice in Europe/Berlin",
    "2030-05-01T09:00+01:00 Europe/Berlin": "an offset and a zone",
    "2030-05-01T09:00 Middle/Earth": "no such time zone",
    "2030-05-01T09:00 ../../etc/passwd": "no such time zone",
    "2030-05-01T09:07:00Z": "only every 15 minutes",
    "2030-05-01T09:00:00.5Z": "only every 15 minutes",
    "2020-05-01T09:00:00Z": "at least 10 minutes ahead",
    "2190-05-01T09:00:00Z": "more than a year ahead",
    "9999-12-31T23:45:00-23:45": "more than a year ahead",
    "0001-01-01T00:00:00+23:00": "at least 10 minutes ahead",
}


@pytest.mark.parametrize("confirmed", [CONFIRMED, ()], ids=["confirmed", "unconfirmed"])
@pytest.mark.parametrize("moment", BAD_TIMES)
def test_a_time_that_cannot_be_meant_is_refused_and_nothing_is_scheduled(
    connected, server, moment, confirmed
):
    campaign_id = campaign(connected, "provider_draft")
    before = unlocked(connected.dump())
    at, _, zone = moment.partition(" ") if "T" in moment else (moment, "", "")
    done = life(
        connected, "schedule", campaign_id, "--at", at, *(("--zone", zone) if zone else ()), *confirmed
    )
    refused(done, "invalid_input")
    assert BAD_TIMES[moment] in done.words
    assert unlocked(connected.dump()) == before
    assert not server.sandbox.truth.events("scheduled")


BAD_ADDRESSES = {
    "six": [f"tester{number}@example.com" for number in range(6)],
    "line break": ["tester@example.com\r\nBcc: all@example.com"],
    "no address": ["tester.example.com"],
    "two in one": ["tester@example.com,other@example.com"],
    "endless": ["t" * 300 + "@example.com"],
    "empty": [""],
}


@pytest.mark.parametrize("name", BAD_ADDRESSES)
def test_addresses_that_cannot_be_used_are_refused_and_nobody_is_mailed(connected, server, name):
    campaign_id = campaign(connected, "provider_draft")
    before = connected.dump()
    flags = [part for address in BAD_ADDRESSES[name] for part in ("--to", address)]
    done = life(connected, "test", campaign_id, *flags)
    refused(done, "invalid_input")
    assert "tester" not in done.words
    assert "example.com" not in done.words.replace("news@acme.example", "")
    assert connected.dump() == before
    assert not server.sandbox.truth.events("test_mailed")


def test_the_eleventh_test_of_a_day_is_refused_as_try_later(connected, server):
    campaign_id = campaign(connected, "provider_draft")
    with open_bridge(str(connected.database)) as bridge:
        for number in range(10):
            bridge.send_test(campaign_id, actor=ACTOR, key=f"k_{number}", addresses=("a@example.com",))
    done = life(connected, "test", campaign_id, "--to", "a@example.com", "--json")
    assert (done.code, done.document["code"]) == (4, "rate_limited")
    assert done.document["retry_after"] > 0
    assert len(server.sandbox.truth.events("test_mailed")) == 10


ADDRESSES = ("canary.reader@example.com", "canary-two@example.org")


@pytest.mark.parametrize("kind", [None, "accept_then_drop", "refuse_5xx", "bare_403", "status_429"])
def test_the_addresses_of_a_test_appear_nowhere(connected, server, kind):
    campaign_id = campaign(connected, "provider_draft")
    if kind:
        server.sandbox.faults.add(Fault("test", kind))
    flags = [part for address in ADDRESSES for part in ("--to", address)]
    told = []
    for more in ((), ("--json",), ("-v", "--debug")):
        key = ("--key", f"k_{len(told)}")
        told += [life(connected, "test", campaign_id, *flags, *key, *more) for _ in range(2)]
    told += [
        life(connected, "test", campaign_id, ADDRESSES[0], *flags),
        life(connected, "test", ADDRESSES[0], *flags),
        life(connected, "test", campaign_id, "--two", ADDRESSES[0]),
        life(connected, "test", f"--to{ADDRESSES[0]}"),
        life(connected, "show", campaign_id, "--json"),
        life(connected, "timeline", campaign_id, "--json"),
        connected.run("tick", "-v"),
    ]
    everything = "\n".join([*(one.out + one.err for one in told), *connected.dump()]).lower()
    for address in ADDRESSES:
        assert address not in everything
        assert address.partition("@")[0] not in everything
    ending = {None: 0, "accept_then_drop": 5, "refuse_5xx": 5, "bare_403": 6, "status_429": 6}[kind]
    assert told[0].code == told[1].code == ending
    unconfirmed = sum("campaignbridge help test_unconfirmed" in one.err for one in told[:2])
    assert unconfirmed == (2 if ending == 5 else 0)


def test_a_repeated_key_is_answered_without_asking_again(connected, server):
    at = quarter().isoformat()
    campaign_id = campaign(connected, "provider_draft")
    for name, flags in (
        ("test", ("--to", "a@example.com")),
        ("schedule", ("--at", at, *CONFIRMED)),
        ("unschedule", ()),
        ("schedule", ("--at", at, *CONFIRMED)),
        ("cancel", ("--yes",)),
    ):
        key = ("--key", f"k_{name}_{len(server.sandbox.truth.events())}", "--json")
        first = life(connected, name, campaign_id, *flags, *key)
        seen = len(server.sandbox.truth.requests())
        again = life(connected, name, campaign_id, *(flags if flags != ("--yes",) else ()), *key)
        assert (first.code, again.code) == (0, 0), (name, first.words, again.words)
        assert (first.document["replay"], again.document["replay"]) == (False, True)
        assert len(server.sandbox.truth.requests()) == seen


def test_a_key_of_another_request_is_refused(connected):
    campaign_id = campaign(connected, "provider_draft")
    first, second = quarter(), quarter(timedelta(days=1))
    key = ("--key", "k_mine", "--json")
    assert life(connected, "schedule", campaign_id, "--at", first.isoformat(), *CONFIRMED, *key).code == 0
    other = life(connected, "schedule", campaign_id, "--at", second.isoformat(), *CONFIRMED, *key)
    assert (other.code, other.document["code"]) == (3, "idempotency_conflict")
    for wrong in ("has space", "ä", "", "k" * 101):
        done = life(connected, "unschedule", campaign_id, "--key", wrong, "--json")
        assert (done.code, done.document["code"]) == (3, "invalid_input"), wrong


@pytest.mark.parametrize(
    "command",
    [
        ("content", "--content", "letter.html"),
        ("audience", "--audience", "d4e5f6"),
        ("archive",),
        ("cancel",),
    ],
    ids=lambda command: command[0],
)
def test_a_stale_version_of_a_draft_changes_nothing(connected, command):
    campaign_id = campaign(connected)
    before = unlocked(connected.dump())
    done = life(connected, command[0], campaign_id, *command[1:], "--expected-version", "7", "--json")
    assert (done.code, done.document["code"], done.document["version"]) == (3, "conflict", 1)
    assert unlocked(connected.dump()) == before


@pytest.mark.parametrize("name", ["withdraw", "send", "schedule"])
def test_a_stale_version_of_a_provider_draft_changes_nothing(connected, server, name):
    campaign_id = campaign(connected, "provider_draft")
    before = unlocked(connected.dump())
    flags = () if name == "withdraw" else CONFIRMED
    when = ("--at", quarter().isoformat()) if name == "schedule" else ()
    done = life(connected, name, campaign_id, *flags, *when, "--expected-version", "1", "--json")
    assert (done.code, done.document["code"]) == (3, "conflict")
    assert unlocked(connected.dump()) == before


@pytest.mark.parametrize("name", ["unschedule", "cancel"])
def test_a_stale_version_of_a_scheduled_campaign_changes_nothing(connected, server, name):
    campaign_id = scheduled(connected)
    before = unlocked(connected.dump())
    for flags in ((), ("--yes",)) if name == "cancel" else ((),):
        done = life(connected, name, campaign_id, *flags, "--expected-version", "1", "--json")
        assert (done.code, done.document["code"]) == (3, "conflict")
    assert unlocked(connected.dump()) == before
    assert not server.sandbox.truth.events("unscheduled")


def test_wrong_facts_schedule_nothing(connected, server):
    campaign_id = campaign(connected, "provider_draft")
    before = unlocked(connected.dump())
    at = ("--at", quarter().isoformat())
    number = life(connected, "schedule", campaign_id, *at, "--confirm-recipients", "24138", *CONFIRMED[2:])
    refused(number, "validation_failed")
    assert "24,138 is not the number of recipients (24,318)" in number.words
    place = life(connected, "schedule", campaign_id, *at, *CONFIRMED[:2], "--confirm-audience", "other")
    refused(place, "validation_failed")
    bare = life(connected, "schedule", campaign_id, *at)
    assert bare.code == 2
    assert "Send time" in bare.err
    command = bare.err[bare.err.rindex("campaignbridge ") :].replace("\\\n", " ").split()
    assert command[:4] == ["campaignbridge", "campaigns", "schedule", campaign_id]
    assert unlocked(connected.dump()) == before
    assert not server.sandbox.truth.events("scheduled")
    assert connected.run(*command[1:]).code == 0
    assert server.sandbox.truth.events("scheduled")


def test_what_its_state_does_not_allow_is_refused_by_every_command(connected, server):
    campaign_id = campaign(connected)
    before = unlocked(connected.dump())
    for name, flags in {
        "withdraw": (),
        "test": ("--to", "a@example.com"),
        "send": (),
        "schedule": ("--at", quarter().isoformat()),
        "unschedule": (),
        "resolve": ("--as", "sent", "--evidence", "x"),
        "acknowledge": ("--reason", "x"),
    }.items():
        refused(life(connected, name, campaign_id, *flags), "invalid_state")
    assert unlocked(connected.dump()) == before
    moving = campaign(connected, "sending")
    for name, flags in {
        "content": ("--content", "letter.html"),
        "audience": ("--audience", "d4e5f6"),
        "archive": (),
        "schedule": ("--at", quarter().isoformat(), *CONFIRMED),
    }.items():
        refused(life(connected, name, moving, *flags), "invalid_state")


def test_an_unknown_campaign_is_not_found_by_every_command(connected):
    before = connected.dump()
    for name, flags in {
        "content": ("--content", "letter.html"),
        "audience": ("--audience", "x"),
        "preview": (),
        "withdraw": (),
        "archive": (),
        "duplicate": (),
        "test": ("--to", "a@example.com"),
        "schedule": ("--at", quarter().isoformat()),
        "unschedule": (),
        "cancel": (),
        "resolve": ("--as", "sent", "--evidence", "x"),
        "acknowledge": ("--reason", "x"),
    }.items():
        refused(life(connected, name, "cmp_nope", *flags), "not_found")
    assert connected.dump() == before


def test_a_cancel_at_the_provider_is_asked_about(connected, server):
    campaign_id = scheduled(connected)
    script = life(connected, "cancel", campaign_id)
    assert (script.code, script.err.splitlines()[-1].strip()) == (
        2,
        f"campaignbridge campaigns cancel {campaign_id} --yes",
    )
    code, screen = converse(connected, ("campaigns", "cancel", campaign_id), "n\n", awaited="[y/N]")
    assert code == 130
    assert "is: Scheduled for" in screen
    assert not server.sandbox.truth.events("unscheduled")
    code, screen = converse(connected, ("campaigns", "cancel", campaign_id), "y\n", awaited="[y/N]")
    assert code == 0
    assert len(server.sandbox.truth.events("unscheduled")) == 1


def test_a_delivery_under_way_is_stopped(connected, server):
    server.sandbox.world.behave(sending_ms=600_000)
    campaign_id = campaign(connected, "sending")
    done = life(connected, "cancel", campaign_id, "--yes")
    assert "Mailchimp accepted the cancel. Who was mailed before that stays mailed." in done.words
    assert "Its record says how many were mailed: we read it at" in done.words
    assert "Cancel accepted by Mailchimp" in life(connected, "timeline", campaign_id).words


def test_typing_the_number_of_recipients_schedules(connected, server):
    campaign_id = campaign(connected, "provider_draft")
    at = quarter()
    arguments = ("campaigns", "schedule", campaign_id, "--at", at.isoformat())
    code, screen = converse(connected, arguments, "yes\n")
    assert code == 3
    assert "Nothing was scheduled." in screen
    code, screen = converse(connected, arguments, "24,318\n", TZ="Europe/Berlin")
    assert code == 0
    local = at.astimezone(ZoneInfo("Europe/Berlin"))
    assert f"{local:%H:%M %Z} ({at.day} {at:%b %Y %H:%M} UTC), in 2 h" in " ".join(screen.split())
    assert len(server.sandbox.truth.events("scheduled")) == 1


def test_a_send_that_is_repeated_by_its_key_on_a_terminal_is_answered_again(connected, server):
    campaign_id = campaign(connected, "provider_draft")
    arguments = ("campaigns", "send", campaign_id, "--key", "k_mine")
    for words in ("accepted the send", "Nothing was asked for again."):
        code, screen = converse(connected, arguments, "24318\n")
        assert code == 0, screen
        assert words in " ".join(screen.split())
    assert server.sandbox.truth.sends_accepted() == 1


@pytest.mark.parametrize(
    ("name", "words", "page"),
    [
        ("schedule", "It may be sent at its time.", "schedule_unconfirmed"),
        ("unschedule", "It may still be sent at its time.", "unschedule_unconfirmed"),
        ("cancel", "It may still be going out.", "cancel_unconfirmed"),
    ],
)
def test_a_lost_answer_is_told_in_words_of_its_own(connected, server, name, words, page):
    server.sandbox.world.behave(sending_ms=600_000)
    campaign_id = {
        "schedule": lambda: campaign(connected, "provider_draft"),
        "unschedule": lambda: scheduled(connected),
        "cancel": lambda: campaign(connected, "sending"),
    }[name]()
    server.sandbox.faults.add(Fault(name, "accept_then_drop"))
    flags = {"schedule": ("--at", quarter().isoformat(), *CONFIRMED), "cancel": ("--yes",)}.get(name, ())
    done = life(connected, name, campaign_id, *flags)
    assert done.code == 5
    shown = life(connected, "show", campaign_id)
    assert words in shown.words
    assert f"campaignbridge help {page}" in shown.out
    assert f"an earlier {name} is not confirmed" in shown.words
    assert connected.run("help", page).code == 0
    assert f"{name.capitalize()} not confirmed" in life(connected, "timeline", campaign_id).words


def test_a_schedule_that_the_provider_shows_otherwise_needs_a_person(program):
    ahead = 0
    sandbox = Sandbox(lambda: time.time_ns() // 1_000_000 + ahead, 7)
    with SandboxServer(sandbox) as server:
        program.extra[KEY_ENV] = sandbox.key
        connect(program, server)
        campaign_id = campaign(program, "provider_draft")
        ahead = 3_600_000
        sandbox.faults.add(Fault("inspect", "stale_read", after=2, ms=ahead // 2, times=None))
        at = ("--at", quarter(timedelta(days=2)).isoformat())
        done = life(program, "schedule", campaign_id, *at, *CONFIRMED)
    assert done.code == 5
    assert "Mailchimp accepted the schedule" in done.out
    assert "shows another one, or none" in done.words
    shown = life(program, "show", campaign_id, "--check")
    assert shown.code == 5
    assert "shows another one, or none" in shown.words
    assert "campaignbridge help schedule_differs" in shown.out


def test_content_and_audience_are_edited_and_an_approval_is_dropped(connected):
    campaign_id = campaign(connected, "approved")
    old = life(connected, "show", campaign_id, "--json").document["fingerprint"]
    connected.letter("# Hello again\n\n[Unsubscribe](*|UNSUB|*)", "new.md")
    done = life(connected, "content", campaign_id, "--content", "new.md", "--subject", "Newer", "--json")
    assert (done.code, done.document["state"], done.document["revision"]) == (0, "draft", 2)
    assert done.document["fingerprint"] != old
    moved = life(connected, "audience", campaign_id, "--audience", "d4e5f6")
    assert moved.code == 0
    assert f"{campaign_id} goes to d4e5f6" in moved.out
    told = life(connected, "timeline", campaign_id).words
    assert "Content is now revision 2, sha256:" in told
    assert "Audience is now d4e5f6" in told
    assert "Hello again" in life(connected, "preview", campaign_id).out


def test_a_draft_is_withdrawn_archived_and_duplicated(connected, server):
    campaign_id = campaign(connected, "provider_draft")
    assert "Its draft stays at the provider, unsent." in life(connected, "withdraw", campaign_id).words
    copied = [life(connected, "duplicate", campaign_id, "--key", "k_copy", "--json").document for _ in "12"]
    assert copied[0] == copied[1]
    assert copied[0]["state"] == "draft"
    named = life(connected, "duplicate", campaign_id, "--name", "January news", "--json").document
    assert named["campaign"] != copied[0]["campaign"]
    assert life(connected, "archive", campaign_id).out.startswith("ok    ")
    assert "ARCHIVED" in life(connected, "show", campaign_id).out
    assert f"Created as a copy of {campaign_id}" in life(connected, "timeline", named["campaign"]).words
    told = life(connected, "timeline", campaign_id).words
    assert "Draft taken back to be edited; it stays at Mailchimp, unsent" in told
    assert "Put away" in told
    assert not server.sandbox.truth.events("deleted")
    refused(life(connected, "duplicate", campaign_id, "--name", "a\nb"), "invalid_input")


def test_a_preview_prints_the_text_and_writes_the_html_byte_for_byte(connected):
    letter = "<p>Grüße \x1b[31m</p>\r\n<a href='*|UNSUB|*'>x</a>"
    campaign_id = campaign(connected, content=letter)
    with open_bridge(str(connected.database)) as bridge:
        stored = bridge.show(campaign_id, actor=ACTOR).snapshot
    assert "Grüße" in life(connected, "preview", campaign_id).out
    done = life(connected, "preview", campaign_id, "--out", "copy.html")
    assert done.code == 0
    assert (connected.folder / "copy.html").read_bytes() == stored.html.encode()
    document = life(connected, "preview", campaign_id, "--html", "--json").document
    assert (document["part"], document["content"], document["intact"]) == ("html", stored.html, True)
    for place in ("copy.html", "nowhere/copy.html", ".", "a\0b"[:1] + "/" * 300):
        refused(life(connected, "preview", campaign_id, "--out", place), "invalid_input")
    assert (connected.folder / "copy.html").read_bytes() == stored.html.encode()
    _, screen = converse(connected, ("campaigns", "preview", campaign_id), None)
    assert "\x1b[31m" not in screen


def test_a_possible_double_is_acknowledged_with_a_reason(connected):
    campaign_id = campaign(connected, "provider_draft")
    store = sqlite3.connect(connected.database)
    store.create_function("now_ms", 0, lambda: 1)
    with store:
        store.execute("UPDATE campaigns SET flag = 'possible_double'")
    store.close()
    shown = life(connected, "show", campaign_id)
    assert f"campaigns acknowledge {campaign_id}" in shown.out
    assert life(connected, "show", campaign_id, "--check").code == 5
    refused(
        life(connected, "acknowledge", campaign_id, "--reason", "x", "--expected-version", "1"), "conflict"
    )
    refused(life(connected, "acknowledge", campaign_id, "--reason", "a\nb"), "invalid_input")
    assert life(connected, "acknowledge", campaign_id, "--reason", "one mail came").code == 0
    assert "Flag possible double cleared: one mail came" in life(connected, "timeline", campaign_id).words
    assert life(connected, "show", campaign_id, "--check").code == 0


def test_a_shell_completes_ids_out_of_the_store_and_makes_none(connected):
    campaign_id = campaign(connected)
    asked = {"_CAMPAIGNBRIDGE_COMPLETE": "complete_bash", "COMP_CWORD": "3"}
    typed = f"campaignbridge campaigns show {campaign_id[:6]}"
    assert connected.run_anew(COMP_WORDS=typed, **asked).out.split() == [campaign_id]
    assert (
        connected.run_anew(COMP_WORDS="campaignbridge campaigns show cmp_zzzzzz", **asked).out.strip() == ""
    )
    away = {**asked, "COMP_CWORD": "5"}
    other = "campaignbridge --database other.db campaigns show cmp_"
    assert connected.run_anew(COMP_WORDS=other, **away).out.strip() == ""
    assert not (connected.folder / "other.db").exists()
    assert "complete" in connected.run_anew("--show-completion", "bash").out


def test_help_says_that_there_is_no_retire(connected):
    assert "retire" in connected.run("campaigns", "withdraw", "--help").out
