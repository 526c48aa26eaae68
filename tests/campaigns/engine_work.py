"""Functions of bytes that tests let workers call."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def square(message: bytes) -> bytes:
    return str(int(message) ** 2).encode()


def process(message: bytes) -> bytes:
    """Return the number of the process."""
    return str(os.getpid()).encode()


def broken(message: bytes) -> bytes:
    raise ValueError(f"no {message.decode()}")


def dies_first(message: bytes) -> bytes:
    """Kill the worker at the first call for a file, return its name at the second."""
    path = Path(message.decode())
    if not path.exists():
        path.write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name.encode()


def stops_first(message: bytes) -> bytes:
    """Stop the worker at the first call for a file, return its name at the second."""
    path = Path(message.decode())
    if not path.exists():
        path.write_text("")
        os.kill(os.getpid(), signal.SIGSTOP)
    return path.name.encode()


def dies(message: bytes) -> bytes:
    print("the last words", flush=True, file=__import__("sys").stderr)
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def hungry(message: bytes) -> bytes:
    memory = bytearray(int(message))
    memory[::4096] = b"x" * len(memory[::4096])
    time.sleep(20)
    return b""


def slow(message: bytes) -> bytes:
    time.sleep(60)
    return b""


def square_slowly(message: bytes) -> bytes:
    time.sleep(0.5)
    return square(message)
