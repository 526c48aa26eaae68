"""A problem with contradictory bounds, as linear rows that state the contradiction.

Interval arithmetic over rows, definitions and integrality may prove that there is no feasible point: `10 z <= 3` with a
integer z gives z <= 0, and `x * z >= 1` with a binary x gives z >= 1. Passes rely on bounds that do not cross, so what
they would make of such a problem might have points. Instead the terms go, and an empty row asks for `0 >= 1`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult
from gpusched_dsl.ir.definitions import Conditions
from gpusched_dsl.ir.domains import ScalarDomain
from gpusched_dsl.ir.matrix import Matrix

NAME = "contradiction"


def state_contradiction(analysis: Analysis) -> PassResult:
    """The problem without terms and conditions, and with a row that no point fulfils."""
    builder = ProblemBuilder(analysis.problem)
    empty = Matrix(np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0))
    builder.add_rows(NAME, ScalarDomain(), empty, 1.0, np.inf)
    for definition in analysis.problem.definitions:
        builder.remove(definition)
    effect = "contradict each other: no point satisfies their implied bounds"
    builder.notes.append(Note(NAME, "rows and terms", effect, 1, 1))
    step = builder.step()
    return structs.replace(step, problem=replace(step.problem, conditions=Conditions.none()))
