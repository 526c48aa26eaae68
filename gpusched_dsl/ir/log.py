"""The log of the library: one line per phase of work, for programs that use `logging`.

The logger is `gpusched_dsl`. Phases of a second or more, and the start and end of solves and runs, are at level INFO,
shorter phases at DEBUG. A program that has not imported `logging` cannot listen, so nothing is imported for it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpusched_dsl.ir.phases import PhaseRecord

NAME = "gpusched_dsl"
LONG = 1.0  # seconds of a phase that is logged at INFO

RECORD: ContextVar[PhaseRecord | None] = ContextVar("phases", default=None)  # where phases are recorded


def log(text: str, *, important: bool = True) -> None:
    """Write a line to the log, at INFO or DEBUG."""
    logging = sys.modules.get("logging")
    if logging is None:
        return
    logger = logging.getLogger(NAME)
    if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
        logger.addHandler(logging.NullHandler())  # as the documentation of `logging` asks of libraries
    logger.log(logging.INFO if important else logging.DEBUG, "%s", text)


@contextmanager
def log_phase(name: str) -> Iterator[None]:
    """Write how long the work took, also if it fails; record it where phases are recorded."""
    record = RECORD.get()
    if record is not None:
        record.enter(name)
    began = time.perf_counter()
    try:
        yield
    finally:
        if record is not None:
            record.leave()
        seconds = time.perf_counter() - began
        log(f"{name}: {seconds:.2f} s", important=seconds >= LONG)
