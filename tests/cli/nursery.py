"""Processes of the program without the wait for its imports: one single-threaded parent forks each of them.

Each is a real process with its own arguments, environment, folder, streams and exit code. Run as a script,
this file is the parent: it reads one order a line and answers with the exit code.
"""

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from importlib import import_module
from pathlib import Path


class Nursery:
    """The parent process, and what is asked of it."""

    def __init__(self) -> None:
        self.parent = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, arguments: list[str], folder: str, environment: dict[str, str]) -> tuple[int, str, str]:
        with tempfile.TemporaryDirectory() as place:
            out, err = Path(place) / "out", Path(place) / "err"
            order = {"arguments": arguments, "folder": folder, "environment": environment}
            self.parent.stdin.write(json.dumps({**order, "out": str(out), "err": str(err)}) + "\n")
            self.parent.stdin.flush()
            code = int(self.parent.stdout.readline())
            return code, out.read_text("utf-8"), err.read_text("utf-8")

    def close(self) -> None:
        self.parent.stdin.close()
        self.parent.stdout.close()
        self.parent.wait(timeout=20)


@cache
def nursery() -> Nursery:
    return Nursery()


def close() -> None:
    if nursery.cache_info().currsize:
        nursery().close()
        nursery.cache_clear()


def child(order) -> int:
    from campaignbridge.cli import main

    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
    os.chdir(order["folder"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(order[name], os.O_WRONLY | os.O_CREAT, 0o600), number)
    try:
        return main(order["arguments"])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


PRELOADED = """campaignbridge.cli.app campaignbridge.cli.chronicle campaignbridge.cli.confirming
campaignbridge.cli.content_file zoneinfo
campaignbridge.cli.failure campaignbridge.cli.pages campaignbridge.cli.portrait campaignbridge.engine.runtime
campaignbridge.providers.registry campaignbridge.store.migrate importlib.metadata rich.console rich.text
pydantic typer._adapters"""


def parent() -> None:
    for name in PRELOADED.split():
        import_module(name)
    gc.freeze()
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            os._exit(child(json.loads(line)))
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    parent()
