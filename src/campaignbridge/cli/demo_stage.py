"""What both demos stand on: the sandbox, the store on a clock that moves, and the processes that were started."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from campaignbridge import Bridge, Settings, open_bridge, with_all_rights
from campaignbridge.cli import terminal
from campaignbridge.cli.session import login
from campaignbridge.sandbox import Sandbox, SandboxServer

if TYPE_CHECKING:
    from campaignbridge.store.campaigns import Dossier

KEY_ENV = "CAMPAIGNBRIDGE_DEMO_KEY"
AUDIENCE = "a1b2c3"
LATER_MS = 10 * 60_000
WAIT_S = 20.0
POLL_S = 0.02
LABEL = 14


class Stage:
    """The sandbox, the store, and the processes that were started."""

    def __init__(self, settings: Settings, server: SandboxServer, clock: "MovedClock") -> None:
        self.settings = settings
        self.server = server
        self.clock = clock
        self.bridge = self._opened()
        self.truth = server.sandbox.truth
        self.actor = with_all_rights(f"cli:{login()}")
        self.processes: list[subprocess.Popen[str]] = []

    def _opened(self) -> Bridge:
        return open_bridge(settings=replace(self.settings, clock_offset_ms=self.clock.offset_ms))

    def later(self, ms: int) -> None:
        """Move the clocks of the provider and of this process's store; other processes are told when they start."""
        self.bridge.close()
        self.clock.offset_ms += ms
        self.bridge = self._opened()

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start the real command line as another process, over the same store."""
        process = subprocess.Popen(
            [sys.executable, "-m", "campaignbridge", *arguments, "--json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=_environment(self.settings.database),
        )
        self.processes.append(process)
        return process

    def end(self) -> None:
        """Leave no process of ours behind, and no connection."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        self.bridge.close()

    @property
    def crashes(self) -> int:
        """How many processes really ended by a signal."""
        return sum(1 for process in self.processes if (process.returncode or 0) < 0)

    def dossier(self, campaign_id: str) -> "Dossier":
        """Read the campaign from the store."""
        return self.bridge.show(campaign_id, actor=self.actor).dossier


class MovedClock:
    """This host's clock, ahead by as much as the story has moved it."""

    def __init__(self) -> None:
        self.offset_ms = 0

    def now_ms(self) -> int:
        """Return the story's time in epoch milliseconds UTC."""
        return time.time_ns() // 1_000_000 + self.offset_ms


@contextmanager
def staged(settings: Settings, *, seed: int) -> Iterator[Stage]:
    """Start the provider and open the store; end both, and every process, afterwards."""
    clock = MovedClock()
    sandbox = Sandbox(clock.now_ms, seed=seed)
    before = os.environ.get(KEY_ENV)
    os.environ[KEY_ENV] = sandbox.key
    try:
        with SandboxServer(sandbox) as server:
            stage = Stage(settings, server, clock)
            try:
                yield stage
            finally:
                stage.end()
                server.release()
    finally:
        os.environ.pop(KEY_ENV) if before is None else os.environ.update({KEY_ENV: before})


def _environment(database: str) -> dict[str, str]:
    """Return what the other processes are given: none of the user's own choices, but the store and the key."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("CAMPAIGNBRIDGE_")}
    return {**outside, "CAMPAIGNBRIDGE_DATABASE": database, KEY_ENV: os.environ[KEY_ENV]}


def wait(true: Callable[[], bool], otherwise: str, *, limit_s: float = WAIT_S) -> None:
    """Wait until something is so; raise TimeoutError when it takes too long."""
    until = time.monotonic() + limit_s
    while not true():
        if time.monotonic() > until:
            raise TimeoutError(otherwise)
        time.sleep(POLL_S)


def note(word: str, name: str, text: str) -> None:
    """Tell what just happened."""
    terminal.mark(word, f"{name:<{LABEL}}{text}", stderr=True)


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show what goes on, while it does, where the screen can move."""
    if not terminal.live():
        yield
        return
    with terminal.console(stderr=True).status(text, spinner="line"):
        yield


def told_of_stage(stage: Stage) -> None:
    """Tell where all of this happens."""
    database = "a PostgreSQL schema" if stage.settings.on_postgres else "a SQLite file"
    note("ok", "Store", f"{database}, temporary")
    note("ok", "Sandbox", f"{stage.server.url}, a provider that mails nobody")
