"""Retiring: a draft is made unsendable for good, and the campaign may have a new one.

1. Under the campaign's lock: nothing unresolved, and it isn't known to have gone.
2. Read the remote campaign: a draft. Gone already counts where we had asked for that, or where nothing was ever sent
   of this generation, and the key still opens the same account.
3. Announce it (`retiring_at`, and `writing_until` as for an upload): from here on this generation is never sent.
4. Ask the provider to retire it; repeatable. A definite answer only: accepted, or gone. No draft any more: read again.
5. Where the provider records who was mailed, nobody may be in the record: it is what an acceptance can't tell.
6. One transaction, while the lock is still ours: retired, and generation + 1.

A provider without `retire` deletes anything, so its acceptance would prove nothing. There a person deletes the draft,
step 2 must read that it is gone, and a new generation needs that no send or schedule was ever issued of this one.
"""

from dataclasses import dataclass
from typing import assert_never

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import EDITABLE, State
from campaignbridge.domain.errors import InvalidState, ProviderFailed, Refusal, Unconfirmed
from campaignbridge.domain.ledger import (
    FIRST_BYTE_MS,
    LEASE_MARGIN_MS,
    MUTATION_LIMIT_MS,
    READ_LIMIT_MS,
    Operation,
)
from campaignbridge.domain.provider import (
    Accepted,
    Ambiguous,
    Category,
    Observation,
    RecipientKind,
    Refused,
    RemoteStatus,
)
from campaignbridge.domain.ramp import Run
from campaignbridge.domain.remote import RemoteCampaign
from campaignbridge.flows.finding import require
from campaignbridge.flows.guard import is_account_of, known_remote
from campaignbridge.flows.holding import Held, nothing_else, working_on
from campaignbridge.flows.noting import note_refusal
from campaignbridge.flows.once import too_late
from campaignbridge.flows.refusals import barred, lease_lost, refused, unreadable
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Provider, Reader
from campaignbridge.store.campaigns import Dossier


@dataclass(frozen=True, slots=True)
class Retired:
    """What was retired: the remote id, and the generation that the campaign has now."""

    remote_id: str
    generation: int
    state: State


def retire(
    wiring: Wiring,
    campaign_id: str,
    *,
    actor: Actor,
    expected_version: int | None = None,
    run: Run | None = None,
) -> Retired:
    """Make the campaign's draft unsendable; it is approved again, without a draft, or stays what it was.

    `run`: for a wave's campaign, by its step.
    """
    actor.require("deliver")
    with working_on(wiring, campaign_id, "retire", actor=actor.name, also=nothing_else) as work:
        dossier = work.dossier
        campaign = dossier.campaign
        try:
            if run is None:
                campaign.require_free()
            campaign.require_settled()
            campaign.require_version(expected_version)
            campaign.require_state(*sorted(EDITABLE), State.PROVIDER_DRAFT, doing="have its draft retired")
            remote = known_remote(dossier)
            if remote.went:
                raise _may_have_gone(dossier)
            if not make_unsendable(work.held, dossier, wiring.open_provider(dossier.connection)):
                raise _no_draft(dossier)
            return _write(work.held, dossier, remote, actor.name)
        except Refusal as refusal:
            note_refusal(wiring, dossier, "retire", actor, refusal)
            raise


def make_unsendable(held: Held, dossier: Dossier, provider: Provider, *, ruled: bool = False) -> bool:
    """Retire the remote campaign with a definite answer; False when it is no draft any more.

    Raises while that isn't known: it may be repeated. `ruled`: a person answers for what went before.
    """
    remote = known_remote(dossier)
    assert remote.remote_id is not None
    if not _reads_as_draft_or_gone(provider, dossier, remote, ruled=ruled):
        return False
    if "retire" not in provider.capabilities:
        return True  # it is gone: nothing else comes here without the capability
    announced = _announce(held, remote)
    outcome = provider.retire(remote.remote_id, limit_ms=MUTATION_LIMIT_MS)
    if isinstance(outcome, Ambiguous):
        raise unreadable(provider, outcome)
    older = remote.may_be_written_until()
    earlier = remote.writing_until if older is not None and dossier.now < older else None
    with held.wiring.store.unit() as unit:
        if not unit.remotes.stop_writing(remote, announced, synced=False, earlier=earlier):
            raise lease_lost()
    match outcome:
        case Accepted():
            pass
        case Refused(category=Category.MISSING):
            _require_account(provider, dossier)
        case Refused(category=Category.REJECTED):
            return False
        case Refused():
            raise refused(provider, outcome, None)
        case _:
            assert_never(outcome)
    _require_nobody_mailed(held, provider, dossier, remote.remote_id)
    return True


def require_unsendable(held: Held, dossier: Dossier) -> None:
    """Make a wave's draft unsendable for good: by retiring it, or, where that can't be, by reading that it is gone.

    What its requests came to is settled, and a person answers for it; the caller holds its lock, and it is recorded.
    Raises when it may have gone.
    """
    campaign, remote = dossier.campaign, dossier.remote
    campaign.require_settled()
    if remote is None or remote.remote_id is None or remote.retired_at is not None:
        return
    if remote.may_have_mailed:
        raise _may_have_gone(dossier)
    provider = held.wiring.open_provider(dossier.connection)
    if not make_unsendable(held, dossier, provider, ruled=True):
        raise InvalidState(
            f"{provider.label} shows no draft any more: this wave may have gone.",
            todo=f"See what happened there: campaigns reconcile {campaign.id}",
        )
    with held.wiring.store.unit() as unit:
        if not unit.locks.hold(held.lease, need_ms=0):
            raise lease_lost()
        unit.remotes.retired(remote)


def names_somebody(provider: Reader, remote_id: str) -> bool | Refused | Ambiguous:
    """Say whether the provider's own record names somebody who was mailed; a record that isn't there names nobody."""
    if "recipients" not in provider.capabilities:
        return False
    outcome = provider.recipients(remote_id, RecipientKind.SENT, most=1, limit_ms=READ_LIMIT_MS)
    match outcome:
        case Accepted(listing):
            return bool(listing.items) or not listing.complete
        case Refused(category=Category.MISSING):
            return False
        case Refused() | Ambiguous():
            return outcome
        case _:
            assert_never(outcome)


def _reads_as_draft_or_gone(
    provider: Provider, dossier: Dossier, remote: RemoteCampaign, *, ruled: bool
) -> bool:
    assert remote.remote_id is not None
    outcome = provider.inspect(remote.remote_id, limit_ms=READ_LIMIT_MS)
    match outcome:
        case Accepted(seen):
            return _is_retirable(provider, seen)
        case Refused(category=Category.MISSING):
            _require_account(provider, dossier)
            if not (ruled or remote.retiring_at is not None) and _was_delivered(dossier):
                raise _gone_after_a_send(dossier)
            return True
        case Refused():
            raise refused(provider, outcome, None)
        case Ambiguous():
            raise unreadable(provider, outcome)
        case _:
            assert_never(outcome)


def _is_retirable(provider: Provider, seen: Observation) -> bool:
    if seen.status is not RemoteStatus.DRAFT:
        return False
    if "retire" not in provider.capabilities:
        raise InvalidState(
            f"{provider.label} has no way to make a draft unsendable.",
            todo="Delete the draft there, then repeat the command: it reads that the draft is gone.",
        )
    return True


def _was_delivered(dossier: Dossier) -> bool:
    """Say whether a send or schedule of this generation was ever issued, or is open."""
    return dossier.delivered or (
        dossier.attempt is not None and dossier.attempt.operation in (Operation.SEND, Operation.SCHEDULE)
    )


def _announce(held: Held, remote: RemoteCampaign) -> int:
    need_ms = MUTATION_LIMIT_MS + LEASE_MARGIN_MS
    held.require(need_ms)
    checked = held.wiring.clock.mark()
    with held.wiring.store.unit() as unit:
        announced = unit.remotes.start_retiring(
            remote, held.lease, limit_ms=FIRST_BYTE_MS + MUTATION_LIMIT_MS, need_ms=need_ms
        )
        if announced is None:
            raise barred(unit)
    if too_late(held, checked):
        raise lease_lost()
    return announced


def _require_account(provider: Provider, dossier: Dossier) -> None:
    """Raise unless the key still opens the campaign's account: another one's silence proves nothing."""
    same = is_account_of(provider, dossier)
    if isinstance(same, Refused):
        raise refused(provider, same, None)
    if isinstance(same, Ambiguous):
        raise unreadable(provider, same)
    if not same:
        raise ProviderFailed(
            f"The key of {dossier.connection.label} opens another account than the campaign's.",
            todo=f"Give it a key of the same account: connections replace-key {dossier.connection.id}",
        )


def _require_nobody_mailed(held: Held, provider: Provider, dossier: Dossier, remote_id: str) -> None:
    named = names_somebody(provider, remote_id)
    if isinstance(named, Refused):
        raise refused(provider, named, None)
    if isinstance(named, Ambiguous):
        raise unreadable(provider, named)
    if not named:
        return
    campaign = dossier.campaign
    with held.wiring.store.unit() as unit:
        unit.remotes.accepted(campaign.id, campaign.generation, status=RemoteStatus.SENDING.value, went=True)
        unit.campaigns.alarm(campaign.id, "retired_but_went")
        unit.events.add("retired_but_went", campaign_id=campaign.id, actor=None, remote_id=remote_id)
        held.wiring.wake_watch(unit, campaign.id, in_ms=0)
    raise Unconfirmed(
        f"{provider.label}'s own record names people who were mailed: it had gone, and nothing was made anew.",
        todo=f"Look at it there, then settle it by hand: campaigns resolve {campaign.id}",
        reason="retired_but_went",
    )


def _write(held: Held, dossier: Dossier, remote: RemoteCampaign, actor: str) -> Retired:
    campaign = dossier.campaign
    state = State.APPROVED if campaign.state is State.PROVIDER_DRAFT else campaign.state
    with held.wiring.store.unit() as unit:
        if not unit.locks.hold(held.lease, need_ms=0):
            raise lease_lost()
        require(unit.remotes.retired(remote))
        require(unit.campaigns.next_generation(campaign, state))
        unit.events.add(
            "draft_retired",
            campaign_id=campaign.id,
            actor=actor,
            version=campaign.version + 1,
            remote_id=remote.remote_id,
            generation=campaign.generation,
        )
    return Retired(remote.remote_id or "", campaign.generation + 1, state)


def _may_have_gone(dossier: Dossier) -> InvalidState:
    return InvalidState(
        "This draft may have been sent: a new one could mail people twice.",
        todo=f"See what happened there: campaigns reconcile {dossier.campaign.id}",
    )


def _no_draft(dossier: Dossier) -> InvalidState:
    return InvalidState(
        "The provider shows no draft any more, so nothing was retired.",
        todo=f"See what happened there: campaigns reconcile {dossier.campaign.id}",
    )


def _gone_after_a_send(dossier: Dossier) -> Unconfirmed:
    return Unconfirmed(
        "The draft is gone at the provider, and a send of it had been issued: it may have mailed people.",
        todo=f"Look at it there, then settle it by hand: campaigns resolve {dossier.campaign.id}",
        reason="missing",
    )
