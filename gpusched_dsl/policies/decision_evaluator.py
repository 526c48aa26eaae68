"""The evaluator of a policy's lines for one decision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.free_variables import OUTCOME, SITUATION
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Codes, Floats, Values, spread
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.language.checked import CheckedModel, IndexRef, LetRef, TypedIndexing
from gpusched_dsl.language.checked_policy import CheckedKey, CheckedRanking
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span
from gpusched_dsl.policies.kernels.ranking import order_rows

_FEW = 4  # a `let` with at most so many times as many elements as are read is evaluated for all of them


def key_table(ev: Evaluator, keys: Sequence[CheckedKey], frame: Frame) -> Floats:
    """A column for each key of a line, smaller is better, and a row for each row of the frame."""
    columns = [ev.number_column(key.value, frame) * (-1.0 if key.descending else 1.0) for key in keys]
    return np.stack(columns, axis=1) if columns else np.zeros((frame.size, 0))


def elements_in_order(ev: Evaluator, ranking: CheckedRanking) -> tuple[Codes, Codes]:
    """Return the elements that a line with one index lists, sorted by code, and their positions in its order."""
    elements = np.sort(ev.index_domain(ranking.indexing, ranking.span).columns()[0])
    frame = Frame(len(elements), {ranking.indexing.variables[0]: elements})
    return elements, order_rows(key_table(ev, ranking.keys, frame))


class DecisionEvaluator(Evaluator):
    """Remembers index domains and the values of `let`s: the keys and conditions of a policy name the same ones.

    Values are remembered for the same columns of subscripts, and of all elements of a `let` where that is little work.
    The store must not change while it is used.
    """

    def __init__(self, model: CheckedModel, store: ValueStore, limits: MemoryLimits) -> None:
        super().__init__(model, store, limits)
        self._lets: dict[tuple[object, ...], tuple[Sequence[Codes], Values]] = {}  # by identity of the columns
        self._tables: dict[str, Values | None] = {}  # None: some element has no value
        self._made_domains: dict[tuple[int, bool], tuple[TypedIndexing, Domain]] = {}

    def index_domain(self, indexing: TypedIndexing, span: Span, *, conditions: bool = True) -> Domain:
        key = (id(indexing), conditions)
        if key not in self._made_domains:
            self._made_domains[key] = indexing, super().index_domain(indexing, span, conditions=conditions)
        return self._made_domains[key][1]

    def _LetRef(self, expr: LetRef, frame: Frame) -> Values:
        if len(frame.axes) > 1 or SITUATION in frame.columns or OUTCOME in frame.columns:
            return super()._LetRef(expr, frame)
        columns = [frame.columns[s.variable] for s in expr.subscripts if isinstance(s, IndexRef)]
        if len(columns) < len(expr.subscripts) or not frame.size:
            return self._from_table(expr, frame)
        key: tuple[object, ...] = (expr.name, frame.size, *map(id, columns))
        known = self._lets.get(key)
        if known is None:
            known = self._lets[key] = (columns, self._from_table(expr, frame))
        return known[1]

    def _from_table(self, expr: LetRef, frame: Frame) -> Values:
        """The values in some rows, of all values where there are few."""
        let = self.model.lets[expr.name]
        domain = self.index_domain(let.indexing, let.span)
        if expr.name not in self._tables and domain.size <= _FEW * frame.size:
            try:
                values = self.values(let.value, self.domain_frame(let.indexing, domain))
                self._tables[expr.name] = np.array(spread(values, domain.size))
            except DiagnosticError:  # perhaps of an element that nobody reads
                self._tables[expr.name] = None
        table = self._tables.get(expr.name)
        if table is None:
            return super()._LetRef(expr, frame)
        if not expr.subscripts:
            return table.reshape(())
        position = self.place(domain, expr.subscripts, frame)
        self._refuse_missing(expr, position, frame)
        found: Values = table[position]
        return found
