"""The gate to an account: slots and pauses in the store, shared by all workers on all hosts.

Taking a slot is one statement, and so is giving it back; a slot of a process that died ends by itself. While the
account is paused nobody waits in line: the call is refused at once, with the time that is left.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from campaignbridge.domain.errors import StoreGone
from campaignbridge.domain.provider import Accepted, Ambiguous, Category, Outcome, Refused
from campaignbridge.ports import Clock
from campaignbridge.store.unit import Store

PATIENCE_MS = 5_000  # for a slot
TURN_MS = 200
LONGEST_TURN_MS = 10_000
DEFAULT_PAUSE_MS = 2_000  # after a 429 that doesn't say how long
GRACE_MS = 5_000  # a slot outlives its call by this much


@dataclass(frozen=True, slots=True)
class AccountGate:
    """The gate to one account, for one process."""

    store: Store
    clock: Clock
    account: str
    holder: str
    calls_per_s: int = 1  # the provider's own limit, while none is set for the account

    def enter(self, *, hold_ms: int, urgent: bool) -> int | Refused:
        """Take a slot, waiting a little for one; see `ports.Gate`."""
        began = self.clock.mark()
        while True:
            slot, paused_ms = self._try(hold_ms, urgent=urgent)
            if slot is not None:
                return slot
            if paused_ms:
                return Refused("paused", Category.RATE_LIMITED, retry_after_s=-(-paused_ms // 1000))
            if self.clock.since_ms(began) >= PATIENCE_MS:
                return Refused("too_many_calls", Category.RATE_LIMITED, retry_after_s=5)
            self.clock.wait_ms(TURN_MS)

    def turn(self, limit_ms: int) -> Refused | None:
        """Wait for this request's turn at the account's rate; see `ports.Gate`."""
        with self.store.unit() as unit:
            within_ms = min(limit_ms, LONGEST_TURN_MS)
            wait_ms = unit.limits.turn(self.account, calls_per_s=self.calls_per_s, within_ms=within_ms)
            if wait_ms is None and unit.limits.pause_left_ms(self.account) is None:
                unit.limits.open_account(self.account)
                wait_ms = unit.limits.turn(self.account, calls_per_s=self.calls_per_s, within_ms=within_ms)
        if wait_ms is None:
            return Refused("too_many_calls", Category.RATE_LIMITED, retry_after_s=5)
        if wait_ms > 0:
            self.clock.wait_ms(wait_ms)
        return None

    def leave(self, slot: int, outcome: Outcome[Any] | None) -> None:
        """Give the slot back; pause the account when it asked for that, or has stopped answering.

        What can't be given back while the store is gone ends by itself.
        """
        with suppress(StoreGone), self.store.unit() as unit:
            unit.limits.leave(self.account, slot, holder=self.holder)
            match outcome:
                case Refused(code="too_many_calls"):
                    pass  # it was we who held it back
                case Refused(category=Category.RATE_LIMITED, retry_after_s=wait):
                    unit.limits.pause(self.account, pause_ms=1000 * wait if wait else DEFAULT_PAUSE_MS)
                case Refused(category=Category.UNREACHABLE) | Ambiguous():
                    unit.limits.failed(self.account)
                case Accepted() | Refused():
                    unit.limits.answered(self.account)
                case None:
                    pass

    def _try(self, hold_ms: int, *, urgent: bool) -> tuple[int | None, int]:
        with self.store.unit() as unit:
            slot = unit.limits.enter(
                self.account, holder=self.holder, hold_ms=hold_ms + GRACE_MS, urgent=urgent
            )
            if slot is not None:
                return slot, 0
            paused_ms = unit.limits.pause_left_ms(self.account)
            if paused_ms is None:
                unit.limits.open_account(self.account)
                return None, 0
            return None, paused_ms
