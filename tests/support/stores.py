"""Real stores for tests: one home for each database, time that is moved, mutants, threads and processes.

A test module asks for the fixtures with `pytest_plugins = ["support.stores"]`; `home` and `store` then run
it once on SQLite and once on PostgreSQL. Nothing in here stands in for the store. PYTEST_DONT_REWRITE: test
modules import this before pytest sees it as a plugin.
"""

import importlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from campaignbridge.domain.job import Done, Handler, Job, Request
from campaignbridge.engine.worker import Worker
from campaignbridge.flows.wiring import Wiring
from campaignbridge.host import HostChance, HostClock
from campaignbridge.ports import Mark
from campaignbridge.store import migrate
from campaignbridge.store.postgres import Postgres
from campaignbridge.store.sql import Statement, catalogue, parse
from campaignbridge.store.sqlite import Sqlite
from campaignbridge.store.unit import Store
from support import postgres

TESTS = Path(__file__).resolve().parent.parent
BOTH = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
MINUTE_MS = 60_000
PATIENCE_S = 60  # an upper bound that only a failing test reaches


@dataclass
class Home:
    """One database that a test has to itself, and the store's time in it."""

    dialect: str
    where: str  # a file, or a URL
    offset_ms: int = 0
    opened: list = field(default_factory=list)

    def open(self, *, statements=None, ahead_ms=0):
        """Open the database at the home's time, or `ahead_ms` ahead of it."""
        kind = Sqlite if self.dialect == "sqlite" else Postgres
        database = kind(self.where, offset_ms=self.offset_ms + ahead_ms, statements=statements)
        self.opened.append(database)
        return database

    def store(self, *, ahead_ms=0) -> Store:
        return Store(self.open(ahead_ms=ahead_ms))

    def mutant(self, name: str, guard: str, instead: str = "") -> Store:
        """Open a store one of whose statements has lost a guard."""
        texts = dict(catalogue(self.dialect))
        text = texts[name].text
        for part in (guard,) if isinstance(guard, str) else guard:
            wanted = parse(part, self.dialect).text
            assert wanted in text, f"{name} has no {wanted!r}"
            text = text.replace(wanted, parse(instead, self.dialect).text)
        texts[name] = Statement(text, texts[name].literals)
        return Store(self.open(statements=texts))

    def pass_ms(self, ms: int) -> None:
        """Let the store's time pass for everything that is open here; call it between transactions."""
        self.offset_ms += ms
        for database in self.opened:
            database.offset_ms += ms
            if self.dialect == "postgres":
                database.close()  # the next connection of this thread has the new offset

    def close(self) -> None:
        """Close what this thread has open."""
        for database in list(self.opened):
            database.close()

    def rows(self, text: str, *params) -> list[dict]:
        """Read or change rows past the store, committed."""
        if self.dialect == "sqlite":
            database = Sqlite(self.where)
            try:
                return [dict(row) for row in database._connection().execute(text, params).fetchall()]
            finally:
                database.close()
        with psycopg.connect(self.where, autocommit=True, row_factory=psycopg.rows.dict_row) as connection:
            cursor = connection.execute(text.replace("?", "%s"), params or None)
            return cursor.fetchall() if cursor.description else []

    def job(self, job_id: str) -> dict:
        (row,) = self.rows("SELECT * FROM jobs WHERE id = ?", job_id)
        return row

    def everything(self) -> str:
        """Return every value in every table, as one text to search in."""
        listing = {
            "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
            "postgres": "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
        }[self.dialect]
        tables = [row["name"] for row in self.rows(listing)]
        assert "jobs" in tables
        return repr([self.rows(f"SELECT * FROM {table}") for table in tables])


@contextmanager
def home_of(dialect: str, where: str) -> Iterator[Home]:
    """Make the schema in an empty database and close everything afterwards."""
    home = Home(dialect, where)
    try:
        with Store(give_schema(home)).unit() as unit:
            unit.name_installation("i0000001")
        yield home
    finally:
        home.close()


def give_schema(home: Home):
    """Bring the schema up to date, with a clock that can be moved; return the open database."""
    database = home.open()
    migrate.upgrade(database)
    if home.dialect == "postgres":
        migrate.install_offset_clock(database)
    return database


@pytest.fixture(scope="session")
def sqlite_blank(tmp_path_factory) -> Path:
    """Return a file with the schema and nothing else, to be copied: migrating each test's own takes longer."""
    home = Home("sqlite", str(tmp_path_factory.mktemp("blank") / "store.db"))
    give_schema(home)
    home.close()
    return Path(home.where)


@pytest.fixture(params=BOTH)
def empty_home(request, tmp_path) -> Iterator[Home]:
    """Return a database without a schema."""
    where = (
        str(tmp_path / "store.db") if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    )
    home = Home(request.param, where)
    yield home
    home.close()


@pytest.fixture
def home(empty_home, sqlite_blank) -> Iterator[Home]:
    """Return a database with the schema, on SQLite and on PostgreSQL."""
    if empty_home.dialect == "sqlite":
        shutil.copy(sqlite_blank, empty_home.where)
    with home_of(empty_home.dialect, empty_home.where) as ready:
        yield ready


@pytest.fixture
def store(home) -> Store:
    """Return a store in the test's home."""
    return home.store()


@pytest.fixture
def sqlite_home(sqlite_blank, tmp_path) -> Iterator[Home]:
    with home_of("sqlite", str(shutil.copy(sqlite_blank, tmp_path / "store.db"))) as ready:
        yield ready


@pytest.fixture
def postgres_home(postgres_url) -> Iterator[Home]:
    with home_of("postgres", postgres_url) as ready:
        yield ready


@contextmanager
def server_home() -> Iterator[Home]:
    """Run a PostgreSQL server that the test may stop; yield a home in it."""
    if os.environ.get(postgres.GIVEN):
        pytest.skip("the given PostgreSQL server is not ours to stop")
    stack = ExitStack()
    url = stack.enter_context(postgres.server())
    try:
        yield stack.enter_context(home_of("postgres", stack.enter_context(postgres.fresh_schema(url))))
    finally:
        with suppress(psycopg.OperationalError, RuntimeError):  # the server may be gone by now
            stack.close()


# time and chance


class MovedClock(HostClock):
    """The host's own arithmetic over two clocks that the test moves."""

    def __init__(self, boot_ms: int = 1_000_000, wall_ms: int = 1_700_000_000_000) -> None:
        self.boot_ms = boot_ms
        self.wall_ms = wall_ms

    def mark(self) -> Mark:
        return Mark(self.boot_ms, self.wall_ms)

    def wait_ms(self, ms: int) -> None:
        self.pass_ms(ms)

    def pass_ms(self, ms: int) -> None:
        self.boot_ms += ms
        self.wall_ms += ms


class Dice(HostChance):
    """Real ids, and jitter that the test chooses."""

    def __init__(self, fraction: float = 0.0) -> None:
        self.value = fraction

    def fraction(self) -> float:
        return self.value


# jobs and workers


def enqueue(store: Store, job_id: str = "job_1", **facts) -> str:
    request = {"type": "work", "target": f"campaign:{job_id}", **facts}
    times = {name: request.pop(name) for name in ("at", "delay_ms") if name in request}
    with store.unit() as unit:
        return unit.jobs.enqueue(job_id, Request(**request), **times)


def claim(store: Store, holder: str = "a", batch: int = 10, lease_ms: int = 120_000) -> list[Job]:
    with store.unit() as unit:
        return unit.jobs.claim(holder=holder, batch=batch, lease_ms=lease_ms)


def claim_one(store: Store, holder: str = "a", **facts) -> Job:
    (job,) = claim(store, holder, **facts)
    return job


@dataclass
class Diary:
    """A handler that keeps a diary of what it was asked to do."""

    ran: list = field(default_factory=list)
    abandoned: list = field(default_factory=list)
    logged: list = field(default_factory=list)

    def handler(self, outcome=None, *, retry_safe=True, type="work", hook=None, **facts) -> Handler:  # noqa: A002
        def run(job: Job):
            self.ran.append(job.id)
            found = outcome(job) if callable(outcome) else outcome
            return Done() if found is None else found

        def abandoned(job: Job) -> None:
            self.abandoned.append(job.id)
            if hook:
                hook(job)

        return Handler(type=type, run=run, retry_safe=retry_safe, abandoned=abandoned, **facts)

    def worker(self, store: Store, *handlers: Handler, holder="a", clock=None, fraction=0.0) -> Worker:
        by_type = {handler.type: handler for handler in handlers}
        log = lambda event, job: self.logged.append((event, job.id))  # noqa: E731
        return Worker(store, by_type, clock or MovedClock(), Dice(fraction), holder, log)


# campaigns


def seed_campaign(home: Home, campaign_id: str = "cmp_a") -> str:
    """Put a draft with one snapshot in the store."""
    home.rows(
        "INSERT INTO connections (id, provider, label, account, key_env, created_at) "
        "VALUES ('con_1', 'mailchimp', 'acme', 'acc_1', 'ACME_KEY', 1) ON CONFLICT DO NOTHING"
    )
    home.rows(
        "INSERT INTO campaigns (id, name, connection_id, audience, state, version, revision, generation, owner, "
        "state_changed_at, created_at) VALUES (?, 'June', 'con_1', 'list1', 'draft', 1, 1, 1, 'cli:dana', 1, 1)",
        campaign_id,
    )
    home.rows(
        "INSERT INTO snapshots (campaign_id, revision, subject, preview_text, from_name, from_email, reply_to, "
        "html, text, fingerprint, created_at, created_by) VALUES (?, 1, 'June', '', 'Acme', 'news@acme.example', "
        "'news@acme.example', '<p>*|UNSUB|*</p>', '', 'sha256:0', 1, 'cli:dana')",
        campaign_id,
    )
    return campaign_id


def no_provider(_connection):
    """Stand where a flow would open a provider, in tests of flows that never reach one."""
    raise AssertionError("nobody is to be contacted")


def wiring(store: Store, *, holder: str = "host:1:aaaa", clock=None) -> Wiring:
    return Wiring(store, no_provider, clock or MovedClock(), Dice(), holder)


# counting statements


class CountingTransaction:
    """Passes every statement on and writes its name down."""

    def __init__(self, tx, names: list[str]) -> None:
        self._tx = tx
        self._names = names

    def __getattr__(self, kind: str):
        call = getattr(self._tx, kind)

        def counted(name: str, /, *args, **params):
            self._names.append(name)
            return call(name, *args, **params)

        return counted


class Counting:
    """A database whose statements are counted: `names` in the order in which they ran."""

    def __init__(self, database) -> None:
        self.database = database
        self.names: list[str] = []

    @contextmanager
    def transaction(self, *, write=True):
        with self.database.transaction(write=write) as tx:
            yield CountingTransaction(tx, self.names)

    def close(self) -> None:
        self.database.close()


# losing the answer to a COMMIT


class Proxy:
    """Passes bytes between a client and PostgreSQL, until it is told to swallow what the server says.

    `before` ends the connection when a COMMIT comes by, without passing it on; `after` passes it on, waits
    for the server's answer, and ends the connection instead of passing that on.
    """

    def __init__(self, where):
        parts = urlsplit(where)
        self.target = (parts.hostname, parts.port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        port = self.listener.getsockname()[1]
        self.url = where.replace(f":{parts.port}/", f":{port}/") + "&sslmode=disable&gssencmode=disable"
        self.cut = None
        self.sockets = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.target)
                self.sockets += [client, server]
                state = {"committing": False}
                for source, sink, watch in ((client, server, True), (server, client, False)):
                    threading.Thread(
                        target=self._pass, args=(source, sink, watch, state), daemon=True
                    ).start()

    def _pass(self, source, sink, from_client, state):
        with suppress(OSError):
            while data := source.recv(65_536):
                if from_client and self.cut and b"COMMIT\x00" in data:
                    if self.cut == "before":
                        break
                    state["committing"] = True
                if not from_client and state["committing"]:
                    break  # the server has answered, so it has committed
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for end in self.sockets:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@contextmanager
def through_proxy(home):
    proxy = Proxy(home.where)
    database = Postgres(proxy.url)
    try:
        with database.transaction() as tx:
            tx.one("installation.now")
        yield proxy, Store(database)
    finally:
        database.close()
        proxy.close()


# threads and processes


def together(home: Home, count: int, work: Callable[[int], object]) -> list:
    """Run `work(n)` in `count` threads that start at once; return what they returned, raise what they raised."""
    start = threading.Barrier(count)
    results: list = [None] * count
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            start.wait(PATIENCE_S)
            results[number] = work(number)
        except BaseException as error:  # noqa: BLE001  handed to the test
            errors.append(error)
        finally:
            home.close()

    crew = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]
    return results


class Child:
    """A real process that runs `function(home, child, *args)` of a test module, then says what it returned."""

    def __init__(self, home: Home, function: Callable, *args) -> None:
        order = [place_of(function), function.__name__, home.dialect, home.where, home.offset_ms, list(args)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from support.stores import child; child()", json.dumps(order)],
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> object:
        """Wait for the next thing that the child says."""
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the child ended early:\n{self.process.stderr.read()}")
        return json.loads(line)

    def tell(self) -> None:
        """Let a child go on that waits."""
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """End it as nothing else does: no handler, no finally, no goodbye."""
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        with suppress(BrokenPipeError):
            self.process.communicate(timeout=PATIENCE_S)


class Parent:
    """What a child has of the process that started it."""

    def say(self, thing: object) -> None:
        print(json.dumps(thing), flush=True)

    def wait(self) -> None:
        """Wait to be told to go on; with the parent gone, end."""
        if not sys.stdin.readline():
            os._exit(3)


def child() -> None:
    """Do what the parent ordered: the main program of a `Child`."""
    module, name, dialect, where, offset_ms, args = json.loads(sys.argv[1])
    home = Home(dialect, where, offset_ms)
    parent = Parent()
    result = getattr(importlib.import_module(module), name)(home, parent, *args)
    home.close()
    parent.say(result)


class Member:
    """What a process of a crew has of the one that started it."""

    def __init__(self, said: int, start: int) -> None:
        self.said = said
        self.start = start

    def say(self, thing: object) -> None:
        os.write(self.said, json.dumps(thing).encode() + b"\n")

    def wait(self) -> None:
        """Wait for the start: for the moment when the other end of the pipe is closed."""
        os.read(self.start, 1)


def crew(home: Home, _parent: Parent, module: str, name: str, count: int, args: list) -> list:
    """Fork `count` processes before anything is open, start them at once, and return what they returned.

    Forked from one process that has imported everything: so many interpreters take long to start.
    """
    function = getattr(importlib.import_module(module), name)
    start, starter = os.pipe()
    ears = []
    for number in range(count):
        ear, said = os.pipe()
        if os.fork() == 0:
            os.close(starter)
            code = 1
            try:
                member = Member(said, start)
                result = function(home, member, number, *args)
                home.close()
                member.say(result)
                code = 0
            except BaseException:  # noqa: BLE001  the starter hears that it ended, and passes this on
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(said)
        ears.append(os.fdopen(ear, encoding="utf-8"))
    assert [json.loads(ear.readline()) for ear in ears] == ["ready"] * count
    os.close(starter)
    results = [json.loads(ear.readline()) for ear in ears]
    for _ in ears:
        os.wait()
    return results


def in_processes(home: Home, count: int, function: Callable, *args) -> list:
    """Run `function(home, member, number, *args)` in processes that wait for each other at the start.

    The function calls `member.say("ready")` and `member.wait()` once it is ready to race.
    """
    starter = Child(home, crew, place_of(function), function.__name__, count, list(args))
    try:
        return starter.hear()
    finally:
        starter.close()


def place_of(function: Callable) -> str:
    """Return the name under which a process of ours can import the module of a function."""
    file = Path(sys.modules[function.__module__].__file__)
    return f"{file.parent.name}.{file.stem}"


def until(fact: Callable[[], object], tries: int = 20_000) -> object:
    """Ask again until something is so, a bounded number of times; return it."""
    for _ in range(tries):
        if found := fact():
            return found
    raise AssertionError("it never came true")


def waiting_for(home: Home, pid: int) -> Callable[[], bool]:
    """Return a question to PostgreSQL: does anybody wait for a lock that backend `pid` holds?"""
    text = "SELECT count(*) AS n FROM pg_stat_activity WHERE ?::int = ANY(pg_blocking_pids(pid))"
    return lambda: home.rows(text, pid)[0]["n"] > 0
