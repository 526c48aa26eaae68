"""Functions of bytes that tests let workers call."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from gpusched_dsl.engines.shared_data import latest


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


def with_shared(message: bytes) -> bytes:
    """Return the first and the last byte of the shared data, their length, the message and the process."""
    data = latest().data
    return f"{data[:1].decode()}{data[-1:].decode()} {len(data)} {message.decode()} {os.getpid()}".encode()


def with_shared_dies_first(message: bytes) -> bytes:
    return dies_first(message) + latest().data


def writes_and_waits(message: bytes) -> bytes:
    """Write the number of the process into a file, and wait."""
    Path(message.decode()).write_text(str(os.getpid()))
    return slow(b"")
