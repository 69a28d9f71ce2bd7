"""A campaign as it is shown: what is the matter, why, what happens next, and what can be done."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from campaignbridge.cli import terminal
from campaignbridge.cli.chronicle import short
from campaignbridge.cli.moments import age, clock_time, dated

if TYPE_CHECKING:
    from campaignbridge.domain.campaign import Campaign
    from campaignbridge.domain.connection import Connection
    from campaignbridge.domain.ledger import Attempt
    from campaignbridge.flows.views import CampaignView

LABELS = {
    "draft": "Draft",
    "ready_for_review": "In review",
    "approved": "Approved",
    "provider_draft": "Ready at {provider}",
    "scheduled": "Scheduled",
    "sending": "Sending",
    "sent": "Sent",
    "failed": "Failed, nothing sent",
    "cancelled": "Cancelled",
    "unknown": "Not confirmed",
    "archived": "Archived",
}
_MARKS = {"sent": "ok ", "unknown": "? ", "failed": "! "}
_ATTEMPTS = {"pending": "not answered yet", "succeeded": "took effect", "failed": "did nothing"}
_STOPPED = {
    "missing": "{provider} no longer has this campaign, so it can't be told whether the mail went out.",
    "untracked": "{provider} gives this campaign a state that we don't know.",
    "contradiction": "{provider} says something else than what we had recorded for certain.",
    "duplicate_drafts": "{provider} has two campaigns with our mark, and only one can be ours.",
    "credential_refused": "{provider} refuses the key of this connection.",
    "other_account": "The key of this connection opens another account than the campaign's.",
    "watch_failed": "Looking at {provider} failed again and again, for a reason of ours.",
    "inconclusive": "What {provider} says doesn't tell whether the request took effect.",
}
_FLAGS = {
    "sent_zero": "{provider} says that it was sent, and counts nobody. Don't send it again yet.",
    "possible_double": "An answer came after the request was settled: this may have been mailed twice.",
    "possible_double_content": "Another campaign with this content is on its way too, or went lately.",
    "send_refused": "{provider} refused the last send. Nothing was sent.",
    "scheduled_late": "Its send time was more than half an hour ago, and {provider} has not begun.",
    "no_reading": "{provider} has given no usable reading for about an hour.",
    "connection_unusable": "A worker can't open the connection: its key is not set there.",
    "sending_long": "{provider} has been sending it for more than a day.",
    "unconfirmed_long": "A request has had no confirmed outcome for more than an hour.",
}


def provider_label(connection: "Connection") -> str:
    """Return the provider's name for people."""
    return {"mailchimp": "Mailchimp"}.get(connection.provider, connection.provider.capitalize())


def place_of(connection: "Connection") -> str:
    """Return whether mail is really sent there."""
    return "sandbox" if connection.sandboxed else "LIVE"


def label_of(state: str, *, stopped: bool, open_attempt: bool, provider: str = "the provider") -> str:
    """Return a state's one label."""
    if stopped:
        return "Needs a person"
    if open_attempt and state == "approved":
        return "Draft not confirmed"
    return LABELS["unknown"] if open_attempt else LABELS.get(state, state).format(provider=provider)


def label(view: "CampaignView") -> str:
    """Return the campaign's label: its state, unless something is open or stopped."""
    campaign = view.dossier.campaign
    return label_of(
        campaign.state.value,
        stopped=campaign.stopped_reason is not None,
        open_attempt=campaign.open_attempt is not None,
        provider=provider_label(view.dossier.connection),
    )


def headline(view: "CampaignView") -> str:
    """Return `? NOT CONFIRMED   since 29 Nov 14:02:36 (5 min)`."""
    dossier = view.dossier
    campaign, now = dossier.campaign, dossier.now
    doubtful = campaign.stopped_reason is not None or campaign.open_attempt is not None
    glyph = "? " if doubtful else _MARKS.get(campaign.state.value, "")
    since = campaign.state_changed_at
    if dossier.attempt is not None:
        since = max(since, dossier.attempt.created_at)
    return f"{glyph}{label(view).upper()}   since {dated(since)} ({age(now - since)})"


def why(view: "CampaignView") -> str:
    """Return one or two sentences on why it is so."""
    dossier = view.dossier
    campaign, attempt, provider = dossier.campaign, dossier.attempt, provider_label(dossier.connection)
    if campaign.stopped_reason is not None:
        text = _STOPPED.get(
            campaign.stopped_reason, "Checks stopped: " + campaign.stopped_reason.replace("_", " ")
        )
        return text.format(provider=provider)
    if attempt is not None:
        return _why_open(attempt, provider)
    match campaign.state.value:
        case "provider_draft" if dossier.remote and dossier.remote.content_pending:
            return f"The upload of its content to {provider} is not known to be complete."
        case "sending":
            return f"{provider} accepted the send. Accepted is not yet sent: its record says that."
        case "sent":
            return f"{provider}'s record says that it was sent{_to(view)}."
        case "failed":
            return f"{provider}'s record says that nothing was sent."
        case _:
            return ""


def _why_open(attempt: "Attempt", provider: str) -> str:
    asked = "make a draft of" if attempt.operation.value == "create" else attempt.operation.value
    told = "has not answered yet" if attempt.status.value == "pending" else "gave no usable answer"
    so = "The draft may exist." if attempt.operation.value == "create" else "It may be going out."
    return f"{provider} was asked to {asked} this and {told}. {so}"


def _to(view: "CampaignView") -> str:
    remote = view.dossier.remote
    if remote is None or remote.emails_sent is None:
        return ""
    return f", {remote.emails_sent:,} mails"


def next_step(view: "CampaignView") -> str:
    """Return what happens by itself."""
    campaign, now = view.dossier.campaign, view.dossier.now
    provider = provider_label(view.dossier.connection)
    if campaign.stopped_reason is not None:
        return "Nothing. Checks have stopped."
    if campaign.look_at is None:
        waiting = campaign.state.value == "ready_for_review"
        return "Nothing by itself." + (" Waits for somebody who may approve." if waiting else "")
    at = clock_time(campaign.look_at, now)
    if campaign.look_at <= now:
        return f"Reads {provider} as soon as a worker runs (due since {at}). Reading never sends."
    return f"Reads {provider} again at {at}. Reading never sends."


def help_code(view: "CampaignView") -> str | None:
    """Return the code of the help page on what is the matter, if anything is."""
    campaign, attempt = view.dossier.campaign, view.dossier.attempt
    if campaign.stopped_reason or campaign.flag:
        return campaign.stopped_reason or campaign.flag
    if attempt is None:
        return None
    return "draft_unconfirmed" if attempt.operation.value == "create" else "send_unconfirmed"


def approved_words(campaign: "Campaign", when: Callable[[int], str]) -> str:
    """Return who approved the content, and when."""
    approval = campaign.approval
    if approval is None:
        return "not approved"
    return f"approved by {terminal.clean(approval.by)} {when(approval.at_ms)}"


def lines(view: "CampaignView") -> list[str]:
    """Return a campaign as people are shown it."""
    dossier = view.dossier
    campaign, connection = dossier.campaign, dossier.connection
    title = terminal.shortened(campaign.name, 28)
    place = f"{connection.label} ({provider_label(connection)}, {place_of(connection)})"
    rows = [("Why", why(view)), ("Next", next_step(view)), ("Held", _held(view))]
    if campaign.flag:
        note = _FLAGS.get(campaign.flag, campaign.flag).format(provider=provider_label(connection))
        rows.append(("Note", note))
    found = [f"{title}   {campaign.id}   {place}", headline(view), ""]
    found += terminal.facts([row for row in rows if row[1]], column=8)
    found += ["", *terminal.facts(_content(view)), *_attempts(view), "", *_possible(view)]
    code = help_code(view)
    return [*found, "", f"Help    campaignbridge help {code}"] if code else found


def _content(view: "CampaignView") -> list[tuple[str, str]]:
    campaign, now = view.dossier.campaign, view.dossier.now
    fingerprint = view.snapshot.fingerprint
    approval = approved_words(campaign, lambda at: clock_time(at, now, seconds=False))
    rows = [
        ("Subject", terminal.clean(view.snapshot.envelope.subject)),
        ("Audience", _audience(view)),
        ("Content", f"revision {campaign.revision}, {approval}, {short(fingerprint)}"),
    ]
    if campaign.approval is None:
        rows.append(("", fingerprint))
    return rows


def _audience(view: "CampaignView") -> str:
    campaign, remote, now = view.dossier.campaign, view.dossier.remote, view.dossier.now
    ref = terminal.clean(campaign.audience)
    if remote is None or remote.recipient_count is None or remote.observed_at is None:
        return ref
    return f"{ref}, {remote.recipient_count:,} people, read {clock_time(remote.observed_at, now)}"


def _held(view: "CampaignView") -> str:
    if view.lock is None:
        return "by nobody"
    now = view.dossier.now
    who = terminal.clean(view.lock["actor"] or "a background check")
    since, until = clock_time(view.lock["acquired_at"], now), clock_time(view.lock["held_until"], now)
    return f"by {who}: {view.lock['operation']}, since {since}. Frees itself at {until} at the latest."


def _attempts(view: "CampaignView") -> list[str]:
    now = view.dossier.now
    rows = [
        (
            one.operation.value,
            one.id,
            _ATTEMPTS.get(one.status.value, "not confirmed"),
            clock_time(one.created_at, now),
            terminal.clean(one.actor or "by itself"),
        )
        for one in view.attempts
    ]
    found = ["  ".join((row[0].ljust(6), *row[1:])) for row in rows]
    return terminal.facts([("" if number else "Attempts", line) for number, line in enumerate(found)])


def _possible(view: "CampaignView") -> list[str]:
    campaign_id = view.dossier.campaign.id
    provider = provider_label(view.dossier.connection)
    can = [(f"campaigns {one.name} {campaign_id}", one.what) for one in view.actions if one.allowed]
    reasons: dict[str, list[str]] = {}
    for one in view.actions:
        if not one.allowed:
            reasons.setdefault(_reason(view, one.why_not), []).append(one.name)
    cannot = [(", ".join(names), reason) for reason, names in reasons.items()]
    width = 3 + max((len(name) for name, _ in [*can, *cannot]), default=0)
    found = ["You can", *terminal.facts(can, indent=2, column=width)] if can else ["You can do nothing now."]
    found = [line.replace("the provider", provider) for line in found]
    return [*found, "Not now", *terminal.facts(cannot, indent=2, column=width)] if cannot else found


def _reason(view: "CampaignView", why_not: str) -> str:
    """Return why something can't be done, with the state's label instead of its code."""
    is_state = why_not == f"it is {view.dossier.campaign.state.value}"
    return f"it is {label(view)[0].lower()}{label(view)[1:]}" if is_state else why_not


def document(view: "CampaignView") -> dict[str, Any]:
    """Return a campaign for programs. Times are epoch milliseconds UTC; keys are only ever added."""
    dossier, snapshot = view.dossier, view.snapshot
    campaign, connection, remote, approval = (
        dossier.campaign,
        dossier.connection,
        dossier.remote,
        dossier.campaign.approval,
    )
    return {
        "campaign": campaign.id,
        "name": campaign.name,
        "state": campaign.state.value,
        "version": campaign.version,
        "state_changed_at": campaign.state_changed_at,
        "connection": {
            "id": connection.id,
            "label": connection.label,
            "provider": connection.provider,
            "sandbox": connection.sandboxed,
        },
        "audience": campaign.audience,
        "recipients": remote.recipient_count if remote else None,
        "emails_sent": remote.emails_sent if remote else None,
        "remote_id": remote.remote_id if remote else None,
        "remote_status": remote.raw_status if remote else None,
        "read_at": remote.observed_at if remote else None,
        "subject": snapshot.envelope.subject,
        "revision": campaign.revision,
        "fingerprint": snapshot.fingerprint,
        "approved_by": approval.by if approval else None,
        "approved_at": approval.at_ms if approval else None,
        "max_recipients": approval.max_recipients if approval else None,
        "open_attempt": campaign.open_attempt,
        "look_at": campaign.look_at,
        "stopped_reason": campaign.stopped_reason,
        "flag": campaign.flag,
        "held_by": dict(view.lock) if view.lock else None,
        "attempts": [_attempt(one) for one in view.attempts],
        "actions": [
            {"name": one.name, "what": one.what, "allowed": one.allowed, "why_not": one.why_not}
            for one in view.actions
        ],
        "help": help_code(view),
        "now": dossier.now,
    }


def _attempt(one: "Attempt") -> dict[str, Any]:
    return {
        "id": one.id,
        "operation": one.operation.value,
        "status": one.status.value,
        "key": one.key,
        "actor": one.actor,
        "created_at": one.created_at,
        "answered_at": one.answered_at,
        "settled_at": one.settled_at,
        "error_code": one.error_code,
    }
