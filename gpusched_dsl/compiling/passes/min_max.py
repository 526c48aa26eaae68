"""Maxima, minima and absolute values as rows.

Takes `t == max(b_1, ..., b_n)`; a minimum is read as `-max(-a_1, ..., -a_n)`, `abs(a)` as `max(a, -a)`. Arguments that
another one exceeds everywhere within the bounds go first; a single one that is left replaces t. Of the rest only the
half that is needed is kept:

    t >= max b:   t >= b_k for all k                                                no binaries
    t <= max b:   t <= L + sum_k (b_k - L)          all b_k have values L and U only (`or`, `and`)
                  t <= L + h * p for literals p     max(b, L) where b > L only if all literals are 1 (`x[h] - x[h-1]`)
                  t <= P (1 - p + q), t <= P (1 + p - q)                            abs(P (p + q - 1)) of literals
                  t <= b_k + M_k (1 - z_k), sum_k z_k = 1                           otherwise, binaries z

An extreme of expressions in one binary column x is affine in it: `f(0) + (f(1) - f(0)) x`.

Proof. `t >= b_k` is the epigraph. In the rows for `t <= max b` every right side is at least max b at integer points,
and one of them is at most max b: U, which is a bound of t, or the sum when no b_k = U; p when it is 0; `b_k` when z_k
= 1. With z_k = 0 the row must allow t = b_j for every other j, and `M_k = max_{j != k} upper(b_j) - lower(b_k)` is
the least that does.

Leaves entries that would need binaries where the target takes no integers. Where M_k is infinite a row under the
condition z_k = 1 stands for it if the target takes these, else GSM3202 names the column without a bound.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched_dsl.compiling.passes.min_max_forms import Maxima
from gpusched_dsl.compiling.passes.min_max_upper import add_upper_halves
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.ir.definitions import Definition, MinMax, Unary


class MinMaxTerms:
    """max, min and abs -> linear rows, and binaries where the half that is needed is not convex."""

    name: ClassVar[str] = "extremes"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return any(_is_taken_here(d, target) for d in analysis.problem.definitions)

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        for definition in analysis.problem.definitions:
            if _is_taken_here(definition, target):
                _reformulate(builder, analysis, definition, target)
        return builder.step()


def _is_taken_here(definition: Definition, target: Target) -> bool:
    """Whether a convex target also gets rows: for the convex half they are equivalent."""
    match definition:
        case MinMax():
            return definition.size > 0 and (target.convex or not target.takes("extreme"))
        case Unary(function="abs"):
            return definition.size > 0 and (target.convex or not target.takes("abs"))
    return False


def _reformulate(builder: ProblemBuilder, analysis: Analysis, definition: Definition, target: Target) -> None:
    before = builder.rows, builder.columns
    maxima = Maxima.of(definition, analysis)
    read = maxima.lower | maxima.upper
    effects: list[str] = []
    if (~read).any():
        effects.append("never used")
    rest = maxima.take(np.flatnonzero(read)).without_dominated()
    single = rest.counts == 1
    if single.any():
        effects.append("equal to the only possible argument")
        rest.take(np.flatnonzero(single)).state_equal(builder, halves=target.convex)
    rest = rest.take(np.flatnonzero(~single))
    switched = rest.of_one_binary()
    if switched.any():
        effects.append("affine in their only binary column")
        rest.take(np.flatnonzero(switched)).state_switched(builder)
    rest = rest.take(np.flatnonzero(~switched))
    left, big_m = add_upper_halves(builder, analysis, rest, target, effects)
    kept = rest.take(np.flatnonzero(~left))
    lower = kept.take(np.flatnonzero(kept.lower))
    if len(lower.results):
        effects.append(f"at {'least' if lower.sign > 0 else 'most'} each argument")
        lower.state_lower(builder)
    stays = np.isin(definition.results, rest.results[left])
    builder.remove(definition, ~stays)
    done = definition.size - int(stays.sum())
    if done:
        rows, columns = builder.rows - before[0], builder.columns - before[1]
        builder.notes.append(
            Note(
                MinMaxTerms.name, definition.name, "; ".join(effects), done, rows, columns, big_m, span=definition.span
            )
        )
