"""Finding out where a store lives."""

import os
from pathlib import Path

from campaignbridge.domain.installation import Place
from campaignbridge.ports import Database


def place_of(database: Database, *, kind: str, machine: str) -> Place | None:
    """Return where a store lives, that has its schema; None for one in memory, which is nobody's copy.

    `kind` is sqlite or postgres; `machine` stands for this machine, on which a file lies.
    """
    with database.transaction(write=False) as tx:
        row = tx.one("installation.place")
        assert row is not None
        cluster = tx.one("installation.cluster") if row["tells_cluster"] else None
    if kind == "postgres":
        return Place(kind, cluster["identifier"] if cluster else "", row["path"], row["tables"])
    if not row["path"]:
        return None
    path = Path(os.fsdecode(row["path"])).resolve()
    return Place(kind, machine, str(path), str(path.stat().st_ino))
