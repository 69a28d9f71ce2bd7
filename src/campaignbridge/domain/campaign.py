"""A campaign: one piece of approved content, sent once to one audience. Its states are a table."""

from dataclasses import dataclass
from enum import StrEnum

from campaignbridge.domain.errors import Conflict, Forbidden, InvalidState, Refusal, Unconfirmed


class State(StrEnum):
    """Where a campaign is, in words that an operator would say."""

    DRAFT = "draft"
    READY_FOR_REVIEW = "ready_for_review"
    APPROVED = "approved"
    PROVIDER_DRAFT = "provider_draft"
    SCHEDULED = "scheduled"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    ARCHIVED = "archived"


S = State

EDITABLE = frozenset({S.DRAFT, S.READY_FOR_REVIEW, S.APPROVED})
TERMINAL = frozenset({S.SENT, S.CANCELLED, S.ARCHIVED})
WATCHED = frozenset({S.SCHEDULED, S.SENDING, S.UNKNOWN})

MOVES: dict[State, frozenset[State]] = {
    S.DRAFT: frozenset({S.READY_FOR_REVIEW, S.CANCELLED, S.ARCHIVED}),
    S.READY_FOR_REVIEW: frozenset({S.APPROVED, S.DRAFT, S.CANCELLED, S.ARCHIVED}),
    S.APPROVED: frozenset({S.PROVIDER_DRAFT, S.READY_FOR_REVIEW, S.DRAFT, S.CANCELLED, S.ARCHIVED}),
    S.PROVIDER_DRAFT: frozenset(
        {S.SCHEDULED, S.SENDING, S.SENT, S.APPROVED, S.CANCELLED, S.FAILED, S.UNKNOWN}
    ),
    S.SCHEDULED: frozenset({S.SENDING, S.SENT, S.PROVIDER_DRAFT, S.CANCELLED, S.FAILED, S.UNKNOWN}),
    S.SENDING: frozenset({S.SENT, S.FAILED, S.CANCELLED, S.UNKNOWN}),
    S.SENT: frozenset(),
    S.FAILED: frozenset({S.DRAFT, S.ARCHIVED}),
    S.CANCELLED: frozenset(),
    S.UNKNOWN: frozenset({S.PROVIDER_DRAFT, S.SCHEDULED, S.SENDING, S.SENT, S.FAILED, S.CANCELLED}),
    S.ARCHIVED: frozenset(),
}

# What a remote object that was found at the provider may turn an approved campaign into.
ADOPTIONS = frozenset({S.PROVIDER_DRAFT, S.SCHEDULED, S.SENDING, S.SENT, S.CANCELLED, S.FAILED})


def may_move(source: State, target: State, *, adopted: bool = False) -> bool:
    """Say whether a campaign may go from `source` to `target`. Staying is no move."""
    if adopted and source is State.APPROVED:
        return target in ADOPTIONS
    return target in MOVES[source]


@dataclass(frozen=True, slots=True)
class Approval:
    """Who approved exactly which bytes, for how many recipients at most."""

    by: str
    at_ms: int
    fingerprint: str
    max_recipients: int


@dataclass(frozen=True, slots=True)
class WaveOf:
    """Which wave of which ramp a campaign delivers."""

    id: str
    ramp: str  # its slug
    label: str
    since: int = 0  # from when on something of it may exist at the provider


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign as stored. Times are epoch milliseconds UTC of the store's clock."""

    id: str
    name: str
    connection_id: str
    account: str  # of its connection: limits, locks and remote ids are per account
    audience: str
    state: State
    version: int
    revision: int
    generation: int
    approval: Approval | None
    owner: str
    open_attempt: str | None
    look_at: int | None
    scheduled_for: int | None
    stopped_reason: str | None
    flag: str | None
    state_changed_at: int
    created_at: int
    wave: WaveOf | None = None  # the wave of a ramp that this campaign delivers

    def require_free(self) -> None:
        """Raise a refusal for a wave's campaign: its ramp decides what is done with it."""
        if self.wave is not None:
            raise Refusal(
                f"{self.id} is {self.wave.label} of the ramp {self.wave.ramp}, which decides what is done with it.",
                code="belongs_to_ramp",
                todo=f"Look at the ramp: ramps status {self.wave.ramp}. A cancel or unschedule may be asked for here.",
                ramp=self.wave.ramp,
            )

    def require_version(self, expected: int | None) -> None:
        """Raise `Conflict` when the caller looked at another version. None skips the check."""
        if expected is not None and expected != self.version:
            raise Conflict(
                f"{self.id} is at version {self.version}, not {expected}: somebody changed it meanwhile.",
                todo=f"Look at it again (campaigns show {self.id}) and repeat with its version.",
                version=self.version,
            )

    def require_settled(self) -> None:
        """Raise `Unconfirmed` while a request of this campaign has no confirmed outcome."""
        if self.open_attempt is not None:
            raise Unconfirmed(
                "An earlier request of this campaign is not confirmed: it may have taken effect.",
                todo=f"Nothing is repeated. campaigns reconcile {self.id} reads the provider now.",
                attempt=self.open_attempt,
                version=self.version,
            )

    def require_state(self, *allowed: State, doing: str) -> None:
        """Raise `InvalidState` unless the campaign is in one of `allowed`."""
        if self.state not in allowed:
            names = " or ".join(state.value for state in allowed)
            raise InvalidState(
                f"{self.id} is {self.state.value}; to {doing}, it must be {names}.",
                todo=f"campaigns show {self.id} says what may be done now.",
                version=self.version,
            )


def require_separation(approval: Approval | None, actor: str, *, separated: bool) -> None:
    """Raise `Forbidden` when duties are separated and the approver would deliver.

    An approver that wasn't recorded fails closed.
    """
    if separated and (approval is None or not approval.by or approval.by == actor):
        raise Forbidden(
            "Whoever approved the content may not also send it.",
            todo="Ask somebody else with the right to deliver.",
        )
