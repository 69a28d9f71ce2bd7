"""What a shell completes: ids out of the store. Quick, silent, and it makes no store where there is none."""

import os
import shlex

MOST = 50


def campaign_ids(incomplete: str) -> list[tuple[str, str]]:
    """Return the newest campaigns whose id begins like this, each with its name; none when that can't be read."""
    try:
        return _newest(incomplete)
    except Exception:  # noqa: BLE001  a shell that completes has no place for an error
        return []


def _newest(incomplete: str) -> list[tuple[str, str]]:
    from campaignbridge.bootstrap import open_database
    from campaignbridge.cli.terminal import shortened
    from campaignbridge.settings import from_environment
    from campaignbridge.store.unit import Store

    settings = from_environment(database=_database(_words()))
    if not settings.on_postgres and not os.path.isfile(settings.database):  # noqa: PTH113  a name, not a path of ours
        return []
    database = open_database(settings)
    try:
        with Store(database).reading() as unit:
            rows = unit.campaigns.newest(most=MOST)
    finally:
        database.close()
    return [(row["id"], shortened(row["name"], 40)) for row in rows if row["id"].startswith(incomplete)]


def _words() -> list[str]:
    typed = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS") or ""
    try:
        return shlex.split(typed)
    except ValueError:  # a quote that isn't closed yet
        return typed.split()


def _database(words: list[str]) -> str | None:
    """Return what --database says on the line that is being typed."""
    for number, word in enumerate(words):
        if word == "--database" and number + 1 < len(words):
            return words[number + 1]
        if word.startswith("--database="):
            return word.partition("=")[2]
    return None
