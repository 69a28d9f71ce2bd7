"""The remote guard: what was approved is what stands at the provider, or nothing is sent.

1. No upload of ours may still land (`writing_until` and the settle window after it).
2. Read the remote campaign: a draft, of exactly the approved audience. Anything else is never written to.
3. Assert envelope and content anew: repeatable, bounded by the lease, announced in `writing_until` before
   and cleared by a definite answer.
4. Count the audience, where the provider's campaigns don't tell how many they reach.
5. Read it back: still a draft, same audience, subject and sender, and a recipient count that is known,
   positive and within the approved bound.
"""

from dataclasses import replace
from typing import assert_never

from campaignbridge.domain.content import Snapshot
from campaignbridge.domain.errors import InProgress, InvalidState, ProviderFailed, Refusal, ValidationFailed
from campaignbridge.domain.ledger import (
    COUNT_LIMIT_MS,
    FIRST_BYTE_MS,
    LEASE_MARGIN_MS,
    READ_LIMIT_MS,
    UPLOAD_LIMIT_MS,
    title_with_token,
)
from campaignbridge.domain.provider import Accepted, Ambiguous, Draft, Observation, Refused, RemoteStatus
from campaignbridge.domain.remote import RemoteCampaign
from campaignbridge.flows.holding import Held
from campaignbridge.flows.once import too_late
from campaignbridge.flows.refusals import barred, lease_lost, refused, unreadable
from campaignbridge.ports import Provider, Reader
from campaignbridge.store.campaigns import Dossier


def draft_of(dossier: Dossier, snapshot: Snapshot) -> Draft:
    """Return what must stand at the provider."""
    return Draft(
        title=title_with_token(dossier.campaign.name, dossier.token),
        audience=dossier.campaign.audience,
        envelope=snapshot.envelope,
        html=snapshot.html,
        text=snapshot.text,
    )


def require_nothing_landing(dossier: Dossier) -> None:
    """Raise `InProgress` while an upload without an answer may still land."""
    until = dossier.remote.may_be_written_until() if dossier.remote else None
    if until is not None and dossier.now < until:
        raise InProgress(
            "An earlier upload of this content had no answer and may still arrive.",
            todo="Try again then; nothing has to be done meanwhile.",
            retry_after=-(-(until - dossier.now) // 1000),
        )


def require_sendable(provider: Provider, dossier: Dossier, snapshot: Snapshot, held: Held) -> Observation:
    """Run the guard and return the reading that allows the send."""
    remote = known_remote(dossier)
    require_nothing_landing(dossier)
    require_draft(read(provider, dossier), dossier)
    assert_draft(provider, dossier, snapshot, held)
    counted = _counted(provider, dossier, held)
    seen = read(provider, dossier)
    if counted is not None:
        seen = replace(seen, recipient_count=counted)
    require_draft(seen, dossier)
    _require_as_approved(provider, seen, snapshot)
    _require_bound(seen, dossier)
    assert seen.remote_id == remote.remote_id, "a reading is of the campaign that was asked for"
    return seen


def _counted(provider: Provider, dossier: Dossier, held: Held) -> int | None:
    """Count the audience where the provider's campaigns don't tell, and keep the number; None where they do."""
    if "count" not in provider.capabilities:
        return None
    outcome = provider.count(dossier.campaign.audience, limit_ms=COUNT_LIMIT_MS)
    match outcome:
        case Accepted(value):
            with held.wiring.store.unit() as unit:
                unit.remotes.counted(known_remote(dossier), value)
            return value
        case Refused():
            raise refused(provider, outcome, None)
        case Ambiguous():
            raise unreadable(provider, outcome)
        case _:
            assert_never(outcome)


def known_remote(dossier: Dossier) -> RemoteCampaign:
    """Return the remote campaign; raise `InvalidState` when none is known."""
    remote = dossier.remote
    if remote is None or remote.remote_id is None:
        raise InvalidState(
            "Nothing of this campaign is known to stand at the provider.",
            todo=f"Make the draft there first: campaigns draft {dossier.campaign.id}",
        )
    return remote


def read(provider: Provider, dossier: Dossier) -> Observation:
    """Read the remote campaign; raise `ProviderFailed` when that doesn't work."""
    remote_id = known_remote(dossier).remote_id
    assert remote_id is not None
    outcome = provider.inspect(remote_id, limit_ms=READ_LIMIT_MS)
    match outcome:
        case Accepted(value):
            return value
        case Refused():
            raise refused(provider, outcome, None)
        case Ambiguous():
            raise unreadable(provider, outcome)
        case _:
            assert_never(outcome)


def is_account_of(provider: Reader, dossier: Dossier) -> bool | Refused | Ambiguous:
    """Say whether the key still opens the campaign's account: another one's silence proves nothing."""
    outcome = provider.verify(limit_ms=READ_LIMIT_MS)
    match outcome:
        case Accepted(value):
            return value.id == dossier.campaign.account
        case Refused() | Ambiguous():
            return outcome
        case _:
            assert_never(outcome)


def require_draft(seen: Observation, dossier: Dossier) -> None:
    """Raise unless the provider shows a draft of exactly the campaign's audience."""
    if seen.status is not RemoteStatus.DRAFT:
        raise InvalidState(
            f"The provider calls this campaign {seen.raw_status}; only a draft may be written to or sent.",
            todo=f"See what happened there: campaigns reconcile {dossier.campaign.id}",
            observed=seen.status.value,
        )
    if seen.audience != dossier.campaign.audience:
        raise Refusal(
            "The draft at the provider has another audience than was approved. Nothing was written.",
            code="audience_drift",
            todo=f"Retire it for a new one (campaigns retire {dossier.campaign.id}), or set its audience back there.",
            approved=dossier.campaign.audience,
            observed=seen.audience,
        )


def assert_draft(provider: Provider, dossier: Dossier, snapshot: Snapshot, held: Held) -> None:
    """Upload envelope and content. Repeatable; raises `ProviderFailed` when it isn't known to have worked."""
    remote = known_remote(dossier)
    assert remote.remote_id is not None
    need_ms = UPLOAD_LIMIT_MS + LEASE_MARGIN_MS
    held.require(need_ms)
    checked = held.wiring.clock.mark()
    with held.wiring.store.unit() as unit:
        announced = unit.remotes.start_writing(
            remote, held.lease, limit_ms=FIRST_BYTE_MS + UPLOAD_LIMIT_MS, need_ms=need_ms
        )
        if announced is None:
            raise barred(unit)
    if too_late(held, checked):
        raise lease_lost()
    outcome = provider.sync_draft(remote.remote_id, draft_of(dossier, snapshot), limit_ms=UPLOAD_LIMIT_MS)
    if isinstance(outcome, Ambiguous):
        raise unreadable(provider, outcome)
    # An older upload without an answer keeps its own announcement until it can no longer land.
    older = remote.may_be_written_until()
    earlier = remote.writing_until if older is not None and dossier.now < older else None
    synced = isinstance(outcome, Accepted)
    with held.wiring.store.unit() as unit:
        if not unit.remotes.stop_writing(remote, announced, synced=synced, earlier=earlier):
            raise lease_lost()
    if isinstance(outcome, Refused):
        raise refused(provider, outcome, None)


def _require_as_approved(provider: Provider, seen: Observation, snapshot: Snapshot) -> None:
    envelope = snapshot.envelope
    differs = [
        name
        for name, there, approved in (
            ("subject", seen.subject, envelope.subject),
            ("sender name", seen.from_name, envelope.from_name),
            ("reply-to address", seen.reply_to, envelope.reply_to),
        )
        if there != approved
    ]
    if differs:
        raise ProviderFailed(
            f"{provider.label} shows another {' and '.join(differs)} than was just written. Nothing was sent.",
            todo="Somebody may be editing it there. Repeat the command when they are done.",
        )


def _require_bound(seen: Observation, dossier: Dossier) -> None:
    approval = dossier.campaign.approval
    assert approval is not None, "an approved campaign has its approval"
    count = seen.recipient_count
    if not count:
        raise ValidationFailed(
            "The provider does not say yet how many people would get this. Nothing was sent.",
            todo="Its count often lags behind a new draft: repeat the command in a minute.",
            recipients=count,
        )
    if count > approval.max_recipients:
        raise ValidationFailed(
            f"{count:,} people would get this; the approval allows {approval.max_recipients:,}.",
            todo=f"If so: campaigns withdraw {dossier.campaign.id}, then revoke, then approve a higher number.",
            recipients=count,
            max_recipients=approval.max_recipients,
        )
