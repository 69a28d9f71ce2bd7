"""Which path and method is which operation. Faults are ordered by these operations' names."""

import re
from collections.abc import Callable, Mapping

from campaignbridge.sandbox import (
    account,
    actions,
    audiences,
    batch,
    campaigns,
    members,
    reports,
    search,
    segments,
    tags,
    webhooks,
)
from campaignbridge.sandbox.call import Call
from campaignbridge.sandbox.wire import Response

Handler = Callable[[Call], Response]
_LIST = r"/lists/(?P<id>[^/]+)"
_MEMBER = rf"{_LIST}/members/(?P<member>[^/]+)"
_SEGMENT = rf"{_LIST}/segments/(?P<segment>[^/]+)"
_CAMPAIGN = r"/campaigns/(?P<id>[^/]+)"
_REPORT = r"/reports/(?P<id>[^/]+)"
_ROUTES: Mapping[str, Mapping[str, tuple[str, Handler]]] = {
    "": {"GET": ("account", account.root)},
    "/ping": {"GET": ("ping", account.ping)},
    "/verified-domains": {"GET": ("verified_domains", account.domains)},
    r"/verified-domains/(?P<id>[^/]+)": {"GET": ("verified_domain", account.domain)},
    "/lists": {"GET": ("lists", audiences.lists)},
    _LIST: {"GET": ("list", audiences.one), "POST": ("batch_members", batch.upload)},
    f"{_LIST}/merge-fields": {"GET": ("merge_fields", audiences.merge_fields)},
    f"{_LIST}/members": {"GET": ("members", members.listing), "POST": ("add_member", members.add)},
    _MEMBER: {
        "GET": ("member", members.one),
        "PUT": ("put_member", members.put),
        "PATCH": ("update_member", members.update),
        "DELETE": ("archive_member", members.archive),
    },
    f"{_MEMBER}/tags": {"GET": ("member_tags", tags.listing), "POST": ("tag_member", tags.change)},
    f"{_LIST}/segments": {
        "GET": ("segments", segments.listing),
        "POST": ("create_segment", segments.create),
    },
    _SEGMENT: {
        "GET": ("segment", segments.one),
        "PATCH": ("update_segment", segments.update),
        "POST": ("change_segment_members", segments.change_members),
        "DELETE": ("delete_segment", segments.delete),
    },
    f"{_SEGMENT}/members": {
        "GET": ("segment_members", segments.members),
        "POST": ("add_segment_member", segments.add_member),
    },
    rf"{_SEGMENT}/members/(?P<member>[^/]+)": {
        "DELETE": ("remove_segment_member", segments.remove_member),
    },
    f"{_LIST}/webhooks": {"GET": ("webhooks", webhooks.listing), "POST": ("add_webhook", webhooks.add)},
    rf"{_LIST}/webhooks/(?P<webhook>[^/]+)": {
        "GET": ("webhook_info", webhooks.one),
        "PATCH": ("update_webhook", webhooks.update),
        "DELETE": ("delete_webhook", webhooks.delete),
    },
    "/campaigns": {"GET": ("list_campaigns", campaigns.listing), "POST": ("create", campaigns.create)},
    _CAMPAIGN: {
        "GET": ("inspect", campaigns.inspect),
        "PATCH": ("update", campaigns.update),
        "DELETE": ("delete", campaigns.delete),
    },
    f"{_CAMPAIGN}/content": {
        "GET": ("read_content", campaigns.read_content),
        "PUT": ("content", campaigns.put_content),
    },
    f"{_CAMPAIGN}/send-checklist": {"GET": ("checklist", campaigns.read_checklist)},
    f"{_CAMPAIGN}/actions/test": {"POST": ("test", actions.test)},
    f"{_CAMPAIGN}/actions/schedule": {"POST": ("schedule", actions.schedule)},
    f"{_CAMPAIGN}/actions/unschedule": {"POST": ("unschedule", actions.unschedule)},
    f"{_CAMPAIGN}/actions/send": {"POST": ("send", actions.send)},
    f"{_CAMPAIGN}/actions/cancel-send": {"POST": ("cancel", actions.cancel)},
    f"{_CAMPAIGN}/actions/pause": {"POST": ("pause", actions.only_rss)},
    f"{_CAMPAIGN}/actions/resume": {"POST": ("resume", actions.only_rss)},
    f"{_CAMPAIGN}/actions/replicate": {"POST": ("replicate", actions.replicate)},
    f"{_CAMPAIGN}/actions/create-resend": {"POST": ("create_resend", actions.create_resend)},
    "/search-campaigns": {"GET": ("search_campaigns", search.campaigns)},
    "/reports": {"GET": ("reports", reports.listing)},
    _REPORT: {"GET": ("report", reports.one)},
    f"{_REPORT}/sent-to": {"GET": ("sent_to", reports.sent_to)},
    f"{_REPORT}/unsubscribed": {"GET": ("unsubscribed", reports.unsubscribed)},
    f"{_REPORT}/abuse-reports": {"GET": ("abuse_reports", reports.abuse_reports)},
}
TABLE = tuple((re.compile(pattern), methods) for pattern, methods in _ROUTES.items())
OPERATIONS = frozenset(name for methods in _ROUTES.values() for name, _ in methods.values())
