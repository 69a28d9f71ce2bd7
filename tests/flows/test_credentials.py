"""Keys at rest: sealed for their row, replaced only by a key of the same account, and never given back."""

import base64
import copy
import json
import logging
import pickle
import sqlite3
import time
import traceback
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psycopg
import pytest

from campaignbridge import Confirmation, NewCampaign, Refusal, Settings, open_bridge, with_all_rights
from campaignbridge.domain.connection import Connection, Sealed, Secret
from campaignbridge.domain.errors import InvalidInput
from campaignbridge.sandbox import Fault, Sandbox, SandboxServer
from campaignbridge.settings import from_environment, settings_text
from campaignbridge.store.vault import SIGNING_KEY, KeyRing, Vault, new_ring_line, parse_ring

pytest_plugins = ["support.stores"]

DANA = with_all_rights("cli:dana")
KEY = "ca7a12e0ca7a12e0ca7a12e0ca7a12e0-us1"
OTHER_KEY = "ca7a12e1ca7a12e1ca7a12e1ca7a12e1-us1"
WRONG_KEY = "ca7a12e2ca7a12e2ca7a12e2ca7a12e2-us1"
SIGNING = "signs-what-the-provider-sends-1"
STRANGER = "ca7a12e3ca7a12e3ca7a12e3ca7a12e3-us1"  # opens another account
SENDER, TESTER = "canary.sender@acme.example", "canary.tester@acme.example"
HTML = b"<h1>News</h1><p><a href='*|UNSUB|*'>Unsubscribe</a></p>"
OLD, NEW = base64.b64encode(b"o" * 32).decode(), base64.b64encode(b"n" * 32).decode()
OLD_RING, BOTH_RING, NEW_RING = f"old:{OLD}", f"new:{NEW},old:{OLD}", f"new:{NEW}"


@dataclass
class Place:
    """A store, a sandbox, and bridges over them with one ring or another."""

    home: object
    sandbox: Sandbox
    server: SandboxServer
    other: SandboxServer  # another account

    @contextmanager
    def bridge(self, ring=OLD_RING):
        settings = Settings(database=self.home.where, secret_keys=Secret(ring))
        with open_bridge(settings=settings) as bridge:
            yield bridge

    def add(self, label="news", *, ring=OLD_RING, key=KEY):
        with self.bridge(ring) as bridge:
            url = self.server.url
            return bridge.add_connection(label, provider="mailchimp", secret=key, base_url=url, actor=DANA)

    def row(self, label="news"):
        return self.home.rows("SELECT * FROM connections WHERE label = ?", label)[0]

    def verify(self, label="news", *, ring=OLD_RING):
        with self.bridge(ring) as bridge:
            return bridge.verify_connection(label, actor=DANA)


@pytest.fixture
def place(home):
    def now():
        return time.time_ns() // 1_000_000

    one, two = Sandbox(now, 7, keys=(KEY, STRANGER)), Sandbox(now, 8, keys=(KEY,))
    one.world._accounts[OTHER_KEY] = one.world.account(KEY)
    with SandboxServer(one) as server, SandboxServer(two) as other:
        yield Place(home, one, server, other)


@contextmanager
def refused(code):
    with pytest.raises(Refusal) as caught:
        yield caught
    assert caught.value.code == code, caught.value.what


def is_silent(*texts: str) -> bool:
    """Say that none of the texts has a key in it, in any form in which it would still be one."""
    text = " ".join(texts)
    forms = [
        base64.b64encode(one.encode()).decode().rstrip("=") for key in KEYS for one in (key, f"any:{key}")
    ]
    basic = base64.b64encode(f"campaignbridge:{KEY}".encode()).decode()
    return not any(form in text for form in (*KEYS, *forms, basic, OLD, NEW, KEY[:32], OTHER_KEY[:32]))


KEYS = (KEY, OTHER_KEY, WRONG_KEY, STRANGER)


# sealed for a row


def test_a_stored_key_works_and_stands_nowhere_in_the_store(place):
    added = place.add()
    assert (added.variable, added.sealed.key_id) == (None, "old")
    assert place.verify().account == added.account
    assert is_silent(place.home.everything())
    assert place.row()["key_sealed"]


def test_a_box_that_is_moved_to_another_row_does_not_open(place):
    place.add("one")
    place.add("two", key=OTHER_KEY)
    box = place.row("one")["key_sealed"]
    place.home.rows("UPDATE connections SET key_sealed = ? WHERE label = 'two'", box)
    with refused("invalid_input") as caught:
        place.verify("two")
    assert "does not belong to its row" in caught.value.what
    assert place.verify("one")


def test_a_box_does_not_open_in_another_installation(place):
    place.add()
    place.home.rows("UPDATE installation SET id = 'another0'")
    with refused("invalid_input"):
        place.verify()


def test_a_row_that_is_pointed_at_another_host_does_not_give_its_key_there(place):
    place.add()
    place.home.rows("UPDATE connections SET base_url = ?", place.other.url)
    with refused("invalid_input"):
        place.verify()


@pytest.mark.parametrize(
    "change",
    [
        {"id": "con_2"},
        {"provider": "resend"},
        {"base_url": "https://elsewhere.example"},
        {"sealed": "installation"},
        {"sealed": "truncated"},
        {"sealed": "flipped"},
        {"sealed": "empty"},
        {"sealed": "no base64"},
    ],
    ids=str,
)
def test_every_part_of_a_row_is_bound(change):
    vault = Vault(lambda: parse_ring(Secret(OLD_RING), place="here"))
    sealed = vault.seal(
        Secret(KEY), installation="i1", connection_id="con_1", provider="mailchimp", base_url=None
    )
    one = Connection("con_1", "mailchimp", "news", None, None, None, None, sealed, None, None, None, None)
    assert vault.open(one).reveal() == KEY
    raw = base64.b64decode(sealed.box)
    boxes = {
        "installation": Sealed("old", sealed.box, "i2"),
        "truncated": replace(sealed, box=base64.b64encode(raw[:-1]).decode()),
        "flipped": replace(sealed, box=base64.b64encode(bytes([raw[0] ^ 1]) + raw[1:]).decode()),
        "empty": replace(sealed, box=""),
        "no base64": replace(sealed, box="?" * 60),
    }
    if "sealed" in change:
        change = {"sealed": boxes[change["sealed"]]}
    with refused("invalid_input"):
        vault.open(replace(one, **change))


def test_the_same_key_is_sealed_differently_each_time():
    vault = Vault(lambda: parse_ring(Secret(OLD_RING), place="here"))
    row = {"installation": "i1", "connection_id": "con_1", "provider": "mailchimp", "base_url": None}
    assert len({vault.seal(Secret(KEY), **row).box for _ in range(20)}) == 20


def test_a_row_has_a_variable_or_a_box_or_is_disconnected(place):
    place.add()
    for wrong in (
        "key_env = 'X'",
        "key_id = NULL",
        "key_sealed = NULL, key_id = NULL",
        "disconnected_at = 1",
    ):
        with pytest.raises((sqlite3.IntegrityError, psycopg.errors.CheckViolation)):
            place.home.rows(f"UPDATE connections SET {wrong}")


def test_without_a_ring_a_key_is_not_stored(place):
    with refused("invalid_input") as caught:
        place.add(ring="")
    assert "key ring" in caught.value.what
    assert place.home.rows("SELECT * FROM connections") == []


def test_a_ring_that_lost_a_key_says_which_and_for_what(place):
    place.add()
    with refused("invalid_input") as caught:
        place.verify(ring=NEW_RING)
    assert "news" in caught.value.what
    assert "'old'" in caught.value.what


@pytest.mark.parametrize("label", ["ca7a12e0ca7a12e0ca7a12e0ca7a12e0-us1", "re_ca7a12e0ca7a12e0ca7a12e0"])
def test_a_key_in_the_place_of_a_name_is_not_repeated(place, label):
    with place.bridge() as bridge:
        with refused("invalid_input") as first:
            bridge.add_connection("news", provider="mailchimp", key_env=label, actor=DANA)
        with suppress(Refusal):
            bridge.add_connection(KEY, provider="mailchimp", key_env="SOME_KEY", actor=DANA)
        with refused("not_found") as third:
            bridge.verify_connection(KEY, actor=DANA)
    assert label not in first.value.what + first.value.todo
    assert is_silent(third.value.what, place.home.everything())


@pytest.mark.parametrize(
    "given", [{}, {"key_env": "SOME_KEY", "secret": KEY}, {"secret": ""}, {"secret": "a b"}]
)
def test_a_connection_takes_exactly_one_key_of_one_line(place, given):
    with place.bridge() as bridge, refused("invalid_input") as caught:
        bridge.add_connection("news", provider="mailchimp", base_url=place.server.url, actor=DANA, **given)
    assert is_silent(caught.value.what)


# rotation


def test_verify_seals_under_the_newest_key_of_the_ring(place):
    place.add()
    assert place.verify(ring=BOTH_RING).sealed.key_id == "new"
    assert place.verify(ring=NEW_RING).account


def test_verify_leaves_a_box_alone_that_the_newest_key_sealed(place):
    place.add()
    box = place.row()["key_sealed"]
    place.verify()
    assert place.row()["key_sealed"] == box


def test_a_key_that_is_replaced_is_sealed_under_the_newest(place):
    place.add()
    with place.bridge(BOTH_RING) as bridge:
        assert bridge.replace_key("news", secret=OTHER_KEY, actor=DANA).sealed.key_id == "new"
    assert place.verify(ring=NEW_RING)


@contextmanager
def signed_under_the_old_key(place):
    """A connection whose key and whose webhooks' signing key an older key of the ring sealed."""
    place.add()
    with place.bridge(OLD_RING) as bridge:
        bridge.open_webhook("news", public_url="https://acme.example", actor=DANA)
        bridge.sign_webhook("news", signing_key=Secret(SIGNING), actor=DANA)
    yield lambda: place.home.rows("SELECT signing_key_id, signing_sealed FROM webhook_endpoints")[0]


def opened(bridge, ring):
    """Return the signing key as a process with this ring reads it."""
    (connection,) = bridge.list_connections(actor=DANA)
    with bridge.wiring.store.reading() as unit:
        signing = unit.webhooks.endpoint(connection.id).signing
    vault = Vault(lambda: parse_ring(Secret(ring), place="here"))
    return vault.open_box(signing, connection, use=SIGNING_KEY).reveal()


def test_verify_seals_the_key_that_webhooks_are_signed_with_anew_too(place):
    with signed_under_the_old_key(place) as row:
        place.verify(ring=BOTH_RING)
        assert row()["signing_key_id"] == "new"
        with place.bridge(NEW_RING) as bridge:
            assert opened(bridge, NEW_RING) == SIGNING
        before = row()
        place.verify(ring=NEW_RING)
        assert row() == before


def test_a_signing_key_that_the_ring_here_lacks_stays_as_it_is_and_the_connection_works(place):
    with signed_under_the_old_key(place) as row:
        with place.bridge(BOTH_RING) as bridge:
            bridge.replace_key("news", secret=OTHER_KEY, actor=DANA)
        before = row()
        assert before["signing_key_id"] == "old"
        assert place.verify(ring=NEW_RING).account
        assert row() == before


def test_a_signing_key_that_was_replaced_meanwhile_is_not_overwritten_by_a_reseal(place):
    with signed_under_the_old_key(place) as row, place.bridge(BOTH_RING) as bridge:
        (connection,) = bridge.list_connections(actor=DANA)
        with bridge.wiring.store.reading() as unit:
            before = unit.webhooks.endpoint(connection.id).signing
        bridge.sign_webhook("news", signing_key=Secret(SIGNING[::-1]), actor=DANA)
        after = row()
        with bridge.wiring.store.unit() as unit:
            assert not unit.webhooks.reseal(connection.id, before, Sealed("new", "stale", "i0000001"))
        assert row() == after


def test_a_key_that_was_replaced_meanwhile_is_not_overwritten_by_a_reseal(place):
    place.add()
    with place.bridge(BOTH_RING) as bridge, place.bridge(BOTH_RING) as other:
        before = bridge.list_connections(actor=DANA)[0]
        after = other.replace_key("news", secret=OTHER_KEY, actor=DANA)
        with bridge.wiring.store.unit() as unit:
            assert not unit.accounts.reseal(before.id, before.sealed, Sealed("new", "stale", "i0000001"))
    assert place.row()["key_sealed"] == after.sealed.box


# replacing and disconnecting


def campaign(bridge, until="draft", text=""):
    new = NewCampaign(
        name="News", connection="news", audience="a1b2c3", subject="News", from_name="News",
        from_email=SENDER, content=HTML + f"<p>{text}</p>".encode(),
    )  # fmt: skip
    campaign_id = bridge.create(new, actor=DANA).campaign.id
    if until == "draft":
        return campaign_id
    _, checked = bridge.submit(campaign_id, actor=DANA)
    bridge.approve(campaign_id, actor=DANA, approved=checked.fingerprint, max_recipients=30_000)
    bridge.hand_off(campaign_id, actor=DANA, key="d1")
    if until == "sending":
        send(bridge, campaign_id)
    return campaign_id


def send(bridge, campaign_id, key="s1"):
    bridge.send(
        campaign_id, actor=DANA, key=key, confirmed=Confirmation(recipients=24_318, audience="a1b2c3")
    )


def test_another_key_of_the_same_account_restarts_what_had_stopped(place):
    place.add()
    with place.bridge() as bridge:
        campaign_id = campaign(bridge, "sending")
        with bridge.wiring.store.unit() as unit:
            unit.accounts.refused(place.row()["id"], "403")
            unit.campaigns.stop_connection(place.row()["id"], "credential_refused")
        seen = bridge.replace_key("news", secret=OTHER_KEY, actor=DANA)
        assert (seen.refused_at, seen.account) == (None, place.row()["account"])
        moving = bridge.show(campaign_id, actor=DANA).dossier.campaign
        assert (moving.stopped_reason, moving.look_at is None) == (None, False)
        assert bridge.tick().ran
    (event,) = place.home.rows("SELECT actor, data FROM audit_events WHERE kind = 'key_replaced'")
    assert event["actor"] == "cli:dana"
    assert json.loads(event["data"]) == {"connection": seen.id, "kept": "store"}


@pytest.mark.parametrize(("key", "code"), [(WRONG_KEY, "provider_failed"), (STRANGER, "conflict")])
def test_a_key_that_opens_nothing_or_another_account_changes_nothing(place, key, code):
    place.add()
    before = place.home.rows("SELECT * FROM connections")
    events = place.home.rows("SELECT * FROM audit_events")
    with place.bridge() as bridge, refused(code) as caught:
        bridge.replace_key("news", secret=key, actor=DANA)
    assert place.home.rows("SELECT * FROM connections") == before
    assert place.home.rows("SELECT * FROM audit_events") == events
    assert is_silent(repr(caught.value), repr(caught.value.facts), caught.value.todo)


def test_a_key_moves_between_store_and_variable(place, monkeypatch):
    place.add()
    monkeypatch.setenv("NEWS_KEY", OTHER_KEY)
    with place.bridge() as bridge:
        moved = bridge.replace_key("news", key_env="NEWS_KEY", actor=DANA)
        assert (moved.variable, moved.sealed) == ("NEWS_KEY", None)
        assert bridge.replace_key("news", secret=KEY, actor=DANA).variable is None


def test_a_connection_whose_campaign_moves_is_not_disconnected(place):
    place.add()
    with place.bridge() as bridge:
        campaign_id = campaign(bridge, "sending")
        with refused("invalid_state") as caught:
            bridge.disconnect("news", actor=DANA)
    assert campaign_id in caught.value.what
    assert place.row()["key_sealed"]


def test_a_connection_with_an_unresolved_send_is_not_disconnected(place):
    place.add()
    with place.bridge() as bridge:
        campaign_id = campaign(bridge, "provider_draft")
        place.sandbox.faults.add(Fault("send", "accept_then_drop"))
        with refused("reconciliation_required"):
            send(bridge, campaign_id)
        with refused("invalid_state"):
            bridge.disconnect("news", actor=DANA)


def test_a_disconnected_connection_has_no_key_until_it_gets_another(place):
    place.add()
    with place.bridge() as bridge:
        campaign_id = campaign(bridge, "provider_draft")
        gone = bridge.disconnect("news", actor=DANA)
        assert (gone.variable, gone.sealed) == (None, None)
        with refused("invalid_input") as caught:
            send(bridge, campaign_id)
        assert "disconnected" in caught.value.what
        assert bridge.replace_key("news", secret=OTHER_KEY, actor=DANA).disconnected_at is None
        send(bridge, campaign_id, "s2")


# the ring, and settings


def test_a_ring_that_cannot_be_read_is_refused_without_repeating_it():
    for text in (OLD, f":{OLD}", f"a b:{OLD}", "old:short", f"old:{OLD},old:{NEW}", f"old:{OLD};new:{NEW}"):
        with refused("invalid_input") as caught:
            parse_ring(Secret(text), place="X")
        assert OLD not in repr(caught.value) + caught.value.todo
        assert caught.value.__cause__ is None


def test_a_ring_may_have_remarks_and_lines():
    text = f"# first seals\nnew:{NEW}\n\nold:{OLD}  # from last year\n"
    assert parse_ring(Secret(text), place="X").ids == ("new", "old")
    assert parse_ring(new_ring_line("k1"), place="X").ids == ("k1",)


@pytest.mark.parametrize(
    ("mode", "works"), [(0o600, True), (0o400, True), (0o640, False), (0o604, False), (0o602, False)]
)
def test_a_secret_file_that_others_can_read_is_refused(tmp_path, mode, works):
    file = tmp_path / "ring"
    file.write_text(OLD_RING)
    file.chmod(mode)
    settings = Settings(secret_file=str(file))
    if works:
        assert settings.ring().ids == ("old",)
        return
    with refused("invalid_input") as caught:
        settings.ring()
    assert "chmod 600" in caught.value.todo


@pytest.mark.parametrize("kind", ["absent", "folder", "binary", "huge"])
def test_a_secret_file_that_is_none_is_refused(tmp_path, kind):
    file = tmp_path / "ring"
    if kind == "folder":
        file.mkdir(mode=0o700)
    elif kind != "absent":
        file.write_bytes(b"\xff\xfe" if kind == "binary" else b"#" * 70_000)
        file.chmod(0o600)
    with refused("invalid_input"):
        Settings(secret_file=str(file)).ring()


def test_nothing_that_holds_a_secret_shows_it_or_is_written_down():
    settings = Settings(secret_keys=Secret(OLD_RING), database="postgresql://me:hush@host/db")
    ring = settings.ring()
    for thing in (settings, ring, Vault(settings.ring), Secret(OLD_RING)):
        assert OLD not in repr(thing) + str(thing) + f"{thing}"
        assert "hush" not in repr(thing)
    assert OLD not in repr(asdict(settings)) + repr(copy.deepcopy(settings.secret_keys))
    for thing in (settings, ring, Secret(KEY)):
        with pytest.raises(TypeError):
            pickle.dumps(thing)
    with pytest.raises(TypeError):
        json.dumps(Secret(KEY))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_environment_wins_over_the_file_and_a_flag_over_both(folder):
    (folder / "cb.toml").write_text(
        'database = "filed.db"\ntest_domains = ["Acme.Example"]\nseparate_duties = true\n'
    )
    environment = {"CAMPAIGNBRIDGE_SETTINGS": "cb.toml"}
    assert from_environment(environment).database == "filed.db"
    assert from_environment(environment).test_domains == {"acme.example"}
    assert from_environment(environment).duties_separated
    environment |= {"CAMPAIGNBRIDGE_DATABASE": "env.db", "CAMPAIGNBRIDGE_SEPARATE_DUTIES": "0"}
    assert from_environment(environment).database == "env.db"
    assert not from_environment(environment).duties_separated
    assert from_environment(environment, database="flag.db").database == "flag.db"


def test_places_in_a_settings_file_are_below_its_folder(tmp_path):
    (tmp_path / "cb.toml").write_text('database = "a.db"\nsecret_file = "/etc/ring"\n')
    settings = from_environment({"CAMPAIGNBRIDGE_SETTINGS": str(tmp_path / "cb.toml")})
    assert (settings.database, settings.secret_file) == (str(tmp_path / "a.db"), "/etc/ring")


def test_an_unknown_setting_is_told_with_the_nearest_known_one(folder):
    (folder / "cb.toml").write_text("seperate_duty = true\n")
    with refused("invalid_input") as caught:
        from_environment({"CAMPAIGNBRIDGE_SETTINGS": "cb.toml"})
    assert "'seperate_duty'" in caught.value.what
    assert "separate_duties" in caught.value.what


@pytest.mark.parametrize(
    "text",
    ["database = 5", 'database = ""', 'separate_duties = "yes"', 'allow_hosts = "a"', "allow_hosts = [1]",
     'database = "postgresql://me:hush@host', "\xff", "a = [", "database = 'x'\ndatabase = 'y'"],
)  # fmt: skip
def test_a_settings_file_that_is_wrong_is_refused_without_its_values(folder, text):
    (folder / "cb.toml").write_bytes(text.encode("latin-1"))
    with refused("invalid_input") as caught:
        from_environment({"CAMPAIGNBRIDGE_SETTINGS": "cb.toml"})
    assert "cb.toml" in caught.value.what
    assert "hush" not in caught.value.what + caught.value.todo


def test_a_settings_file_that_is_named_must_be_there(folder):
    assert from_environment({}).file is None
    with refused("invalid_input"):
        from_environment({"CAMPAIGNBRIDGE_SETTINGS": "absent.toml"})


def test_the_settings_file_that_init_writes_reads_back(folder):
    odd = Settings(database='a "b" \\ \x7f é.db', duties_separated=True, allow_hosts=frozenset({"b", "a"}))
    (folder / "cb.toml").write_text(settings_text(odd, secret_file="ring"), "utf-8")
    read = from_environment({"CAMPAIGNBRIDGE_SETTINGS": "cb.toml"})
    assert (read.database, read.duties_separated, read.allow_hosts) == (odd.database, True, odd.allow_hosts)
    assert (read.secret_file, read.test_domains, read.file_keys) == ("ring", frozenset(), 5)


# canaries

FAULTS = ("drop_before", "accept_then_drop", "accept_then_5xx", "refuse_5xx", "status_429", "bare_403",
          "proxy_page", "garbled", "truncated")  # fmt: skip
CALLS = ("account", "list_campaigns", "create", "inspect", "update", "content", "test", "send")


def told(error: BaseException) -> str:
    """Return all that an error would tell: itself, what it carries, its causes, and the traceback with locals."""
    facts = repr(getattr(error, "facts", {})) + getattr(error, "todo", "")
    whole = traceback.TracebackException.from_exception(error, capture_locals=False)
    return repr(error) + facts + "".join(whole.format())


def play(bridge, errors: list[str], text: str) -> None:
    """Take a campaign from draft to delivery, going on after whatever is refused."""

    def attempt(work):
        try:
            return work()
        except Refusal as error:
            errors.append(told(error))
            return None

    attempt(lambda: bridge.verify_connection("news", actor=DANA))
    attempt(lambda: bridge.replace_key("news", secret=OTHER_KEY, actor=DANA))
    attempt(lambda: bridge.replace_key("news", secret=WRONG_KEY, actor=DANA))
    attempt(lambda: bridge.replace_key("news", secret=KEY, actor=DANA))
    campaign_id = campaign(bridge, text=text)
    _, checked = bridge.submit(campaign_id, actor=DANA)
    bridge.approve(campaign_id, actor=DANA, approved=checked.fingerprint, max_recipients=30_000)
    for key in ("d1", "d2"):
        attempt(lambda key=key: bridge.hand_off(campaign_id, actor=DANA, key=key))
    attempt(lambda: bridge.send_test(campaign_id, actor=DANA, key="t1", addresses=(TESTER,)))
    attempt(lambda: send(bridge, campaign_id))
    attempt(lambda: bridge.reconcile(campaign_id, actor=DANA))
    attempt(lambda: bridge.disconnect("news", actor=DANA))
    bridge.tick()
    errors.append(repr(bridge.timeline(campaign_id, actor=DANA)))
    errors.append(repr(bridge.list_connections(actor=DANA)) + repr(bridge.jobs(actor=DANA)))


@pytest.mark.parametrize("kind", ["none", *FAULTS])
def test_canaries_appear_nowhere_whatever_goes_wrong(place, kind, caplog, monkeypatch, tmp_path):
    monkeypatch.setattr("campaignbridge.flows.gate.DEFAULT_PAUSE_MS", 0)  # the next call doesn't have to wait
    caplog.set_level(logging.DEBUG)
    for name in ("httpcore2", "httpcore2.http11", "httpcore2.connection", "campaignbridge", "psycopg"):
        caplog.set_level(logging.DEBUG, logger=name)
    place.add()
    errors: list[str] = []
    for call in CALLS if kind != "none" else ("none",):
        if kind != "none":
            place.sandbox.faults.add(Fault(call, kind, times=1))
        with place.bridge() as bridge:
            play(bridge, errors, call)
        place.sandbox.faults.clear()
    logging.getLogger("httpcore2.http11").debug("heard")
    heard = caplog.text + "".join(repr(record.__dict__) for record in caplog.records)
    assert len(errors) > 3
    assert "heard" in heard, "what httpcore2 says at debug is listened to"
    tests = {row["status"] for row in place.home.rows("SELECT status FROM attempts WHERE operation = 'test'")}
    assert "succeeded" in tests, "the test address was on the wire"
    assert is_silent(heard, *errors)
    assert not [address for address in (SENDER, TESTER) if address in heard + "".join(errors)]
    dumped = place.home.everything()
    assert is_silent(dumped)
    assert TESTER not in dumped
    assert SENDER in dumped, "the frozen content holds its sender, by design"
    assert SENDER not in outside_of_content(place.home)
    if place.home.dialect == "sqlite":
        files = b"".join(path.read_bytes() for path in Path(place.home.where).parent.glob("store.db*"))
        assert is_silent(files.decode("latin-1"))
        assert TESTER.encode() not in files


def outside_of_content(home) -> str:
    """Return what the store holds, but for the content itself."""
    names = (
        "installation connections campaigns attempts remote_campaigns content_claims audit_events locks jobs"
    )
    return repr([home.rows(f"SELECT * FROM {name}") for name in names.split()])


def test_a_canary_would_be_noticed():
    assert not is_silent(f"x{KEY}y")
    assert not is_silent(base64.b64encode(f"campaignbridge:{KEY}".encode()).decode())
    assert not is_silent(f"ring {OLD}")
    assert is_silent("nothing")


def test_an_empty_ring_says_nothing_is_newest():
    vault = Vault(lambda: KeyRing({}))
    assert not vault.is_newest(Sealed("old", "x", "i1"))
    with pytest.raises(InvalidInput):
        vault.seal(Secret(KEY), installation="i", connection_id="c", provider="p", base_url=None)
