"""A campaign as it is shown: what is the matter, why, what happens next, and what can be done."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from campaignbridge.cli import terminal
from campaignbridge.cli.chronicle import short
from campaignbridge.cli.moments import age, clock_time, dated, instant, zoned
from campaignbridge.cli.words import ATTEMPTS, FLAGS, LABELS, MARKS, OPEN, STOPPED, UNANSWERED

if TYPE_CHECKING:
    from campaignbridge.domain.campaign import Campaign
    from campaignbridge.domain.connection import Connection
    from campaignbridge.domain.ledger import Attempt
    from campaignbridge.flows.views import Action, CampaignView


def provider_label(connection: "Connection") -> str:
    """Return the provider's name for people."""
    return {"mailchimp": "Mailchimp", "resend": "Resend"}.get(
        connection.provider, connection.provider.capitalize()
    )


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
    found = label_of(
        campaign.state.value,
        stopped=campaign.stopped_reason is not None,
        open_attempt=campaign.open_attempt is not None,
        provider=provider_label(view.dossier.connection),
    )
    due = campaign.scheduled_for if found == LABELS["scheduled"] else None
    return found if due is None else f"{found} for {zoned(due)}"


def headline(view: "CampaignView") -> str:
    """Return `? NOT CONFIRMED   since 29 Nov 14:02:36 (5 min)`."""
    dossier = view.dossier
    campaign, now = dossier.campaign, dossier.now
    doubtful = campaign.stopped_reason is not None or campaign.open_attempt is not None
    glyph = "? " if doubtful else MARKS.get(campaign.state.value, "")
    since = campaign.state_changed_at
    if dossier.attempt is not None:
        since = max(since, dossier.attempt.created_at)
    return f"{glyph}{label(view).upper()}   since {dated(since)} ({age(now - since)})"


def why(view: "CampaignView") -> str:
    """Return one or two sentences on why it is so."""
    dossier = view.dossier
    campaign, attempt, provider = dossier.campaign, dossier.attempt, provider_label(dossier.connection)
    if campaign.stopped_reason is not None:
        text = STOPPED.get(
            campaign.stopped_reason, "Checks stopped: " + campaign.stopped_reason.replace("_", " ")
        )
        return text.format(provider=provider)
    if attempt is not None:
        return _why_open(attempt, provider)
    match campaign.state.value:
        case "provider_draft" if dossier.remote and dossier.remote.content_pending:
            return f"The upload of its content to {provider} is not known to be complete."
        case "scheduled" if campaign.scheduled_for is not None:
            return f"{provider} has accepted the schedule, and sends it by itself at that time."
        case "sending":
            return f"{provider} accepted the send. Accepted is not yet sent: its record says that."
        case "sent":
            return f"{provider}'s record says that it was sent{_to(view)}."
        case "failed":
            return f"{provider}'s record says that nothing was sent."
        case _:
            return ""


def _why_open(attempt: "Attempt", provider: str) -> str:
    from campaignbridge.domain.ledger import MUTATION_LIMIT_MS

    asked, so, _ = OPEN[attempt.operation.value]
    if attempt.status.value == "pending":
        told = "has not answered yet"
    else:
        told = UNANSWERED.get(attempt.error_code or "", "gave no usable answer")
    return f"{provider} was asked to {asked} and {told.format(seconds=MUTATION_LIMIT_MS // 1000)}. {so}"


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
    due = campaign.scheduled_for
    if (
        campaign.state.value == "scheduled"
        and campaign.open_attempt is None
        and due is not None
        and due > now
    ):
        return f"{provider} starts at {clock_time(due, now, seconds=False)}. We read it at {at}."
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
    return OPEN[attempt.operation.value][2]


def flag_words(view: "CampaignView") -> str:
    """Return the sentence of the campaign's flag; empty without one."""
    flag = view.dossier.campaign.flag
    provider = provider_label(view.dossier.connection)
    return FLAGS.get(flag, flag.replace("_", " ")).format(provider=provider) if flag else ""


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
    rows.append(("Note", flag_words(view)))
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
    if campaign.wave is not None:
        rows.append(
            ("Ramp", f"{campaign.wave.label} of {campaign.wave.ramp} (ramps status {campaign.wave.ramp})")
        )
    if campaign.scheduled_for is not None and campaign.state.value == "scheduled":
        rows.append(("Send time", instant(campaign.scheduled_for)))
    if campaign.approval is None:
        rows.append(("", fingerprint))
    return rows


def _audience(view: "CampaignView") -> str:
    campaign, remote, now = view.dossier.campaign, view.dossier.remote, view.dossier.now
    ref = terminal.clean(campaign.audience)
    if view.audience is not None:
        ref = f"{terminal.shortened(view.audience['name'], 30)} ({ref})"
    if remote is None or remote.recipient_count is None or remote.observed_at is None:
        if view.audience is None:
            return ref
        return (
            f"{ref}, {view.audience['contacts']:,} people, read {clock_time(view.audience['read_at'], now)}"
        )
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
            ATTEMPTS.get(one.status.value, "not confirmed"),
            clock_time(one.created_at, now),
            terminal.clean(one.actor or "by itself"),
        )
        for one in _of_interest(view)
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)] if rows else []
    found = [
        "  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]))
        for row in rows
    ]
    return terminal.facts([("" if number else "Attempts", line) for number, line in enumerate(found)])


def _of_interest(view: "CampaignView") -> list["Attempt"]:
    """Return the open request alone, or the newest ones; the timeline has them all."""
    opened = [one for one in view.attempts if one.id == view.dossier.campaign.open_attempt]
    return opened or list(view.attempts[-_NEWEST:])


def _possible(view: "CampaignView") -> list[str]:
    campaign_id = view.dossier.campaign.id
    can = [(f"campaigns {one.name} {campaign_id}", one.what) for one in view.actions if one.allowed]
    if (view.dossier.campaign.flag or "").startswith("possible_double"):
        can.append((f"campaigns acknowledge {campaign_id}", "clear the flag, once you have looked"))
    reasons: dict[str, list[str]] = {}
    for one in sorted(view.actions, key=_deliveries_first):
        if not one.allowed and _concerns(view, one.name):
            reasons.setdefault(_reason(view, one.why_not), []).append(one.name)
    cannot = [(", ".join(names), reason) for reason, names in reasons.items()]
    width = max((len(name) for name, _ in can), default=28) + 3
    found = ["You can", *terminal.facts(can, indent=2, column=width)] if can else ["You can do nothing now."]
    if cannot:
        found += ["Not now", *terminal.pairs(cannot, indent=2, column=width)]
    return [line.replace("the provider", provider_label(view.dossier.connection)) for line in found]


_NEWEST = 6
_DELIVERIES = ("send", "schedule", "test")  # what people look for first


def _deliveries_first(action: "Action") -> int:
    return _DELIVERIES.index(action.name) if action.name in _DELIVERIES else len(_DELIVERIES)


def _concerns(view: "CampaignView", name: str) -> bool:
    """Say whether somebody could expect this action now. What is open only hides what could be done without it."""
    attempt = view.dossier.attempt
    if attempt is None:
        return True
    from campaignbridge.flows.views import RULES

    states = {action: allowed for action, _, _, allowed in RULES}
    return attempt.from_state in states.get(name, {attempt.from_state})


def _reason(view: "CampaignView", why_not: str) -> str:
    """Return why something can't be done, with the state's label instead of its code, and what is open."""
    attempt = view.dossier.attempt
    if attempt is not None and attempt.operation.value != "create":
        why_not = why_not.replace("an earlier request", f"an earlier {attempt.operation.value}")
    is_state = why_not == f"it is {view.dossier.campaign.state.value}"
    return f"it is {label(view)[0].lower()}{label(view)[1:]}" if is_state else why_not


def document(view: "CampaignView") -> dict[str, Any]:
    """Return a campaign for programs. Times are epoch milliseconds UTC; keys are only ever added."""
    dossier, snapshot = view.dossier, view.snapshot
    campaign, connection, remote = dossier.campaign, dossier.connection, dossier.remote
    approval = campaign.approval
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
        "audience_name": view.audience["name"] if view.audience else None,
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
        "watch": asdict(view.watch),
        "scheduled_for": campaign.scheduled_for,
        "stopped_reason": campaign.stopped_reason,
        "flag": campaign.flag,
        "ramp": campaign.wave.ramp if campaign.wave else None,
        "wave": campaign.wave.label if campaign.wave else None,
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
        "schedule_at": one.schedule_at,
    }
