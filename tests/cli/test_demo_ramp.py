"""The ramp demo, small: five waves, a killed worker, a lost answer, a gate that trips, everybody mailed once."""

import json
import os
import pty
import subprocess
import threading

import pytest

from cli.program import Program

SMALL = ("demo", "--ramp", "--people", "2000")
STORY = {"state": "complete", "mailed": 2_000, "duplicates": 0, "strangers": 0, "wrong": []}
EVENTS = {"crashes": 1, "gate_trips": 1, "unconfirmed": 1, "continued_same_run": True}


def check(document, database):
    assert {name: document[name] for name in (*STORY, *EVENTS)} == STORY | EVENTS
    assert document["database"] == database
    waves = document["waves"]
    assert [wave["label"] for wave in waves] == [f"wave-{number}" for number in range(1, 6)]
    assert sum(wave["mailed"] for wave in waves) == document["mailed"]
    assert {wave["closed"] for wave in waves} == {"sent"}
    assert [wave["verdict"] for wave in waves] == ["passed", "passed", "waived", "passed", "passed"]
    bad = waves[2]
    assert bad["bounced"] * 100 > bad["delivered"] * 4
    counts = document["imported"]
    assert counts["rows_read"] == counts["added"] + counts["repeated"] + counts["rejected"]
    assert counts["rejected"] > 0 < counts["repaired"]


def test_the_ramp_demo_mails_everybody_once_whatever_happens_on_the_way(program):
    done = program.run_anew(*SMALL, "--json")
    assert done.code == 0, done.out
    check(done.document, "sqlite")
    assert list(program.folder.iterdir()) == []


def test_the_ramp_demo_does_the_same_on_postgresql_and_leaves_no_schema_behind(tmp_path, postgres_server):
    import psycopg

    done = Program(tmp_path).run_anew(*SMALL, "--json", "--database", postgres_server)
    assert done.code == 0, done.out
    check(done.document, "postgresql")
    with psycopg.connect(postgres_server) as connection:
        left = connection.execute(
            "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'campaignbridge_demo_%'"
        )
        assert left.fetchone() == (0,)


def test_on_a_terminal_the_waves_are_seen_to_fill_up_and_the_story_stays_on_the_screen(program):
    main, side = pty.openpty()
    seen = bytearray()

    def listen():
        while True:
            try:
                part = os.read(main, 65_536)
            except OSError:
                return
            if not part:
                return
            seen.extend(part)

    listening = threading.Thread(target=listen)
    listening.start()
    try:
        done = subprocess.run(
            program.command(*SMALL),
            cwd=program.folder,
            env=program.environment(TERM="xterm", COLUMNS="100"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=side,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(side)
        listening.join(10)
        os.close(main)
    shown = seen.decode("utf-8", "replace")
    assert done.returncode == 0, shown[-2_000:]
    assert "Verdict" in shown
    assert "###" in shown
    for words in (
        "killed in mid-push",
        "send unconfirmed",
        "the gate stopped the ramp: wave-3",
        "the same run",
    ):
        assert words in " ".join(shown.split())
    last = done.stdout.splitlines()
    assert last[-2].startswith(
        "ok    complete: 2,000 people mailed in 5 waves, 0 duplicates, 1 process killed"
    )
    assert sum("send accepted, " in line for line in last) == 5


@pytest.mark.parametrize("people", ["1999", "200001", "many"])
def test_the_ramp_demo_refuses_a_crowd_that_is_too_small_or_too_big(program, people):
    done = program.run("demo", "--ramp", "--people", people, "--json")
    assert done.code == 2
    assert json.loads(done.out.splitlines()[-1])["code"]
