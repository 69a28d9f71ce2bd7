"""Calls about the account: ping, root, verified domains."""

from typing import Any

from campaignbridge.sandbox import problems
from campaignbridge.sandbox.answers import links
from campaignbridge.sandbox.call import Call, iso
from campaignbridge.sandbox.checklist import VERIFIED_DOMAINS
from campaignbridge.sandbox.wire import Response


def ping(call: Call) -> Response:
    """Say that the service lives and the key opens something."""
    return call.answer({"health_status": "Everything's Chimpy!"})


def root(call: Call) -> Response:
    """Tell whose key this is."""
    owned = call.world.audiences(call.account.account_id)
    gated = call.world.behaviour.schedule_gate != "allowed"
    shown = {
        "account_id": call.account.account_id,
        "login_id": call.account.account_id[:12],
        "account_name": call.account.name,
        "email": "owner@sandbox.example",
        "first_name": "Sandbox",
        "last_name": "Owner",
        "username": "sandbox",
        "avatar_url": "",
        "role": "owner",
        "member_since": iso(0),
        "pricing_plan_type": "forever_free" if gated else "monthly",
        "first_payment": iso(0),
        "account_timezone": "UTC",
        "account_industry": "",
        "contact": dict.fromkeys(("company", "addr1", "addr2", "city", "state", "zip", "country"), ""),
        "pro_enabled": call.world.behaviour.cancel_gate == "allowed",
        "last_login": iso(0),
        "total_subscribers": sum(call.world.subscribed(item) for item in owned),
        "industry_stats": {"open_rate": 0, "bounce_rate": 0, "click_rate": 0},
        "_links": links("", ""),
    }
    return call.answer(shown)


def domains(call: Call) -> Response:
    """Tell the domains from which the account may send."""
    shown = {
        "domains": [_domain(name) for name in VERIFIED_DOMAINS],
        "total_items": len(VERIFIED_DOMAINS),
        "_links": links("verified-domains", ""),
    }
    return call.answer(shown)


def domain(call: Call) -> Response:
    """Tell about one domain."""
    if call.subject not in VERIFIED_DOMAINS:
        raise problems.missing()
    return call.answer(_domain(call.subject))


def _domain(name: str) -> dict[str, Any]:
    return {
        "domain": name,
        "verified": True,
        "authenticated": True,
        "verification_email": f"postmaster@{name}",
        "verification_sent": iso(0),
        "_links": links(f"verified-domains/{name}", "verified-domains"),
    }
