"""The refusals that flows share: one sentence, and what to do next."""

from campaignbridge.domain.errors import (
    Conflict,
    CopyPaused,
    LeaseLost,
    ProviderFailed,
    Refusal,
    Unconfirmed,
)
from campaignbridge.domain.installation import Standing, reason_in_words
from campaignbridge.domain.ledger import Attempt, Status
from campaignbridge.domain.provider import Ambiguous, Category, Refused
from campaignbridge.ports import Reader
from campaignbridge.store.unit import Unit


def lease_lost(attempt: Attempt | None = None) -> LeaseLost:
    """Return the refusal of a call that would have outlived its lease, with the attempt it was not made for."""
    return LeaseLost(
        "This took too long, and somebody else may be working on the campaign now. Nothing was sent.",
        todo="Repeat the command: it starts with fresh facts.",
        retry_after=1,
        attempt=attempt_facts(attempt, Status.FAILED) if attempt else None,
    )


def copy_paused(standing: Standing) -> CopyPaused:
    """Return the refusal of whatever a copy must not do until a person makes it the real one."""
    why = reason_in_words(standing.paused_reason or "", standing.place.kind if standing.place else "sqlite")
    return CopyPaused(
        "This is a copy of another installation. It is paused and sends nothing.",
        todo=f"It counts as one because {why}. If no other one is in use, make it the real one:",
        command='campaignbridge db adopt --reason "..."',
        installation=standing.id,
        paused_since=standing.paused_since,
        paused_reason=standing.paused_reason,
    )


def barred(unit: Unit) -> Refusal:
    """Return why an intent that needs our lock was not written: a paused copy, else a lease that ended."""
    standing = unit.identity.standing()
    return copy_paused(standing) if standing is not None and standing.paused else lease_lost()


def overtaken(campaign_id: str) -> Refusal:
    """Return the refusal of an intent that somebody else's change came before."""
    return Conflict(
        f"Somebody changed {campaign_id} meanwhile, or another request of it is open. Nothing was sent.",
        todo=f"Look at it again: campaigns show {campaign_id}",
    )


def sent_elsewhere(holder: str | None) -> Refusal:
    """Return the refusal of content that another campaign is sending, or has just sent, to this audience."""
    return Refusal(
        "Another campaign is sending this very content to this audience, or did in the last 30 days.",
        code="already_sent_elsewhere",
        todo=f"Look at it first (campaigns show {holder}); to send it once more on purpose: --again-after {holder}"
        if holder
        else "Look at it first: campaigns list",
        campaign=holder,
    )


def not_reached(provider: Reader, refusal: Refused, attempt: Attempt | None = None) -> Refusal:
    """Return the refusal of a call for which no connection was established."""
    if refusal.category is Category.RATE_LIMITED:
        return Refusal(
            f"We hold back from {provider.label} for now: it asked for patience, or has stopped answering.",
            code="rate_limited",
            todo="Repeat the command then; nothing happened meanwhile.",
            retry_after=refusal.retry_after_s,
            attempt=attempt_facts(attempt, Status.FAILED) if attempt else None,
        )
    return ProviderFailed(
        f"{provider.label} could not be reached ({refusal.code}). Nothing happened there.",
        todo="Check the network and the connection's address, then repeat the command.",
        provider={"code": refusal.code, "category": refusal.category.value, "retryable": True},
        attempt=attempt_facts(attempt, Status.FAILED) if attempt else None,
    )


def refused(
    provider: Reader, refusal: Refused, attempt: Attempt | None, *, unready: tuple[str, ...] = ()
) -> Refusal:
    """Return the refusal that tells what the provider said, and what its checklist says."""
    if refusal.status is None:
        return not_reached(provider, refusal, attempt)
    said = f": {refusal.detail}" if refusal.detail else f" ({refusal.code})"
    checklist = f" Its checklist says: {'; '.join(item.rstrip('.') for item in unready)}." if unready else ""
    return ProviderFailed(
        f"{provider.label} refused{said.rstrip('.')}.{checklist} Nothing was done there.",
        todo="Wait a little, then repeat with a new confirmation."
        if refusal.retryable
        else "Fix it, then repeat with a new confirmation.",
        provider={
            "code": refusal.code,
            "category": refusal.category.value,
            "retryable": refusal.retryable,
            "retry_after": refusal.retry_after_s,
        },
        attempt=attempt_facts(attempt, Status.FAILED) if attempt else None,
    )


def unreadable(provider: Reader, outcome: Ambiguous) -> ProviderFailed:
    """Return the refusal of a reading or upload without a usable answer: it may simply be repeated."""
    return ProviderFailed(
        f"{provider.label} gave no usable answer ({outcome.reason}). Nothing was sent.",
        todo="Repeat the command in a little while.",
        provider={"code": outcome.reason, "category": "ambiguous", "retryable": True},
    )


def unconfirmed(provider: Reader, attempt: Attempt) -> Unconfirmed:
    """Return the refusal that says: it may have taken effect, nothing is repeated, it is being watched."""
    return Unconfirmed(
        f"Not confirmed. {provider.label} gave no usable answer, so this may have taken effect.",
        todo=f"Nothing is repeated; it is looked at by itself. campaigns show {attempt.campaign_id}",
        attempt=attempt_facts(attempt, Status.UNKNOWN),
    )


def unrecorded(attempt: Attempt) -> Unconfirmed:
    """Return the refusal of a request whose answer came and could not be saved."""
    return Unconfirmed(
        "The provider was asked, but its answer could not be saved.",
        todo=f"Nothing is repeated; it is looked at by itself. campaigns show {attempt.campaign_id}",
        attempt=attempt_facts(attempt, Status.PENDING),
    )


def attempt_facts(attempt: Attempt, status: Status) -> dict[str, object]:
    """Return what a program may know of an attempt."""
    return {"id": attempt.id, "operation": attempt.operation.value, "status": status.value}
