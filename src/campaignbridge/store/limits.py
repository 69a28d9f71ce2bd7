"""What all workers share of an account's patience: its slots, and how long it is paused."""

from campaignbridge.ports import Transaction

SLOTS = 8  # Mailchimp allows 10 calls at once, and those that were given up may still count
ORDINARY_SLOTS = 6  # the rest is kept for urgent calls
OPENS_AT = 5  # failures in a row
FIRST_PAUSE_MS = 30_000
LONGEST_PAUSE_MS = 600_000


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
