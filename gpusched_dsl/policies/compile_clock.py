"""The time of the compilation of kernels, by the compiler's own count: loading from the cache does not count."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from gpusched_dsl.policies.kernels import machine_code

EVENT = "numba:compile"


class CompileClock:
    """A context with the `seconds` of compilation during it, in this process; 0 if kernels run as Python."""

    def __init__(self) -> None:
        self._events: Any = None
        self._listener: Any = None

    def __enter__(self) -> CompileClock:
        if "numba" in sys.modules:
            self._listen(import_module("numba.core.event"))
        else:
            machine_code.when_loaded.append(self._listen)
        return self

    def _listen(self, events: Any) -> None:
        self._events, self._listener = events, events.TimingListener()
        events.register(EVENT, self._listener)

    def __exit__(self, *error: object) -> None:
        if self._listener is not None:
            self._events.unregister(EVENT, self._listener)
        if self._listen in machine_code.when_loaded:
            machine_code.when_loaded.remove(self._listen)

    @property
    def seconds(self) -> float:
        if self._listener is None or not self._listener.done:
            return 0.0
        return float(self._listener.duration)
