"""`serve`: what providers may post to, and the worker that acts on it, in one process."""

import signal
import threading
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.session import session
from campaignbridge.cli.working import require_original, start_log

if TYPE_CHECKING:
    from socket import socket

    from campaignbridge import Bridge


def serve(
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", envvar="CAMPAIGNBRIDGE_HOST", help="The address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(metavar="N", min=0, max=65535, envvar="CAMPAIGNBRIDGE_PORT", help="0 takes a free one."),
    ] = 8080,
    threads: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, max=32, envvar="CAMPAIGNBRIDGE_THREADS", help="How many jobs at once."
        ),
    ] = 2,
) -> None:
    """Take providers' webhooks and work until stopped.

    It speaks plain HTTP: put a proxy with TLS before it. Ctrl-C or SIGTERM finishes what runs.

    \b
      campaignbridge serve --port 8080
      campaignbridge connections webhook news --public-url https://hooks.example.org
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    from campaignbridge.server.listening import bind

    start_log()
    with session(quiet=True) as here:
        require_original(here)
        try:
            listening = bind(host, port)
        except OSError as error:
            raise _not_to_be_had(host, port, error) from None
        terminal.hint(
            f"Listening on {_place(host, listening.getsockname()[1])}. Ctrl-C stops after what runs."
        )
        _run(here.bridge, listening, threads)
    terminal.answer({"stopped": True}, ["Stopped."])


def _run(bridge: "Bridge", listening: "socket", threads: int) -> None:
    """Answer in one thread and work in others until a signal, or until one of the two ends."""
    from campaignbridge.engine.runtime import Runtime
    from campaignbridge.server.app import make_app
    from campaignbridge.server.listening import Listener

    listener, runtime = Listener(make_app(bridge), listening), Runtime(bridge.worker, threads=threads)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        runtime.stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)  # from here on, before the runtime listens itself

    def answer() -> None:
        try:
            listener.run()
        finally:
            runtime.stopping.set()  # one without the other would be half a service

    answering = threading.Thread(target=answer, name="http")
    answering.start()
    try:
        runtime.run()
    finally:
        listener.stop()
        answering.join()


def _place(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _not_to_be_had(host: str, port: int, error: OSError) -> Exception:
    from campaignbridge import Refusal

    return Refusal(
        f"{terminal.clean(host)[:60]} port {port} can't be listened on ({(error.strerror or 'taken').lower()}).",
        code="address_in_use",
        todo="Take another one, or 0 for any that is free.",
        command="campaignbridge serve --port 0",
    )
