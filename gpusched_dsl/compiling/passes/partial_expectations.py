"""Partial expectations `result == G(x)`, G(x) = E[min(W, x)], as exponentials, squares or pieces.

G is concave with slope P(W > x). What becomes of an entry, in this order:

    nobody gains from its value, or x is fixed       the definition goes; `result` is fixed
    the target takes `exp`, W exponential            result <= l + s (x - l) + sum_i f_i (1 - exp(-r_i (x - l)))
    the target takes `power`, P(W > x) piecewise     result <= u + sum_l (f_l v_l - g_l v_l^2 / 2),
        linear with densities g_l                        x = u + sum_l v_l + t, 0 <= v_l <= h_l, u <= knot_0, t >= 0
    W has finitely many values                       a `piecewise` definition with their kinks, exact
    otherwise                                        a `piecewise` definition: chords, or tangents for `result >= G`

Exponentials (plain, truncated, censored at h or mixed) are those of `Distribution.exponentials`; where x may leave the
support it is split like above, `x = u + v + t`, u <= l, 0 <= v <= h - l, t >= 0. Proof for the split: only
`result <= ...` is needed, the slopes 1, P(W > .), 0 fall, so filling u, v_1, v_2, ..., t in this order is best, and
gives G(x). So these forms are for entries with `up` only; without a split an equation serves all directions, except
that a convex target takes the `up` half only.

Chords lie below G and tangents above it, so what is found is never better than the truth; how far they can be off is
computed for each law and told in the note. The optimum is worse by at most the sum of |cost| * error over the results
that stand in objectives only; for a result that a row or another term reads nothing can be said (infinity).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.passes.expectation_curves import ExpectationCurve, curve_of
from gpusched_dsl.compiling.passes.expectation_forms import (
    ExpectationEntries,
    Form,
    add_exponentials,
    add_squares,
    form_of,
    holds_within,
)
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.ir.definitions import Curves, Definition, PartialExpectation, Piecewise
from gpusched_dsl.ir.distributions import Distribution
from gpusched_dsl.ir.distributions.base import ExponentialSum
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import ROUNDING

# The error of a curve relative to the range of G, and the most cells that it may take for it.
RELATIVE_ERROR, MOST_CELLS = 1e-5, 200
# An argument within a range as narrow as this (G has slopes within 0 .. 1) is fixed.
FIXED = ROUNDING


class PartialExpectations:
    """PartialExpectation -> Unary exp, Power 2 or Piecewise."""

    name: ClassVar[str] = "partial expectations"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        if target.takes(PartialExpectation.op):
            return False
        return any(isinstance(d, PartialExpectation) and d.size for d in analysis.problem.definitions)

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        read = _columns_read_elsewhere(analysis.problem)
        for definition in analysis.problem.definitions:
            if isinstance(definition, PartialExpectation) and definition.size:
                _Reformulation(builder, analysis, definition, target).run(read)
        return builder.step()


class _Reformulation:
    """One block of entries; `low .. high` are the ranges of their arguments."""

    def __init__(
        self, builder: ProblemBuilder, analysis: Analysis, definition: PartialExpectation, target: Target
    ) -> None:
        self.builder = builder
        self.problem = analysis.problem
        self.definition = definition
        self.name = analysis.problem.column_family(int(definition.results[0])).name
        low, high = analysis.bounds.of(definition.arguments)
        self.low, self.high = np.minimum(low, high), np.maximum(low, high)
        self.down = analysis.directions.down[definition.results]
        self.up = analysis.directions.up[definition.results]
        self.forms = [form_of(law, target) for law in definition.laws]
        self.convex = target.convex

    def run(self, read: Bools) -> None:
        """Replace the block; `read` marks columns in rows or in other definitions."""
        which = self.definition.which
        with np.errstate(invalid="ignore"):
            narrow = self.high - self.low <= FIXED * np.maximum(1.0, np.abs(self.low))
        needed = self.down | self.up
        fixed = np.flatnonzero(needed & narrow)
        if len(fixed):
            at = self.definition.take(fixed).evaluate(self.low[fixed])
            self.builder.bound(self.definition.results[fixed], at, at)
            self._note("constant", len(fixed))
        new_definitions: list[Definition] = []
        chosen = np.zeros(len(which), dtype=np.bool_)
        for number, form in enumerate(self.forms):
            own = needed & ~narrow & (which == number)
            if form is None or not own.any():
                continue
            one_formula = holds_within(form, self.low, self.high)
            own &= ~self.down | (one_formula & (not self.convex))
            chosen |= own
            for split in (False, True):
                entries = np.flatnonzero(own & (one_formula != split))
                if len(entries):
                    new_definitions += self._smooth_definitions(form, entries, split)
        rest = np.flatnonzero(needed & ~narrow & ~chosen)
        if len(rest):
            new_definitions.append(self._pieces(rest, read))
        self.builder.replace(self.definition, None, tuple(new_definitions))

    def _smooth_definitions(self, form: Form, entries: Codes, split: bool) -> list[Definition]:
        rows, columns = self.builder.rows, self.builder.columns
        some = ExpectationEntries(
            self.definition.take(entries), self.down[entries], self.up[entries], self.name,
            self.builder.index_of(self.definition, entries),
        )  # fmt: skip
        if isinstance(form, ExponentialSum):
            new_definitions = add_exponentials(self.builder, some, form, split)
            effect = "written with exp"
        else:
            new_definitions = add_squares(self.builder, some, form, split, self.low[entries])
            effect = "written with squares"
        self._note(effect, len(entries), self.builder.rows - rows, self.builder.columns - columns)
        return new_definitions

    # --- curves ------------------------------------------------------------------------------------------------------

    def _pieces(self, entries: Codes, read: Bools) -> Piecewise:
        """A curve for each law and direction, over the ranges of all its entries."""
        definition = self.definition
        above = ~self.up[entries]
        keys = 2 * definition.which[entries] + above
        distinct, which = np.unique(keys, return_inverse=True)
        which = which.reshape(-1)
        low, high = np.full(len(distinct), np.inf), np.full(len(distinct), -np.inf)
        np.minimum.at(low, which, self.low[entries])
        np.maximum.at(high, which, self.high[entries])
        curves = [
            _curve(definition.laws[key // 2], a, b, bool(key % 2))
            for key, a, b in zip(distinct.tolist(), low.tolist(), high.tolist(), strict=True)
        ]
        errors = np.array([curve.error for curve in curves])
        for sort, effect in ((errors == 0, "piecewise linear, exact"), (errors > 0, "piecewise linear, approximate")):
            of = sort[which]
            if of.any():
                cells = max(len(c.x) - 1 for c, s in zip(curves, sort.tolist(), strict=True) if s)
                side = "" if not errors[sort].any() else self._side(entries[of])
                self._note(f"{effect}{side}, up to {cells} pieces", int(of.sum()), error=float(errors[sort].max()))
        self.builder.bound_error += self._bound_error(definition.results[entries], errors[which], read)
        self.builder.loosen(definition.results[entries], errors[which])
        chosen = definition.take(entries)
        return Piecewise(
            chosen.results, chosen.starts, chosen.arguments, chosen.span, chosen.name,
            which.astype(np.int64), _join(curves),
        )  # fmt: skip

    def _side(self, entries: Codes) -> str:
        both = self.down[entries] & self.up[entries]
        return " (chords, because both directions are needed)" if both.any() else ""

    def _bound_error(self, results: Int32s, errors: Floats, read: Bools) -> float:
        """Return the possible loss of the optimum: |cost| * error, infinite if a result occurs outside of the cost."""
        if (read[results] & (errors > 0)).any():
            return float("inf")
        costs = np.sum([np.abs(o.costs(self.problem.columns)) for o in self.problem.objectives], axis=0)
        return float(costs[results] @ errors) if len(self.problem.objectives) else 0.0

    def _note(self, effect: str, entries: int, rows: int = 0, columns: int = 0, error: float = 0.0) -> None:
        definition = self.definition
        self.builder.notes.append(
            Note(
                PartialExpectations.name, definition.name, effect, entries, rows, columns, error=error,
                span=definition.span,
            )
        )  # fmt: skip


def _columns_read_elsewhere(problem: Problem) -> Bools:
    """Return the columns in rows, conditions or arguments of definitions."""
    read = np.zeros(problem.columns, dtype=np.bool_)
    read[problem.matrix.columns] = True
    read[problem.conditions.columns] = True
    for definition in problem.definitions:
        read[definition.arguments.matrix.columns] = True
    return read


def _curve(law: Distribution, low: float, high: float, above: bool) -> ExpectationCurve:
    """The curve of a law for arguments in a range, which is first cut down to where the law has its mass."""
    checkpoint()  # there may be as many laws as entries
    ends = np.array([low, high])
    mass = law.inv_lo(np.array([1 - 1e-6])), law.inv_hi(np.array([1e-6]))
    where = np.clip(ends, mass[0], mass[1])
    rise = float(np.diff(law.partial_expectation(where))[0])
    scale = max(1.0, float(np.abs(where).max()))
    return curve_of(law, low, high, max(RELATIVE_ERROR * rise, 1e-12 * scale), MOST_CELLS, above)


def _join(curves: list[ExpectationCurve]) -> Curves:
    starts = np.concatenate(([0], np.cumsum([len(c.x) for c in curves]))).astype(np.int64)
    return Curves(
        starts,
        np.concatenate([c.x for c in curves]),
        np.concatenate([c.y for c in curves]),
        np.array([c.before for c in curves]),
        np.array([c.after for c in curves]),
        np.array([c.error for c in curves]),
    )
