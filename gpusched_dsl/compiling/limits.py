"""Sizes are counted before memory is taken; what would not fit is refused with the culprit named."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpusched_dsl.language.diagnostics import Diagnostic, DiagnosticError
from gpusched_dsl.language.source import Span

GIB = 1 << 30


@dataclass(slots=True)
class Limits:
    """`memory` is the most bytes that one grounding may take at a time (arrays of one step, or the whole problem)."""

    memory: int = 8 * GIB
    _problem: int = field(default=0, init=False)

    def frame(self, rows: int, columns: int, span: Span, what: str) -> None:
        """Allow a frame of so many rows or raise `DiagnosticError` (GSM3001)."""
        self._refuse_above(rows * (8 * columns + 24), rows, span, what)

    def problem(self, entries: int, span: Span, what: str) -> None:
        """Count entries that stay in the problem (20 bytes each with the solver's copy) or raise (GSM3001)."""
        self._problem += 20 * entries
        self._refuse_above(self._problem, entries, span, what)

    def _refuse_above(self, needed: int, count: int, span: Span, what: str) -> None:
        if needed > self.memory:
            raise DiagnosticError(
                [
                    Diagnostic(
                        "GSM3001",
                        f"{what} is too large: {count:,} combinations need about {needed / GIB:,.1f} GiB, "
                        f"the limit is {self.memory / GIB:,.1f} GiB",
                        span,
                        f"{count:,} combinations",
                        help="add a condition (`where`), index a sparse set instead of a product, "
                        "or raise the limit with `--memory-limit`",
                    )
                ]
            )
