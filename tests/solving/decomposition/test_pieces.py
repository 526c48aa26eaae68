"""Pieces of the shared part: integer values for a use, also for one that they lack capacity for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from block_problems import by_type

from gpusched_dsl.ir.blocks import blocks_of
from gpusched_dsl.solving.decomposition.blocks import split_problem
from gpusched_dsl.solving.decomposition.monitor import DecompositionClock
from gpusched_dsl.solving.decomposition.pieces import SharedPieces
from gpusched_dsl.solving.primal.any_point import find_any_point
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gsdsl_backends.highs.backend import HighsBackend
from gsdsl_backends.interrupt import Control
from gsdsl_backends.protocol import SolveOptions

HIGHS = HighsBackend()


def test_pieces_admit_as_much_of_a_use_as_they_can(tmp_path: Path) -> None:
    """Rows without use hold whatever the use; those with use as if each use was as small as what is admitted."""
    short = 0
    for seed, problem in by_type(tmp_path, range(5)).items():
        parts = split_problem(problem, blocks_of(problem, "Batch"))
        watch = DecompositionClock(Control(), None)
        point = find_any_point(problem, HIGHS, SolveOptions(), HeuristicBudget(10.0))
        if point is None:
            continue
        shared, used = point[parts.shared], parts.use @ point[parts.own]
        pieces = SharedPieces(parts)
        for factor in (1.0, 3.0):
            values = pieces.choose(shared, factor * used + (factor - 1.0), watch)
            assert values is not None, seed
            assert (values[parts.integer] == np.rint(values[parts.integer])).all()
            lower, upper = problem.lower[parts.shared], problem.upper[parts.shared]
            assert ((values >= lower - 1e-6) & (values <= upper + 1e-6))[parts.integer].all()
            short += factor > 1.0
    assert short > 1
