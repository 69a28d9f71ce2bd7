"""`--json`: one document on one line of stdout, for success and error, and nothing on stderr."""

import pytest

from campaignbridge.cli.exits import ENDINGS
from cli.program import AUDIENCE, PEOPLE, campaign

READING = [
    ("campaigns", "list"),
    ("campaigns", "show", "ID"),
    ("campaigns", "timeline", "ID"),
    ("campaigns", "preflight", "ID"),
    ("campaigns", "preview", "ID"),
    ("campaigns", "show", "ID", "--check"),
    ("connections", "list"),
    ("connections", "verify", "news"),
    ("jobs", "list"),
    ("locks", "list"),
    ("db", "current"),
    ("db", "check"),
    ("db", "upgrade"),
    ("tick",),
    ("version",),
    ("help", "locked"),
    ("help",),
]
REFUSED = {
    ("campaigns", "show", "cmp_nope"): ("not_found", 3),
    ("campaigns", "create"): ("usage", 2),
    ("campaigns", "approve", "cmp_nope", "--fingerprint", "x", "--max-recipients", "0"): ("invalid_input", 3),
    ("campaigns", "revoke", "ID"): ("invalid_state", 3),
    ("campaigns", "draft", "ID"): ("invalid_state", 3),
    ("campaigns", "send", "ID"): ("invalid_state", 3),
    ("campaigns", "reconcile", "ID"): ("invalid_state", 3),
    ("campaigns", "unschedule", "ID"): ("invalid_state", 3),
    ("campaigns", "withdraw", "ID"): ("invalid_state", 3),
    ("campaigns", "test", "ID", "--to", "nobody"): ("invalid_input", 3),
    ("campaigns", "test", "ID"): ("usage", 2),
    ("campaigns", "schedule", "ID", "--at", "noon"): ("invalid_input", 3),
    ("campaigns", "resolve", "ID", "--as", "sent", "--evidence", "x"): ("invalid_state", 3),
    ("campaigns", "resolve", "ID", "--as", "maybe", "--evidence", "x"): ("usage", 2),
    ("campaigns", "acknowledge", "ID", "--reason", "x"): ("invalid_state", 3),
    ("campaigns", "list", "--limit", "many"): ("usage", 2),
    ("events", "list"): ("usage", 2),
    ("events", "list", "--campaign", "ID"): ("invalid_state", 3),
    ("connections", "add", "con_x", "--provider", "mailchimp", "--key-env", "X"): ("invalid_input", 3),
    ("connections", "add", "x", "--provider", "nobody", "--key-env", "SANDBOX_KEY"): ("invalid_input", 3),
    ("db", "downgrade", "--to", "0"): ("confirmation_required", 2),
    ("nonsense",): ("usage", 2),
    ("help", "nonsense"): ("not_found", 3),
    (): ("usage", 2),
}


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_every_reading_command_prints_one_document(connected, arguments):
    campaign_id = campaign(connected)
    done = connected.run(*(campaign_id if part == "ID" else part for part in arguments), "--json")
    assert done.code == 0
    assert isinstance(done.document, dict)
    assert "\x1b" not in done.out


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_every_error_is_one_problem_document(connected, arguments):
    code, exit_code = REFUSED[arguments]
    campaign_id = campaign(connected)
    done = connected.run("--json", *(campaign_id if part == "ID" else part for part in arguments))
    problem = done.document
    assert done.code == exit_code == ENDINGS[code].exit
    assert problem["code"] == code
    assert problem["type"] == f"/help/{code}"
    assert problem["status"] == ENDINGS[code].status
    assert problem["title"]
    assert problem["detail"]
    assert isinstance(problem["safe_to_repeat"], bool)


def test_every_changing_command_prints_one_document(connected):
    created = connected.run(*connected.creating(), "--json").document
    campaign_id = created["campaign"]
    submitted = connected.run("campaigns", "submit", campaign_id, "--json").document
    approving = ("--fingerprint", submitted["fingerprint"], "--max-recipients", "30000")
    approved = connected.run("campaigns", "approve", campaign_id, *approving, "--json").document
    drafted = connected.run("campaigns", "draft", campaign_id, "--json").document
    confirming = ("--confirm-recipients", str(PEOPLE), "--confirm-audience", AUDIENCE)
    sent = connected.run("campaigns", "send", campaign_id, *confirming, "--json").document
    looked = connected.run("campaigns", "reconcile", campaign_id, "--json").document
    states = [one["state"] for one in (created, submitted, approved, drafted, sent)]
    assert states == ["draft", "ready_for_review", "approved", "provider_draft", "sending"]
    assert (
        created["version"] < submitted["version"] < approved["version"] < drafted["version"] < sent["version"]
    )
    assert sent["key"].startswith("k_")
    assert looked["news"] in ("same", "followed")


def test_the_flags_may_stand_anywhere(connected):
    other = str(connected.folder / "other.db")
    first = connected.run("--database", other, "campaigns", "--json", "list").document
    last = connected.run("campaigns", "list", "--json", CAMPAIGNBRIDGE_DATABASE=other).document
    assert first == last == {"campaigns": [], "next_cursor": None}


def test_json_can_be_chosen_by_the_environment(program):
    assert program.run("version", CAMPAIGNBRIDGE_JSON="1").document["version"]
    assert program.run("nonsense", CAMPAIGNBRIDGE_JSON="1").document["code"] == "usage"


def test_a_job_is_shown_and_not_queued_again_while_it_waits(connected):
    campaign(connected, "sending")
    job = connected.run("jobs", "list", "--json").document["jobs"][0]
    assert connected.run("jobs", "show", job["id"], "--json").document["type"] == "watch_campaign"
    refused = connected.run("jobs", "requeue", job["id"], "--json")
    assert (refused.code, refused.document["code"]) == (3, "invalid_state")
