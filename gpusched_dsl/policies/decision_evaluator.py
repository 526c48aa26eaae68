"""The evaluator of a policy's lines for one decision."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Codes, Values
from gpusched_dsl.language.checked import CheckedModel, IndexRef, LetRef


class DecisionEvaluator(Evaluator):
    """Remembers the values of `let`s for the same columns of subscripts: the keys of a line name the same ones.

    The store must not change while it is used.
    """

    def __init__(self, model: CheckedModel, store: ValueStore, limits: MemoryLimits) -> None:
        super().__init__(model, store, limits)
        self._lets: dict[tuple[object, ...], tuple[Sequence[Codes], Values]] = {}  # by identity of the columns

    def _LetRef(self, expr: LetRef, frame: Frame) -> Values:
        columns = [frame.columns[s.variable] for s in expr.subscripts if isinstance(s, IndexRef)]
        if len(frame.axes) > 1 or not columns or len(columns) < len(expr.subscripts):
            return super()._LetRef(expr, frame)
        key: tuple[object, ...] = (expr.name, frame.size, *map(id, columns))
        known = self._lets.get(key)
        if known is None:
            known = self._lets[key] = (columns, super()._LetRef(expr, frame))
        return known[1]
