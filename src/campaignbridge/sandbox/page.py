"""The page on which a person looks at the sandbox: plain, escaped, without scripts or foreign assets."""

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import fields
from html import escape

from campaignbridge.sandbox.app import Sandbox
from campaignbridge.sandbox.call import iso
from campaignbridge.sandbox.truth import masked

_ROWS = 200  # newest ones shown
_STYLE = (
    ":root{color-scheme:light dark;font:15px/1.45 system-ui,sans-serif}"
    "body{margin:0 auto;max-width:75rem;padding:1rem}"
    "h1{font-size:1.4rem}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}"
    ".scroll{overflow-x:auto}"
    "table{border-collapse:collapse;width:100%}"
    "th,td{border-bottom:1px solid #8886;padding:.25rem .6rem .25rem 0;text-align:left;vertical-align:top}"
    "td{overflow-wrap:anywhere;min-width:3.5rem}"
    "tbody tr.on{font-weight:600}"
    ".none{opacity:.75}"
    "@media(max-width:30rem){body{padding:.6rem}:root{font-size:14px}}"
)
STYLE_HASH = f"sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}"
Row = tuple[object, ...]


def render(sandbox: Sandbox) -> str:
    """Return the page as it is now. It shows no key and no address."""
    with sandbox.world.lock:
        sandbox.settle()
        truth = sandbox.truth
        summary = (
            f"{truth.sends_accepted()} sends accepted, {truth.mailed()} mailed, "
            f"{truth.duplicates()} duplicates"
        )
        tables = [
            _table("Campaigns", ("Id", "Title", "Status", "Send time"), _campaigns(sandbox)),
            _table("Faults in effect", ("Operation", "Kind", "Left", "Used", "With"), _faults(sandbox)),
            _table("Outcome rules", ("List", "Segment", "Title", "Figures"), _rules(sandbox)),
            _table("World switches", ("Switch", "Now", "Default"), _switches(sandbox), marked=True),
            _table("Truth", ("At", "What", "Campaign", "Title", "List", "People", "By"), _events(sandbox)),
            _table("Requests", ("At", "Method", "Path", "Answered", "Fault"), _requests(sandbox)),
        ]
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><title>Sandbox</title>'
        f"<style>{_STYLE}</style></head><body><main>"
        f"<h1>Sandbox</h1><p>No mail leaves this machine. {escape(summary)}.</p>"
        + "".join(tables)
        + '<p>As JSON: <a href="/truth">/truth</a>. How to control it: <a href="/control">/control</a>.</p>'
        "</main></body></html>"
    )


def _campaigns(sandbox: Sandbox) -> list[Row]:
    newest = reversed(sandbox.world.campaigns()[-_ROWS:])
    return [(item.id, masked(item.text("title")), item.status, iso(item.send_ms)) for item in newest]


def _faults(sandbox: Sandbox) -> list[Row]:
    rows: list[Row] = []
    for order in sandbox.faults.listing():
        left = "always" if order["times"] is None else order["times"] - order["used"]
        if left == 0:
            continue
        told = {"operation", "kind", "times", "used"}
        rest = ", ".join(
            f"{name} {value}"
            for name, value in order.items()
            if name not in told and value not in (None, 0, "")
        )
        rows.append((order["operation"], order["kind"], left, order["used"], rest))
    return rows


def _rules(sandbox: Sandbox) -> list[Row]:
    return [
        (
            rule.list,
            rule.segment,
            rule.title,
            ", ".join(f"{name} {value}" for name, value in rule.changes().items()),
        )
        for rule in sandbox.world.outcome_rules
    ]


def _switches(sandbox: Sandbox) -> list[Row]:
    now = sandbox.world.behaviour
    return [(item.name, getattr(now, item.name), item.default) for item in fields(now)]


def _events(sandbox: Sandbox) -> list[Row]:
    return [
        (iso(item.at_ms), item.kind, item.campaign, item.title, item.audience, item.recipients, item.by)
        for item in reversed(sandbox.truth.events()[-_ROWS:])
    ]


def _requests(sandbox: Sandbox) -> list[Row]:
    return [
        (
            iso(item.at_ms),
            item.method,
            item.path,
            "no answer" if item.status is None else item.status,
            item.fault,
        )
        for item in reversed(sandbox.truth.requests()[-_ROWS:])
    ]


def _table(title: str, heads: Iterable[str], rows: list[Row], *, marked: bool = False) -> str:
    """Write a table; `marked` makes rows stand out whose second and third cell differ."""
    if not rows:
        return f'<h2>{escape(title)}</h2><p class="none">None.</p>'
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join(
        f"<tr{' class=on' if marked and row[1] != row[2] else ''}>"
        + "".join(f"<td>{escape(str(cell))}</td>" for cell in row)
        + "</tr>"
        for row in rows
    )
    return (
        f'<h2>{escape(title)}</h2><div class="scroll" tabindex="0" role="region" aria-label="{escape(title)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
