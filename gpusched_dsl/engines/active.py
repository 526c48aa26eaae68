"""The engine that long solves use for their independent parts, open as long as a `with` block lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from gpusched_dsl.engines.protocol import Engine


class EngineUse(Struct, eq=False):
    """An engine, and whether a solve gave it work."""

    engine: Engine
    used: bool = False

    def for_work(self) -> Engine:
        """Return the engine, which is then used."""
        self.used = True
        return self.engine


_active: ContextVar[EngineUse | None] = ContextVar("_active", default=None)


@contextmanager
def use_engine(engine: Engine) -> Iterator[EngineUse]:
    """Let the solves of this thread distribute their parts over an engine."""
    use = EngineUse(engine)
    token = _active.set(use)
    try:
        yield use
    finally:
        _active.reset(token)


def active_engine() -> EngineUse | None:
    """Return the engine of the innermost `use_engine` of this thread; None without one."""
    return _active.get()


@contextmanager
def engine_in_use(engine: str | Engine | None = None, workers: int | None = None) -> Iterator[EngineUse | None]:
    """Use the engine of a name, which is closed at the end, or one that stays open; `workers` alone means `local`.

    Without either, nothing changes. Raises DiagnosticError (GSM5309) if the engine is not available.
    """
    if engine is None and workers is None:
        yield None
    elif engine is None or isinstance(engine, str):
        from gpusched_dsl.engines.choose import choose_engine

        with choose_engine(engine or "local", workers) as opened, use_engine(opened) as use:
            yield use
    else:
        with use_engine(engine) as use:
            yield use
