"""Random small problems with terms of one kind that few other problems have."""

from __future__ import annotations

import numpy as np
from drafts import Affine, Draft

from gpusched_dsl.ir.problem import Problem

INF = np.inf


def random_comparisons(seed: int) -> Problem:
    """Comparisons of few expressions, scaled and moved, with values; rows and costs on them."""
    rng = np.random.default_rng(seed)
    draft = Draft()
    n = draft.columns("n", 2, int(rng.integers(-3, 1)), int(rng.integers(2, 5)))
    b = draft.columns("b", 1)
    bases: list[dict[int, float]] = [{n[0]: 1}, {n[0]: 1, n[1]: -2}, {n[1]: 0.5, b[0]: 1.5}, {b[0]: 1}]
    made: list[int] = []
    for block in range(int(rng.integers(1, 4))):
        entries = []
        for _ in range(int(rng.integers(1, 6))):
            scale, shift = float(rng.choice([1, 1, -1, 2, -0.5])), float(rng.integers(-1, 2))
            base = bases[int(rng.integers(len(bases)))]
            a: Affine = {c: scale * v for c, v in base.items()} | {None: shift}
            low = scale * float(rng.choice([-2, -1, 0, 0.5, 1, 2, 3])) + shift
            entries.append((low, a, low + (float(rng.choice([0, 0, 0, 0.5, INF])))))
        made += draft.holds(f"h{block}", entries)
    if rng.random() < 0.6:
        arguments: list[Affine] = [{n[0]: 1.0, None: 1.0}, n[1], b[0], {n[0]: 0.5, n[1]: 0.5}, {None: 1.0}]
        made += draft.distinct("d", [rng.permutation(np.array(arguments, dtype=object))[: int(k)].tolist()
                                     for k in rng.integers(1, 5, 2)])  # fmt: skip
    for number in range(int(rng.integers(0, 3))):
        chosen = rng.choice([*made, *n], size=min(len(made), 2), replace=False)
        draft.rows(
            f"r{number}", [(float(rng.integers(-1, 2)), {int(c): float(rng.choice([-1, 1])) for c in chosen}, INF)]
        )
    costs: dict[int | None, float] = {c: float(rng.integers(-3, 4)) for c in (*made, *n)}
    draft.minimize(costs)
    return draft.problem()


def linked_products(rng: np.random.Generator, continuous: int = 0) -> Problem:
    """A random problem with products, and rows of the kind that make factors superfluous."""
    draft = Draft()
    x, n = draft.columns("x", 4), draft.columns("n", 2, 0, 3)
    y = draft.columns("y", continuous, 0, 5, integer=False) if continuous else []
    columns = [*x, *n, *y]
    made = draft.product("w", [[int(rng.choice(x)), int(rng.choice(columns))] for _ in range(4)])
    made += draft.product("v", [[int(rng.choice(made)), int(rng.choice(x))] for _ in range(2)])
    for number in range(4):
        binary, *others = (int(c) for c in rng.permutation(columns)[:3])
        binary = int(rng.choice(x)) if rng.random() < 0.8 else binary
        body = {c: float(rng.choice([1, 2])) for c in others if c != binary}
        body[binary] = float(rng.choice([-6, -3, 1, 2]))
        when = (int(rng.choice(x)), bool(rng.random() < 0.5)) if rng.random() < 0.2 else None
        sign = 1 if rng.random() < 0.7 else -1  # the same said from the other side
        side = float(rng.choice([0, 0, 1, 2]))
        row = (-np.inf, body, side) if sign > 0 else (-side, {c: -v for c, v in body.items()}, np.inf)
        draft.rows(f"r{number}", [row], when)
    draft.minimize({c: float(rng.integers(-5, 6)) for c in (*columns, *made)})
    return draft.problem()


def random_quotients(seed: int) -> Problem:
    """Rows about quotients with affine denominators, some under a condition."""
    random = np.random.default_rng(seed)
    draft = Draft()
    b = draft.columns("b")
    lows = random.integers(-3, 2, 3)
    x = [draft.columns(f"x{k}", 1, int(low), int(low + random.integers(1, 5)))[0] for k, low in enumerate(lows)]
    d = {x[0]: float(random.choice([-2, -1, 1, 2])), x[1]: float(random.choice([-1, 1])), None: random.integers(-4, 5)}
    r = draft.power("r", [d, {x[0]: 1, None: 4}], [-1, -1])
    p = draft.product("p", [[x[2], r[0]], [{r[0]: 2}, {x[1]: 1, x[2]: -1, None: 1}]])
    ends = [c * np.array([draft.lower[k], draft.upper[k]]) for k, c in d.items() if k is not None]
    low, high = (sum(f(e) for e in ends) + d[None] for f in (np.min, np.max))
    for number in range(int(random.integers(1, 4))):
        columns = [int(c) for c in random.choice([r[0], *p], 2, replace=False)]
        if random.random() < 0.3 or number == 0:
            columns = [r[number % 2]]
        body = {c: float(random.choice([-1, 1, 2])) for c in columns}
        lower, upper = sorted(random.choice([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0], 2))
        side = int(random.integers(4))
        lower, upper = (-INF, upper) if side == 0 else (lower, INF) if side == 1 else (lower, upper)
        # Where a condition is off the quotient need not have a value, which the enumeration asks of every point.
        conditional = random.random() < 0.4 and not low <= 0 <= high
        draft.rows(f"row{number}", [(lower, body, upper)], (b[0], bool(random.integers(2))) if conditional else None)
    draft.minimize({c: float(random.integers(-2, 3)) for c in (*x, *b)})
    return draft.problem()


def with_fixed_columns(problem: Problem, rng: np.random.Generator) -> Problem:
    """The problem with about half of its declared columns fixed."""
    stop = problem.variables[-1].stop
    chosen = np.flatnonzero(rng.random(stop) < 0.5)
    value = np.rint(rng.uniform(problem.lower[chosen], problem.upper[chosen]))
    problem.lower[chosen] = problem.upper[chosen] = value
    return problem
