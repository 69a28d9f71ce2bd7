"""The ledger of requests: what was asked of a provider, and what is known of its outcome."""

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum

from campaignbridge.domain.campaign import State
from campaignbridge.domain.errors import InvalidInput

SETTLE_MS = 300_000  # how long after its deadline a request may still take effect, by our reckoning
MUTATION_LIMIT_MS = 25_000  # one total for write and read of a mutation
UPLOAD_LIMIT_MS = 60_000  # of a repeatable upload, dialling included
READ_LIMIT_MS = 10_000
COUNT_LIMIT_MS = 60_000  # of counting an audience whose provider tells no number
DIAL_LIMIT_MS = 10_000
LEASE_MARGIN_MS = 10_000  # a lease must outlive the call by this much
FIRST_BYTE_MS = 5_000  # from the last check of the lease to the first byte, row-lock waits included

_KEY = re.compile(r"[A-Za-z0-9_.:-]{1,100}")


class Operation(StrEnum):
    """What was asked for. One request each, never repeated."""

    CREATE = "create"
    SCHEDULE = "schedule"
    UNSCHEDULE = "unschedule"
    SEND = "send"
    CANCEL = "cancel"
    TEST = "test"  # mails a few given addresses; watched by nobody, and settled by its answer alone


class Status(StrEnum):
    """What is known of a request. Pending and unknown are unresolved."""

    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


UNRESOLVED = frozenset({Status.PENDING, Status.UNKNOWN})

# Where an accepted request leads. Accepted is not sent: only a reading records sent.
ACCEPTED_STATE: dict[Operation, State] = {
    Operation.CREATE: State.PROVIDER_DRAFT,
    Operation.SCHEDULE: State.SCHEDULED,
    Operation.UNSCHEDULE: State.PROVIDER_DRAFT,
    Operation.SEND: State.SENDING,
    Operation.CANCEL: State.SENDING,  # it goes on until a reading says how many were mailed
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request as stored. Times are epoch milliseconds UTC of the store's clock."""

    id: str
    campaign_id: str
    operation: Operation
    key: str
    request_hash: str
    status: Status
    retryable: bool
    account: str
    generation: int
    remote_id: str | None
    from_state: State
    deadline_at: int
    actor: str | None
    created_at: int
    answered_at: int | None
    settled_at: int | None
    error_code: str | None
    schedule_at: int | None = None  # the send time that a schedule asked for

    @property
    def window_end(self) -> int:
        """From here on a reading can prove that the request did not take effect."""
        return self.deadline_at + SETTLE_MS

    @property
    def unresolved(self) -> bool:
        """It may have taken effect."""
        return self.status in UNRESOLVED


def require_key(key: str) -> str:
    """Return the idempotency key, or raise `InvalidInput` when it is malformed."""
    if not _KEY.fullmatch(key):
        raise InvalidInput(
            "The idempotency key must be 1 to 100 letters, digits or any of _ . : -",
            todo="Leave it out and one is made, or pass one such as k_2026-11-29.",
        )
    return key


def request_hash(*parts: str | int) -> str:
    """Return the hash of a request's own words, to tell a replay from another request."""
    digest = hashlib.sha256()
    for part in parts:
        data = str(part).encode()
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def title_with_token(name: str, token: str) -> str:
    """Return the remote title: the name cut to 60 characters, and the token that finds it again."""
    return f"{name[:60].rstrip()} [{token}]"


def token_stem(installation: str, campaign_id: str) -> str:
    """Return what every generation's token of one campaign starts with."""
    return f"{installation}.{campaign_id}"
