"""Terms that are written twice become one: `result_2` of an equal definition is read as `result_1`.

Takes definitions of any kind with the same function of the same arguments (in the same order), also when the arguments
are results that have just become one. Leaves one of each; nothing else changes.

It is more than economy: in `Q[k] * (E(min(W, x[k])) - E(min(W, x[k-1])))`, summed over k, each half alone is pushed
downwards or upwards; as one term its cost is Q[k] - Q[k+1], and only one half of its definition is needed.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.definitions import Definition
from gpusched_dsl.ir.distributions import Distribution


class EqualTerms:
    """Definition, Definition -> Definition."""

    name: ClassVar[str] = "equal terms"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return sum(d.size for d in analysis.problem.definitions) > 1

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        problem = analysis.problem
        builder = ProblemBuilder(problem)
        # Two random numbers for each column: sums of them tell expressions apart, but for a chance of about 2^-100.
        random = np.random.default_rng(0)
        marks = random.standard_normal((2, problem.columns))
        most = max(int(np.diff(d.starts).max(initial=1)) for d in problem.definitions)
        places = random.standard_normal((3, most))
        laws: dict[Distribution, int] = {}
        seen: dict[tuple[Any, ...], tuple[Floats, Codes]] = {}
        for definition in problem.definitions:
            if not definition.size:
                continue
            kind, keys = _keys(definition, marks, places, laws)
            known, columns = seen.get(kind, (np.zeros((0, keys.shape[1])), np.zeros(0, dtype=np.int64)))
            results = definition.results.astype(np.int64)
            every, owners = np.concatenate((known, keys)), np.concatenate((columns, results))
            by = owners[_first_equal(every)][len(known) :]
            again = by != results
            if again.any():
                builder.substitute(definition.results[again], by[again].astype(np.int32))
                builder.remove(definition, again)
                marks[:, results[again]] = marks[:, by[again]]
                builder.notes.append(_note(definition, int(again.sum())))
            seen[kind] = every, owners
        return builder.step() if builder.notes else PassResult(problem)


def _first_equal(rows: Floats) -> Codes:
    """For each row the place of the first one that equals it."""
    # One number a row, in one sort; rows that it does not tell apart are compared as they are.
    finite = np.nan_to_num(rows, posinf=1e30, neginf=-1e30)  # sides of comparisons may be infinite
    mixed = finite @ np.random.default_rng(1).standard_normal(rows.shape[1])
    _, first, back = np.unique(mixed, return_index=True, return_inverse=True)
    places: Codes = first[back.reshape(-1)]
    own = np.arange(len(rows), dtype=np.int64)
    moved = np.flatnonzero(places != own)
    equal = (rows[moved] == rows[places[moved]]).all(axis=1)
    places[moved[~equal]] = moved[~equal]
    return places


def _keys(
    definition: Definition, marks: Floats, places: Floats, laws: dict[Distribution, int]
) -> tuple[tuple[Any, ...], Floats]:
    """Return the common part of all entries of a block, and rows of numbers that are equal for equal entries."""
    matrix = definition.arguments.matrix
    sums = [
        np.bincount(matrix.row_of, weights=matrix.values * mark[matrix.columns], minlength=matrix.rows)
        for mark in marks
    ]
    count = np.diff(definition.starts)
    place = np.arange(matrix.rows, dtype=np.int64) - np.repeat(definition.starts[:-1], count)
    whole = (*sums, definition.arguments.constants)
    parts = [np.add.reduceat(p * by[place], definition.starts[:-1]) for p, by in zip(whole, places, strict=True)]
    shared, own = definition.function_keys(laws)
    return (type(definition), *shared), np.column_stack([count.astype(np.float64), *parts, *own])


def _note(definition: Definition, entries: int) -> Note:
    effect = "merged with an equal term"
    return Note(EqualTerms.name, definition.name, effect, entries, columns=-entries, span=definition.span)
