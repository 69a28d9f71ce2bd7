"""Every rule of the house can fail: each gets a planted violation and an innocent neighbour."""

import pytest

from tidy import rules
from tidy.rules import Source

FIFTY_ONE = "def f():\n" + "    a = 1\n" * 50
SEVENTY_ONE = "def f():\n" + "    a = 1\n" * 70
AREA = "/wo" + "rk/area"
HOME = "see /ho" + "me/me"
INDEX = "https://py" + "pi.o" + "rg/simple"

# rule, path, a text that must be complained about, a text that must not
PLANTED = [
    (rules.long_file, "store/a.py", "a = 1\n" * 401, "a = 1\n" * 400),
    (lambda s: rules.long_functions(s, {}), "store/a.py", FIFTY_ONE, FIFTY_ONE.replace("    a = 1\n", "", 1)),
    (lambda s: rules.long_functions(s, {"a.py::f": "why"}), "a.py", SEVENTY_ONE, FIFTY_ONE),
    (rules.sql_outside_store, "flows/a.py", 's = "SELECT id FROM jobs"', 's = "choose a file from the list"'),
    (rules.sql_outside_store, "flows/a.py", 's = f"select {x} from jobs"', 's = f"chosen {x} from jobs"'),
    (
        rules.sql_outside_store,
        "cli/a.py",
        's = "x: DELETE FROM a"',
        '"""Select a row FROM it: INSERT INTO x."""',
    ),
    (rules.sql_outside_store, "a.py", 's = "update jobs set a = 1"', 's = "Update the draft and set a time"'),
    (rules.http_outside_providers, "cli/demo.py", "import httpcore2", "import http.server"),
    (rules.http_outside_providers, "flows/a.py", "from http import client", "from http import HTTPStatus"),
    (rules.http_outside_providers, "a.py", "import urllib.request", "import urllib.parse"),
    (rules.web_outside_server, "cli/a.py", "from fastapi.responses import X", "import json"),
    (rules.threads_outside_runtime, "engine/worker.py", "import threading", "import json"),
    (
        rules.threads_outside_runtime,
        "store/a.py",
        "from threading import Thread",
        "from threading import local",
    ),
    (
        rules.threads_outside_runtime,
        "sandbox/a.py",
        "import threading\nthreading.Lock()\nthreading.Thread()",
        "import threading\nthreading.Lock()",
    ),
    (rules.threads_outside_runtime, "a.py", "from concurrent import futures", "from collections import abc"),
    (rules.impure_domain, "domain/a.py", "import rich", "import json"),
    (
        rules.impure_domain,
        "domain/a.py",
        "from campaignbridge.store import x",
        "from campaignbridge.domain import x",
    ),
    (rules.own_time_or_chance, "flows/a.py", "import time", "from datetime import datetime"),
    (rules.own_time_or_chance, "domain/a.py", "from uuid import uuid4", "from hashlib import sha256"),
    (rules.own_time_or_chance, "domain/a.py", "a = datetime.datetime.now(UTC)", "a = transaction.now()"),
    (rules.imports_inside_functions, "flows/a.py", "def f():\n    import json", "import json"),
    (rules.vague_class_names, "a.py", "class SendManager: ...", "class Baseline: ..."),
    (rules.vague_class_names, "a.py", "class BaseProvider: ...", "class Database: ..."),
    (rules.undocumented_package, "flows/__init__.py", "a = 1", '"""Act."""'),
    (rules.short_test_names, "unit/test_a.py", "def test_send(): ...", "def test_send_is_refused(): ..."),
    (rules.sleeps, "unit/test_a.py", "time.sleep(1)", "clock.sleep(1)"),
    (rules.sleeps, "unit/test_a.py", "from time import sleep", "from time import monotonic"),
]


@pytest.mark.parametrize(("rule", "path", "planted", "innocent"), PLANTED)
def test_a_planted_violation_is_found_and_its_neighbour_is_not(rule, path, planted, innocent):
    assert rule(Source(path, planted)), "the violation was not noticed"
    assert not rule(Source(path, innocent)), "an innocent file was complained about"


EXEMPT = [
    (rules.sql_outside_store, "store/a.py", 's = "SELECT id FROM jobs"'),
    (rules.http_outside_providers, "providers/transport.py", "import httpcore2"),
    (rules.web_outside_server, "server/app.py", "import fastapi"),
    (rules.threads_outside_runtime, "engine/runtime.py", "import threading, signal"),
    (rules.threads_outside_runtime, "cli/demo.py", "import subprocess"),
    (rules.threads_outside_runtime, "sandbox/server.py", "import threading"),
    (rules.own_time_or_chance, "engine/runtime.py", "import time"),
    (rules.imports_inside_functions, "bootstrap.py", "def f():\n    import json"),
]


@pytest.mark.parametrize(("rule", "path", "text"), EXEMPT)
def test_the_place_where_a_thing_belongs_is_exempt(rule, path, text):
    assert not rule(Source(path, text))


def test_a_statement_without_its_reason_is_found():
    assert rules.unexplained_statements("a.sql", "-- name: claim\nUPDATE jobs SET a = 1;")
    assert rules.unexplained_statements("a.sql", "-- name: claim")
    assert rules.unexplained_statements("a.sql", "-- name: claim\n-- name: other\n-- why: one row")
    assert not rules.unexplained_statements(
        "a.sql", "-- name: claim\n-- One row: the key.\nUPDATE jobs SET a = 1;"
    )


@pytest.mark.parametrize("word", ["TO" + "DO", "FIX" + "ME", "XX" + "X"])
def test_a_mark_of_unfinished_work_is_found(word):
    assert rules.unfinished("a.py", f"# {word}: later")
    assert not rules.unfinished("a.py", "# done, to do with care")


@pytest.mark.parametrize("trace", [AREA, HOME, f"'{AREA}'", INDEX, "(/ro" + "ot)"])
def test_a_trace_of_one_machine_is_found(trace):
    assert rules.machine_traces("a.md", f"look at {trace}")


@pytest.mark.parametrize(
    "text", ["/3.0/campaigns", "a/wo" + "rker", "/home-page", "~/campaigns.db", "net/wo" + "rk"]
)
def test_other_paths_are_no_traces(text):
    assert not rules.machine_traces("a.md", text)


def test_a_gap_or_a_double_in_numbered_files_is_found():
    assert rules.gaps(["0001-a.md", "0003-b.md"])
    assert rules.gaps(["0001-a.md", "0001-b.md"])
    assert rules.gaps(["0001-a.md", "notes.md"])
    assert not rules.gaps(["0001-a.md", "0002-b.md"])
