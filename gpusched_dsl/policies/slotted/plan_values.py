"""The evaluator on a plan: sums of variables range over the entries of the plan, not over all possible ones."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.ir.arrays import Values
from gpusched_dsl.ir.domains import TupleDomain
from gpusched_dsl.language.checked import IndexRef, Reduction, VariableRef


class PlanEvaluator(Evaluator):
    """Families of the store have only the entries of a plan; all others are 0."""

    def _Reduction(self, expr: Reduction, frame: Frame) -> Values:
        found = self._sum_of_entries(expr, frame)
        return super()._Reduction(expr, frame) if found is None else found

    def _sum_of_entries(self, expr: Reduction, frame: Frame) -> Values | None:
        """`sum[b in S where ...] x[b, k, h]` from the entries of x; None for whatever is not of this form.

        Each subscript is an index by itself, all indices of the sum are subscripts, and its sets and conditions speak
        of subscripts only: then the entries that fulfil them, gathered by the other subscripts, are the terms not 0.
        """
        body = expr.body
        if expr.op != "sum" or not isinstance(body, VariableRef):
            return None
        names = [s.variable for s in body.subscripts if isinstance(s, IndexRef)]
        if len(names) < len(body.subscripts) or len(set(names)) < len(names):
            return None
        inner = expr.indexing.variables
        spoken = set(self.needs(*expr.indexing.conditions)).union(
            *(free_variables(i.domain) for i in expr.indexing.iterators)
        )
        if not {*inner, *spoken} <= set(names):
            return None
        family = self.store.variables[body.name]
        assert self.store.point is not None
        values = self.store.point[family.first : family.first + family.domain.size]
        entries = Frame(family.domain.size, dict(zip(names, family.domain.columns(), strict=True)))
        for iterator in expr.indexing.iterators:
            codes = [entries.columns[v] for v in iterator.variables]
            kept = np.flatnonzero(self.contains(iterator.domain, codes, entries))
            values, entries = values[kept], entries.take(kept)
        for condition in expr.indexing.conditions:
            kept = np.flatnonzero(self.mask(condition, entries))
            values, entries = values[kept], entries.take(kept)
        outer = [v for v in names if v not in inner]
        if not outer:
            return np.asarray(values.sum())
        if not len(values):
            return np.zeros(frame.size)
        keys, which = np.unique(np.stack([entries.columns[v] for v in outer]), axis=1, return_inverse=True)
        sums = np.bincount(which.reshape(-1), weights=values)
        components = tuple(self.store.component(v.type) for v in outer)
        place = TupleDomain(components, tuple(keys)).locate(
            [np.broadcast_to(frame.columns[v], (frame.size,)) for v in outer]
        )
        return np.where(place >= 0, sums[np.maximum(place, 0)], 0.0)
