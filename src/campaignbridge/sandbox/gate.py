"""A gate that withheld connections wait at: it opens for all at once, and notices clients that leave."""

import selectors
import socket
import threading


class Gate:
    """Waits without polling. Each opening concerns those who wait at that moment."""

    def __init__(self) -> None:
        """Start closed."""
        self._lock = threading.Lock()
        self._inside, self._outside = socket.socketpair()

    def wait(self, client: socket.socket) -> bool:
        """Wait until the gate opens or the client goes away, and say whether it went.

        Whatever else the client sends is ignored.
        """
        with self._lock:
            inside = self._inside.dup()
        with inside, selectors.DefaultSelector() as watched:
            watched.register(inside, selectors.EVENT_READ)
            watched.register(client, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in watched.select()}
                if inside in ready:
                    return False
                try:
                    if not client.recv(65_536):
                        return True
                except OSError:
                    return True

    def open(self) -> None:
        """Let everybody go who waits now, and close again."""
        with self._lock:
            old = (self._inside, self._outside)
            self._inside, self._outside = socket.socketpair()
        for end in reversed(old):
            end.close()

    def close(self) -> None:
        """Let everybody go and give the sockets back. It can't be waited at afterwards."""
        with self._lock:
            for end in (self._outside, self._inside):
                end.close()
