"""Replay of a recorded key: answered from the ledger, never by asking the provider."""

from campaignbridge.domain.errors import ProviderFailed, Refusal, Unconfirmed
from campaignbridge.domain.ledger import Attempt, Status
from campaignbridge.flows.refusals import attempt_facts


def answer_replay(attempt: Attempt | None, request_hash: str) -> Attempt | None:
    """Return the recorded success of this very request, or None when the key is new.

    Raises `idempotency_conflict` when the key named another request, `ProviderFailed` when that was refused
    and `Unconfirmed` while its outcome isn't known.
    """
    if attempt is None:
        return None
    if attempt.request_hash != request_hash:
        raise Refusal(
            "This key named another request before.",
            code="idempotency_conflict",
            todo="Use a new key for a new request.",
            attempt=attempt_facts(attempt, attempt.status),
        )
    match attempt.status:
        case Status.SUCCEEDED:
            return attempt
        case Status.FAILED:
            raise ProviderFailed(
                f"This request failed before ({attempt.error_code or 'refused'}); nothing was repeated.",
                todo="Use a new key to ask anew.",
                attempt=attempt_facts(attempt, attempt.status),
            )
        case Status.PENDING | Status.UNKNOWN:
            raise Unconfirmed(
                "This request was made before, and whether it took effect is not known yet.",
                todo=f"Nothing is repeated. campaigns reconcile {attempt.campaign_id} reads the provider now.",
                attempt=attempt_facts(attempt, attempt.status),
            )
