"""The engine of an option of a solve, open and active as long as a `with` block lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpusched_dsl.engines.active import EngineUse, use_engine
from gpusched_dsl.engines.protocol import Engine


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
