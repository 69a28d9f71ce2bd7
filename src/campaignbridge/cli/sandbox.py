"""`campaignbridge sandbox`: a provider on this machine that mails nobody and logs the truth."""

import signal
import threading
import time
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from campaignbridge.cli import terminal

if TYPE_CHECKING:
    from campaignbridge.sandbox import SandboxServer


def sandbox(
    port: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=65535, envvar="CAMPAIGNBRIDGE_SANDBOX_PORT", help="0 takes a free one."
        ),
    ] = 8025,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            envvar="CAMPAIGNBRIDGE_SANDBOX_KEY",
            help="The key that opens it; not a real one. Made if absent.",
        ),
    ] = None,
) -> None:
    """Run providers on this machine: Mailchimp's and Resend's APIs, nobody is mailed.

    It keeps a truth log of what it would have mailed, on its page and at /truth, until Ctrl-C. Faults can be
    ordered at /control/faults.
    """
    from campaignbridge import Refusal
    from campaignbridge.sandbox import Sandbox, SandboxServer

    seed = time.time_ns() % 1_000_000_007
    provider = Sandbox(lambda: time.time_ns() // 1_000_000, seed, keys=(key,) if key else ())
    try:
        server = SandboxServer(provider, port=port)
    except OSError as error:
        raise Refusal(
            f"Port {port} on this machine can't be listened on ({(error.strerror or 'taken').lower()}).",
            code="address_in_use",
            todo="Take another one, or 0 for any that is free.",
            command="campaignbridge sandbox --port 0",
        ) from None
    stopping = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    with server:
        terminal.answer(_document(server), _lines(server))
        terminal.hint("", "Ctrl-C stops it and forgets everything.")
        while not stopping.wait(0.5):
            pass


def _document(server: "SandboxServer") -> dict[str, Any]:
    return {
        "url": server.url,
        "key": server.sandbox.key,
        "lists": [{"id": one.id, "name": one.name, "members": one.members} for one in _lists(server)],
        "truth": f"{server.control_url}/truth",
        "page": f"{server.control_url}/",
    }


def _lines(server: "SandboxServer") -> list[str]:
    lists = [f"{one.id}, {one.name}, {one.members:,} people" for one in _lists(server)]
    return [
        "Sandbox provider. Nobody is mailed.",
        "",
        *terminal.facts(
            [
                ("URL", server.url),
                ("Key", server.sandbox.key),
                *(("List", line) for line in lists),
                ("Page", f"{server.control_url}/"),
                ("Truth log", f"{server.control_url}/truth"),
            ]
        ),
        "",
        "Connect it, in another terminal:",
        f"  export SANDBOX_KEY={server.sandbox.key}",
        "  campaignbridge connections add sandbox --provider mailchimp \\",
        f"    --key-env SANDBOX_KEY --base-url {server.url}",
        "",
        "Or as Resend, whose segment there is " + server.sandbox.segment + ":",
        f"  export RESEND_KEY={server.sandbox.resend_key}",
        "  campaignbridge connections add letters --provider resend \\",
        f"    --key-env RESEND_KEY --base-url {server.resend_url}",
    ]


def _lists(server: "SandboxServer") -> list[Any]:
    world = server.sandbox.world
    account = world.account(server.sandbox.key)
    assert account is not None, "the sandbox opened this account itself"
    return world.audiences(account.account_id)
