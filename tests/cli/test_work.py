"""`jobs` and `locks` on the command line: what is shown, what is asked, and what a script has to say."""

import sqlite3
import time

import pytest

from cli.program import campaign
from cli.test_terminal import converse

REASON = ("--reason", "worker-3 was switched off")
KEY = "campaign:cmp_a"


def change(program, text, *params):
    with sqlite3.connect(program.database) as connection:
        connection.create_function("now_ms", 0, lambda: time.time_ns() // 1_000_000)
        connection.execute(text, params)
    connection.close()


def lock(program, ahead_ms):
    assert program.run("locks", "list").code == 0  # makes the store
    change(
        program,
        "INSERT INTO locks (key, fence, holder, operation, actor, acquired_at, held_until) "
        "VALUES (?, 41, 'worker-3:17:abcd', 'send', 'cli:dana', now_ms() - 600000, now_ms() + ?)",
        KEY, ahead_ms,
    )  # fmt: skip


LEFT_BEHIND, HELD, OVERLONG = -60_000, 200_000, 86_400_000


def release(program, *flags):
    return program.run("locks", "release", KEY, *REASON, *flags)


def dead_job(program, **facts):
    campaign(program, "sending")
    change(
        program,
        "UPDATE jobs SET state = 'dead', attempts = 5, last_error = 'abandoned', finished_at = now_ms() - 120000",
    )
    return program.run("jobs", "list", "--json").document["jobs"][0]["id"]


def test_locks_are_listed_with_who_holds_them_where_since_when_and_by_which_fence(program):
    lock(program, LEFT_BEHIND)
    done = program.run("locks", "list")
    for word in ("0 held, 1 left behind.", KEY, "send", "cli:dana", "worker-3", "41", "left behind"):
        assert word in done.words
    (row,) = program.run("locks", "list", "--json").document["locks"]
    assert (row["state"], row["host"], row["fence"], row["holder"]) == (
        "left_behind", "worker-3", 41, "worker-3:17:abcd",
    )  # fmt: skip


def test_nothing_locked_is_said_in_words(program):
    assert "Nothing is locked." in program.run("locks", "list").words


def test_a_lock_that_was_left_behind_is_freed_after_a_yes(program):
    lock(program, LEFT_BEHIND)
    refused = release(program)
    assert refused.code == 2
    assert "--yes" in refused.words
    code, screen = converse(program, ("locks", "release", KEY, *REASON), "n\n", awaited="[y/N]")
    assert code == 130
    assert "worker-3:17:abcd" in screen
    code, screen = converse(program, ("locks", "release", KEY, *REASON), "y\n", awaited="[y/N]")
    assert (code, "is free" in screen) == (0, True)
    assert release(program, "--yes").code == 3, "nobody holds it now"


def test_a_script_frees_a_lock_that_was_left_behind(program):
    lock(program, LEFT_BEHIND)
    assert release(program, "--yes", "--json").document == {"lock": KEY, "fence": 41, "released": True}


def test_a_lock_that_is_held_is_freed_by_nobody(program):
    lock(program, HELD)
    for flags in ((), ("--yes",), ("--confirm-fence", "41")):
        done = release(program, *flags, "--json")
        assert (done.code, done.document["code"]) == (4, "locked")


def test_a_lock_that_is_held_too_far_ahead_needs_its_fence_and_a_yes_is_not_enough(program):
    lock(program, OVERLONG)
    refused = release(program, "--yes", "--json")
    assert (refused.code, refused.document["code"]) == (2, "confirmation_required")
    assert refused.document["command"].endswith("--confirm-fence 41")
    wrong = release(program, "--confirm-fence", "40", "--json")
    assert (wrong.code, wrong.document["code"]) == (3, "validation_failed")
    assert release(program, "--confirm-fence", "41").code == 0


@pytest.mark.parametrize(("typed", "expected"), [("40\n", 3), ("41\n", 0), ("forty-one\n", 3), ("\n", 130)])
def test_the_fence_of_an_overlong_lock_is_typed_on_a_terminal(program, typed, expected):
    lock(program, OVERLONG)
    code, screen = converse(program, ("locks", "release", KEY, *REASON), typed)
    assert code == expected
    assert "held too far ahead" in screen


def test_a_release_without_a_real_reason_is_refused(program):
    lock(program, LEFT_BEHIND)
    assert program.run("locks", "release", KEY, "--yes").code == 2
    done = program.run("locks", "release", KEY, "--yes", "--reason", "because", "--json")
    assert (done.code, done.document["code"]) == (3, "invalid_input")


def test_the_queue_is_told_before_its_jobs(connected):
    job = dead_job(connected)
    done = connected.run("jobs", "list")
    assert "Oldest waiting: none. 0 waiting, 0 claimed." in done.words
    assert "Given up: dead abandoned 1." in done.words
    assert job in done.out
    queue = connected.run("jobs", "list", "--json").document["queue"]
    assert (queue["dead"], queue["waiting"], queue["warnings"]) == ({"abandoned": 1}, 0, ["no_tick"])


def test_a_dead_job_says_what_it_was_and_what_can_be_done(connected):
    job = dead_job(connected)
    done = connected.run("jobs", "show", job)
    for words in (
        "gave up after 5 tries",
        "nothing by itself",
        "abandoned",
        f"campaignbridge jobs requeue {job}",
    ):
        assert words in done.words
    assert "payload" not in connected.run("jobs", "show", job, "--json").out


def test_a_dead_job_is_run_again_after_a_yes(connected):
    job = dead_job(connected)
    refused = connected.run("jobs", "requeue", job, "--json")
    assert (refused.code, refused.document["code"]) == (2, "confirmation_required")
    assert refused.document["command"] == f"campaignbridge jobs requeue {job} --yes"
    assert converse(connected, ("jobs", "requeue", job), "n\n", awaited="[y/N]")[0] == 130
    assert connected.run("jobs", "show", job, "--json").document["state"] == "dead"
    assert connected.run("jobs", "requeue", job, "--yes", "--json").document == {
        "job": job,
        "state": "queued",
    }
    assert connected.run("jobs", "show", job, "--json").document["state"] == "queued"


def test_pages_of_jobs_follow_each_other(connected):
    campaign(connected, "sending")
    campaign(connected, "sending", name="Another", subject="Another")
    first = connected.run("jobs", "list", "--limit", "1", "--json").document
    second = connected.run(
        "jobs", "list", "--limit", "1", "--cursor", first["next_cursor"], "--json"
    ).document
    assert first["jobs"][0]["id"] != second["jobs"][0]["id"]
    last = connected.run("jobs", "list", "--limit", "1", "--cursor", second["next_cursor"], "--json").document
    assert (last["jobs"], last["next_cursor"]) == ([], None)
