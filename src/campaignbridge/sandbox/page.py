"""The page on which a person looks at the sandbox: plain, escaped, without scripts or foreign assets."""

from collections.abc import Iterable
from html import escape

from campaignbridge.sandbox.app import Sandbox
from campaignbridge.sandbox.call import iso

_ROWS = 200  # newest ones shown


def render(sandbox: Sandbox) -> str:
    """Return the page as it is now. It shows no key and no address."""
    sandbox.settle()
    truth = sandbox.truth
    events = [
        (iso(item.at_ms), item.kind, item.campaign, item.title, item.audience, item.recipients, item.by)
        for item in reversed(truth.events()[-_ROWS:])
    ]
    seen = [
        (
            iso(item.at_ms),
            item.method,
            item.path,
            "no answer" if item.status is None else item.status,
            item.fault,
        )
        for item in reversed(truth.requests()[-_ROWS:])
    ]
    campaigns = [
        (item.id, item.text("title"), item.status, iso(item.send_ms))
        for item in reversed(sandbox.world.campaigns()[-_ROWS:])
    ]
    summary = (
        f"{truth.sends_accepted()} sends accepted, {truth.mailed()} mailed, {truth.duplicates()} duplicates"
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Sandbox</title></head><body>'
        f"<h1>Sandbox</h1><p>No mail leaves this machine. {escape(summary)}.</p>"
        + _table("Campaigns", ("Id", "Title", "Status", "Send time"), campaigns)
        + _table("Truth", ("At", "What", "Campaign", "Title", "Audience", "Recipients", "By"), events)
        + _table("Requests", ("At", "Method", "Path", "Answered", "Fault"), seen)
        + "</body></html>"
    )


def _table(title: str, heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<h2>{escape(title)}</h2><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
