"""Mutants: the protocol with one guard removed, each with the schedule that shows what the guard is for.

Every schedule runs twice: with the guard nothing may happen, without it an invariant must break. A mutant that
its schedule doesn't catch means that the guard is superfluous, or that the model is too kind.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from campaignbridge.domain import cadence, evidence
from campaignbridge.domain.campaign import State
from campaignbridge.domain.errors import CommitUnknown, InvalidState
from campaignbridge.domain.ledger import Attempt, Operation
from campaignbridge.domain.provider import Ambiguous, Category, Found, Refused, RemoteStatus
from campaignbridge.domain.remote import RemoteCampaign
from campaignbridge.engine import worker
from campaignbridge.flows import finding, guard, handoff, once, outcome, reconcile, retiring
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.campaigns import Campaigns, Dossier
from campaignbridge.store.sql import catalogue
from sim.directed import (
    PLAIN,
    Schedule,
    applied_after_the_window,
    audience_swapped,
    both_twins,
    crash_after_the_post,
    freeze_after_the_intent,
    jobs_lost_while_sending,
    key_of_another_account,
    late_answer_and_a_second_sender,
    lost_commit_then_crash,
    paused_copy,
    plays,
    renewed_before_a_late_send,
    restored_to_before_the_draft,
    sent_by_hand_meanwhile,
    sent_by_hand_then_its_twin,
    sent_from_a_paused_copy,
    stale_after_the_window,
    twin_goes_while_the_claim_is_held,
    two_operators,
    two_without_locks,
    two_workers,
    unsafe_job_taken_over,
    watch_stopped_before_the_answer,
    woken_while_claimed,
    zombie_intent,
    zombie_release,
    zombie_worker,
)
from sim.invariants import Violation
from sim.scenarios import HANDOFFS, SENDS, edited


@dataclass(frozen=True, slots=True)
class Mutant:
    """One guard removed: by other code in its place, or by another text of its statement."""

    name: str
    expects: str  # which invariant breaks without it
    schedule: Schedule
    code: tuple[tuple[object, str, Any], ...] = ()
    texts: dict[str, str] = field(default_factory=dict)

    def caught(self) -> str:
        """Return what went wrong without the guard, or raise when nothing did, or when it did with it."""
        self.schedule(None)
        statements = edited(catalogue("sqlite"), self.texts) if self.texts else None
        try:
            with ExitStack() as stack:
                for place, name, instead in self.code:
                    stack.enter_context(_replaced(place, name, instead))
                self.schedule(statements)
        except Violation as violation:
            if f"{self.expects}:" in str(violation):
                return str(violation)
            raise AssertionError(f"{self.name} is caught for another reason: {violation}") from None
        raise AssertionError(f"nobody notices that a guard is missing: {self.name}")


@contextmanager
def _replaced(place: object, name: str, instead: Any) -> Iterator[None]:
    kept = vars(place)[name]
    setattr(place, name, instead)
    try:
        yield
    finally:
        setattr(place, name, kept)


# code that stands in a guard's place
class _Sleepy(Wiring):
    """Wiring that wakes nobody."""

    __slots__ = ()

    def wake_watch(self, *_: object, **__: object) -> None:
        """Don't."""


def _intent_without_watch(unit: Any, held: Any, intent: Any, attempt: Any) -> Any:
    awake = held.wiring
    held.wiring = _Sleepy(
        awake.store, awake.open_provider, awake.clock, awake.chance, awake.holder, awake.duties_separated
    )
    try:
        return _WRITE_INTENT(unit, held, intent, attempt)
    finally:
        held.wiring = awake


def _intent_whatever_the_commit_said(held: Any, intent: Any) -> Any:
    attempt = once._attempt_of(held, intent)
    try:
        with held.wiring.store.unit() as unit:
            return once._write_intent(unit, held, intent, attempt)
    except CommitUnknown:
        return attempt


def _intent_unwritten(held: Any, intent: Any) -> Any:
    return (
        once._attempt_of(held, intent) if intent.operation is Operation.SEND else _COMMIT_INTENT(held, intent)
    )


def _doubt_is_failure(call: Any, line: Any) -> Any:
    outcome = _CALL_ONCE(call, line)
    return Refused("timeout", Category.UNREACHABLE) if isinstance(outcome, Ambiguous) else outcome


def _accepted_without_wake(unit: Any, held: Any, attempt: Any, value: Any) -> None:
    awake = held.wiring
    held.wiring = _Sleepy(
        awake.store, awake.open_provider, awake.clock, awake.chance, awake.holder, awake.duties_separated
    )
    try:
        _WRITE_ACCEPTED(unit, held, attempt, value)
    finally:
        held.wiring = awake


def _follow_without_claim(unit: Any, dossier: Any, target: Any, *, attempt_id: str) -> None:
    if target is State.PROVIDER_DRAFT:
        unit.ledger.free_content(dossier.campaign.id)


def _search_drafts_only(provider: Any, dossier: Any) -> Found | None:
    found = _SEARCH(provider, dossier)
    return found if found is not None and found.status is RemoteStatus.DRAFT else None


def _absence_at_any_time(case: Any, verdict: Any, began_at: int, *, target: Any = None) -> Any:
    attempt = case.attempt
    early = replace(attempt, deadline_at=-(10**15)) if attempt is not None else None
    return _ABSENCE(replace(case, attempt=early), verdict, began_at, target=target)


def _draft_of_anybody(seen: Any, _dossier: Any) -> None:
    if seen.status is not RemoteStatus.DRAFT:
        raise InvalidState("not a draft")


_COMMIT_INTENT = once._commit_intent
_WRITE_INTENT = once._write_intent
_CALL_ONCE = once._call_once
_SEARCH = handoff.search
_WRITE_ACCEPTED = outcome._write_accepted
_ABSENCE = evidence._absence

_TAKE_LIVE_LOCK = """INSERT INTO locks (key, fence, holder, operation, actor, interrupted, acquired_at, held_until)
    VALUES (:key, 1, :holder, :operation, :actor, NULL, now_ms(), now_ms() + :ttl_ms)
    ON CONFLICT (key) DO UPDATE SET fence = locks.fence + 1, holder = :holder, interrupted = locks.operation,
        operation = :operation, actor = :actor, acquired_at = now_ms(), held_until = now_ms() + :ttl_ms
    RETURNING fence, interrupted"""


_UNCHANGED = " AND version = :version AND state = :from_state AND open_attempt IS NULL"
_WENT = """
    AND (:delivers = 0 OR NOT EXISTS (SELECT 1 FROM remote_campaigns r
        WHERE r.campaign_id = campaigns.id AND r.generation = campaigns.generation
            AND (r.went = 1 OR r.spent = 1 OR r.retiring_at IS NOT NULL)))"""


def _without(name: str, *predicates: str) -> dict[str, str]:
    """Return a statement's text without some of its predicates."""
    text = catalogue("sqlite")[name].text
    for predicate in predicates:
        assert predicate in text, f"{name} has no {predicate!r}"
        text = text.replace(predicate, "")
    return {name: text}


def mutants() -> list[Mutant]:
    """Return every mutant."""
    owner = " AND fence = :fence AND holder = :holder"
    late = next(one for one in SENDS if one.name == "send applied late")
    lost_create = next(one for one in HANDOFFS if one.name == "handoff answer lost")
    return [
        Mutant(
            "no pending row before the call",
            "I1",
            crash_after_the_post,
            ((once, "_commit_intent", _intent_unwritten),),
        ),
        Mutant(
            "an unknown COMMIT is taken for committed",
            "I1",
            lost_commit_then_crash,
            ((once, "_commit_intent", _intent_whatever_the_commit_said),),
        ),
        Mutant(
            "an ambiguous answer is taken for a failure",
            "I1",
            plays(late),
            ((once, "_call_once", _doubt_is_failure),),
        ),
        Mutant(
            "no look at the clock before the first byte",
            "I1",
            freeze_after_the_intent,
            ((once, "too_late", lambda *_: False),),
        ),
        Mutant(
            "the watch is queued with the outcome",
            "I8",
            plays(PLAIN),
            ((once, "_write_intent", _intent_without_watch),),
        ),
        Mutant(
            "no settle window",
            "I1",
            plays(late),
            ((Attempt, "window_end", property(lambda self: self.created_at)),),
        ),
        Mutant(
            "a reading inside the window counts",
            "I1",
            plays(late),
            ((evidence, "_absence", _absence_at_any_time),),
        ),
        Mutant(
            "one reading instead of two",
            "I5",
            stale_after_the_window,
            ((evidence, "second_reading", lambda *_: True),),
        ),
        Mutant(
            "no reading later on", "I5", applied_after_the_window, ((cadence, "recheck", lambda _: None),)
        ),
        Mutant(
            "a refused send is believed without a look",
            "I5",
            sent_by_hand_meanwhile,
            ((once, "_second_look", lambda _provider, _attempt, refusal: refusal),),
        ),
        Mutant(
            "the token comes from the attempt",
            "I1",
            plays(lost_create),
            ((Dossier, "token", property(lambda self: f"{self.stem}-{self.now}.g1")),),
        ),
        Mutant(
            "no search before a create",
            "I1",
            restored_to_before_the_draft,
            ((handoff, "search", lambda *_: None),),
        ),
        Mutant(
            "the search sees drafts only",
            "I1",
            restored_to_before_the_draft,
            ((handoff, "search", _search_drafts_only),),
        ),
        Mutant(
            "the draft's audience isn't compared",
            "I10",
            audience_swapped,
            ((guard, "require_draft", _draft_of_anybody),),
        ),
        Mutant(
            "no content claim",
            "I1",
            both_twins,
            texts=_without(
                "claims.take",
                "\nWHERE content_claims.until < now_ms() OR content_claims.campaign_id IN (:campaign_id, :after)",
            ),
        ),
        Mutant(
            "the check is outside of the lock",
            "I1",
            two_without_locks,
            texts=_without("campaigns.claim", _UNCHANGED, _WENT),
        ),
        Mutant("a live lock is taken over", "I6", two_operators, texts={"locks.acquire": _TAKE_LIVE_LOCK}),
        Mutant(
            "no fence on what is written under a lock",
            "I2",
            zombie_intent,
            texts=_without("locks.hold", owner + " AND held_until >= now_ms() + :need_ms"),
        ),
        Mutant(
            "a lock is released by whoever comes",
            "I6",
            zombie_release,
            texts=_without("locks.release", owner),
        ),
        Mutant(
            "a job is ended by whoever comes",
            "I6",
            zombie_worker,
            texts={**_without("jobs.again", owner), **_without("jobs.finish", owner)},
        ),
        Mutant(
            "a live job is claimed",
            "I6",
            two_workers,
            texts={
                "jobs.claim": catalogue("sqlite")["jobs.claim"].text.replace(
                    "lease_until < (SELECT now_ms())", "1 = 1"
                )
            },
        ),
        Mutant(
            "what is known to have gone may be sent again",
            "I1",
            late_answer_and_a_second_sender,
            texts={
                **_without("campaigns.claim", _WENT),
                **_without("campaigns.alarm", ", version = version + 1"),
            },
        ),
        Mutant(
            "a reading takes no content claim",
            "I1",
            sent_by_hand_then_its_twin,
            ((finding, "follow_content", _follow_without_claim),),
        ),
        Mutant(
            "a freed claim is not handed to the twin",
            "I1",
            twin_goes_while_the_claim_is_held,
            texts={
                "claims.hand_over": "UPDATE content_claims SET until = 0 WHERE campaign_id = :campaign_id"
            },
        ),
        Mutant(
            "an accepted send wakes nobody",
            "I8",
            watch_stopped_before_the_answer,
            ((outcome, "_write_accepted", _accepted_without_wake),),
        ),
        Mutant(
            "another account's silence counts",
            "I1",
            key_of_another_account,
            ((reconcile, "is_account_of", lambda *_: True), (handoff, "is_account_of", lambda *_: True)),
        ),
        Mutant(
            "a new generation without retiring the old draft",
            "I1",
            renewed_before_a_late_send,
            ((retiring, "make_unsendable", lambda *_args, **_more: True),),
        ),
        Mutant(
            "a spent generation is sent",
            "I1",
            renewed_before_a_late_send,
            ((RemoteCampaign, "sendable", property(lambda remote: not remote.went)),),
            _without("campaigns.claim", " OR r.spent = 1 OR r.retiring_at IS NOT NULL"),
        ),
        Mutant("a wish for another run is dropped", "I8", woken_while_claimed, texts=_no_wish()),
        Mutant(
            "a copy that nobody has adopted works",
            "I1",
            paused_copy,
            texts={
                **_without(
                    "jobs.claim",
                    "\n    AND NOT EXISTS (SELECT 1 FROM installation WHERE paused_since IS NOT NULL)",
                ),
                **_never_paused(),
            },
        ),
        Mutant(
            "a copy that nobody has adopted sends",
            "I1",
            sent_from_a_paused_copy,
            texts=_without(
                "locks.hold",
                "\n    AND (:acts = 0 OR NOT EXISTS (SELECT 1 FROM installation WHERE paused_since IS NOT NULL))",
            ),
        ),
        Mutant(
            "the sweep looks for no campaigns",
            "I8",
            jobs_lost_while_sending,
            ((Campaigns, "unwatched", lambda *_args, **_more: []),),
        ),
        Mutant(
            "no takeover guard",
            "I6",
            unsafe_job_taken_over,
            ((worker, "abandoned_midway", lambda *_: False),),
            _without("jobs.start", "\n    AND started_at IS NULL"),
        ),
    ]


def _never_paused() -> dict[str, str]:
    """Return the statements that read a campaign, saying that no copy is paused."""
    return {
        name: one.text.replace("i.paused_since", "NULL AS paused_since")
        for name, one in catalogue("sqlite").items()
        if "i.paused_since" in one.text
    }


def _no_wish() -> dict[str, str]:
    text = catalogue("sqlite")["jobs.enqueue"].text
    start, end = text.index(",\n    rerun_at = CASE"), text.index(",\n    updated_at = now_ms()")
    return {"jobs.enqueue": text[:start] + text[end:]}
