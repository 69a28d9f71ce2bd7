"""Listening: a socket that is bound before anything else begins, and the server that answers on it."""

import logging
import socket

import uvicorn
from fastapi import FastAPI

AT_ONCE = 128
IDLE_S = 5
STOP_WITHIN_S = 5
HEAD_LIMIT = 16_384


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises `OSError` when the place can't be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=AT_ONCE)


class Listener:
    """Answers on a socket until it is told to stop. Logs no request: paths hold secrets."""

    def __init__(self, app: FastAPI, listening: socket.socket) -> None:
        self._socket = listening
        logging.getLogger("uvicorn.access").disabled = True  # whoever else has set up logging in this process
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                limit_concurrency=AT_ONCE,
                timeout_keep_alive=IDLE_S,
                timeout_graceful_shutdown=STOP_WITHIN_S,
                h11_max_incomplete_event_size=HEAD_LIMIT,
            )
        )

    def run(self) -> None:
        """Answer, in this thread, until `stop`. What is being answered then is finished first."""
        with self._socket:
            self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Have `run` end. Safe from any thread."""
        self._server.should_exit = True
