"""Ends a plain kernel in the middle of a call, and gives its arguments the values from before the call.

A plain kernel that may be ended calls `watched_range` instead of `range`, so this is possible wherever a loop begins,
and nowhere else.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, SupportsIndex

import numpy as np

POLLED_EACH: Final = 0.125  # seconds
_UNCHANGING = (bool, int, float, complex, str, bytes, type(None), np.generic)


class ChangeOver(BaseException):
    """It is time for machine code."""


class _Watch(threading.local):
    next_look = np.inf
    is_time: Callable[[], bool]


_watch = _Watch()


@contextlib.contextmanager
def watched(is_time: Callable[[], bool]) -> Iterator[None]:
    """Let `watched_range` in this thread raise `ChangeOver` soon after `is_time` has become true."""
    _watch.is_time, _watch.next_look = is_time, time.perf_counter() + POLLED_EACH
    try:
        yield
    finally:
        _watch.next_look = np.inf


def watched_range(*arguments: SupportsIndex) -> range:
    """Return a `range`. Raises `ChangeOver` as `watched` says."""
    if time.perf_counter() > _watch.next_look:
        _watch.next_look = time.perf_counter() + POLLED_EACH
        if _watch.is_time():
            raise ChangeOver
    return range(*arguments)


class NotRestorable(Exception):
    """An argument is of an unknown type."""


def saved(argument: Any) -> Any:
    """Return what `restore` needs to give an argument its present value again. Raises NotRestorable."""
    if isinstance(argument, np.ndarray):
        return argument.copy() if argument.flags.writeable else None
    if isinstance(argument, tuple):
        return tuple(map(saved, argument))
    if isinstance(argument, np.random.Generator):
        return argument.bit_generator.state
    if isinstance(argument, _UNCHANGING):
        return None
    raise NotRestorable


def restore(argument: Any, value: Any) -> None:
    """Give an argument the value that `saved` returned."""
    if value is None:
        return
    if isinstance(argument, tuple):
        for part, its_value in zip(argument, value, strict=True):
            restore(part, its_value)
    elif isinstance(argument, np.ndarray):
        argument[...] = value
    else:
        argument.bit_generator.state = value
