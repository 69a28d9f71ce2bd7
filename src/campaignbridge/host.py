"""This host: its clocks, its chance, who it is, and who this process is. Nothing else reads them."""

import os
import secrets
import socket
import string
import time
import uuid
from pathlib import Path

from campaignbridge.ports import Mark

_ALPHABET = string.ascii_lowercase + string.digits
_MACHINE_FILES = ("/etc/machine-id", "/var/lib/dbus/machine-id", "/etc/hostid")  # systemd, D-Bus, BSD
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class HostClock:
    """Local time on two clocks: one that counts through a suspend, one that people set."""

    def mark(self) -> Mark:
        """Return the present point in local time."""
        return Mark(
            boot_ms=time.clock_gettime_ns(_BOOT_CLOCK) // 1_000_000, wall_ms=time.time_ns() // 1_000_000
        )

    def since_ms(self, mark: Mark) -> int:
        """Return the milliseconds since `mark`, by the clock that says more."""
        now = self.mark()
        return max(now.boot_ms - mark.boot_ms, now.wall_ms - mark.wall_ms)

    def wait_ms(self, ms: int) -> None:
        """Let time pass."""
        time.sleep(ms / 1000)


class HostChance:
    """Ids and jitter from the operating system's random numbers."""

    def token(self, length: int) -> str:
        """Return `length` characters of [a-z0-9]."""
        return "".join(secrets.choice(_ALPHABET) for _ in range(length))

    def fraction(self) -> float:
        """Return a number in [0, 1)."""
        return secrets.randbelow(1 << 30) / (1 << 30)


def process_identity(chance: HostChance) -> str:
    """Return who this process is: host, pid, and what no other start ever has."""
    host = socket.gethostname().split(".")[0][:40] or "host"
    return f"{host}:{os.getpid()}:{chance.token(8)}"


def machine_identity(files: tuple[str, ...] = _MACHINE_FILES) -> str:
    """Return which machine this is: the same after every start, and another one on every other machine.

    Its own id where the system keeps one; else the address that its network card was made with; else its host
    name, which is weaker: it can change, and a container's often does. A fingerprint of it is all that is kept.
    """
    for file in files:
        try:
            text = Path(file).read_text("utf-8", "replace").strip()
        except OSError:
            continue
        if len(text) >= 8 and text != "uninitialized":  # what an image holds before its first start
            return f"id:{text[:100]}"
    card = uuid.getnode()
    made_with_the_card = not card >> 40 & 0b11  # neither made up by Python nor given out locally
    return f"card:{card:012x}" if made_with_the_card else f"host:{socket.gethostname()}"
