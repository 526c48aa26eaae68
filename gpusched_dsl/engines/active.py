"""The engine that long solves use for their independent parts, as long as a `with` block lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from gpusched_dsl.engines.protocol import Engine

_active: ContextVar[Engine | None] = ContextVar("_active", default=None)


@contextmanager
def using(engine: Engine | None) -> Iterator[None]:
    """Let the solves of this thread distribute their parts over an engine; None changes nothing."""
    token = _active.set(_active.get() if engine is None else engine)
    try:
        yield
    finally:
        _active.reset(token)


def active_engine() -> Engine | None:
    """Return the engine of the innermost `using` of this thread; None without one."""
    return _active.get()
