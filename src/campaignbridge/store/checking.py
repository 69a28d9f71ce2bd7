"""Looking through a whole store: its pages, its references, and that no state is without an owner."""

from dataclasses import dataclass

from campaignbridge.ports import Database, Row, Transaction


@dataclass(frozen=True, slots=True)
class Checked:
    """What a look through the store found: sentences, none for a sound one, and how much there is."""

    problems: tuple[str, ...]
    counts: Row


def check(database: Database) -> Checked:
    """Read everything once. The schema is the newest one; nothing is changed."""
    with database.transaction(write=False) as tx:
        problems = (*damages(tx), *_disagreements(_only(tx, "check.owners")))
        return Checked(problems, _only(tx, "check.counts"))


def damages(tx: Transaction) -> tuple[str, ...]:
    """Return what is wrong with pages, indexes, rows and references, whatever the schema."""
    found = [str(row["finding"]) for row in tx.all("check.integrity")]
    broken = [] if found == ["ok"] else ["It has damaged pages, indexes or rows."]
    lost = _only(tx, "check.references")["n"]
    return (*broken, *([f"{lost} rows refer to others that aren't there."] if lost else []))


def _disagreements(owners: Row) -> list[str]:
    sentences = {
        "unowned": "{n} campaigns move or have an open request, and nobody looks at them.",
        "without_request": "{n} campaigns have an open request that isn't unresolved.",
        "loose": "{n} unresolved requests are no campaign's open one.",
    }
    found = [text.format(n=owners[name]) for name, text in sentences.items() if owners[name]]
    return found if owners["installations"] else [*found, "The installation has no name."]


def _only(tx: Transaction, name: str) -> Row:
    row = tx.one(name)
    assert row is not None, "the statement always gives a row"
    return row
