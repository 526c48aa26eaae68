"""The bottom layer of the evaluator: its store, and its error reports for rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryBudget, MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Values
from gpusched_dsl.ir.domains import Scalar
from gpusched_dsl.language.checked import CheckedModel, TypedExpr
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span


class EvaluationErrors:
    """The model, its values and the limits; reports errors with the index tuple of the first bad row."""

    def __init__(self, model: CheckedModel, store: ValueStore, limits: MemoryLimits) -> None:
        self.model = model
        self.store = store
        self.limits = limits
        self.budget = MemoryBudget(limits)

    def failure(
        self,
        code: str,
        message: str,
        span: Span,
        label: str = "",
        *,
        notes: Sequence[str] = (),
        help: str | None = None,
    ) -> DiagnosticError:
        """The error to raise, with one diagnostic."""
        return DiagnosticError([Diagnostic(code, message, span, label, (), tuple(notes), help)])

    def refuse_where(self, bad: Values, code: str, message: str, expr: TypedExpr, frame: Frame, label: str) -> None:
        """Raise a diagnostic naming the first row where `bad` is true."""
        bad = np.asarray(bad)
        if not bad.any() or not frame.size:
            return
        row = int(np.flatnonzero(np.broadcast_to(bad, (frame.size,)))[0])
        where = self.row_text(frame, row)
        raise self.failure(code, message + (f" for {where}" if where else ""), expr.span, label)

    def row_text(self, frame: Frame, row: int) -> str:
        """`j = j1, n = n2` for a row of a frame."""
        parts = []
        for variable, column in frame.columns.items():
            code = int(column[row])
            component = self.store.component(variable.type)
            known = component is not None and 0 <= code < len(component.labels)
            label: Scalar = component.labels[code] if component is not None and known else code
            parts.append(f"{variable.name} = {label}")
        return ", ".join(parts)
