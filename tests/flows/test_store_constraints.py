"""What the schema itself makes impossible, whatever a program does."""

import itertools
import sqlite3

import psycopg
import pytest

from campaignbridge.domain.campaign import State
from campaignbridge.domain.ledger import Attempt, Operation, Status
from support.stores import seed_campaign

pytest_plugins = ["support.stores"]

REFUSED = (sqlite3.IntegrityError, psycopg.Error)
MOVING = {"scheduled", "sending", "unknown"}


@pytest.fixture
def campaign(home):
    return seed_campaign(home)


def attempt(attempt_id="att_1", *, key="k1", operation=Operation.SEND, campaign="cmp_a"):
    return Attempt(
        id=attempt_id,
        campaign_id=campaign,
        operation=operation,
        key=key,
        request_hash="h",
        status=Status.PENDING,
        retryable=False,
        account="acc_1",
        generation=1,
        remote_id=None,
        from_state=State.PROVIDER_DRAFT,
        deadline_at=0,
        actor="cli:dana",
        created_at=0,
        answered_at=None,
        settled_at=None,
        error_code=None,
    )


def insert(store, one):
    with store.unit() as unit:
        return unit.ledger.insert(one, deadline_ms=30_000)


def settle(store, status, attempt_id="att_1", **facts):
    with store.unit() as unit:
        return unit.ledger.settle(attempt_id, status, answered=True, **facts)


def test_a_state_that_moves_by_itself_always_has_an_owner(home, campaign):
    """Every combination of state, open attempt, next look and reason: refused exactly when nobody would act."""
    connection = home.open()
    wrong = []
    combinations = itertools.product(State, (None, "att_1"), (None, 1_000), (None, "credential_refused"))
    for state, open_attempt, look_at, stopped in combinations:
        owned = look_at is not None or stopped is not None or (state not in MOVING and open_attempt is None)
        sound = owned and not (look_at and stopped) and (state != "unknown" or open_attempt is not None)
        values = (state.value, open_attempt, look_at, stopped)
        text = (
            "UPDATE campaigns SET approved_fingerprint = 'f', state = ?, open_attempt = ?, look_at = ?, "
            "stopped_reason = ?"
        )
        try:
            with connection.transaction() as tx:
                tx._connection.execute(text if home.dialect == "sqlite" else text.replace("?", "%s"), values)
            allowed = True
        except REFUSED:
            allowed = False
        if allowed is not sound:
            wrong.append((values, allowed))
    assert wrong == []


@pytest.mark.parametrize("state", ["approved", "provider_draft", "scheduled", "sending", "sent", "unknown"])
def test_nothing_past_approval_is_without_the_fingerprint_that_was_approved(home, campaign, state):
    with pytest.raises(REFUSED):
        home.rows("UPDATE campaigns SET state = ?, open_attempt = 'att_1', look_at = 1", state)


def test_a_state_that_nobody_knows_is_refused(home, campaign):
    with pytest.raises(REFUSED):
        home.rows("UPDATE campaigns SET state = 'posted'")


@pytest.mark.parametrize("status", ["pending", "unknown"])
def test_a_campaign_never_has_two_unresolved_attempts(home, store, campaign, status):
    assert insert(store, attempt()) is not None
    if status == "unknown":
        assert settle(store, Status.UNKNOWN)
    assert insert(store, attempt("att_2", key="k2", operation=Operation.CREATE)) is None
    with pytest.raises(REFUSED):
        home.rows(
            "INSERT INTO attempts (id, campaign_id, operation, key, request_hash, status, account, generation, "
            "from_state, deadline_at, created_at) VALUES ('att_3', 'cmp_a', 'send', 'k3', 'h', 'unknown', 'a', 1, "
            "'provider_draft', 1, 1)"
        )
    assert [row["id"] for row in home.rows("SELECT id FROM attempts")] == ["att_1"]


def test_without_the_index_a_campaign_has_two_unresolved_attempts(home, store, campaign):
    home.rows("DROP INDEX attempts_one_unresolved")
    assert insert(store, attempt()) is not None
    assert insert(store, attempt("att_2", key="k2")) is not None


def test_another_campaigns_attempt_or_a_settled_one_stands_in_nobodys_way(home, store, campaign):
    seed_campaign(home, "cmp_b")
    assert insert(store, attempt()) is not None
    assert insert(store, attempt("att_2", campaign="cmp_b")) is not None
    assert settle(store, Status.FAILED, error_code="http_400")
    assert insert(store, attempt("att_3", key="k3")) is not None


def test_one_key_names_one_request_of_an_operation(store, campaign):
    assert insert(store, attempt()) is not None
    assert settle(store, Status.FAILED)
    assert insert(store, attempt("att_2")) is None
    assert insert(store, attempt("att_3", operation=Operation.CREATE)) is not None


@pytest.mark.parametrize("status", [Status.SUCCEEDED, Status.FAILED])
def test_a_settled_attempt_never_changes(home, store, campaign, status):
    insert(store, attempt())
    assert settle(store, status)
    before = home.rows("SELECT * FROM attempts")
    for other in Status:
        assert not settle(store, other, error_code="late")
    for change in ("status = 'unknown'", "error_code = 'x'", "remote_id = 'r'"):
        with pytest.raises(REFUSED):
            home.rows(f"UPDATE attempts SET {change}")
    assert home.rows("SELECT * FROM attempts") == before


def test_a_settled_attempt_is_kept_by_its_statement_and_by_a_trigger_each_for_itself(home, store, campaign):
    insert(store, attempt())
    settle(store, Status.FAILED)
    mutant = home.mutant("attempts.settle", "AND status IN ('pending', 'unknown')")
    with pytest.raises(REFUSED):
        settle(mutant, Status.SUCCEEDED)
    on = " ON attempts" if home.dialect == "postgres" else ""
    home.rows(f"DROP TRIGGER attempts_settle_once{on}")
    assert not settle(store, Status.SUCCEEDED)
    assert settle(mutant, Status.SUCCEEDED), "without both, a failure turns into a success"


def test_an_unknown_attempt_takes_its_answer_later(home, store, campaign):
    insert(store, attempt())
    assert settle(store, Status.UNKNOWN)
    assert settle(store, Status.SUCCEEDED, remote_id="r1")
    (row,) = home.rows("SELECT status, remote_id FROM attempts")
    assert row == {"status": "succeeded", "remote_id": "r1"}


@pytest.mark.parametrize("column", ["html", "text", "subject", "fingerprint", "from_email"])
def test_a_snapshot_is_insert_only(home, campaign, column):
    before = home.rows("SELECT * FROM snapshots")
    with pytest.raises(REFUSED):
        home.rows(f"UPDATE snapshots SET {column} = 'other'")
    with pytest.raises(REFUSED):
        home.rows(
            "INSERT INTO snapshots (campaign_id, revision, subject, preview_text, from_name, from_email, reply_to, "
            "html, text, fingerprint, created_at, created_by) "
            "VALUES ('cmp_a', 1, 's', '', 'n', 'f', 'f', 'h', '', 'x', 1, 'me')"
        )
    assert home.rows("SELECT * FROM snapshots") == before


def test_a_campaign_of_a_connection_that_does_not_exist_is_refused(home, store, campaign):
    with pytest.raises(REFUSED), store.unit() as unit:
        unit._tx.run("remotes.begin", campaign_id="cmp_none", generation=1, account="acc_1")


@pytest.mark.parametrize(
    "change",
    ["state = 'claimed'", "lease_until = 5", "max_attempts = 0", "max_attempts = 51", "state = 'lost'"],
)
def test_a_job_is_claimed_exactly_while_it_has_a_lease(home, store, change):
    home.rows(
        "INSERT INTO jobs (id, type, target, payload, state, max_attempts, run_at, created_at, updated_at) "
        "VALUES ('job_1', 'work', 't', '{}', 'queued', 5, 1, 1, 1)"
    )
    with pytest.raises(REFUSED):
        home.rows(f"UPDATE jobs SET {change}")
