"""A notice: what is told to people elsewhere, built from a need at the moment when it is sent.

It holds ids, names without addresses, codes and a command. Never a secret, an address or a subject line.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from campaignbridge.domain.need import Need

Fact = str | int | None


@dataclass(frozen=True, slots=True)
class Message:
    """One notice as it is handed to a target. Its id stays the same however often it is sent."""

    id: str
    type: str  # "campaign.needs_person"
    title: str
    text: str
    data: Mapping[str, Fact]
    at: int  # when this was written, by the store's clock


def of_need(need: Need, *, notice_id: str, now: int) -> Message:
    """Return what is told of a need."""
    title = f"{'Background work' if need.kind == 'job' else need.name} needs a person: {_plain(need.reason)}"
    place = f"{need.connection} ({need.provider}, {'sandbox' if need.sandboxed else 'LIVE'})"
    about = {
        "campaign": f"Campaign: {need.target} on {place}",
        "connection": f"Connection: {place}",
        "ramp": f"Ramp: {need.target} on {place}",
    }
    lines = [
        need.why,
        about.get(need.kind, f"Jobs: {need.name}"),
        f"Since: {_utc(need.since)}",
        f"Do: campaignbridge {need.command}",
        f"Help: campaignbridge help {need.help}",
    ]
    data: dict[str, Fact] = {
        "kind": need.kind,
        "target": need.target,
        "name": need.name,
        "connection": need.connection or None,
        "reason": need.reason,
        "why": need.why,
        "since": need.since,
        "count": need.count,
        "command": f"campaignbridge {need.command}",
        "help": need.help,
    }
    return Message(notice_id, f"{need.kind}.needs_person", title, "\n".join(lines), data, now)


def of_many(others: int, *, notice_id: str, now: int) -> Message:
    """Return what is told when so much needs a person at once that the rest is only counted."""
    what = f"{others:,} more thing{'s need' if others != 1 else ' needs'} a person"
    text = f"{what}; they are not told one by one.\nDo: campaignbridge status"
    data: dict[str, Fact] = {"kind": "more", "count": others, "command": "campaignbridge status"}
    return Message(notice_id, "more.need_person", what, text, data, now)


def of_test(*, notice_id: str, now: int) -> Message:
    """Return what is told to try a target."""
    text = "This is a test. Nothing needs a person because of it."
    return Message(notice_id, "notice.test", "CampaignBridge: a test notice", text, {"kind": "test"}, now)


def stamp(at_ms: int) -> str:
    """Return a time in ISO 8601, UTC."""
    return f"{datetime.fromtimestamp(at_ms // 1000, UTC):%Y-%m-%dT%H:%M:%S}Z"


def _utc(at_ms: int) -> str:
    at = datetime.fromtimestamp(at_ms // 1000, UTC)
    return f"{at.day} {at:%b %Y, %H:%M} UTC"


def _plain(code: str) -> str:
    return code.replace("_", " ")
