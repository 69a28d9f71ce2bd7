"""Draft handoff: approved content becomes a draft at the provider.

1. Hold the campaign's lock; check rights, state and the stored bytes.
2. Search the provider for the token of *any* generation, in any status, since an hour before the campaign
   was created. So a store that was restored to before its own decision still finds it.
3. What is scheduled, sending or sent there is adopted as that; else the newest draft is adopted; else create
   one, by `once`.
4. Upload the content, repeatably. Until that is known to have worked it is pending, and asking for the draft
   again repeats only that.
"""

from dataclasses import dataclass

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.campaign import State
from campaignbridge.domain.content import Snapshot
from campaignbridge.domain.errors import ProviderFailed, Refusal, ValidationFailed
from campaignbridge.domain.ledger import (
    MUTATION_LIMIT_MS,
    READ_LIMIT_MS,
    Attempt,
    Operation,
    Status,
    request_hash,
    require_key,
)
from campaignbridge.domain.provider import Accepted, Ambiguous, Found, Refused, RemoteStatus
from campaignbridge.domain.ramp import Run
from campaignbridge.flows.adoption import adopt_unasked
from campaignbridge.flows.guard import (
    assert_draft,
    draft_of,
    is_account_of,
    known_remote,
    read,
    require_draft,
)
from campaignbridge.flows.holding import Held, Work, working_on
from campaignbridge.flows.noting import note_refusal
from campaignbridge.flows.once import Intent, perform
from campaignbridge.flows.refusals import lease_lost, refused, unreadable
from campaignbridge.flows.replay import answer_replay
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Provider
from campaignbridge.store.campaigns import Dossier
from campaignbridge.store.unit import Unit

SEARCH_SINCE_MS = 3_600_000  # before the campaign's creation: the provider's clock may be behind


@dataclass(frozen=True, slots=True)
class HandedOff:
    """What a handoff did."""

    remote_id: str
    state: State
    adopted: bool  # it was found there instead of made
    replay: bool = False


def hand_off(
    wiring: Wiring,
    campaign_id: str,
    *,
    actor: Actor,
    key: str,
    expected_version: int | None = None,
    run: Run | None = None,
) -> HandedOff:
    """Make the campaign's draft at the provider, or finish making it. `run`: for a wave's campaign, by its step."""
    actor.require("manage")
    require_key(key)

    def also(unit: Unit, dossier: Dossier) -> tuple[Snapshot, Attempt | None]:
        return (
            unit.campaigns.snapshot(dossier.campaign),
            unit.ledger.replay(campaign_id, Operation.CREATE, key),
        )

    with working_on(wiring, campaign_id, "draft", actor=actor.name, also=also) as work:
        try:
            if run is None:
                work.dossier.campaign.require_free()
            return _checked(work, actor=actor.name, key=key, expected_version=expected_version, run=run)
        except Refusal as refusal:
            if "attempt" not in refusal.facts:  # else the attempt has left its own
                note_refusal(wiring, work.dossier, "draft", actor, refusal)
            raise


def _checked(
    work: Work[tuple[Snapshot, Attempt | None]],
    *,
    actor: str,
    key: str,
    expected_version: int | None,
    run: Run | None,
) -> HandedOff:
    """Check everything, then make the draft; a recorded key is answered at once."""
    dossier, (snapshot, earlier) = work.dossier, work.also
    campaign, remote = dossier.campaign, dossier.remote
    replayed = answer_replay(earlier, _hash(dossier))
    if replayed is not None and not (remote and remote.content_pending):
        return HandedOff(replayed.remote_id or "", campaign.state, adopted=False, replay=True)
    campaign.require_settled()
    if replayed is None:
        campaign.require_version(expected_version)
    campaign.require_state(State.APPROVED, State.PROVIDER_DRAFT, doing="make its draft")
    require_frozen(dossier, snapshot)
    return _hand_off(work.held, dossier, snapshot, actor=actor, key=key, run=run)


def _hand_off(
    held: Held, dossier: Dossier, snapshot: Snapshot, *, actor: str, key: str, run: Run | None
) -> HandedOff:
    wiring = held.wiring
    provider = wiring.open_provider(dossier.connection)
    if dossier.campaign.state is State.PROVIDER_DRAFT:
        return _finish(held, dossier, provider, snapshot, adopted=False)
    found = search(provider, dossier)
    if found is None:
        require_account(provider, dossier)
        draft = draft_of(dossier, snapshot)
        intent = Intent(
            dossier=dossier,
            operation=Operation.CREATE,
            key=key,
            request_hash=_hash(dossier),
            actor=actor,
            run=run,
        )
        perform(
            held,
            provider,
            intent,
            lambda line: provider.create_draft(line, draft, limit_ms=MUTATION_LIMIT_MS),
        )
        return _finish(held, dossier, provider, snapshot, adopted=False)
    state = _adopt(held, dossier, found, actor=actor, key=key)
    if state is not State.PROVIDER_DRAFT:
        return HandedOff(found.remote_id, state, adopted=True)
    return _finish(held, dossier, provider, snapshot, adopted=True)


def search(provider: Provider, dossier: Dossier) -> Found | None:
    """Return what already stands at the provider for this campaign: what went first, then newest drafts."""
    outcome = provider.find_by_token(
        dossier.stem,
        since_ms=dossier.since - SEARCH_SINCE_MS,
        audience=dossier.campaign.audience,
        limit_ms=READ_LIMIT_MS,
    )
    match outcome:
        case Refused():
            raise refused(provider, outcome, None)
        case Ambiguous():
            raise unreadable(provider, outcome)
        case Accepted(result):
            if not result.complete:
                raise ProviderFailed(
                    f"{provider.label} did not show all of its campaigns, so an earlier draft can't be ruled out.",
                    todo="Repeat the command in a little while.",
                )
            return best(present(result.found, dossier))


def present(found: tuple[Found, ...], dossier: Dossier) -> tuple[Found, ...]:
    """Leave out drafts of generations before the present one: they are retired, and a listing may lag."""
    generation = dossier.campaign.generation
    own = (one for one in found if not one.part)
    return tuple(one for one in own if one.status is not RemoteStatus.DRAFT or one.generation >= generation)


def require_account(provider: Provider, dossier: Dossier) -> None:
    """Raise unless the key opens the campaign's account: in another one, nothing would be found."""
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


_FIRST = (
    RemoteStatus.SENT,
    RemoteStatus.SENDING,
    RemoteStatus.CANCELLING,
    RemoteStatus.SCHEDULED,
    RemoteStatus.UNTRACKED,
    RemoteStatus.FAILED,
    RemoteStatus.CANCELLED,
    RemoteStatus.DRAFT,
)


def best(found: tuple[Found, ...]) -> Found | None:
    """Return the one that counts: what went or may go, then what was stopped, then the newest draft."""
    return min(
        found,
        key=lambda one: (_FIRST.index(one.status), -one.generation, -one.created_ms, one.remote_id),
        default=None,
    )


def require_frozen(dossier: Dossier, snapshot: Snapshot) -> None:
    """Raise unless the stored bytes are exactly the approved ones."""
    approval = dossier.campaign.approval
    if approval is None or snapshot.fingerprint != approval.fingerprint or not snapshot.intact:
        raise ValidationFailed(
            "The stored content is not what was approved. Nothing was sent.",
            todo="Create the campaign anew from its file; this one may have been damaged in the store.",
        )


def _adopt(held: Held, dossier: Dossier, found: Found, *, actor: str, key: str) -> State:
    wiring = held.wiring
    attempt = _adopted_attempt(wiring, dossier, found, actor=actor, key=key)
    with wiring.store.unit() as unit:
        if not unit.locks.hold(held.lease, need_ms=0):
            raise lease_lost()
        return adopt_unasked(unit, wiring, dossier, found, attempt)


def _finish(
    held: Held, dossier: Dossier, provider: Provider, snapshot: Snapshot, *, adopted: bool
) -> HandedOff:
    """Upload the content to the draft that is there now."""
    with held.wiring.store.unit() as unit:
        dossier = unit.campaigns.get(dossier.campaign.id)
    remote = known_remote(dossier)
    require_draft(read(provider, dossier), dossier)
    assert_draft(provider, dossier, snapshot, held)
    return HandedOff(remote.remote_id or "", dossier.campaign.state, adopted=adopted)


def _adopted_attempt(wiring: Wiring, dossier: Dossier, found: Found, *, actor: str, key: str) -> Attempt:
    campaign = dossier.campaign
    return Attempt(
        id=wiring.new_id("att"),
        campaign_id=campaign.id,
        operation=Operation.CREATE,
        key=key,
        request_hash=_hash(dossier),
        status=Status.SUCCEEDED,
        retryable=False,
        account=campaign.account,
        generation=campaign.generation,
        remote_id=found.remote_id,
        from_state=campaign.state,
        deadline_at=0,
        actor=actor,
        created_at=0,
        answered_at=None,
        settled_at=None,
        error_code=None,
    )


def _hash(dossier: Dossier) -> str:
    campaign = dossier.campaign
    approved = campaign.approval.fingerprint if campaign.approval else ""
    return request_hash("create", campaign.id, campaign.audience, approved, campaign.generation)
