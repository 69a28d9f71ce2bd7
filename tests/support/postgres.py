"""A PostgreSQL server for one run of the tests, and a fresh schema in it for each test.

Where the tests run as root the server runs as the user `postgres` (it refuses root), in a folder of its own
that pytest's private folders could not give it. With pytest-xdist each worker process has its own server:
starting one takes about a second, and nobody has to agree on who stops it.
"""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

ABSENT = "PostgreSQL binaries are absent"
GIVEN = "CAMPAIGNBRIDGE_TEST_POSTGRES"
USER = "postgres"
ATTEMPTS = 5  # a free port may be taken by somebody else before the server has it


class Absent(Exception):
    """This machine can't run a server; the message says why."""


def binaries() -> Path:
    """Find the folder with `initdb` and `pg_ctl`: on PATH, by pg_config, or where Debian keeps it."""
    places: list[Path] = []
    if found := shutil.which("initdb"):
        places.append(Path(found).resolve().parent)
    if config := shutil.which("pg_config"):
        answer = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False)
        places.append(Path(answer.stdout.strip() or "/nonexistent"))
    debian = Path("/usr/lib/postgresql").glob("*/bin")
    places.extend(sorted(debian, key=lambda place: float(place.parent.name), reverse=True))
    for place in places:
        if all((place / name).exists() for name in ("initdb", "pg_ctl", "postgres")):
            return place
    raise Absent(ABSENT)


@dataclass(frozen=True, slots=True)
class Running:
    """A server of our own."""

    url: str
    control: list[str]
    folder: Path
    options: str

    def restart(self, mode: str = "immediate") -> None:
        """Stop it, as a crash or as an operator does, and start it again on its port."""
        port = self.url.rpartition(":")[2].partition("/")[0]
        _call([*self.control, "-m", mode, "stop"], self.folder)
        started = [*self.control, "-l", str(self.folder / "log"), "-o", f"{self.options} -p {port}", "start"]
        _call(started, self.folder)


@contextmanager
def server() -> Iterator[str]:
    """Run a server of our own, or take the given one; yield the URL of a database in it."""
    if given := os.environ.get(GIVEN):
        yield given
        return
    with running() as ours:
        yield ours.url


@contextmanager
def running(*, durable: bool = False) -> Iterator[Running]:
    """Run a server of our own, which may be restarted; a `durable` one forgets no commit by that."""
    place = binaries()
    folder = Path(tempfile.mkdtemp(prefix="campaignbridge-postgres-"))
    try:
        prefix = _run_as(folder)
        data = folder / "data"
        _call([*prefix, str(place / "initdb"), "-D", str(data), "-U", USER, *INITDB], folder)
        control = [*prefix, str(place / "pg_ctl"), "-D", str(data), "-w", "-s"]
        options = OPTIONS.replace(*FORGETFUL) if durable else OPTIONS
        port = _start(control, folder, options)
        try:
            yield Running(f"postgresql://{USER}@127.0.0.1:{port}/postgres", control, folder, options)
        finally:
            _call([*control, "-m", "immediate", "stop"], folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


INITDB = ["-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]

OPTIONS = (
    "-c listen_addresses=127.0.0.1 -c max_connections=60 -c fsync=off -c synchronous_commit=off "
    "-c full_page_writes=off -c shared_buffers=64MB -c unix_socket_directories="
)
FORGETFUL = ("synchronous_commit=off", "synchronous_commit=on")


def _run_as(folder: Path) -> list[str]:
    """Give the folder to the user that will run the server; return the prefix of its commands."""
    folder.chmod(0o700)
    if os.geteuid() != 0:
        return []
    try:
        owner = pwd.getpwnam(USER)
    except KeyError:
        raise Absent(f"running as root and there is no user {USER!r} to run PostgreSQL") from None
    os.chown(folder, owner.pw_uid, owner.pw_gid)
    return ["runuser", "-u", USER, "--"]


def _start(control: list[str], folder: Path, options: str) -> int:
    """Start the server on a free port of the loopback interface and return the port."""
    for attempt in range(1, ATTEMPTS + 1):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        log = folder / "log"
        try:
            _call([*control, "-l", str(log), "-o", f"{options} -p {port}", "start"], folder)
        except RuntimeError as error:
            if attempt == ATTEMPTS:
                tail = log.read_text("utf-8", "replace")[-2000:] if log.exists() else ""
                raise RuntimeError(f"{error}\n{tail}") from None
        else:
            return int(port)
    raise AssertionError


def _call(command: list[str], folder: Path) -> None:
    """Run a command inside the server's folder, its output kept for the case that it fails.

    The output goes to a file: a pipe would be inherited by the server and never reach its end.
    """
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
        )
        if done.returncode != 0:
            output.seek(0)
            said = output.read().decode("utf-8", "replace").strip()
            raise RuntimeError(f"{Path(command[-1]).name} failed with {done.returncode}: {command}\n{said}")


@contextmanager
def fresh_schema(url: str) -> Iterator[str]:
    """Make a schema, yield the URL that puts it first in the search path, and drop it afterwards."""
    name = f"t_{secrets.token_hex(6)}"
    identifier = sql.Identifier(name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(identifier))
    joint = "&" if "?" in url else "?"
    try:
        yield f"{url}{joint}options=-csearch_path%3D{name}"
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            # A transaction that a killed or forgetful test left open would hold up the drop for ever.
            connection.execute(HOLDERS, {"schema": name})
            with suppress(psycopg.errors.InvalidSchemaName):
                connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(identifier))


HOLDERS = """
SELECT pg_terminate_backend(lock.pid)
  FROM pg_locks AS lock
  JOIN pg_class AS relation ON relation.oid = lock.relation
  JOIN pg_namespace AS space ON space.oid = relation.relnamespace
 WHERE space.nspname = %(schema)s AND lock.pid <> pg_backend_pid()
"""
