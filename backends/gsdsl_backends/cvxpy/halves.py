"""The halves of nonlinear definitions that a convex backend needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.passes.steps import Analysis
from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.definitions import Definition, QuadraticForm
from gpusched_dsl.ir.problem import Problem


@dataclass(frozen=True, eq=False)
class Halves:
    """The needed directions of the entries of a definition: `result >= f`, `result <= f`, or both.

    `negative` says that the argument is at most 0, so that a power can be read as that of its opposite.
    """

    definition: Definition
    above: Bools
    below: Bools
    negative: Bools

    def same(self, other: Halves) -> bool:
        """Whether the compiled constraints are the same but for numbers that are parameters."""
        mine, its = self.definition, other.definition
        if isinstance(mine, QuadraticForm) and isinstance(its, QuadraticForm) and not mine.pairs.same(its.pairs):
            return False
        return all(np.array_equal(getattr(self, n), getattr(other, n)) for n in ("above", "below", "negative"))


def needed_halves(problem: Problem) -> list[Halves]:
    """Return the needed halves, and one if none is needed: it keeps the argument in the domain of the function.

    A result that only a smaller value helps needs `result >= f` with f convex, one that only a larger value helps
    `result <= f` with f concave; that they are is looked at when the problem is reformulated.
    """
    if not problem.definitions:
        return []
    analysis = Analysis(problem)
    found = []
    for definition in problem.definitions:
        low, high = analysis.bounds.of(definition.arguments)
        convex, concave = definition.convexity(low, high)
        down, up = analysis.directions.down[definition.results], analysis.directions.up[definition.results]
        nobody = ~down & ~up
        negative = high <= 0 if definition.single else np.zeros(definition.size, dtype=np.bool_)
        found.append(Halves(definition, down | (nobody & convex), up | (nobody & ~convex & concave), negative))
    return found
