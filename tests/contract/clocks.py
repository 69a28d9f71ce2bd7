"""Two clocks for tests of the transport: the machine's own, and one that is moved by hand."""

import time
from dataclasses import dataclass

from campaignbridge.ports import Mark


class OwnClock:
    """The machine's time, for limits of a fraction of a second against a real socket."""

    def mark(self) -> Mark:
        now_ms = time.monotonic_ns() // 1_000_000
        return Mark(boot_ms=now_ms, wall_ms=now_ms)

    def since_ms(self, mark: Mark) -> int:
        return self.mark().boot_ms - mark.boot_ms

    def wait_ms(self, ms: int) -> None:
        raise AssertionError("an adapter never waits by itself")


@dataclass
class HandClock:
    """Time that passes only when a test says so."""

    now_ms: int = 1_000_000

    def mark(self) -> Mark:
        return Mark(boot_ms=self.now_ms, wall_ms=self.now_ms)

    def since_ms(self, mark: Mark) -> int:
        return self.now_ms - mark.boot_ms

    def wait_ms(self, ms: int) -> None:
        self.now_ms += ms
