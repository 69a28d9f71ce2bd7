"""The one place where a refusal's code becomes an exit code. Documented contracts: rows are only ever added."""

from dataclasses import dataclass

DONE = 0
BUG = 1
USAGE = 2
REFUSED = 3
LATER = 4
PERSON = 5
PROVIDER = 6
INTERRUPTED = 130

MEANINGS: dict[int, str] = {
    DONE: "done",
    BUG: "a bug of ours; says where its report was written",
    USAGE: "wrong usage, or a confirmation is missing",
    REFUSED: "refused: a rule said no, or a file can't be used",
    LATER: "locked, busy or gone just now: try later",
    PERSON: "a person must look: something may have taken effect and isn't confirmed",
    PROVIDER: "the provider refused or can't be reached; nothing happened there",
    INTERRUPTED: "interrupted, or the question was declined",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ends on one code: its exit code, the HTTP twin of it, and a heading for people."""

    exit: int
    status: int
    title: str
    again: bool  # may this very request, with the same key, be made again?


ENDINGS: dict[str, Ending] = {
    "usage": Ending(USAGE, 400, "The command is not complete", again=True),
    "confirmation_required": Ending(USAGE, 428, "A confirmation is missing", again=True),
    "not_found": Ending(REFUSED, 404, "There is no such thing", again=True),
    "forbidden": Ending(REFUSED, 403, "The right for this is missing", again=True),
    "invalid_input": Ending(REFUSED, 400, "What was given can't be used", again=True),
    "validation_failed": Ending(REFUSED, 422, "It can't be sent as it is", again=True),
    "conflict": Ending(REFUSED, 409, "Somebody changed this meanwhile", again=True),
    "invalid_state": Ending(REFUSED, 409, "Its state doesn't allow this", again=True),
    "approval_not_allowed": Ending(REFUSED, 409, "This can't be approved", again=True),
    "idempotency_conflict": Ending(REFUSED, 409, "The key named another request", again=False),
    "already_sent_elsewhere": Ending(REFUSED, 409, "Another campaign sends this content", again=False),
    "audience_drift": Ending(REFUSED, 409, "The audience at the provider changed", again=True),
    "belongs_to_ramp": Ending(REFUSED, 409, "Its ramp decides that", again=True),
    "encoding_unclear": Ending(REFUSED, 422, "The file's encoding isn't known", again=True),
    "nothing_imported": Ending(REFUSED, 422, "No row names a person", again=True),
    "store_unusable": Ending(REFUSED, 503, "The store can't be used", again=True),
    "locked": Ending(LATER, 409, "Someone is working on this right now", again=True),
    "refresh_in_progress": Ending(LATER, 409, "Someone is reading this right now", again=True),
    "import_in_progress": Ending(LATER, 409, "Someone is importing this file right now", again=True),
    "in_progress": Ending(LATER, 409, "A request may still be under way", again=True),
    "lease_lost": Ending(LATER, 409, "It took too long, so nobody was asked", again=True),
    "rate_limited": Ending(LATER, 429, "Too many requests", again=True),
    "persistence_failed": Ending(LATER, 503, "The store is gone, busy or full", again=True),
    "source_unreachable": Ending(LATER, 503, "The other database can't be read now", again=True),
    "address_in_use": Ending(LATER, 409, "The port is taken", again=True),
    "copy_paused": Ending(PERSON, 409, "This is a copy of another installation", again=True),
    "reconciliation_required": Ending(PERSON, 409, "An earlier request is not confirmed", again=False),
    "test_unconfirmed": Ending(PERSON, 502, "A test is not confirmed", again=False),
    "provider_failed": Ending(PROVIDER, 502, "The provider refused or can't be reached", again=True),
    "internal_error": Ending(BUG, 500, "A bug of ours", again=False),
    "interrupted": Ending(INTERRUPTED, 499, "Interrupted", again=True),
}


def ending(code: str) -> Ending:
    """Return how a command ends on a code. One that isn't listed is a bug."""
    return ENDINGS.get(code, ENDINGS["internal_error"])
