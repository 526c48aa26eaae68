"""The process of a worker: calls functions of bytes until its pipe closes."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from multiprocessing.connection import Connection

from gpusched_dsl.engines.lifetime import end_with
from gpusched_dsl.engines.own_process import collect_rarely
from gpusched_dsl.engines.protocol import Shared
from gpusched_dsl.engines.shared_data import keep

RESULT, RAISED, READY = b"r", b"e", b"0"
END = b"\0"  # of the name of a function; without a name, shared data follow: their key, END and the data


def main(fd: int, life: int) -> None:
    """Serve calls at the pipe `fd` until the pipe `life` closes; returns never."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    collect_rarely()
    end_with(life)
    pipe = Connection(fd)
    with suppress(EOFError, OSError):
        pipe.send_bytes(READY)
        while True:
            name, _, message = pipe.recv_bytes().partition(END)
            if name:
                pipe.send_bytes(_answer(name.decode(), message))
            else:
                key, _, data = message.partition(END)
                keep(Shared(key.decode(), data))
    os._exit(0)


def _answer(name: str, message: bytes) -> bytes:
    try:
        return RESULT + function_named(name)(message)
    except Exception as failure:
        last = traceback.extract_tb(failure.__traceback__)[-1]
        return RAISED + f"{type(failure).__name__}: {failure} ({last.name}, line {last.lineno})".encode()


@cache
def function_named(name: str) -> Callable[[bytes], bytes]:
    """Return the function `module:name`."""
    module, _, attribute = name.partition(":")
    function: Callable[[bytes], bytes] = getattr(import_module(module), attribute)
    return function
