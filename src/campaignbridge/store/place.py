"""Finding out where a store lives."""

from pathlib import Path

from campaignbridge.domain.installation import Place
from campaignbridge.store.postgres import Postgres
from campaignbridge.store.sqlite import Sqlite


def place_of(database: Sqlite | Postgres, machine: str) -> Place | None:
    """Return where a store lives, that has its schema; None for one in memory, which is nobody's copy."""
    if isinstance(database, Sqlite):
        if database.path in {":memory:", ""}:
            return None
        path = Path(database.path).resolve()
        return Place("sqlite", machine, str(path), str(path.stat().st_ino))
    with database.transaction(write=False) as tx:
        row = tx.one("installation.place")
        assert row is not None
        cluster = tx.one("installation.cluster") if row["tells_cluster"] else None
    return Place("postgres", cluster["identifier"] if cluster else "", row["path"], row["tables"])
