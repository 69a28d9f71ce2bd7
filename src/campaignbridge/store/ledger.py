"""Attempts in the store: inserted before a request is made, settled once."""

from campaignbridge.domain.campaign import State
from campaignbridge.domain.ledger import Attempt, Operation, Status
from campaignbridge.ports import Row, Transaction

KEEP_SENT_MS = 30 * 24 * 3_600_000  # the same content doesn't go to the same audience again so soon
FAR_AHEAD_MS = 9_000_000_000_000_000  # held until somebody says otherwise


class Ledger:
    """The attempts and content claims of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def insert(self, attempt: Attempt, *, deadline_ms: int) -> int | None:
        """Insert a pending attempt; return its deadline, or None when another one stands in its way.

        Its deadline is the store's now + `deadline_ms`; the fields of `attempt` that the store decides
        (deadline and times) are ignored.
        """
        row = self._tx.one(
            "attempts.insert",
            id=attempt.id,
            campaign_id=attempt.campaign_id,
            operation=attempt.operation.value,
            key=attempt.key,
            request_hash=attempt.request_hash,
            account=attempt.account,
            generation=attempt.generation,
            remote_id=attempt.remote_id,
            from_state=attempt.from_state.value,
            deadline_ms=deadline_ms,
            schedule_at=attempt.schedule_at,
            actor=attempt.actor,
        )
        return row["deadline_at"] if row else None

    def adopted(self, attempt: Attempt) -> bool:
        """Insert a create that succeeded without a request; False when its key stands already."""
        return (
            self._tx.run(
                "attempts.adopted",
                id=attempt.id,
                campaign_id=attempt.campaign_id,
                key=attempt.key,
                request_hash=attempt.request_hash,
                account=attempt.account,
                generation=attempt.generation,
                remote_id=attempt.remote_id,
                from_state=attempt.from_state.value,
                actor=attempt.actor,
            )
            == 1
        )

    def get(self, attempt_id: str) -> Attempt | None:
        """Return an attempt by id."""
        row = self._tx.one("attempts.get", id=attempt_id)
        return attempt_of(row) if row else None

    def replay(self, campaign_id: str, operation: Operation, key: str) -> Attempt | None:
        """Return the attempt that this key named before."""
        row = self._tx.one("attempts.replay", campaign_id=campaign_id, operation=operation.value, key=key)
        return attempt_of(row) if row else None

    def of_campaign(self, campaign_id: str) -> list[Attempt]:
        """Return a campaign's attempts, oldest first."""
        return [attempt_of(row) for row in self._tx.all("attempts.of_campaign", campaign_id=campaign_id)]

    def tests_lately(self, campaign_id: str, *, within_ms: int) -> int:
        """Return how many tests of a campaign were asked for lately, whatever came of them."""
        row = self._tx.one("attempts.tests_lately", campaign_id=campaign_id, within_ms=within_ms)
        return int(row["n"]) if row else 0

    def settle(
        self,
        attempt_id: str,
        status: Status,
        *,
        answered: bool,
        error_code: str | None = None,
        retryable: bool = False,
        remote_id: str | None = None,
    ) -> bool:
        """Record what is known of an unresolved attempt; False when it was settled before."""
        return (
            self._tx.run(
                "attempts.settle",
                id=attempt_id,
                status=status.value,
                retryable=int(retryable),
                error_code=error_code,
                remote_id=remote_id,
                answered=int(answered),
            )
            == 1
        )

    def claim_content(
        self,
        *,
        account: str,
        audience: str,
        fingerprint: str,
        campaign_id: str,
        attempt_id: str,
        after: str | None = None,
    ) -> bool:
        """Claim this content for this audience; False while another campaign than `after` holds it."""
        return (
            self._tx.run(
                "claims.take",
                account=account,
                audience=audience,
                fingerprint=fingerprint,
                campaign_id=campaign_id,
                attempt_id=attempt_id,
                after=after or "",
                until=FAR_AHEAD_MS,
            )
            == 1
        )

    def keep_content(self, campaign_id: str, *, keep_ms: int) -> None:
        """Hold the campaign's claim for `keep_ms` more."""
        self._tx.run("claims.keep_until", campaign_id=campaign_id, keep_ms=keep_ms)

    def free_content(self, campaign_id: str) -> None:
        """Free the campaign's claim, or hand it to a twin that went without it meanwhile."""
        twin = self._tx.one("claims.twin_on_its_way", campaign_id=campaign_id, keep_ms=KEEP_SENT_MS)
        if twin is None:
            self._tx.run("claims.keep_until", campaign_id=campaign_id, keep_ms=-1)
        else:
            until = twin["over_at"] + KEEP_SENT_MS if twin["over_at"] is not None else FAR_AHEAD_MS
            self._tx.run("claims.hand_over", campaign_id=campaign_id, twin_id=twin["id"], until=until)


def attempt_of(row: Row) -> Attempt:
    """Return the attempt that a row holds."""
    return Attempt(
        id=row["id"],
        campaign_id=row["campaign_id"],
        operation=Operation(row["operation"]),
        key=row["key"],
        request_hash=row["request_hash"],
        status=Status(row["status"]),
        retryable=bool(row["retryable"]),
        account=row["account"],
        generation=row["generation"],
        remote_id=row["remote_id"],
        from_state=State(row["from_state"]),
        deadline_at=row["deadline_at"],
        actor=row["actor"],
        created_at=row["created_at"],
        answered_at=row["answered_at"],
        settled_at=row["settled_at"],
        error_code=row["error_code"],
        schedule_at=row["schedule_at"],
    )
