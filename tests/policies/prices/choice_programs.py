"""Random linear programs of choices that share capacities."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Objective, Problem, Term


def random_program(seed: int, sense: str) -> Problem:
    """Choices with two to four ways each, coupled by capacities that another column with a price can raise."""
    random = np.random.default_rng(seed)
    choices, kinds = int(random.integers(2, 40)), int(random.integers(1, 4))
    ways = random.integers(2, 5, choices)
    owner = np.repeat(np.arange(choices), ways)
    count = len(owner)
    kind, use = random.integers(0, kinds, count), random.integers(1, 4, count)
    dense = np.zeros((choices + kinds + 1, count + kinds))
    dense[owner, np.arange(count)] = random.integers(1, 4, count) if seed % 2 else 1.0
    dense[choices + kind, np.arange(count)] = use
    dense[choices + np.arange(kinds), count + np.arange(kinds)] = -4.0
    dense[-1, count:] = 1.0
    exact = random.random(choices) < 0.2
    rows, columns = np.nonzero(dense)
    starts = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(dense)))))
    sign = 1.0 if sense == "minimize" else -1.0
    costs = sign * np.concatenate((-random.random(count) * use, random.random(kinds)))
    unbounded = random.random(kinds) < 0.3
    upper = np.concatenate((np.ones(count), np.where(unbounded, np.inf, float(choices))))
    families = ((0, choices, "once"), (choices, kinds, "capacity"), (choices + kinds, 1, "few"))
    return Problem(
        "random",
        (Family("x", 0, IntervalDomain(0, count + kinds - 1)),),
        np.zeros(count + kinds),
        upper,
        np.zeros(count + kinds, dtype=np.bool_),
        tuple(Family(name, first, IntervalDomain(0, size - 1)) for first, size, name in families),
        Matrix(starts, columns.astype(np.int32), dense[rows, columns]),
        np.concatenate((np.where(exact, 1.0, -np.inf), np.full(kinds, -np.inf), [-np.inf])),
        np.concatenate((np.ones(choices), random.random(kinds) * 3, [float(choices) / 3])),
        (Objective(sense, (Term(None, np.arange(count + kinds, dtype=np.int32), costs, 2.5),)),),
    )
