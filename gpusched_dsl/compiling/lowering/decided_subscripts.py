"""References whose subscripts are decisions: `cost[x]` with an integer variable x, a sum over the values of x.

    cost[x]  =  sum_v cost[v] * [x == v],      (cost[x] else d)  =  the same  + d * (1 - sum_v [x == v])

v runs over the indices that x can have within its declared bounds; with several decided subscripts over the index
tuples. Without an `else` they must be all values that the subscripts can have: nothing is silently 0, and no value of x
is silently excluded. The comparisons become one choice among values in `passes/chosen_values`.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.lowering.affine import Affine, constant
from gpusched_dsl.compiling.lowering.affine_reader import AffineReader, Reading
from gpusched_dsl.compiling.lowering.nonlinear import Nonlinear
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.domains import Domain, Packing, ScalarDomain
from gpusched_dsl.ir.granularity import steps_of
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.checked import (
    ComparisonChain,
    ElementWithLabel,
    IndexRef,
    IndexVar,
    LetRef,
    Logical,
    ParamRef,
    TypedExpr,
    VariableRef,
    has_decided_subscripts,
)
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.shortening import shorten

Reference: TypeAlias = ParamRef | VariableRef | LetRef


class _Plan(Struct, frozen=True, eq=False):
    """A reference with an index in the place of each decided subscript, and `subscript == index` for each."""

    reference: Reference
    positions: tuple[int, ...]
    indices: tuple[IndexVar, ...]
    equalities: tuple[ComparisonChain, ...]

    @staticmethod
    def of(reference: Reference, decision: bool) -> _Plan:
        """`decision`: the values are decisions, whatever the subscripts are."""
        positions = tuple(p for p, s in enumerate(reference.subscripts) if s.decision)
        indices, equalities = [], []
        subscripts = list(reference.subscripts)
        for position in positions:
            subscript = subscripts[position]
            number = subscript.operand if isinstance(subscript, ElementWithLabel) else subscript
            index = IndexVar(shorten(subscript.span.text), subscript.type, subscript.span)
            here = IndexRef(span=subscript.span, type=subscript.type, variable=index)
            subscripts[position] = here
            indices.append(index)
            equalities.append(
                ComparisonChain(span=number.span, type=Logical(), decision=True, operands=(number, here), ops=("==",))
            )
        at_index = structs.replace(reference, subscripts=tuple(subscripts), decision=decision)
        return _Plan(at_index, positions, tuple(indices), tuple(equalities))


class _Cases(Struct, frozen=True, eq=False):
    """The index tuples that decided subscripts can have, some for each row of a frame.

    `frame` has a row for each, `parent` the row that it is for; `complete` tells for which rows they are all tuples of
    values that the subscripts can have.
    """

    frame: Frame
    parent: Codes
    complete: Bools


class DecidedSubscripts:
    """Reads references with decided subscripts for a reader; `truth` reads conditions."""

    def __init__(self, linear: AffineReader, nonlinear: Nonlinear, truth: Reading) -> None:
        self.linear, self.nonlinear, self.truth = linear, nonlinear, truth
        self.ev = linear.ev
        self._plans: dict[int, tuple[Reference, _Plan]] = {}

    def affine(self, expr: TypedExpr, fallback: TypedExpr | None, frame: Frame, read: Reading) -> Affine:
        """The value of a reference in every row; `read` gives that of a variable, a `let` and the fallback.

        Raises DiagnosticError (GSM3002) where a subscript can be outside and there is no fallback.
        """
        assert isinstance(expr, ParamRef | VariableRef | LetRef)
        plan = self._plan(expr)
        cases = self._cases(plan, expr, frame)
        inside = cases.complete
        if fallback is None and not inside.all():
            raise self._refusal(plan, expr, cases, frame)
        if fallback is not None and inside.any() and not inside.all():
            rows, others = np.flatnonzero(inside), np.flatnonzero(~inside)
            one = self.affine(expr, None, frame.take(rows), read).spread(rows, frame.size)
            return one + self.affine(expr, fallback, frame.take(others), read).spread(others, frame.size)
        truth = self.truth(plan.equalities[0], cases.frame)
        for equality in plan.equalities[1:]:
            truth = self.nonlinear.product(truth, self.truth(equality, cases.frame), expr)
        over = frozenset(plan.indices)
        value = self._times(truth, plan.reference, cases.frame, read, expr)
        total = value.sum_rows(cases.parent, frame.size, over)
        if fallback is None or inside.all():
            return total
        none = constant(frame.size, np.ones(frame.size)) + -truth.sum_rows(cases.parent, frame.size, over)
        return total + self._times(none, fallback, frame, read, expr)

    def _times(self, truth: Affine, value: TypedExpr, frame: Frame, read: Reading, expr: TypedExpr) -> Affine:
        if value.decision:
            return self.nonlinear.product(truth, read(value, frame), expr)
        return truth.scale(np.broadcast_to(self.ev.numbers(value, frame), (frame.size,)))

    def _plan(self, expr: Reference) -> _Plan:
        known = self._plans.get(id(expr))
        if known is None:
            decision = isinstance(expr, VariableRef)
            if isinstance(expr, LetRef):
                decision = self.ev.model.lets[expr.name].value.decision
            known = self._plans[id(expr)] = (expr, _Plan.of(expr, decision))
        return known[1]

    # --- cases -------------------------------------------------------------------------------------------------------

    def _cases(self, plan: _Plan, expr: Reference, frame: Frame) -> _Cases:
        domain = self._domain(expr)
        fixed = tuple(p for p in range(len(expr.subscripts)) if p not in plan.positions)
        parent, rows = self._matches(domain, fixed, expr, frame)
        columns = domain.columns()
        at = {index: columns[p][rows] for index, p in zip(plan.indices, plan.positions, strict=True)}
        possible = np.ones(len(parent), dtype=np.bool_)
        counts: Floats = np.ones(frame.size)
        every = frame.take(parent).bind(at)
        for equality in plan.equalities:
            number, index = equality.operands
            values = np.broadcast_to(self.ev.numbers(index, every), (len(parent),))
            fits, count = self._fits(number, frame, values, parent)
            possible &= fits
            counts = counts * count
        kept = np.flatnonzero(possible)
        found = np.bincount(parent[kept], minlength=frame.size)
        return _Cases(every.take(kept), parent[kept], found == counts)

    def _domain(self, expr: Reference) -> Domain:
        match expr:
            case ParamRef():
                domain = self.ev.store.params[expr.name].domain
            case VariableRef():
                domain = self.ev.store.variables[expr.name].indexed_domain
            case LetRef():
                let = self.ev.model.lets[expr.name]
                domain = self.ev.index_domain(let.indexing, let.span)
        assert not isinstance(domain, ScalarDomain)
        return domain

    def _matches(self, domain: Domain, fixed: tuple[int, ...], expr: Reference, frame: Frame) -> tuple[Codes, Codes]:
        """For each row of the frame the index tuples with its fixed subscripts: rows, and places in the domain."""
        what = f"the reference `{shorten(expr.span.text)}`"
        if not fixed:
            self.ev.budget.problem(domain.size * frame.size, expr.span, what)
            every = np.arange(domain.size, dtype=np.int64)
            return np.repeat(np.arange(frame.size, dtype=np.int64), domain.size), np.tile(every, frame.size)
        index = self.ev.join_index(domain, fixed)
        keys = tuple(np.broadcast_to(self.ev.codes(expr.subscripts[p], frame), (frame.size,)) for p in fixed)
        counts, starts = index.match(keys)
        self.ev.budget.problem(int(counts.sum()), expr.span, what)
        return np.repeat(np.arange(frame.size, dtype=np.int64), counts), index.rows(counts, starts)

    def _fits(self, number: TypedExpr, frame: Frame, values: Floats, parent: Codes) -> tuple[Bools, Floats]:
        """Which values a subscript can have in the row `parent`, and how many it can have in each row."""
        if has_decided_subscripts(number):
            listed = self._listed_values(number, frame)
            if listed is not None:
                rows, known = listed
                packing = Packing.of((rows, known))
                inside = np.isin(packing.keys((parent, np.rint(values).astype(np.int64))), packing.keys((rows, known)))
                return inside, np.bincount(rows, minlength=frame.size).astype(np.float64)
        low, high, step, first = self._range(number, frame)
        with np.errstate(invalid="ignore"):
            ticks = (values - first[parent]) / step[parent]
            inside = (values >= low[parent] - ROUNDING) & (values <= high[parent] + ROUNDING)
            least, most = np.ceil((low - first) / step - ROUNDING), np.floor((high - first) / step + ROUNDING)
        counts = np.where(np.isfinite(least) & np.isfinite(most), np.maximum(most - least + 1, 0.0), np.inf)
        return inside & (np.abs(ticks - np.rint(ticks)) <= ROUNDING), counts

    def _listed_values(self, number: TypedExpr, frame: Frame) -> tuple[Codes, Codes] | None:
        """The rows and the distinct values of a reference to integers with decided subscripts, which all exist."""
        assert isinstance(number, ParamRef | VariableRef | LetRef)
        plan = self._plan(number)
        if plan.reference.decision:
            return None
        cases = self._cases(plan, number, frame)
        if not cases.complete.all():
            return None
        values = np.broadcast_to(self.ev.numbers(plan.reference, cases.frame), (len(cases.parent),))
        pairs = np.unique(np.stack((cases.parent, np.rint(values).astype(np.int64))), axis=1)
        return pairs[0], pairs[1]

    def _range(self, number: TypedExpr, frame: Frame) -> tuple[Floats, Floats, Floats, Floats]:
        """The ends of a subscript within declared bounds, the step between its values, and a number of them."""
        affines = self.nonlinear.arguments(number, frame)
        low, high = self.linear.terms.ranges(affines)
        step = steps_of(affines, self.linear.terms.integer)
        # What is always an integer by its type moves in steps of 1, whatever terms it has.
        return low, high, np.where(step > 0, step, 1.0), np.where(step > 0, affines.constants, 0.0)

    # --- refusals ----------------------------------------------------------------------------------------------------

    def _refusal(self, plan: _Plan, expr: Reference, cases: _Cases, frame: Frame) -> DiagnosticError:
        row = int(np.flatnonzero(~cases.complete)[0])
        where = self.ev.row_text(frame, row)
        number = plan.equalities[0].operands[0]
        what = "its subscripts can be outside the declared index set"
        if len(plan.indices) == 1:
            low, high, step, first = (float(a[0]) for a in self._range(number, frame.take(np.array([row]))))
            text = shorten(number.span.text)
            if not (np.isfinite(low) and np.isfinite(high)):
                what = f"`{text}` has no {'lower' if np.isinf(low) else 'upper'} bound"
            else:
                index = plan.equalities[0].operands[1]
                used = self.ev.numbers(index, cases.frame)[cases.parent == row]
                ticks = np.arange(
                    np.ceil((low - first) / step - ROUNDING), np.floor((high - first) / step + ROUNDING) + 1
                )
                missing = np.setdiff1d(np.rint(first + step * ticks), np.rint(used))
                what = f"`{text}` can be {missing[0]:g}, which is outside the declared index set"
        return self.ev.failure(
            "GSM3002",
            f"`{shorten(expr.span.text)}` may not exist: {what}",
            expr.span,
            where,
            help=f"state tighter bounds in the declaration of the variable, or give a value there: "
            f"`({expr.span.text} else ...)`",
        )
