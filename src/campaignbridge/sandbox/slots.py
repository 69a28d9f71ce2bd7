"""How many requests of each account are being answered at once: Mailchimp refuses the eleventh."""

import threading


class Slots:
    """Counts by account. Safe to share between threads; whoever takes a slot gives it back."""

    def __init__(self) -> None:
        """Start with all of them free."""
        self._lock = threading.Condition()
        self._held: dict[str, int] = {}
        self._abandoned: dict[str, list[int]] = {}

    def take(self, account: str, now_ms: int, limit: int) -> bool:
        """Take a slot, or say that none is free. A limit of 0 is none."""
        with self._lock:
            ghosts = [until for until in self._abandoned.pop(account, ()) if until > now_ms]
            if ghosts:
                self._abandoned[account] = ghosts
            held = self._held.get(account, 0)
            if limit and held + len(ghosts) >= limit:
                return False
            self._held[account] = held + 1
            self._lock.notify_all()
            return True

    def await_held(self, count: int, timeout_s: float) -> bool:
        """Wait until so many slots are taken, of all accounts, and say whether it came to that."""
        with self._lock:
            return self._lock.wait_for(lambda: sum(self._held.values()) == count, timeout_s)

    def give(self, account: str, until_ms: int = 0) -> None:
        """Give a slot back, at once or, after a client that gave up, only at that moment."""
        with self._lock:
            left = self._held[account] - 1
            if left:
                self._held[account] = left
            else:
                del self._held[account]
            if until_ms:
                self._abandoned.setdefault(account, []).append(until_ms)
            self._lock.notify_all()
