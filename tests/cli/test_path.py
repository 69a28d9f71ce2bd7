"""The whole way, by the command line alone."""

import json
import time

from campaignbridge.sandbox import Fault
from cli.program import AUDIENCE, KEY_ENV, PEOPLE, campaign

CONFIRMED = ("--confirm-recipients", str(PEOPLE), "--confirm-audience", AUDIENCE)


def await_mailed(server):
    until = time.monotonic() + 10
    while not server.sandbox.truth.mailed():
        server.sandbox.settle()
        assert time.monotonic() < until


def test_a_campaign_goes_from_a_file_to_a_settled_delivery(program, server):
    program.extra[KEY_ENV] = server.sandbox.key
    program.letter()
    adding = ("connections", "add", "news", "--provider", "mailchimp", "--key-env", KEY_ENV)
    assert "ok news opens Sandbox account" in program.run(*adding, "--base-url", server.url).words
    assert program.run("connections", "verify", "news").code == 0
    created = program.run(*program.creating(subject="Winter 🎄 news"), "--json").document
    campaign_id = created["campaign"]
    submitted = program.run("campaigns", "submit", campaign_id)
    assert created["fingerprint"] in submitted.out
    assert f"campaignbridge campaigns approve {campaign_id} \\ --max-recipients {PEOPLE}" in submitted.words
    approving = ("--fingerprint", created["fingerprint"], "--max-recipients", str(PEOPLE))
    assert "for 24,318 people at most" in program.run("campaigns", "approve", campaign_id, *approving).out
    assert "Its draft stands at Mailchimp" in program.run("campaigns", "draft", campaign_id).out
    sent = program.run_anew("campaigns", "send", campaign_id, *CONFIRMED)
    assert sent.code == 0
    assert sent.err.startswith("key   k_")
    assert "Mailchimp accepted the send at" in sent.out
    assert "Accepted is not yet sent: we watch it, next look at" in sent.err
    await_mailed(server)
    assert "It is: Sent." in program.run("campaigns", "reconcile", campaign_id).out
    shown = program.run("campaigns", "show", campaign_id).out
    assert "ok SENT" in shown
    assert "Winter 🎄 news" in shown
    told = program.run("campaigns", "timeline", campaign_id).out
    for words in (
        "Created",
        "Handed in for review",
        "Approved",
        "Draft accepted by Mailchimp",
        "Send requested",
    ):
        assert words in told
    assert "Checked with Mailchimp: Mailchimp says sent" in told
    assert server.sandbox.truth.sends_accepted() == 1


def test_a_send_without_an_answer_is_not_confirmed_and_refuses_a_second_one(connected, server):
    campaign_id = campaign(connected, "provider_draft")
    server.sandbox.faults.add(Fault("send", "accept_then_drop"))
    first = connected.run("campaigns", "send", campaign_id, *CONFIRMED)
    assert first.code == 5
    assert first.err.splitlines()[1].startswith("?     Not confirmed.")
    assert first.err.splitlines()[-1].strip() == f"campaignbridge campaigns show {campaign_id} --watch"
    second = connected.run("campaigns", "send", campaign_id, *CONFIRMED, "--json")
    assert second.code == 5
    assert second.document["code"] == "reconciliation_required"
    assert second.document["safe_to_repeat"] is False
    shown = connected.run("campaigns", "show", campaign_id).out
    assert "? NOT CONFIRMED   since" in shown
    assert "Reading never sends." in shown
    assert "Help    campaignbridge help send_unconfirmed" in shown
    assert connected.run("campaigns", "reconcile", campaign_id, "--json").document["news"] == "settled"
    assert server.sandbox.truth.sends_accepted() == 1


def test_a_key_that_is_repeated_is_answered_without_asking_again(connected, server):
    campaign_id = campaign(connected, "provider_draft")
    sending = ("campaigns", "send", campaign_id, *CONFIRMED, "--key", "k_once", "--json")
    assert connected.run(*sending).document["replay"] is False
    seen = len(server.sandbox.truth.requests())
    repeated = connected.run(*sending)
    assert repeated.code == 0
    assert repeated.document["replay"] is True
    assert repeated.document["key"] == "k_once"
    assert len(server.sandbox.truth.requests()) == seen


def test_watching_ends_with_the_exit_code_of_the_settled_state(connected, server):
    campaign_id = campaign(connected, "sending")
    still = connected.run("campaigns", "show", campaign_id, "--watch", "--for", "0", "--json")
    assert still.code == 4
    assert still.document["state"] == "sending"
    await_mailed(server)
    watching = connected.start("campaigns", "show", campaign_id, "--watch", "--json", stdout=-1)
    first = json.loads(watching.stdout.readline())
    assert first["state"] == "sending"
    connected.run("campaigns", "reconcile", campaign_id)
    rest, _ = watching.communicate(timeout=30)
    assert watching.returncode == 0
    assert json.loads(rest.splitlines()[-1])["state"] == "sent"


def test_an_approval_that_was_taken_back_can_be_given_again(connected):
    campaign_id = campaign(connected, "approved")
    assert connected.run("campaigns", "revoke", campaign_id, "--json").document["state"] == "ready_for_review"
    shown = connected.run("campaigns", "show", campaign_id).out
    assert "IN REVIEW" in shown
    assert "Waits for somebody who may approve." in shown


def test_a_refused_approval_says_that_the_fingerprint_is_another(connected):
    campaign_id = campaign(connected, "ready_for_review")
    refused = connected.run(
        "campaigns", "approve", campaign_id, "--fingerprint", "sha256:00", "--max-recipients", "5", "--json"
    )
    assert refused.code == 3
    assert refused.document["code"] == "approval_not_allowed"


def test_a_send_in_another_process_is_refused_as_locked(connected, server):
    campaign_id = campaign(connected, "provider_draft")
    server.sandbox.faults.add(Fault("send", "accept_then_withhold"))
    first = connected.start("campaigns", "send", campaign_id, *CONFIRMED, stdout=-1, stderr=-1)
    until = time.monotonic() + 20
    while not server.sandbox.truth.sends_accepted():
        assert time.monotonic() < until
    second = connected.run("campaigns", "send", campaign_id, *CONFIRMED, "--json")
    assert second.code == 4
    assert second.document["code"] == "locked"
    assert second.document["retry_after"] > 0
    assert "send" in connected.run("locks", "list").out
    server.release()
    first.communicate(timeout=30)
    assert first.returncode == 5
    assert server.sandbox.truth.sends_accepted() == 1
