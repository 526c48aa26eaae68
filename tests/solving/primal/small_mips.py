"""Random small mixed-integer problems, and all their integer points by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
from building import INF, Row, maximize, minimize, problem

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gsdsl_backends.highs.backend import HighsBackend
from gsdsl_backends.protocol import SolveOptions


def random_mip(seed: int, columns: int = 8, rows: int = 6, continuous: int = 2) -> Problem:
    """Binaries, a few general integers, `continuous` columns that may be without bounds; rows of all three kinds."""
    draw = np.random.default_rng(seed)
    made: list[Row] = []
    for _ in range(rows):
        row = np.where(draw.random(columns) < 0.5, draw.integers(-4, 6, columns), 0).astype(float)
        middle = float(row @ draw.integers(0, 2, columns))
        kind = draw.integers(4)
        lower = -INF if kind == 0 else middle - float(draw.integers(0, 2))
        upper = INF if kind == 1 else middle + float(draw.integers(0, 2))
        made.append((middle, row.tolist(), middle) if kind == 3 else (lower, row.tolist(), upper))
    integer = list(range(columns - continuous))
    lower = np.where(draw.random(columns) < 0.15, -2.0, 0.0)
    upper = np.where(draw.random(columns) < 0.2, 3.0, 1.0)
    if continuous and draw.random() < 0.3:
        upper[-1], lower[-1] = INF, (-INF if draw.random() < 0.5 else 0.0)
    sense = minimize if draw.random() < 0.5 else maximize
    return problem(
        sense(*draw.integers(-5, 6, columns).astype(float).tolist()), columns=columns, rows=made,
        lower=lower.tolist(), upper=upper.tolist(), integer=integer,
    )  # fmt: skip


def assignment(jobs: int, places: int, seed: int = 0, capacity: float | None = None) -> Problem:
    """Every job in one place at a cost of its own; places hold so much."""
    draw = np.random.default_rng(seed)
    size = draw.integers(1, 4, jobs).astype(float)
    room = capacity if capacity is not None else float(np.ceil(1.3 * size.sum() / places))
    rows: list[Row] = []
    for job in range(jobs):
        row = np.zeros((jobs, places))
        row[job] = 1
        rows.append((1.0, row.ravel().tolist(), 1.0))
    for place in range(places):
        row = np.zeros((jobs, places))
        row[:, place] = size
        rows.append((-INF, row.ravel().tolist(), room))
    costs = draw.integers(1, 20, jobs * places).astype(float)
    return problem(minimize(*costs.tolist()), columns=jobs * places, rows=rows, upper=1, integer=True)


def optimum(one: Problem) -> float | None:
    """The optimal value, infinite where there is no end, None where there is no feasible point."""
    session = HighsBackend().open(one)
    answer = session.solve(SolveOptions(gap=0.0))
    session.close()
    if answer.status is Status.UNBOUNDED:
        return INF if one.objectives[0].sense == "maximize" else -INF
    return None if answer.status is Status.INFEASIBLE else answer.objective


def whole_points(one: Problem) -> list[Floats]:
    """All points of a problem with bounded integer columns only."""
    assert one.integer.all()
    ranges = [range(int(a), int(b) + 1) for a, b in zip(one.lower, one.upper, strict=True)]
    points = np.array(list(itertools.product(*ranges)), dtype=np.float64)
    activity = np.array([one.matrix.activity(p) for p in points]).reshape(len(points), one.rows)
    held = ((activity >= one.row_lower - 1e-9) & (activity <= one.row_upper + 1e-9)).all(axis=1)
    return list(points[held])
