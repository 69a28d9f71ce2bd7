"""Commands that run until they are told to stop, and the demo."""

import json
import signal
import time

from campaignbridge import open_bridge
from cli.program import ACTOR, Program, campaign

KEYS = ("state", "sends_accepted", "duplicates", "crashes", "database")


def test_the_sandbox_prints_how_to_connect_it_and_ends_when_told(program):
    running = program.start("sandbox", "--port", "0", "--json", stdout=-1, stderr=-1)
    try:
        told = json.loads(running.stdout.readline())
        program.extra["SANDBOX_KEY"] = told["key"]
        adding = ("connections", "add", "box", "--provider", "mailchimp", "--key-env", "SANDBOX_KEY")
        added = program.run(*adding, "--base-url", told["url"], "--json").document
        port = told["url"].split(":")[2].split("/")[0]
        taken = program.run("sandbox", "--port", port, "--json")
    finally:
        running.send_signal(signal.SIGTERM)
        rest, complaints = running.communicate(timeout=20)
    assert added["account_label"] == "Sandbox account"
    assert told["lists"][0]["id"] == "a1b2c3"
    assert told["url"].endswith("/3.0")
    assert (taken.code, taken.document["code"]) == (4, "address_in_use")
    assert (running.returncode, rest, complaints) == (0, "", "")


def test_a_worker_ends_cleanly_when_told(connected):
    campaign(connected, "sending")
    running = connected.start("worker", "--threads", "1", stderr=-1, stdout=-1)
    assert running.stderr.readline().startswith("Working with 1 threads")
    running.send_signal(signal.SIGINT)
    out, complaints = running.communicate(timeout=30)
    assert running.returncode == 0
    assert "Traceback" not in complaints
    assert out == "Stopped.\n"


def test_a_tick_runs_what_is_due(connected, server):
    campaign_id = campaign(connected, "sending")
    until = time.monotonic() + 10
    while not server.sandbox.truth.mailed():
        server.sandbox.settle()
        assert time.monotonic() < until
    assert connected.run("tick", "--json").document == {"ran": 0, "queued": 0, "purged": 0}
    done = connected.run("demo-worker", campaign_id, "--clock-offset-ms", "600000", "--json")
    assert done.code == 0
    with open_bridge(str(connected.database)) as bridge:
        events = bridge.timeline(campaign_id, actor=ACTOR)
    assert events[-1]["automatic"]
    assert (
        "Checked automatically: Mailchimp says sent"
        in connected.run("campaigns", "timeline", campaign_id).words
    )


def test_the_schema_goes_up_and_down(program):
    assert program.run("db", "current", "--json").document["version"] == 0
    assert program.run("db", "check", "--json").document["code"] == "store_unusable"
    up = program.run("db", "upgrade", "--json").document
    assert up["applied"]
    assert up["version"] == up["newest"]
    assert program.run("campaigns", "list", "--json").code == 0
    assert program.run("db", "downgrade", "--to", "0", "--yes", "--json").document["version"] == 0


def test_the_demo_kills_a_worker_and_one_delivery_comes_of_it(program):
    done = program.run_anew("demo", "--json")
    assert done.code == 0
    assert [done.document[key] for key in KEYS] == ["sent", 1, 0, 1, "sqlite"]
    assert list(program.folder.iterdir()) == []


def test_the_demo_tells_people_the_same_in_words(program):
    done = program.run_anew("demo")
    assert done.code == 0
    for words in ("SIGKILL", "Ten minutes later", "is refused (locked, exit 4)"):
        assert words in done.err
    for words in ("Interrupted: send", "Checked automatically", "send accepted, 24,318 people"):
        assert words in done.out
    assert done.out.splitlines()[-1].startswith("ok    sent: 1 send accepted, 0 duplicates, 1 process killed")


def test_the_demo_leaves_no_schema_behind_on_postgresql(tmp_path, postgres_server):
    import psycopg

    done = Program(tmp_path).run_anew("demo", "--json", "--database", postgres_server)
    assert done.code == 0
    assert [done.document[key] for key in KEYS] == ["sent", 1, 0, 1, "postgresql"]
    with psycopg.connect(postgres_server) as connection:
        left = connection.execute(
            "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'campaignbridge_demo_%'"
        )
        assert left.fetchone() == (0,)
