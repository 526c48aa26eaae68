"""The time of the compilation of kernels, by the compiler's own count: loading from the cache does not count."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

EVENT = "numba:compile"


class CompileClock:
    """A context with the `seconds` of compilation during it; 0 if kernels run as Python."""

    def __init__(self) -> None:
        self._events: Any = None
        self._listener: Any = None

    def __enter__(self) -> CompileClock:
        if "numba" in sys.modules:  # kernels are imported before they run; without it they are plain Python
            self._events = import_module("numba.core.event")
            self._listener = self._events.TimingListener()
            self._events.register(EVENT, self._listener)
        return self

    def __exit__(self, *error: object) -> None:
        if self._listener is not None:
            self._events.unregister(EVENT, self._listener)

    @property
    def seconds(self) -> float:
        if self._listener is None or not self._listener.done:
            return 0.0
        return float(self._listener.duration)
