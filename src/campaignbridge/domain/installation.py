"""Where an installation lives, and what it means when it is somewhere else."""

import hashlib
import json
from dataclasses import asdict, dataclass

BACKUP = "backup"  # the reason of a store that came out of `db backup`
_WORDS = {
    "sqlite": {
        "machine": "another machine (or another name for it)",
        "path": "another path",
        "file": "another file",
    },
    "postgres": {
        "machine": "another server",
        "path": "another database or schema",
        "file": "tables that were made anew",
    },
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a store lives: no other store that is in use has the same three.

    SQLite: machine, absolute path without symbolic links, inode. PostgreSQL: system identifier (empty where
    the server doesn't tell it), oid of the database and name of the schema, oid of the installation's table.
    """

    kind: str  # sqlite or postgres
    machine: str
    path: str
    file: str

    @property
    def text(self) -> str:
        """What is recorded; two places are the same when their texts are."""
        return json.dumps(asdict(self), sort_keys=True)

    def differs_from(self, recorded: "Place") -> tuple[str, ...]:
        """Return which parts are others: of machine, path, file; all of them for another kind of database."""
        parts = ("machine", "path", "file")
        if self.kind != recorded.kind:
            return parts
        return tuple(part for part in parts if getattr(self, part) != getattr(recorded, part))


def place_from(text: str) -> Place:
    """Return the place that was recorded with this text."""
    return Place(**json.loads(text))


def machine_fingerprint(identity: str) -> str:
    """Return what is recorded of a machine's identity, which itself is nobody's business."""
    return hashlib.sha256(f"campaignbridge machine\0{identity}".encode(errors="replace")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Standing:
    """What the store says of its installation. Paused: it is a copy, until a person adopts it."""

    id: str
    place: Place | None  # None: not recorded yet
    paused_since: int | None
    paused_reason: str | None  # `backup`, or which parts of the place differed, with commas between them
    now: int

    @property
    def paused(self) -> bool:
        """Say whether it is a copy that nobody has adopted."""
        return self.paused_since is not None


def reason_in_words(reason: str, kind: str) -> str:
    """Return why a store counts as a copy, as a clause."""
    if reason == BACKUP:
        return "it was made by db backup"
    words = [_WORDS[kind][part] for part in reason.split(",")]
    return f"it was recorded elsewhere, and now there is {' and '.join(words)}"
