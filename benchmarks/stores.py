"""Fresh stores to measure in, and the PostgreSQL server of the tests, with its durability switched on."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support import postgres
from support.stores import Home, home_of

postgres.OPTIONS = (
    "-c listen_addresses=127.0.0.1 -c shared_buffers=256MB -c max_wal_size=4GB -c unix_socket_directories="
)


@contextmanager
def server(database: str) -> Iterator[str]:
    """Run what the database needs; yield where stores can be made."""
    if database == "postgres":
        with postgres.server() as url:
            yield url
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield folder


@contextmanager
def fresh(database: str, place: str) -> Iterator[Home]:
    """Make an empty store with its schema; it is gone afterwards."""
    if database == "postgres":
        with postgres.fresh_schema(place) as url, home_of("postgres", url) as home:
            yield home
    else:
        with (
            tempfile.TemporaryDirectory(dir=place) as folder,
            home_of("sqlite", f"{folder}/store.db") as home,
        ):
            yield home
