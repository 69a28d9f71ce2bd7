"""The sandbox's Resend side: what it does with each call, under each fault, and in each undocumented variant."""

import json
from datetime import UTC, datetime

import pytest

from campaignbridge.sandbox import Delivery, Fault, Request, Sandbox
from campaignbridge.sandbox.faults import BREAKS, QUIRKS
from campaignbridge.sandbox.resend.api import OPERATIONS
from unit.test_sandbox import START_MS
from unit.test_sandbox_variants import APPLYING

NOBODY = "00000000-0000-4000-8000-000000000000"


class Esp:
    """A sandbox with a hand-turned clock, asked as Resend."""

    def __init__(self, **behaviour):
        self.now_ms = START_MS
        self.sandbox = Sandbox(lambda: self.now_ms, 7)
        self.sandbox.world.behave(**behaviour)
        self.truth = self.sandbox.truth
        self.segment = self.sandbox.segment
        self.last = None

    def raw(self, method, path, body=None, key=None):
        target, _, query = path.partition("?")
        pairs = dict(part.split("=") for part in query.split("&") if part)
        request = Request(
            method,
            target,
            pairs,
            {"authorization": f"Bearer {key or self.sandbox.resend_key}"},
            b"" if body is None else json.dumps(body).encode(),
        )
        return self.sandbox.handle(request)

    def ask(self, method, path, body=None, status=200):
        response, _ = self.raw(method, path, body)
        assert response.status == status, response.body
        return json.loads(response.body)

    def draft(self, name="News [cb-1.g1]", **more):
        body = {
            "name": name,
            "segment_id": self.segment,
            "from": "A <a@acme.example>",
            "subject": "x",
            "html": "<p>",
        }
        return self.ask("POST", "/broadcasts", {**body, **more}, 201)["id"]

    def status(self, broadcast):
        return self.ask("GET", f"/broadcasts/{broadcast}")["status"]

    def sent(self):
        made = self.draft()
        self.ask("POST", f"/broadcasts/{made}/send", {})
        self.now_ms += 60_000
        return made


def calls(esp):
    """One call for each operation, made ready to succeed."""
    draft, other = esp.draft(), esp.draft("other")
    later = esp.draft("later")
    esp.ask("POST", f"/broadcasts/{later}/send", {"scheduled_at": "2090-01-01T00:00:00Z"})
    going = esp.draft("going")
    esp.ask("POST", f"/broadcasts/{going}/send", {})
    wave = esp.ask("POST", "/segments", {"name": "w"}, 201)["id"]
    person = "/contacts/person1@example.invalid"
    esp.ask("POST", f"{person}/segments/{wave}")
    hook = esp.ask("POST", "/webhooks", {"endpoint": "http://127.0.0.1:9/x", "events": ["email.sent"]}, 201)[
        "id"
    ]
    body = {"name": "n", "segment_id": esp.segment, "from": "a@acme.example", "subject": "x"}
    mail = {"from": "a@acme.example", "to": ["b@acme.example"], "subject": "x", "html": "y"}
    return {
        "list_campaigns": ("GET", "/broadcasts", None),
        "create": ("POST", "/broadcasts", body),
        "inspect": ("GET", f"/broadcasts/{draft}", None),
        "update": ("PATCH", f"/broadcasts/{draft}", {"subject": "y"}),
        "delete": ("DELETE", f"/broadcasts/{other}", None),
        "send": ("POST", f"/broadcasts/{draft}/send", {}),
        "schedule": ("POST", f"/broadcasts/{draft}/send", {"scheduled_at": "2090-01-01T00:00:00Z"}),
        "unschedule": ("POST", f"/broadcasts/{later}/cancel", None),
        "cancel": ("POST", f"/broadcasts/{going}/cancel", None),
        "replicate": ("POST", f"/broadcasts/{draft}/duplicate", None),
        "recipients": ("GET", f"/broadcasts/{going}/recipients?type=sent", None),
        "segments": ("GET", "/segments", None),
        "create_segment": ("POST", "/segments", {"name": "v"}),
        "segment": ("GET", f"/segments/{wave}", None),
        "delete_segment": ("DELETE", f"/segments/{wave}", None),
        "segment_members": ("GET", f"/contacts?segment_id={wave}", None),
        "add_member": ("POST", "/contacts", {"email": "new@x.example"}),
        "member": ("GET", person, None),
        "update_member": ("PATCH", person, {"first_name": "A"}),
        "archive_member": ("DELETE", person, None),
        "member_segments": ("GET", f"{person}/segments", None),
        "add_segment_member": ("POST", f"/contacts/person2@example.invalid/segments/{wave}", None),
        "remove_segment_member": ("DELETE", f"{person}/segments/{wave}", None),
        "account": ("GET", "/domains", None),
        "verified_domain": ("GET", f"/domains/{esp.sandbox.team.domain_ids[0]}", None),
        "merge_fields": ("GET", "/contact-properties", None),
        "add_field": ("POST", "/contact-properties", {"key": "k", "type": "string"}),
        "test": ("POST", "/emails", mail),
        "report": ("GET", f"/emails/metrics?broadcast_id={going}&dimensions=broadcast", None),
        "webhooks": ("GET", "/webhooks", None),
        "add_webhook": ("POST", "/webhooks", {"endpoint": "http://127.0.0.1:9/y", "events": ["email.sent"]}),
        "webhook_info": ("GET", f"/webhooks/{hook}", None),
        "delete_webhook": ("DELETE", f"/webhooks/{hook}", None),
    }


def play(operation, *kinds):
    esp = Esp(sending_ms=60_000)
    call = calls(esp)[operation]
    esp.now_ms += 1_000
    for kind in kinds:
        esp.sandbox.faults.add(Fault(operation, kind, ms=500))
    before = len(esp.truth.events())
    response, effect = esp.raw(*call)
    [*_, seen] = esp.truth.requests()
    assert (seen.operation, seen.fault) == (operation, "+".join(kinds))
    return response, effect, [event.kind for event in esp.truth.events()[before:]], esp


def test_the_list_of_calls_names_every_operation():
    assert set(calls(Esp())) == OPERATIONS


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_every_fault_can_be_ordered_for_every_operation(operation):
    plain, _, events, _ = play(operation)
    assert plain.status in (200, 201)
    for kind in sorted(BREAKS):
        _, _, made, esp = play(operation, kind)
        assert made == (events if kind in APPLYING else []), kind
        if kind == "apply_late":
            before = len(esp.truth.events())
            esp.now_ms += 1_000
            esp.sandbox.settle()
            assert [event.kind for event in esp.truth.events()[before:]] == events
    for kind in sorted(QUIRKS):
        response, effect, _, _ = play(operation, kind)
        assert (response.status, effect.delivery) in {
            (status, Delivery.DELIVER) for status in (200, 201, 403, 404)
        }, kind


@pytest.mark.parametrize(
    ("variant", "status", "sends"), [("refused", 403, 1), ("accepted_again", 200, 2), ("silent_204", 200, 1)]
)
def test_a_repeated_send_is_refused_mailed_again_or_silently_taken(variant, status, sends):
    esp = Esp(repeated_send=variant)
    made = esp.sent()
    esp.ask("POST", f"/broadcasts/{made}/send", {}, status)
    assert esp.truth.sends_accepted(made) == sends
    assert esp.truth.duplicates() == sends - 1


@pytest.mark.parametrize("state", ["scheduled", "queued", "sent"])
@pytest.mark.parametrize(("variant", "status"), [("refused", 403), ("accepted", 200)])
def test_deleting_what_is_no_draft_is_refused_or_taken_and_what_is_under_way_goes_on(state, variant, status):
    esp = Esp(delete_undraft=variant, sending_ms=10_000)
    made = esp.draft()
    moment = datetime.fromtimestamp(START_MS / 1000 + 3_600, UTC).isoformat()
    body = {"scheduled_at": moment} if state == "scheduled" else {}
    esp.ask("POST", f"/broadcasts/{made}/send", body)
    esp.now_ms += {"scheduled": 0, "queued": 5_000, "sent": 60_000}[state]
    esp.ask("DELETE", f"/broadcasts/{made}", None, status)
    esp.now_ms += 24 * 3_600_000
    esp.sandbox.settle()
    stays = state != "scheduled" or variant == "refused"
    assert esp.truth.mailed(made) == (1 if stays else 0)
    if stays and variant == "accepted":
        assert len(esp.ask("GET", f"/broadcasts/{made}/recipients?type=sent")["data"]) == 20


@pytest.mark.parametrize(("variant", "status"), [("refused", 404), ("accepted", 200)])
def test_deleting_a_broadcast_that_is_not_there_is_missing_or_taken(variant, status):
    esp = Esp(delete_missing=variant)
    esp.ask("DELETE", f"/broadcasts/{NOBODY}", None, status)


def test_cancelling_brings_a_scheduled_one_back_to_draft_and_stops_a_queued_one():
    esp = Esp(sending_ms=10_000)
    made = esp.draft()
    esp.ask("POST", f"/broadcasts/{made}/cancel", None, 403)
    esp.ask("POST", f"/broadcasts/{made}/send", {"scheduled_at": "2090-01-01T00:00:00Z"})
    esp.ask("POST", f"/broadcasts/{made}/cancel")
    assert esp.status(made) == "draft"
    esp.ask("POST", f"/broadcasts/{made}/send", {})
    assert esp.status(made) == "queued"
    esp.now_ms += 5_000
    esp.ask("POST", f"/broadcasts/{made}/cancel")
    esp.now_ms += 5_000
    assert esp.status(made) == "canceled"
    assert [event.recipients for event in esp.truth.events("mailed")] == [120]


@pytest.mark.parametrize(
    ("variant", "status", "back"),
    [("silent", 201, False), ("refused", 422, False), ("resubscribes", 201, True)],
)
def test_a_contact_that_is_known_is_left_refused_or_subscribed_again(variant, status, back):
    esp = Esp(repeated_contact=variant)
    esp.ask("PATCH", "/contacts/person1@example.invalid", {"unsubscribed": True})
    esp.ask("POST", "/contacts", {"email": "Person1@example.invalid"}, status)
    assert esp.ask("GET", "/contacts/person1@example.invalid")["unsubscribed"] is not back


def test_calls_beyond_the_rate_are_refused_until_the_next_second():
    esp = Esp(calls_per_s=2)
    for status in (200, 200, 429):
        response, _ = esp.raw("GET", "/domains")
        assert response.status == status
    assert response.headers["retry-after"] == "1"
    assert json.loads(response.body)["name"] == "rate_limit_exceeded"
    esp.now_ms += 1_000
    assert esp.raw("GET", "/domains")[0].headers["ratelimit-remaining"] == "1"


def test_send_on_create_really_mails_which_is_why_no_client_of_ours_asks_for_it():
    esp = Esp()
    made = esp.draft(send=True)
    assert esp.truth.sends_accepted(made) == 1


def test_each_side_refuses_the_others_keys():
    esp = Esp()
    assert esp.raw("GET", "/domains", key=esp.sandbox.key)[0].status == 401
    request = Request("GET", "/3.0/lists", headers={"authorization": f"Bearer {esp.sandbox.resend_key}"})
    assert esp.sandbox.handle(request)[0].status == 401
    plain = Request("GET", "/3.0/lists", headers={"authorization": f"Bearer {esp.sandbox.key}"})
    assert len(json.loads(esp.sandbox.handle(plain)[0].body)["lists"]) == 1


def test_a_reset_leaves_one_segment_with_everybody():
    esp = Esp()
    esp.sent()
    esp.ask("POST", "/segments", {"name": "w"}, 201)
    esp.sandbox.reset()
    [segment] = esp.ask("GET", "/segments")["data"]
    assert segment["id"] == esp.segment
    assert esp.ask("GET", f"/contacts?segment_id={esp.segment}&limit=100")["has_more"]
    assert esp.ask("GET", "/broadcasts")["data"] == []


def test_no_key_and_no_address_stands_in_the_truth_log():
    esp = Esp()
    esp.sent()
    esp.ask("GET", "/contacts/person1@example.invalid")
    text = esp.truth.to_json()
    assert "person1@" not in text
    assert esp.sandbox.resend_key not in text
