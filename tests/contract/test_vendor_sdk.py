"""Mailchimp's own Python SDK drives the sandbox; every answer that it got is held against the vendor's document.

The SDK is an independent client: it knows nothing of us. The document is read in place, never copied.
"""

import contextlib
import hashlib
import re
import socket
from collections import Counter
from urllib.parse import urlsplit

import jsonschema
import pytest
from mailchimp_marketing import Client
from mailchimp_marketing.api_client import ApiClientError

from campaignbridge.sandbox import Fault, Sandbox, SandboxServer
from unit.test_sandbox import HTML, MINUTE_MS, START_MS
from unit.test_sandbox_shapes import CHECKER, closed, spec

__all__ = ["spec"]  # a fixture

LIST = "a1b2c3"
NOT_IN_THE_SUBSET = {"/verified-domains", "/verified-domains/sandbox.example"}
FEWER_FIELDS = (
    "/actions/replicate",
    "/actions/create-resend",
)  # their schema lacks recipients.list_is_active


class Sdk:
    """The SDK on a sandbox with a hand-turned clock, and every answer that it received."""

    def __init__(self, server, time):
        self.sandbox, self.server, self._time = server.sandbox, server, time
        self.client = self.connect(server.sandbox.key)
        self.answers = []

    def connect(self, key, timeout=20):
        client = Client({"api_key": key, "server": "us1", "timeout": timeout})
        client.api_client.host = self.server.url
        send = client.api_client.request

        def recorded(method, url, *args, **kwargs):
            answer = send(method, url, *args, **kwargs)
            body = answer.json() if answer.content and "json" in answer.headers["Content-Type"] else None
            path = urlsplit(url).path.removeprefix("/3.0") or "/"
            self.answers.append((method.lower(), path, answer.status_code, body))
            return answer

        client.api_client.request = recorded
        return client

    def wait(self, ms):
        self._time[0] += ms
        self.sandbox.settle()

    def draft(self, title="Spring [cb-spring.g1]", **recipients):
        made = self.client.campaigns.create(
            {
                "type": "regular",
                "recipients": {"list_id": LIST, **recipients},
                "settings": {
                    "title": title,
                    "subject_line": "Hello",
                    "from_name": "Shop",
                    "reply_to": "news@sandbox.example",
                },
            }
        )
        self.client.campaigns.set_content(made["id"], {"html": HTML})
        return made["id"]

    def refused(self, call, *args, **kwargs):
        """Return status and body of what the SDK raises."""
        with pytest.raises(ApiClientError) as caught:
            call(*args, **kwargs)
        return caught.value.status_code, caught.value.text


@pytest.fixture
def sdk():
    time = [START_MS]
    with SandboxServer(Sandbox(lambda: time[0], 7)) as server:
        yield Sdk(server, time)


def template(document, path):
    """Return the document's name for a path, the one with the fewest placeholders; None if it has none."""
    fitting = [name for name in document["paths"] if re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", name), path)]
    return min(fitting, key=lambda name: name.count("{"), default=None)


def validated(document, answers):
    """Hold every answer against its schema, closed, and count them by operation."""
    counts = Counter()
    for method, path, status, body in answers:
        name = template(document, path)
        if name is None:
            assert path in NOT_IN_THE_SUBSET, path
            continue
        known = document["paths"][name][method]["responses"]
        if status == 204:
            assert "204" in known, (method, path)
            assert body is None
        elif status < 300:
            if name.endswith(FEWER_FIELDS):
                del body["recipients"]["list_is_active"]
            check(known["200"]["schema"], body, f"{method} {path}")
        else:
            check(known["default"]["schema"], body, f"{method} {path}", strict=False)  # it lacks `errors`
            assert body["status"] == status
        counts[f"{method} {name}", status] += 1
    return counts


def check(schema, body, where, *, strict=True):
    schema = closed(schema) if strict else schema
    errors = list(jsonschema.Draft4Validator(schema, format_checker=CHECKER).iter_errors(body))
    assert not errors, (where, [(list(error.absolute_path), error.message[:200]) for error in errors])


def drive_account_and_people(sdk):
    """Account, lists, members and segments: what comes before a campaign."""
    client = sdk.client
    assert client.ping.get()["health_status"] == "Everything's Chimpy!"
    assert client.root.get_root()["total_subscribers"] == 24_318
    assert [item["domain"] for item in client.verifiedDomains.get_verified_domains_all()["domains"]]
    assert client.verifiedDomains.get_domain("sandbox.example")["verified"] is True
    assert client.lists.get_all_lists()["total_items"] == 1
    client.lists.get_list(LIST)
    client.lists.get_list_merge_fields(LIST)
    uploaded = client.lists.batch_list_members(
        LIST,
        {
            "members": [
                {"email_address": "ann@people.example", "status": "subscribed"},
                {"email_address": "bob@people.example", "status": "subscribed"},
                {"email_address": "person1@example.invalid", "status": "subscribed"},
                {"email_address": "nobody", "status": "subscribed"},
            ]
        },
    )
    assert (uploaded["total_created"], uploaded["error_count"]) == (2, 2)
    again = {"members": [{"email_address": "ann@people.example", "merge_fields": {"FNAME": "Ann"}}]}
    assert client.lists.batch_list_members(LIST, {**again, "update_existing": True})["total_updated"] == 1
    ann = hashlib.md5(b"ann@people.example").hexdigest()
    assert client.lists.get_list_member(LIST, ann)["full_name"] == "Ann"
    client.lists.set_list_member(
        LIST, ann, {"email_address": "ann@people.example", "status_if_new": "pending"}
    )
    client.lists.update_list_member(LIST, ann, {"vip": True})
    client.lists.add_list_member(LIST, {"email_address": "cem@people.example", "status": "subscribed"})
    cem = hashlib.md5(b"cem@people.example").hexdigest()
    client.lists.delete_list_member(LIST, cem)
    assert sdk.refused(client.lists.delete_list_member, LIST, cem)[0] == 405
    assert client.lists.get_list_members_info(LIST, count=1000, offset=24_000)["total_items"] == 24_320
    client.lists.update_list_member_tags(LIST, ann, {"tags": [{"name": "vip", "status": "active"}]})
    assert client.lists.get_list_member_tags(LIST, ann)["total_items"] == 1
    return drive_segments(sdk, ann)


def drive_segments(sdk, ann):
    client = sdk.client
    few = [f"person{number}@example.invalid" for number in range(1, 6)]
    wave = client.lists.create_segment(LIST, {"name": "[cb-wave.1]", "static_segment": few})
    assert (wave["type"], wave["member_count"]) == ("static", 5)
    assert (
        sdk.refused(client.lists.create_segment, LIST, {"name": "[cb-wave.1]", "static_segment": []})[0]
        == 400
    )
    added = client.lists.batch_segment_members(
        {"members_to_add": ["ann@people.example", "stranger@people.example"], "members_to_remove": few[:1]},
        LIST,
        wave["id"],
    )
    assert (added["total_added"], added["total_removed"], added["error_count"]) == (1, 1, 1)
    client.lists.create_segment_member(LIST, wave["id"], {"email_address": "bob@people.example"})
    client.lists.remove_segment_member(LIST, wave["id"], ann)
    conditions = [
        {"condition_type": "EmailAddress", "field": "EMAIL", "op": "ends", "value": "people.example"}
    ]
    saved = client.lists.create_segment(
        LIST, {"name": "Own people", "options": {"match": "any", "conditions": conditions}}
    )
    assert (saved["type"], saved["member_count"]) == ("saved", 2)
    client.lists.update_segment(LIST, saved["id"], {"name": "Own"})
    assert client.lists.list_segments(LIST, type="static")["total_items"] == 2
    assert client.lists.get_segment(LIST, wave["id"])["member_count"] == 5
    assert client.lists.get_segment_members_list(LIST, wave["id"])["total_items"] == 5
    client.lists.delete_segment(LIST, saved["id"])
    return wave["id"]


def drive_campaign(sdk, segment):
    """One campaign from its draft until its report, and what becomes of a few others."""
    client, campaigns = sdk.client, sdk.client.campaigns
    options = {"saved_segment_id": segment, "match": "any"}
    campaign = sdk.draft(segment_opts=options)
    assert campaigns.get(campaign)["recipients"]["recipient_count"] == 5
    campaigns.update(campaign, {"settings": {"preview_text": "Look inside"}})
    campaigns.get_content(campaign)
    assert campaigns.get_send_checklist(campaign)["is_ready"] is True
    campaigns.send_test_email(campaign, {"test_emails": ["a@shop.example"], "send_type": "html"})
    campaigns.schedule(campaign, {"schedule_time": "2026-01-01T00:15:00Z"})
    campaigns.unschedule(campaign)
    campaigns.send(campaign)
    assert campaigns.get(campaign)["status"] == "sending"
    sdk.wait(MINUTE_MS)
    assert campaigns.get(campaign)["emails_sent"] == 5
    assert campaigns.list(count=100)["total_items"] == 1
    assert client.searchCampaigns.search("cb-spring")["total_items"] == 1
    assert client.reports.get_campaign_report(campaign)["emails_sent"] == 5
    assert client.reports.get_campaign_recipients(campaign, count=2)["total_items"] == 5
    client.reports.get_unsubscribed_list_for_campaign(campaign)
    client.reports.get_campaign_abuse_reports(campaign)
    client.reports.get_all_campaign_reports()
    copy = campaigns.replicate(campaign)
    campaigns.remove(copy["id"])
    sdk.sandbox.world.behave(create_resend="new_draft")
    campaigns.create_resend(campaign)
    stopped = sdk.draft("Stopped")
    campaigns.send(stopped)
    sdk.wait(100)
    campaigns.cancel_send(stopped)
    assert campaigns.get(stopped)["status"] == "canceling"
    return campaign


def test_the_vendors_sdk_drives_a_full_cycle_and_every_answer_fits_the_vendors_document(sdk, spec):
    segment = drive_account_and_people(sdk)
    campaign = drive_campaign(sdk, segment)
    campaigns = sdk.client.campaigns
    assert sdk.refused(campaigns.send, campaign)[0] == 400
    assert sdk.refused(campaigns.pause, campaign)[0] == 400
    assert sdk.refused(campaigns.resume, campaign)[0] == 400
    campaigns.remove(campaign)
    assert sdk.refused(campaigns.get, campaign)[0] == 404
    assert sdk.refused(sdk.client.reports.get_campaign_report, campaign)[0] == 404
    counts = validated(spec, sdk.answers)
    total, operations = sum(counts.values()), len({name for name, _ in counts})
    print(f"{total} answers validated, {operations} operations, {len(sdk.answers) - total} not in the subset")
    assert (total, operations, len(sdk.answers) - total) == (60, 46, 2)
    assert sdk.sandbox.truth.sends_accepted(campaign) == 1
    assert sdk.sandbox.truth.duplicates() == 0


def test_the_sdk_lists_whom_a_campaign_reached_badly_and_every_answer_fits_the_vendors_document(sdk, spec):
    sdk.sandbox.world.behave(hard_bounces=5, soft_bounces=5, unsubscribes=5, complaints=5)
    campaign = sdk.draft(list_id=LIST)
    sdk.client.campaigns.send(campaign)
    sdk.wait(20 * 24 * 60 * MINUTE_MS)
    sdk.answers.clear()
    reports = sdk.client.reports
    people = reports.get_campaign_recipients(campaign, count=1_000)["sent_to"]
    assert {one["status"] for one in people} == {"sent", "hard", "soft"}
    assert reports.get_unsubscribed_list_for_campaign(campaign, count=10)["unsubscribes"]
    assert reports.get_campaign_abuse_reports(campaign)["abuse_reports"]
    assert sum(validated(spec, sdk.answers).values()) == 3


def test_the_vendors_sdk_keeps_webhooks_and_every_answer_fits_the_vendors_document(sdk, spec):
    lists = sdk.client.lists
    place = f"{sdk.server.control_url}/control"  # answers GET with 200
    events = {"subscribe": False, "unsubscribe": True, "cleaned": True, "campaign": True}
    made = lists.create_list_webhook(LIST, {"url": place, "events": events, "sources": {"user": True}})
    assert (made["events"]["campaign"], made["events"]["profile"], made["sources"]["api"]) == (
        True,
        False,
        False,
    )
    assert sdk.refused(lists.create_list_webhook, LIST, {"url": f"{place}?again"})[0] == 400
    assert (
        sdk.refused(lists.create_list_webhook, LIST, {"url": f"{sdk.server.control_url}/nowhere"})[0] == 400
    )
    assert sdk.refused(lists.create_list_webhook, LIST, {"url": "https://elsewhere.example/"})[0] == 400
    changed = lists.update_list_webhook(LIST, made["id"], {"events": {"campaign": False}})
    assert (changed["events"]["campaign"], changed["events"]["cleaned"]) == (False, True)
    assert lists.get_list_webhook(LIST, made["id"]) == changed
    assert lists.get_list_webhooks(LIST)["total_items"] == 1
    lists.delete_list_webhook(LIST, made["id"])
    assert sdk.refused(lists.get_list_webhook, LIST, made["id"])[0] == 404
    assert lists.get_list_webhooks(LIST)["webhooks"] == []
    counts = validated(spec, sdk.answers)
    assert (sum(counts.values()), len({name for name, _ in counts})) == (10, 5)


def test_the_sdk_reads_refusals_as_they_are(sdk, spec):
    campaigns = sdk.client.campaigns
    status, body = sdk.refused(campaigns.get, "unknown")
    assert (status, '"Resource Not Found"' in body) == (404, True)
    status, body = sdk.refused(campaigns.create, {"type": "pigeon"})
    assert (status, '"field": "type"' in body) == (400, True)
    status, body = sdk.refused(sdk.connect("wrong-us1").campaigns.list)
    assert (status, '"API Key Invalid"' in body) == (401, True)
    sdk.sandbox.faults.add(Fault("list_campaigns", "status_429"))
    status, body = sdk.refused(campaigns.list)
    assert (status, "10 simultaneous connections" in body) == (429, True)
    assert sum(validated(spec, sdk.answers).values()) == 4


@pytest.mark.parametrize(
    ("kind", "status", "options"), [("status_429", 429, {"bare": True}), ("bare_403", 403, {})]
)
def test_the_sdk_returns_normally_on_a_refusal_without_a_body(sdk, kind, status, options):
    """Which is why we don't use it to send: nothing was applied, and it raises nothing."""
    campaign = sdk.draft()
    sdk.sandbox.faults.add(Fault("send", kind, **options))
    answer = sdk.client.campaigns.send(campaign)
    assert (answer.status_code, answer.content) == (status, b"")
    assert sdk.sandbox.truth.sends_accepted() == 0


def test_the_sdk_can_not_tell_an_applied_send_from_one_that_never_arrived(sdk):
    """A lost answer is the same exception without a status, whatever has happened."""
    for kind, sends in (("drop_before", 0), ("accept_then_drop", 1)):
        campaign = sdk.draft(kind)
        sdk.sandbox.faults.add(Fault("send", kind))
        assert sdk.refused(sdk.client.campaigns.send, campaign)[0] is None
        assert sdk.sandbox.truth.sends_accepted(campaign) == sends


def test_an_eleventh_request_at_once_is_refused_in_the_vendors_words(sdk):
    sdk.sandbox.faults.add(Fault("ping", "hang", times=10))
    head = f"GET /3.0/ping HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {sdk.sandbox.key}\r\n\r\n"
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            line = stack.enter_context(socket.create_connection(("127.0.0.1", sdk.server.port), 20))
            line.sendall(head.encode())
        assert sdk.server.await_busy(10, 20)
        status, body = sdk.refused(sdk.client.ping.get)
        assert (status, "You have exceeded the limit of 10 simultaneous connections." in body) == (429, True)
    assert sdk.server.await_busy(0, 20)
    assert sdk.client.ping.get()["health_status"]


def test_an_answer_with_a_misspelt_or_retyped_field_would_be_noticed(sdk, spec):
    sdk.client.lists.get_list(LIST)
    [(method, path, status, body)] = sdk.answers
    for wrong in ({**body, "nmae": "x"}, {**body, "web_id": "12"}):
        with pytest.raises(AssertionError):
            validated(spec, [(method, path, status, wrong)])
