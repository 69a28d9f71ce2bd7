"""What `doctor` looks at: checks as data, each one small function that only reads.

A check says which other one it needs; whoever runs them skips it when that one fails, and bounds each in
time. No check changes anything: the store isn't even made, or switched to its write-ahead log, by looking.
"""

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

from campaignbridge.domain.errors import Refusal
from campaignbridge.flows.amounts import age as _age
from campaignbridge.flows.amounts import count as _count
from campaignbridge.flows.checkup import Check, Finding, Subject, of_refusal, only
from campaignbridge.flows.doctor_connections import check_connection
from campaignbridge.flows.health import LATE_MS, Health, look, warnings
from campaignbridge.flows.identity import ADOPTING, IDLE, as_copy
from campaignbridge.flows.notices import configured
from campaignbridge.settings import Settings
from campaignbridge.store.unit import Unit

HOUR_MS = 3_600_000
APART_MS = 5_000
LOW_BYTES, SCARCE_BYTES = 1 << 30, 100 << 20
WORKER = "campaignbridge worker"


def checks_for(settings: Settings | Refusal) -> list[Check]:
    """Return the checks that these settings call for, connections apart."""
    if isinstance(settings, Refusal):
        return [check for check in CHECKS if not check.on]
    kind = "postgres" if settings.on_postgres else "sqlite"
    return [check for check in CHECKS if check.on in ("", kind)]


def connection_checks(subject: Subject, *, offline: bool) -> list[Check]:
    """Return one check for each connection; each reads once at its provider, unless `offline`."""
    with subject.reading() as tx:
        found = Unit(tx).accounts.all()
    if not found:
        none = Finding("ok", "none yet")
        return [Check("connections", "Providers", "connections", "schema", lambda _subject: none)]
    looks = ((one.label, _not_asked if offline else partial(check_connection, one)) for one in found)
    return [Check(f"connection:{label}", "Providers", label, "schema", look) for label, look in looks]


def _not_asked(_subject: Subject) -> Finding:
    return Finding("skipped", "skipped: --offline")


def _file(subject: Subject) -> Finding:
    settings = subject.settings
    if isinstance(settings, Refusal):
        return replace(of_refusal(settings), effect=f"No command works until then. {settings.todo}")
    if settings.file is None:
        return Finding("ok", "none; the environment and the defaults hold")
    return Finding("ok", f"{settings.file}, {_count(settings.file_keys, 'key')}, none unknown")


def _secrets(subject: Subject) -> Finding:
    ids = subject.chosen.ring().ids
    if not ids:
        return Finding("ok", "no key ring: keys are in variables, and none can be stored")
    return Finding("ok", f"{_count(len(ids), 'key')} in the ring, {ids[0]} seals")


def _reachable(subject: Subject) -> Finding:
    settings = subject.chosen
    if not settings.on_postgres and settings.database != ":memory:":
        wrong = _header(settings.database)
        if wrong is not None:
            return wrong
    start = subject.clock.mark()
    with subject.reading() as tx:
        tx.one("doctor.reach")
    return Finding("ok", f"{subject.clock.since_ms(start)} ms")


def _header(path: str) -> Finding | None:
    """Say what stands against opening a file, from its first bytes: opening it would change some files."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(20)
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        fix = "campaignbridge init" if isinstance(error, FileNotFoundError) else ""
        return Finding("fail", f"{path} can't be read ({reason})", fix=fix, help="persistence_failed")
    if not head:
        return Finding("fail", f"{path} is empty", fix="campaignbridge db upgrade", help="store_unusable")
    if not head.startswith(b"SQLite format 3\0"):
        return Finding("fail", f"{path} is not a SQLite database", help="store_unusable")
    if head[18:20] != b"\x02\x02":
        return Finding(
            "skipped",
            "skipped: it has no write-ahead log yet, and opening it makes one",
            "The next command does so; nothing is wrong with that.",
            "campaignbridge db current",
        )
    return None


def _schema(subject: Subject) -> Finding:
    assert subject.schema is not None
    version, newest = subject.schema()
    if version == newest:
        return Finding("ok", f"{version}, current")
    if version > newest:
        return Finding("warn", f"{version}; this program knows {newest} and can work with it")
    what = f"{version}; this program needs {newest}" if version else "none yet"
    effect = "No command works until then." if version else "The first command makes it."
    return Finding("fail", what, effect, "campaignbridge db upgrade", "store_unusable")


def _disk(subject: Subject) -> Finding:
    settings = subject.chosen
    if settings.on_postgres:
        return Finding("skipped", "skipped: the disk is the database server's")
    free = shutil.disk_usage(Path(settings.database).absolute().parent).free
    told = f"{free / (1 << 30):.1f} GB free"
    if free >= LOW_BYTES:
        return Finding("ok", told)
    effect = "A full disk stops every change; nothing that was recorded is lost."
    status = "warn" if free >= SCARCE_BYTES else "fail"
    return Finding(status, told, effect, help="persistence_failed")


def _integrity(subject: Subject) -> Finding:
    with subject.reading() as tx:
        found = tx.all("doctor.integrity")
    if [row["finding"] for row in found] == ["ok"]:
        return Finding("ok", "quick_check finds nothing; write-ahead log in use")
    effect = "Stop the workers, keep a copy of the file, and restore a backup."
    return Finding("fail", "quick_check finds damaged pages", effect, help="store_unusable")


def _standby(subject: Subject) -> Finding:
    with subject.reading() as tx:
        row = only(tx.one("doctor.standby"))
    effect = "A failover may forget the last decisions: what was asked for is then searched for, not known."
    if row["durable"] in ("off", "local"):
        return Finding("warn", f"synchronous_commit is {row['durable']}", effect)
    if not row["names"]:
        return Finding("warn", "no synchronous standby", effect)
    if not row["synchronous"]:
        return Finding("warn", "a synchronous standby is named, and none can be seen from here", effect)
    return Finding("ok", f"{_count(row['synchronous'], 'synchronous standby', 'synchronous standbys')}")


def _clock(subject: Subject) -> Finding:
    if not subject.chosen.on_postgres:
        return Finding("ok", "the store takes this host's time")
    before = subject.clock.mark()
    with subject.reading() as tx:
        at = Unit(tx).now_ms()
    after = subject.clock.mark()
    apart = max(before.wall_ms - at, at - after.wall_ms, 0)
    if apart <= APART_MS:
        return Finding("ok", f"this host and the store are less than {max(1, -(-apart // 1000))} s apart")
    effect = "The store's clock decides, so nothing is sent twice; times that you type may be off."
    return Finding("warn", f"this host and the store are {_age(apart)} apart", effect)


def _installation(subject: Subject) -> Finding:
    with subject.reading() as tx:
        standing = Unit(tx).identity.standing()
    if standing is None:
        return Finding("warn", "not named yet; the next command does so")
    copy = as_copy(standing, subject.place)
    return Finding("fail", copy, IDLE, ADOPTING, "copy_paused") if copy else Finding("ok", standing.id)


def _last_tick(subject: Subject) -> Finding:
    found = _health(subject)
    wrong, at = warnings(found), found.last_tick
    told = "none yet" if at is None else f"{_age(found.now - at)} ago"
    if "no_tick" in wrong and (at is not None or wrong != ("no_tick",)):
        told = f"{told}, should be under {LATE_MS // 60_000} min{_overdue(found)}"
        return Finding("fail", told, "Nothing is being sent, checked or watched.", WORKER, "no_tick")
    told += _overdue(found)
    if "work_stalled" in wrong:
        return Finding("fail", told, "Ticks go on, and nobody asks for work.", WORKER, "work_stalled")
    if "work_late" in wrong:
        return Finding("warn", told, "More is due than the workers get done.", WORKER, "work_late")
    return Finding("ok", told if at is not None else f"{told}; no job is overdue")


def _overdue(found: Health) -> str:
    if found.overdue_since is None:
        return ""
    age = _age(found.now - found.overdue_since)
    return f"; {_count(found.overdue, 'job is overdue', 'jobs are overdue')}, the oldest for {age}"


def _stuck(subject: Subject) -> Finding:
    found = _health(subject)
    if found.stopped_since is None:
        return Finding("ok", "none")
    told = f"{_count(found.stopped, 'job')}, the longest for {_age(found.now - found.stopped_since)}"
    effect = "Their workers died or lost the store. The next worker takes them over."
    return Finding("warn", told, effect, WORKER)


def _dead(subject: Subject) -> Finding:
    found = _health(subject)
    if found.dead_at is None:
        return Finding("ok", "none")
    codes, ago = ", ".join(f"{code} {n:,}" for code, n in found.dead[:3]), _age(found.now - found.dead_at)
    told = f"{_count(sum(n for _, n in found.dead), 'job')} ({codes}), the newest {ago} ago"
    effect, fix = "What they looked after needs a person.", "campaignbridge jobs list --state dead"
    return Finding("warn", told, effect, fix, "jobs_dead")


def _health(subject: Subject) -> Health:
    with subject.reading() as tx:
        return look(Unit(tx))


def _notices(subject: Subject) -> Finding:
    told, wrong = configured(subject.chosen)
    fix, page = ("campaignbridge notices test", "notice_undelivered") if wrong else ("", "")
    return Finding("warn" if wrong else "ok", told, wrong, fix, page)


def _needs_you(subject: Subject) -> Finding:
    with subject.reading() as tx:
        row = tx.one("doctor.need_person")
    if row is None:
        return Finding("ok", "nothing")
    which = f"{row['kind']} {row['target']} for {_age(row['now'] - row['since'])}"
    ramps = f" ({_count(row['ramps'], 'ramp')})" if row["ramps"] else ""
    told = f"{_count(row['n'], 'thing')}{ramps}, {which}"
    page = "jobs_dead" if row["kind"] == "job" else row["reason"]
    return Finding("warn", told, "", "campaignbridge status", page)


def _unresolved(subject: Subject) -> Finding:
    with subject.reading() as tx:
        row = tx.one("doctor.unresolved")
    if row is None:
        return Finding("ok", "no request")
    age = row["now"] - row["created_at"]
    told = f"{_count(row['n'], 'request')}, the oldest {_age(age)}"
    if age <= HOUR_MS:
        return Finding("ok", f"{told}; answers are read by themselves")
    told += f"; {row['over_hour']} over an hour, {row['over_day']} over a day"
    fix = f"campaignbridge campaigns reconcile {row['campaign_id']}"
    return Finding(
        "warn", told, "These campaigns can't be sent until it is settled.", fix, "unconfirmed_long"
    )


CHECKS = (
    Check("settings_file", "Settings", "file", "", _file),
    Check("secrets", "Settings", "secrets", "settings_file", _secrets),
    Check("reachable", "Store", "reachable", "settings_file", _reachable),
    Check("schema", "Store", "schema", "reachable", _schema),
    Check("disk", "Store", "disk", "settings_file", _disk),
    Check("integrity", "Store", "integrity", "reachable", _integrity, on="sqlite"),
    Check("standby", "Store", "standby", "reachable", _standby, on="postgres"),
    Check("clock", "Store", "clock", "schema", _clock),
    Check("installation", "Store", "installation", "schema", _installation),
    Check("last_tick", "Work", "last tick", "schema", _last_tick),
    Check("stuck_jobs", "Work", "stuck jobs", "schema", _stuck),
    Check("dead_jobs", "Work", "dead jobs", "schema", _dead),
    Check("notices", "Work", "notices", "settings_file", _notices),
    Check("needs_you", "Campaigns", "needs you", "schema", _needs_you),
    Check("unresolved", "Campaigns", "unresolved", "schema", _unresolved),
)
