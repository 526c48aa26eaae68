"""Sends messages through a pipe in a thread of its own, so that the caller can receive meanwhile."""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from multiprocessing.connection import Connection

CLOSE_SECONDS = 5.0


class Outbox:
    """The messages to one end of a pipe, in order. Nothing else sends there until it is closed."""

    def __init__(self, pipe: Connection) -> None:
        self._messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._send_all, args=(pipe,), name="outbox", daemon=True)
        self._thread.start()

    def send(self, message: bytes) -> None:
        """Queue a message and return at once."""
        self._messages.put(message)

    def close(self) -> None:
        """Wait until everything is sent."""
        self._messages.put(None)
        self._thread.join(CLOSE_SECONDS)

    def _send_all(self, pipe: Connection) -> None:
        with suppress(OSError):  # the other process ended; who receives from it notices
            while (message := self._messages.get()) is not None:
                pipe.send_bytes(message)
