"""`audiences import`: what was found in a file or a query, a yes, progress, and what became of every row."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.asking import require_yes
from campaignbridge.cli.choices import CHOICES
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.cli.session import Session
    from campaignbridge.flows.importing import Imported
    from campaignbridge.flows.queries import Query
    from campaignbridge.flows.tables import Choices, Table
    from campaignbridge.store.audiences import Progress

CELL = 24
EACH = 100_000  # rows between two lines of progress, where the end isn't known


def _said(name: str, metavar: str, help: str) -> Any:  # noqa: A002  Typer's word
    twin = f"CAMPAIGNBRIDGE_IMPORT_{name.upper()}"
    return typer.Option(f"--{name}", metavar=metavar, envvar=twin, help=help)


Audience = Annotated[
    str,
    typer.Option(
        metavar="SLUG",
        envvar="CAMPAIGNBRIDGE_IMPORT_AUDIENCE",
        help="Into which audience; made if it is new.",
    ),
]
File = Annotated[str | None, typer.Argument(metavar="[FILE]", help="A CSV, TSV, NDJSON or Parquet file.")]
Sql = Annotated[
    str | None, _said("query", "SQL", "Instead of a file: one SELECT, in the database of --from.")
]
Place = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="PLACE",
        envvar="CAMPAIGNBRIDGE_IMPORT_FROM",
        help="Where the query runs: a SQLite file or postgresql://user@host/name. It only reads there.",
    ),
]


def import_(  # noqa: PLR0917  Typer hands them over by name
    audience: Audience,
    file: File = None,
    query: Sql = None,
    place: Place = None,
    encoding: Annotated[str | None, _said("encoding", "NAME", "If it isn't UTF-8, such as cp1252.")] = None,
    delimiter: Annotated[str | None, _said("delimiter", "CHAR", "If another was found than it is.")] = None,
    email: Annotated[str | None, _said("email", "COLUMN", "The column with the addresses.")] = None,
    locale: Annotated[str | None, _said("locale", "COLUMN", "The column with the languages.")] = None,
    zone: Annotated[str | None, _said("zone", "COLUMN", "The column with the time zones.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Import without asking.")] = False,
) -> None:
    """Bring people in from a file or a query, after showing what was found in it.

    Rows that can't be taken are kept beside the file, with line and reason; those of a query in this folder.
    Stopped, the same command goes on; with a query it reads all rows anew, and nobody comes in twice. A password
    for the database belongs into PGPASSWORD or CAMPAIGNBRIDGE_IMPORT_FROM, not on the command line.

    \b
      campaignbridge audiences import people.csv --audience customers-eu
      campaignbridge audiences import people.csv --audience customers-eu --yes --json
      campaignbridge audiences import --audience customers-eu --from shop.db \
        --query "SELECT email, first_name, lang AS language FROM customers"
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    from campaignbridge.domain.audience import is_slug
    from campaignbridge.flows.importing import no_audience
    from campaignbridge.flows.tables import Choices

    if not is_slug(audience):
        raise no_audience(audience)
    table = _look_at(file, query, place, Choices(encoding, delimiter or None, email, locale, zone))
    _preview(table)
    if not yes:
        source = "FILE" if file is not None else '--query "SELECT ..." --from PLACE'
        again = f"campaignbridge audiences import {source} --audience {audience} --yes"
        require_yes(f"Import into {audience}?", command=again)
    with session() as here:
        # What a query's rows are rejected into stands in this folder, under the name of the audience.
        done, rejects = _import(here, table, audience, beside=file or f"{audience}.query")
    _tell(done, rejects, table)


def _look_at(file: str | None, query: str | None, place: str | None, choices: "Choices") -> "Table | Query":
    from campaignbridge.flows.queries import look_at_query
    from campaignbridge.flows.tables import look_at

    if file is not None and query is None and place is None:
        return look_at(file, choices)
    if file is None and query is not None and place is not None and choices.of_text is None:
        return look_at_query(place, query, choices)
    from campaignbridge import Refusal

    raise Refusal(
        "It takes a file, or a query and the database where it runs."
        if choices.of_text is None or file is not None
        else f"A query's rows have no {choices.of_text}.",
        code="usage",
        todo='Say which: FILE, or --query "SELECT ..." --from PLACE',
        command="campaignbridge audiences import --help",
    )


def _import(
    here: "Session", table: "Table | Query", audience: str, *, beside: str
) -> "tuple[Imported, str | None]":
    from campaignbridge.flows.rejects import RejectsFile

    here.bridge.make_audience(audience, actor=here.actor)
    rejects = RejectsFile(beside)
    shown = _Shown()
    try:
        done = here.bridge.import_contacts(
            table, audience, rejects=rejects, tell=shown.tell, actor=here.actor
        )
    except KeyboardInterrupt:
        from campaignbridge import Refusal

        raise Refusal(
            f"Stopped. {shown.rows:,} rows are in.",
            code="interrupted",
            todo="Run the same command to go on."
            if table.fingerprint is not None
            else "Run the same command again: it reads all rows, and nobody comes in twice.",
            rows_read=shown.rows,
        ) from None
    finally:
        shown.close()
    return done, rejects.path


class _Shown:
    """Progress: a bar where the screen can move, else a line for every tenth of the file."""

    def __init__(self) -> None:
        self.rows = 0  # in the store, of this and earlier runs
        self._tenth = 0
        self._lines = 0
        self._bar: Any = None
        if terminal.live():
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=terminal.console(stderr=True), transient=True)
            self._task = self._bar.add_task("0 rows", total=1.0)
            self._bar.start()

    def tell(self, progress: "Progress", fraction: float | None) -> None:
        self.rows = progress.rows_read
        words = f"{progress.rows_read:,} rows, {progress.rejected:,} not taken"
        if self._bar is not None:
            total = None if fraction is None else 1.0
            self._bar.update(self._task, total=total, completed=fraction or 0.0, description=words)
            return
        if fraction is None and progress.rows_read // EACH > self._lines:
            self._lines = progress.rows_read // EACH
            terminal.hint(f"        {words}")
        tenth = int((fraction or 0.0) * 10)
        if tenth > self._tenth:
            self._tenth = tenth
            terminal.hint(f"{tenth * 10:>4} %  {words}")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _preview(table: "Table | Query") -> None:
    """Show what was found. The rows themselves are for people only: they are never part of a document."""
    mapping = table.mapping
    rows: list[tuple[str, ...]] = [("column", "becomes")]
    rows += [
        (terminal.shortened(name, 40), mapping.becomes(place)) for place, name in enumerate(mapping.names)
    ]
    terminal.hint(f"Found  {_found(table)}", "", *terminal.columns(rows), "")
    if CHOICES.json:
        return
    most = max(1, (terminal.WIDTH + 3) // (CELL + 3))
    lines: list[tuple[str, ...]] = [
        (
            "row" if table.kind == "query" else "line",
            *(terminal.shortened(name, CELL) for name in mapping.names[:most]),
        )
    ]
    for record in table.preview:
        cells = [terminal.shortened(cell, CELL) for cell in record.cells[:most]]
        lines.append((str(record.line), *cells, *[""] * (len(mapping.names[:most]) - len(cells))))
    terminal.hint(*terminal.columns(lines), "")


def _found(table: "Table | Query") -> str:
    from campaignbridge.flows.queries import Query

    if isinstance(table, Query):
        return "a query of another database"
    return {
        "csv": f"{table.encoding}, columns split by {table.delimited_by}"
        + ("" if table.headed else ", no header"),
        "ndjson": f"{table.encoding}, one JSON object on each line",
        "parquet": "Parquet",
    }[table.kind]


def _tell(done: "Imported", rejects: str | None, table: "Table | Query") -> None:
    from campaignbridge.domain.audience import REASONS

    counts = done.counts
    document = {
        "audience": done.audience,
        "import": done.import_id,
        "resumed_at": done.resumed_at,
        **counts,
        "reasons": done.reasons,
        "rejects": rejects,
        "people": done.people,
        "suppressed": done.suppressed,
        "encoding": table.encoding,
        "delimiter": table.delimiter,
        "columns": [
            {"name": name, "becomes": table.mapping.becomes(place)}
            for place, name in enumerate(table.mapping.names)
        ],
    }
    terminal.answer(document, [])
    taken = counts["rows_read"] - counts["rejected"]
    if done.resumed_at:
        terminal.hint(f"Went on behind row {done.resumed_at:,}, where it was stopped.")
    terminal.mark("ok", f"{counts['added']:,} people came in. {done.audience} has {done.people:,}.")
    there = counts["merged"] + counts["unchanged"]
    if there:
        same = (
            f", {counts['repeated']:,} of them from earlier rows of this import" if counts["repeated"] else ""
        )
        terminal.hint(
            f"      {there:,} rows named people who were there already{same}:",
            f"      {counts['merged']:,} told something new, {counts['unchanged']:,} nothing.",
        )
    if counts["repaired"]:
        terminal.hint(f"      {counts['repaired']:,} addresses had invisible characters at their ends.")
    if done.suppressed:
        terminal.hint(f"      {done.suppressed:,} people of this audience are suppressed and stay so.")
    if counts["rejected"]:
        reasons = sorted(done.reasons.items(), key=lambda item: -item[1])
        told = "; ".join(f"{number:,}: {REASONS[reason]}" for reason, number in reasons)
        terminal.mark(
            "warn", f"{counts['rejected']:,} rows were not taken. {told}. The other {taken:,} are in."
        )
        if rejects is not None:
            terminal.hint(f"      They are in {terminal.clean(rejects)}")
