"""Ends a process together with the one that started it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress

if sys.platform != "win32":
    import fcntl


def end_with(life: int) -> None:
    """End this process as soon as the other end of a pipe, on which nothing is sent, is closed.

    On Linux the kernel sends a signal then, which ends the process whatever it does. Elsewhere a thread waits for the
    end of the pipe, which native code delays while it does not release the interpreter.
    """
    threading.Thread(target=_end_after, args=(life,), daemon=True).start()
    if sys.platform == "linux":
        signal.signal(signal.SIGIO, signal.SIG_DFL)  # ends the process
        fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)


def _end_after(life: int) -> None:
    with suppress(OSError):
        os.read(life, 1)
    os._exit(0)
