"""The demo's store: temporary, and gone when the demo ends, however it ends."""

import secrets
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from campaignbridge.settings import Settings, from_environment


@contextmanager
def temporary_store(database: str | None) -> Iterator[Settings]:
    """Make a store, in a temp folder or in a schema of its own, and take it away afterwards."""
    given = from_environment({}, database=database)
    with _terminated_like_interrupted():
        if given.on_postgres:
            with _schema(given.database) as url:
                yield Settings(database=url)
        else:
            with tempfile.TemporaryDirectory(prefix="campaignbridge-demo-") as folder:
                yield Settings(database=str(Path(folder) / "demo.db"))


@contextmanager
def _schema(url: str) -> Iterator[str]:
    from campaignbridge.installing import upgrade_schema
    from campaignbridge.store.migrate import install_offset_clock
    from campaignbridge.store.postgres import Postgres

    name = f"campaignbridge_demo_{secrets.token_hex(4)}"
    outside = Postgres(url)
    inside = with_search_path(url, name)
    database = Postgres(inside)
    try:
        with outside.transaction() as tx:
            tx.execute(f"CREATE SCHEMA {name}")
        upgrade_schema(Settings(database=inside))
        install_offset_clock(database)
        yield inside
    finally:
        database.close()
        outside.close()  # whatever it was doing: the drop gets a session of its own
        with outside.transaction() as tx:
            tx.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
        outside.close()


def with_search_path(url: str, schema: str) -> str:
    """Return the URL whose sessions work in this schema, keeping what else the URL asks for."""
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    options = [value for name, value in query if name == "options"]
    rest = [(name, value) for name, value in query if name != "options"]
    rest.append(("options", " ".join([*options, f"-csearch_path={schema}"])))
    return urlunsplit(parts._replace(query=urlencode(rest, quote_via=quote)))


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Let SIGTERM unwind as Ctrl-C does, so that nothing stays behind."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
