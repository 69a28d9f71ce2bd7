"""Rounds: a real process stands still at one of its named points, is struck there, and another one goes on.

A process is forked from a single-threaded nursery that has everything imported. The real store and the real
adapter run in it; thin wrappers around the database seam and around httpcore2's backend name its points, as
the simulation does: tx.begin, tx.commit, tx.committed, net.connect, net.before X, net.after X. Where it was
told to, it says so and waits. One offset in a shared file moves the clocks of store, hosts and provider at
once; so a stopped process wakes up late by its own clocks, too.
"""

import gc
import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpcore2
import pytest

from campaignbridge.bootstrap import assemble
from campaignbridge.bridge import Bridge
from campaignbridge.domain.errors import Refusal, StoreGone
from campaignbridge.flows.authoring import NewCampaign
from campaignbridge.host import HostChance, HostClock, process_identity
from campaignbridge.ports import Mark
from campaignbridge.providers.registry import open_provider
from campaignbridge.sandbox import Fault, Sandbox, SandboxServer
from campaignbridge.store.postgres import Postgres
from campaignbridge.store.sqlite import Sqlite
from campaignbridge.store.unit import Store
from support.stores import PATIENCE_S, TESTS, Home, Proxy
from support.world import AUDIENCE, BOUND, DANA, HTML, KEY, KEY_ENV, confirmation

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
LATER_MS = 12 * MINUTE_MS  # longer than a lease, and than a request's settle window
QUARTER_MS = 15 * MINUTE_MS
MOST_CLICKS, MOST_TICKS = 40, 200
IMPATIENT_MS = 150  # for a lock that a stopped process holds
LAST = ("net.before POST send", "net.before POST schedule", "net.before POST campaigns")
MOVING = ("scheduled", "sending", "unknown")
MESSAGE_BYTES = 200_000

# time


class SharedTime:
    """How far everybody's clocks are ahead of the real ones, in a file that all processes map."""

    def __init__(self, path: str) -> None:
        self.path = path
        with Path(path).open("a+b") as file:
            file.truncate(8)
            self._map = mmap.mmap(file.fileno(), 8)

    @property
    def ms(self) -> int:
        return int.from_bytes(self._map[:8], "little")

    def pass_ms(self, ms: int) -> None:
        self._map[:8] = (self.ms + max(0, ms)).to_bytes(8, "little")

    def now(self) -> int:
        return time.time_ns() // 1_000_000 + self.ms


class AheadClock(HostClock):
    """The host's clocks, moved with all others."""

    def __init__(self, shared: SharedTime) -> None:
        self._shared = shared

    def mark(self) -> Mark:
        mark, ahead = super().mark(), self._shared.ms
        return Mark(mark.boot_ms + ahead, mark.wall_ms + ahead)


class AheadSqlite(Sqlite):
    """A SQLite whose clock moves with all others, even in the middle of a transaction."""

    def __init__(self, where: str, shared: SharedTime, wait_ms: int | None) -> None:
        self.shared = shared
        super().__init__(where, **({} if wait_ms is None else {"busy_timeout_s": wait_ms / 1000}))

    @property
    def offset_ms(self) -> int:
        return self.shared.ms

    @offset_ms.setter
    def offset_ms(self, _ms: int) -> None:
        """The shared one counts."""


class AheadPostgres(Postgres):
    """A PostgreSQL session whose clock is moved with all others when a transaction begins."""

    def __init__(self, where: str, shared: SharedTime, wait_ms: int | None) -> None:
        self.shared = shared
        self._wait_ms = wait_ms
        self._told: tuple[int, int] | None = None
        super().__init__(where)

    def _connection(self):
        connection, ahead = super()._connection(), self.shared.ms
        if self._told is None or self._told[0] != id(connection):
            if self._wait_ms is not None:
                connection.execute(f"SET lock_timeout = {self._wait_ms}")
            self._told = None
        if self._told != (id(connection), ahead):
            connection.execute(
                "SELECT set_config('campaignbridge.clock_offset_ms', %s, false)", (str(ahead),)
            )
            self._told = (id(connection), ahead)
        return connection


def database_of(dialect: str, where: str, shared: SharedTime, wait_ms: int | None = None):
    return (AheadSqlite if dialect == "sqlite" else AheadPostgres)(where, shared, wait_ms)


# points


class Points:
    """Counts the points of this process, and stands still at those that were ordered."""

    def __init__(self, talk: socket.socket, stops: dict) -> None:
        self._talk = talk
        self._stops = dict(
            stops
        )  # {"number": n}, {"label": text} or {"commit": k}; "next": and the one after
        self._commits = 0
        self.count = 0

    def stand(self, label: str) -> None:
        number, commit = self.count, self._commits
        self.count += 1
        self._commits += label == "tx.commit"
        stops = self._stops
        here = stops.get("number") == number or stops.get("label") == label
        if here or (label == "tx.commit" and stops.get("commit") == commit):
            self._stops = {"number": number + 1} if stops.get("next") else {}
            say(self._talk, {"number": number, "label": label})
            if not self._talk.recv(16):
                os._exit(3)  # whoever started this is gone


class StandingDatabase:
    """The database seam with its points; reads have them, too."""

    def __init__(self, inner, points: Points) -> None:
        self._inner = inner
        self._points = points

    @contextmanager
    def transaction(self, *, write: bool = True):
        self._points.stand("tx.begin")
        with self._inner.transaction(write=write) as tx:
            yield tx
            self._points.stand("tx.commit")
        self._points.stand("tx.committed")

    def close(self) -> None:
        self._inner.close()


class StandingBackend(httpcore2.NetworkBackend):
    """Real sockets with their points."""

    def __init__(self, points: Points) -> None:
        self._inner = httpcore2.SyncBackend()
        self._points = points

    def connect_tcp(self, *args, **facts) -> httpcore2.NetworkStream:
        self._points.stand("net.connect")
        return StandingStream(self._inner.connect_tcp(*args, **facts), self._points)


class StandingStream(httpcore2.NetworkStream):
    """`before`: not one byte has left. `after`: the answer is here, and nobody has been told."""

    def __init__(self, inner: httpcore2.NetworkStream, points: Points) -> None:
        self._inner = inner
        self._points = points
        self._name = ""
        self._heard = False

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not self._name:
            method, target, _ = buffer.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
            self._name = f"{method} {target.partition('?')[0].rsplit('/', 1)[-1]}"
            self._points.stand(f"net.before {self._name}")
        self._inner.write(buffer, timeout)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._inner.read(max_bytes, timeout)
        if not self._heard:
            self._heard = True
            self._points.stand(f"net.after {self._name}")
        return data

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str):
        return self._inner.get_extra_info(info)


# what a process does


def bridge_of(database, url: str, shared: SharedTime, backend=None) -> Bridge:
    """Put a process's bridge together: the shipping parts over its own database and sockets."""
    clock, chance = AheadClock(shared), HostChance()

    def opener(_connection):
        return open_provider("mailchimp", key=KEY, base_url=url, clock=clock, backend=backend)

    return assemble(Store(database), opener, clock, chance, process_identity(chance))


def slot_after(now_ms: int, hours: int = 1) -> int:
    return -(-(now_ms + hours * HOUR_MS) // QUARTER_MS) * QUARTER_MS


def clicks(bridge: Bridge, operation: str, campaign_id: str, key: str, now_ms: int) -> object:
    """Press the button of an operation once."""
    asked = {"actor": DANA, "key": key}
    match operation:
        case "handoff":
            return bridge.hand_off(campaign_id, **asked)
        case "send":
            return bridge.send(campaign_id, **asked, confirmed=confirmation())
        case "schedule":
            return bridge.schedule(campaign_id, **asked, confirmed=confirmation(), at_ms=slot_after(now_ms))
        case "unschedule":
            return bridge.unschedule(campaign_id, **asked)
        case "cancel":
            return bridge.cancel(campaign_id, **asked)
        case "reconcile":
            return bridge.reconcile(campaign_id, actor=DANA)
        case "tick":
            return bridge.tick()
    raise AssertionError(operation)


ENOUGH = {
    "handoff": (),  # only an accepted click: until then the content may be missing there
    "send": ("sending", "sent"),
    "schedule": ("scheduled", "sending", "sent"),
    "unschedule": ("provider_draft", "sending", "sent", "cancelled"),
    "cancel": ("cancelled", "sent"),
    "reconcile": ("sent",),
    "tick": ("sent",),
}


def listen_to_sigterm(order: dict) -> None:
    """Do on SIGTERM what the programs do: a worker finishes, a command ends. Or a command that unwinds."""

    def finish(_signal, _frame) -> None:
        """Go on: nothing more would be claimed."""

    def unwind(_signal, _frame) -> None:
        raise KeyboardInterrupt

    if order["operation"] == "tick":
        signal.signal(signal.SIGTERM, finish)
    elif order.get("unwinds"):
        signal.signal(signal.SIGTERM, unwind)


def acts(order: dict, talk: socket.socket) -> str:
    """Do one operation, standing still where that was ordered; return what came of it."""
    shared = SharedTime(order["time"])
    points = Points(talk, order["stops"])
    listen_to_sigterm(order)
    inner = database_of(order["dialect"], order["where"], shared)
    bridge = bridge_of(StandingDatabase(inner, points), order["url"], shared, StandingBackend(points))
    try:
        clicks(bridge, order["operation"], order["campaign"], order["key"], shared.now())
    except Refusal as refusal:
        return refusal.code
    except KeyboardInterrupt:
        return "interrupted"
    return "accepted"


def settles(order: dict, _talk: socket.socket) -> str:
    """Click again and again, then tick until nothing is due; return the refusals that it met."""
    shared = SharedTime(order["time"])
    held = order["held"]
    wait_ms = IMPATIENT_MS if held else None
    database = database_of(order["dialect"], order["where"], shared, wait_ms)
    bridge = bridge_of(database, order["url"], shared)
    met: list[str] = []
    try:
        _click(bridge, order, shared, met, most=2 if held else MOST_CLICKS)
        _tick(bridge, database, shared, hours=order["hours"], most=4 if held else MOST_TICKS)
    except StoreGone:
        if not held:
            raise
        met.append("the store is held")
    except NoRest:
        if not held:
            raise
    finally:
        database.close()
    return " ".join(f"{code} x{met.count(code)}" for code in dict.fromkeys(met))


class NoRest(AssertionError):
    """Work is due for ever."""


def _click(bridge: Bridge, order: dict, shared: SharedTime, met: list[str], *, most: int) -> None:
    """Click until it was accepted, or is refused for good; whoever waits longer than this gives up."""
    operation, campaign_id = order["operation"], order["campaign"]
    for number in range(most):
        campaign = bridge.show(campaign_id, actor=DANA).dossier.campaign
        if number and campaign.state.value in ENOUGH[operation] and campaign.open_attempt is None:
            return
        try:
            clicks(bridge, operation, campaign_id, f"{order['key']}-{number}", shared.now())
        except StoreGone:
            raise
        except Refusal as refusal:
            met.append(refusal.code)
            wait_ms = 1000 * int(refusal.facts.get("retry_after") or 40) + 500
        else:
            if operation not in ("reconcile", "tick"):
                return
            wait_ms = 6 * MINUTE_MS
        shared.pass_ms(wait_ms)
        bridge.tick()


_DUE = "SELECT min(coalesce(lease_until, run_at)) AS due FROM jobs WHERE state IN ('queued', 'claimed')"


def _tick(bridge: Bridge, database, shared: SharedTime, *, hours: float, most: int) -> None:
    until = shared.now() + int(hours * HOUR_MS)
    for _ in range(most):
        due = database._connection().execute(_DUE).fetchone()["due"]
        if due is None or due > until:
            return
        shared.pass_ms(due - shared.now() + 1)
        bridge.tick()
    raise NoRest


# the nursery


def say(talk: socket.socket, thing: object) -> None:
    talk.send(json.dumps(thing).encode())


def child(order: dict, talk: socket.socket) -> None:
    """Be a forked process: do what was ordered, say what came of it, and end."""
    try:
        said = {"end": {"acts": acts, "settles": settles}[order["work"]](order, talk)}
    except BaseException:  # noqa: BLE001  passed on to the test, which fails
        said = {"bug": traceback.format_exc()}
    with suppress(OSError):
        say(talk, said)
    os._exit(0)


def nursery_main(handle: int) -> None:
    """Fork a process for each order; with the orders' end, end those that are left."""
    orders = socket.socket(fileno=handle)
    alive: set[int] = set()
    gc.freeze()
    while True:
        data, handles, _, _ = socket.recv_fds(orders, MESSAGE_BYTES, 1)
        if not data:
            break
        order = json.loads(data)
        if "work" in order:
            pid = os.fork()
            if pid == 0:
                orders.close()
                child(order, socket.socket(fileno=handles[0]))
            os.close(handles[0])
            alive.add(pid)
            say(orders, pid)
        elif "stopped" in order:
            _, status = os.waitpid(order["stopped"], os.WUNTRACED)
            say(orders, os.WIFSTOPPED(status))
        else:
            _, status = os.waitpid(order["reap"], 0)
            alive.discard(order["reap"])
            say(orders, os.waitstatus_to_exitcode(status))
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


class Nursery:
    """The single-threaded parent of all processes of a test session."""

    def __init__(self) -> None:
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._orders.settimeout(PATIENCE_S)
        program = f"from support.rounds import nursery_main; nursery_main({theirs.fileno()})"
        self._process = subprocess.Popen(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
        theirs.close()

    def start(self, order: dict) -> "Process":
        talk, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        talk.settimeout(PATIENCE_S)
        socket.send_fds(self._orders, [json.dumps(order).encode()], [theirs.fileno()])
        theirs.close()
        return Process(self, self._answer(), talk)

    def ask(self, **order) -> object:
        say(self._orders, order)
        return self._answer()

    def _answer(self):
        data = self._orders.recv(MESSAGE_BYTES)
        assert data, "the nursery has ended"
        return json.loads(data)

    def close(self) -> None:
        self._orders.close()
        self._process.wait(PATIENCE_S)


@dataclass
class Process:
    """A process of ours. Its number is its own until it was reaped."""

    nursery: Nursery
    pid: int
    talk: socket.socket
    code: int | None = None

    def hear(self) -> dict:
        """Return what it says next; nothing when it has ended without a word."""
        try:
            data = self.talk.recv(MESSAGE_BYTES)
        except ConnectionResetError:  # it ended before it read our last word; its own last word comes first
            data = self.talk.recv(MESSAGE_BYTES)
        said = json.loads(data) if data else {}
        assert "bug" not in said, said["bug"]
        return said

    def go_on(self) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            self.talk.send(b"go")

    def strike(self, number: int) -> None:
        os.kill(self.pid, number)

    def reap(self) -> int:
        if self.code is None:
            self.code = self.nursery.ask(reap=self.pid)
        return self.code

    def close(self) -> None:
        if self.code is None:
            self.strike(signal.SIGKILL)
            self.reap()
        self.talk.close()


# rounds


@dataclass
class Tally:
    """What a test has really done."""

    rounds: int = 0
    strikes: dict[str, int] = field(default_factory=dict)
    points: list[str] = field(default_factory=list)
    duplicates: int = 0
    lost: int = 0
    failures: list[str] = field(default_factory=list)


@dataclass
class Field:
    """One store and one provider, in which round after round is played, each with a campaign of its own."""

    home: Home
    sandbox: Sandbox
    server: SandboxServer
    time: SharedTime
    nursery: Nursery
    tally: Tally = field(default_factory=Tally)
    proxy: Proxy | None = None
    _number: int = 0

    def __post_init__(self) -> None:
        self.database = database_of(self.home.dialect, self.home.where, self.time)
        self.bridge = bridge_of(self.database, self.server.url, self.time)

    # before

    def campaign_for(self, operation: str) -> str:
        """Bring a new campaign to where the operation begins."""
        self._number += 1
        self.sandbox.faults.clear()
        self.sandbox.world.behave(
            repeated_send="accepted_again", sending_ms=2_000_000 if operation == "cancel" else MINUTE_MS
        )
        campaign_id = self._approved()
        if operation == "handoff":
            return campaign_id
        clicks(self.bridge, "handoff", campaign_id, "draft", self.time.now())
        match operation:
            case "unschedule":
                at_ms = slot_after(self.time.now(), hours=6)
                self.bridge.schedule(
                    campaign_id, actor=DANA, key="first", confirmed=confirmation(), at_ms=at_ms
                )
            case "cancel":
                clicks(self.bridge, "send", campaign_id, "first", self.time.now())
            case "reconcile":
                self._send_and_die(campaign_id)
            case "tick":
                self.sandbox.faults.add(Fault("send", "accept_then_drop"))
                with suppress(Refusal):
                    clicks(self.bridge, "send", campaign_id, "first", self.time.now())
                self.time.pass_ms(MINUTE_MS)
        return campaign_id

    def _approved(self) -> str:
        new = NewCampaign(
            name=f"Round {self._number}",
            connection="news",
            audience=AUDIENCE,
            subject=f"Letter {self._number}",
            from_name="Dana",
            from_email="news@acme.example",
            content=HTML.encode(),
        )
        campaign_id = self.bridge.create(new, actor=DANA).campaign.id
        _, checked = self.bridge.submit(campaign_id, actor=DANA)
        self.bridge.approve(campaign_id, actor=DANA, approved=checked.fingerprint, max_recipients=BOUND)
        return campaign_id

    def _send_and_die(self, campaign_id: str) -> None:
        process = self.process("send", campaign_id, {"label": "net.after POST send"}, key="first")
        try:
            assert process.hear()
            process.strike(signal.SIGKILL)
            process.reap()
        finally:
            process.close()
        self.time.pass_ms(LATER_MS)

    # processes

    def process(self, operation: str, campaign_id: str, stops: dict, **facts) -> Process:
        """Start a process that does the operation once."""
        order = {"operation": operation, "campaign": campaign_id, "stops": stops, "key": "struck", **facts}
        where = self.proxy.url if self.proxy else self.home.where
        return self.nursery.start({"work": "acts", **self._place(), "where": where, **order})

    def settled_by_another(
        self, operation: str, campaign_id: str, key: str, *, hours: float = 30, held: bool = False
    ) -> str:
        """Let another process click until that is over, and tick until nothing is due.

        `held`: a process that is stopped in the middle of a transaction may hold the store; then it tries.
        """
        order = {"operation": operation, "campaign": campaign_id, "key": key}
        process = self.nursery.start(
            {"work": "settles", **self._place(), **order, "hours": hours, "held": held}
        )
        try:
            said = process.hear()
            assert "end" in said, "the process that settles has ended early"
            process.reap()
            return said["end"]
        finally:
            process.close()

    def _place(self) -> dict:
        return {
            "dialect": self.home.dialect,
            "where": self.home.where,
            "url": self.server.url,
            "time": self.time.path,
        }

    # rounds

    def every_point(self, operation: str, number: int) -> None:
        """Strike at each point in turn, until the process ends before it comes to one."""
        for at in range(400):
            if not self._round(operation, number, {"number": at}, partial(self._struck, number)):
                break
        else:
            raise AssertionError(f"{operation} has no end of points")
        self._complain()

    def every_commit(self, operation: str, cut: str) -> None:
        """Cut off each COMMIT in turn: before the server has it, or its answer."""
        for at in range(150):
            if not self._round(operation, cut, {"commit": at, "next": True}, partial(self._cut, cut)):
                break
        else:
            raise AssertionError(f"{operation} has no end of commits")
        self._complain()

    def _round(self, operation: str, strike: object, stops: dict, play) -> bool:
        """Play one round; say whether the process came to the point."""
        campaign_id = self.campaign_for(operation)
        name = strike.name if isinstance(strike, signal.Signals) else f"COMMIT cut {strike}"
        (at, *_) = stops.values()
        where = f"{self.home.dialect} {operation}: {name} at point {at}"
        unwinds = strike == signal.SIGTERM and bool(at % 2)
        process = self.process(operation, campaign_id, stops, unwinds=unwinds)
        said, label, end, met, problems = {}, "", "?", "?", []
        try:
            said = process.hear()
            label = said.get("label", "")
            where += f" ({label})"
            end = play(operation, campaign_id, process, label) if label else said.get("end")
            self.time.pass_ms(LATER_MS)
            met = self.settled_by_another(operation, campaign_id, "again")
            problems = self._problems(operation, campaign_id, name, label)
            if not label and end != "accepted":
                problems.append(f"unstruck, it was refused: {end}")
        except (AssertionError, OSError) as error:
            problems = [f"{type(error).__name__}: {error}"]
        finally:
            process.close()
        if problems:
            self.tally.failures.append(f"{where} -> {end}, then [{met}]: {'; '.join(problems)}")
            assert len(self.tally.failures) < 8, "\n".join(self.tally.failures)
        if label:
            kind = "cut" if isinstance(strike, str) else name
            self.tally.rounds += 1
            self.tally.strikes[kind] = self.tally.strikes.get(kind, 0) + 1
            self.tally.points.append(f"{self.home.dialect} {operation} {said['number']}")
        return bool(label)

    def _struck(self, number: int, operation: str, campaign_id: str, process: Process, label: str) -> str:
        if number == signal.SIGSTOP:
            return self._stopped(operation, campaign_id, process, label)
        process.strike(number)
        process.go_on()
        end = process.hear().get("end", "") if number == signal.SIGTERM else ""
        code = process.reap()
        assert code == (0 if end else -number), f"it ended with {code}, saying {end!r}"
        return end or f"ended by {-code}"

    def _stopped(self, operation: str, campaign_id: str, process: Process, label: str) -> str:
        process.strike(signal.SIGSTOP)
        assert self.nursery.ask(stopped=process.pid)
        if label in LAST:  # what no client can prevent, the provider's refusal of a second send has to
            self.sandbox.world.behave(repeated_send="refused")
        self.time.pass_ms(LATER_MS)
        met = self.settled_by_another(
            operation, campaign_id, "meanwhile", hours=0.5, held=label == "tx.commit"
        )
        process.strike(signal.SIGCONT)
        process.go_on()
        end = process.hear()["end"]
        process.reap()
        return f"[{met}] meanwhile, then {end}"

    def _cut(self, cut: str, operation: str, campaign_id: str, process: Process, label: str) -> str:
        self.proxy.cut = cut
        process.go_on()
        said = process.hear()
        self.proxy.cut = None
        if "end" not in said:
            process.go_on()
            said = process.hear()
        process.reap()
        return said["end"]

    # after

    def _problems(self, operation: str, campaign_id: str, strike: str, label: str) -> list[str]:
        """Compare what the store says with what really happened."""
        self.sandbox.settle()
        view = self.bridge.show(campaign_id, actor=DANA)
        dossier, truth = view.dossier, self.sandbox.truth
        campaign, remote, stem = dossier.campaign, dossier.remote, dossier.stem
        state = campaign.state.value
        count = {
            kind: len(truth.events(kind, stem))
            for kind in ("created", "send_accepted", "mailed", "unscheduled", "cancelled")
        }
        told = f"{state}, flag {campaign.flag}, stopped {campaign.stopped_reason}, truth {count}"
        found = []
        late_create = strike == "SIGSTOP" and label == "net.before POST campaigns"
        doubles = max(0, count["send_accepted"] - 1) + max(0, count["created"] - (2 if late_create else 1))
        if doubles:
            self.tally.duplicates += doubles
            found.append(f"doubled: {told}")
        if (campaign.open_attempt or state in MOVING) and not campaign.stopped_reason:
            found.append(f"not settled, and nobody was told: {told}")
        if not self._agrees(operation, state, count, remote, view.attempts):
            self.tally.lost += 1
            found.append(f"lost: {told}")
        if self.home.dialect == "sqlite":
            (word,) = self.database._connection().execute("PRAGMA quick_check").fetchone()
            if word != "ok":
                found.append(f"the file is damaged: {word}")
        return found

    def _agrees(self, operation: str, state: str, count: dict, remote, attempts) -> bool:
        """Say whether what was asked for has happened, and is recorded as that."""
        if remote is None or self.sandbox.world.current(remote.remote_id) is None:
            return False
        there = self.sandbox.world.current(remote.remote_id).status
        if operation == "handoff":
            return (state, there, remote.content_pending) == ("provider_draft", "save", False)
        if operation == "unschedule":
            return (state, there, count["send_accepted"]) == ("provider_draft", "save", 0)
        delivered = any(
            one.operation.value in ("send", "schedule") and one.status.value == "succeeded"
            for one in attempts
        )
        if not (delivered and count["send_accepted"]):
            return False
        return state == ("cancelled" if count["cancelled"] else "sent")

    def _complain(self) -> None:
        assert not self.tally.failures, "\n" + "\n".join(self.tally.failures)


@contextmanager
def field_of(home: Home, nursery: Nursery, folder: str) -> Iterator[Field]:
    """Open a store to processes and a provider over real HTTP."""
    shared = SharedTime(f"{folder}/time")
    sandbox = Sandbox(shared.now, 7, keys=(KEY,))
    with pytest.MonkeyPatch.context() as environment, SandboxServer(sandbox) as server:
        environment.setenv(KEY_ENV, KEY)
        ground = Field(home, sandbox, server, shared, nursery)
        try:
            ground.bridge.add_connection(
                "news", provider="mailchimp", key_env=KEY_ENV, base_url=server.url, actor=DANA
            )
            yield ground
        finally:
            ground.database.close()
