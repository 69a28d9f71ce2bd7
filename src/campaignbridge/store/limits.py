"""What all workers share of an account's patience: its slots, and how long it is paused."""

from campaignbridge.ports import Transaction

SLOTS = 8  # Mailchimp allows 10 calls at once, and those that were given up may still count
ORDINARY_SLOTS = 6  # the rest is kept for urgent calls
OPENS_AT = 5  # failures in a row
FIRST_PAUSE_MS = 30_000
LONGEST_PAUSE_MS = 600_000
SECOND_US = (
    1_025_000  # a little slower than allowed: calls that were delayed on their way may come closer together
)


class Limits:
    """The limits of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def open_account(self, account: str) -> None:
        """Make the account's rows, unless they are there."""
        self._tx.run("limits.open_account", account=account)
        for slot in range(1, SLOTS + 1):
            self._tx.run("limits.open_slot", account=account, slot=slot)

    def enter(self, account: str, *, holder: str, hold_ms: int, urgent: bool) -> int | None:
        """Take a slot; None when none is free, the account is paused, or its rows were never made."""
        row = self._tx.one(
            "limits.enter",
            account=account,
            holder=holder,
            hold_ms=hold_ms,
            highest=SLOTS if urgent else ORDINARY_SLOTS,
        )
        return None if row is None else int(row["slot"])

    def turn(self, account: str, *, calls_per_s: int, within_ms: int) -> int | None:
        """Take the next turn at the account's rate, or at `calls_per_s` while none is set; return the wait (ms).

        None when it would be more than `within_ms` away, or the account's rows were never made.
        """
        row = self._tx.one(
            "limits.turn", account=account, calls_per_s=calls_per_s, within_ms=within_ms, second_us=SECOND_US
        )
        return None if row is None else max(0, -(-int(row["wait_us"]) // 1000))

    def set_rate(self, account: str, calls_per_s: int | None) -> None:
        """Set how many calls a second the account may be asked; None for the provider's own limit."""
        self._tx.run("limits.set_rate", account=account, calls_per_s=calls_per_s)

    def leave(self, account: str, slot: int, *, holder: str) -> None:
        """Give a slot back, if it is still ours."""
        self._tx.run("limits.leave", account=account, slot=slot, holder=holder)

    def pause_left_ms(self, account: str) -> int | None:
        """Return how long the account is still paused; None when its rows were never made."""
        row = self._tx.one("limits.pause_left", account=account)
        return None if row is None else int(row["left_ms"])

    def answered(self, account: str) -> None:
        """Forget failures: the provider is there."""
        self._tx.run("limits.answered", account=account)

    def pause(self, account: str, *, pause_ms: int) -> None:
        """Let everybody wait, as the provider asked."""
        self._tx.run("limits.pause", account=account, pause_ms=pause_ms)

    def failed(self, account: str) -> None:
        """Count a call without a usable answer; several in a row pause the account."""
        self._tx.run(
            "limits.failed",
            account=account,
            opens_at=OPENS_AT,
            first_ms=FIRST_PAUSE_MS,
            longest_ms=LONGEST_PAUSE_MS,
        )
