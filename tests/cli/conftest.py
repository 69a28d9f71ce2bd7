"""A sandbox and a folder with a store for each test."""

import time

import pytest

from campaignbridge.sandbox import Sandbox, SandboxServer
from cli import nursery
from cli.program import KEY_ENV, Program, connect


@pytest.fixture
def server():
    with SandboxServer(Sandbox(lambda: time.time_ns() // 1_000_000, 7)) as running:
        yield running


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY_ENV, "not-set-yet")  # put back whatever a test makes of it
    return Program(tmp_path)


@pytest.fixture
def connected(program, server):
    """A program whose store has the connection `news` to the sandbox, and a letter to send."""
    program.letter()
    program.extra[KEY_ENV] = server.sandbox.key
    connect(program, server)
    return program


@pytest.fixture(scope="session", autouse=True)
def _no_process_is_left():
    yield
    nursery.close()
