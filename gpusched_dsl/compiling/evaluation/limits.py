"""Counts sizes before memory is allocated; refuses excessive ones and names the cause."""

from __future__ import annotations

import os
import sys

from msgspec import Struct, field

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span

GIB = 1 << 30
# Bytes, as measured on the printed capacity model (4.1 million entries): temporaries and the solver's copy included.
ENTRY = 48
FRAME_ROW, FRAME_CELL = 64, 16
NUMBER = 8

WHOLE_MODEL = (
    "add a condition (`where`), index a sparse set instead of a product, or raise the limit with `--memory-limit`"
)
TABLE = "use fewer jobs or smaller nodes, or raise the limit with `--memory-limit`"
TERM = "use fewer elements, variables or values, or choose a backend that supports it directly"


def default_memory() -> int:
    """Return half of the machine's memory, at most 8 GiB; 8 GiB if the system does not report it."""
    if sys.platform == "win32":
        return 8 * GIB
    try:
        return min(8 * GIB, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    except (AttributeError, ValueError, OSError):
        return 8 * GIB


class MemoryLimits(Struct, frozen=True):
    """`memory` is the largest number of bytes of one grounding (the arrays of one step, or the complete problem)."""

    memory: int = field(default_factory=default_memory)


class MemoryBudget:
    """The amount of its limits that one grounding has used."""

    def __init__(self, limits: MemoryLimits) -> None:
        self._memory = limits.memory
        self._taken = 0

    def frame(self, rows: int, columns: int, span: Span, what: str) -> None:
        """Allow a frame of so many rows or raise `DiagnosticError` (GSM3001)."""
        needed = rows * (FRAME_CELL * columns + FRAME_ROW)
        if needed > self._memory:
            raise self._refusal(f"{what} is too large", f"{rows:,} combinations", needed, span)

    def table(self, cells: int, span: Span | None, what: str) -> None:
        """Allow a table of so many numbers or raise `DiagnosticError` (GSM3001)."""
        needed = NUMBER * cells
        if needed > self._memory:
            raise self._refusal(f"{what} is too large", f"{cells:,} cells", needed, span, TABLE)

    def problem(self, entries: int, span: Span, what: str) -> None:
        """Count entries that stay in the problem (with the solver's copy) or raise (GSM3001)."""
        self._taken += ENTRY * entries
        if self._taken > self._memory:
            raise self._refusal(f"the problem is too large at {what}", f"{entries:,} entries", self._taken, span)

    def total(self, entries: int, largest: Span, what: str, share: int) -> None:
        """Allow a problem of at least so many entries in all or raise (GSM3001), naming its largest part."""
        if ENTRY * entries > self._memory:
            message = f"the problem is too large: at least {entries:,} entries, {share:,} of them in {what}"
            raise self._refusal(message, f"{share:,} entries", ENTRY * entries, largest)

    def term(self, entries: int, span: Span | None, term: str) -> None:
        """Count the entries that a term gets as linear rows or raise (GSM3001)."""
        self._taken += ENTRY * entries
        if self._taken > self._memory:
            message, label = f"`{term}` is too large as linear rows", f"at least {entries:,} entries"
            raise self._refusal(message, label, self._taken, span, TERM)

    def _refusal(
        self, message: str, label: str, needed: int, span: Span | None, help: str = WHOLE_MODEL
    ) -> DiagnosticError:
        sizes = f"about {_size_text(needed)} are needed, the limit is {_size_text(self._memory)}"
        return DiagnosticError([Diagnostic("GSM3001", message, span, label, (), (sizes,), help)])


def _size_text(size: int) -> str:
    return f"{size / GIB:,.1f} GiB" if size >= GIB // 10 else f"{size / (1 << 20):,.1f} MiB"
