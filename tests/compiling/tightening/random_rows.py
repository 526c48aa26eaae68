"""Random small linear problems: sums that define columns, networks, and equations of integers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from drafts import Affine, Draft

from gpusched_dsl.ir.problem import Problem

INF = np.inf


def random_sums(rng: np.random.Generator) -> Problem:
    """Columns `z` with rows that define them, sums of sums among them, used in none or a few other rows."""
    draft = Draft()
    x = draft.columns("x", 4, 0, int(rng.integers(1, 3)))
    y = draft.columns("y", 1, 0, 3, integer=False)
    z = [
        draft.columns(f"z{k}", 1, float(rng.integers(-1, 2)), float(rng.integers(1, 5)), bool(rng.random() < 0.6))[0]
        for k in range(3)
    ]
    for k, column in enumerate(z):
        known = [*x, *y, *z[:k]] if rng.random() < 0.5 else [*x]
        some = rng.choice(known, int(rng.integers(1, 4)), replace=False)
        scale = float(rng.choice([-2, -1, 1, 1]))
        body: dict[int | None, float] = {int(c): scale * float(rng.choice([1, 1, 1, 2, 0.5])) for c in some}
        side = scale * float(rng.choice([0, 0, 1, -1]))
        draft.rows(f"defined{k}", [(side, body | {column: -scale}, side)])
    for number in range(int(rng.integers(0, 3))):
        some = rng.choice([*x, *y, *z], int(rng.integers(1, 4)), replace=False)
        side = float(rng.integers(0, 5))
        sides = [(-np.inf, side), (side - 1, np.inf), (side - 2, side)][int(rng.integers(3))]
        draft.rows(f"r{number}", [(sides[0], {int(c): float(rng.choice([-1, 1, 2])) for c in some}, sides[1])])
    draft.minimize({c: float(rng.integers(-3, 4)) for c in [*x, *y, *z]}, str(rng.choice(["minimize", "maximize"])))
    return draft.problem()


def random_rows(rng: np.random.Generator, rows: int = 4, columns: int = 6) -> Problem:
    """Rows with few entries, mostly 1 or -1, over 0/1 columns and one count; now and then one over all of them."""
    draft = Draft()
    x, n = draft.columns("x", columns), draft.columns("n", 1, 0, 2)
    y = draft.columns("y", 1, 0, 2, integer=False)
    signs = [1.0] if rng.random() < 0.4 else [1.0, 1.0, -1.0]
    entries: list[dict[int, float]] = [{} for _ in range(rows)]
    for c in x:
        for r in rng.choice(rows, min(rows, int(rng.choice([1, 2, 2, 2, 2, 3]))), replace=False):
            entries[int(r)][c] = float(rng.choice(signs))
    if rng.random() < 0.3:
        entries[int(rng.integers(rows))][int(rng.choice(x))] = 2.0
    if rng.random() < 0.5:
        some = x if rng.random() < 0.5 else sorted(set(entries[0]) | set(entries[1]))
        sign = float(rng.choice([1, -1]))
        entries.append(dict.fromkeys(some, sign))
    for number, body in enumerate(entries):
        if rng.random() < 0.3:
            body[n[0]] = float(rng.choice([-2, -1, 1]))
        if rng.random() < 0.1:
            body[y[0]] = float(rng.choice([-1, 1, 0.5]))
        side = float(rng.integers(0, 3)) if rng.random() < 0.9 else 1.5
        sides = [(-INF, side), (-side, INF), (-1, side), (side, side)][int(rng.choice(4, p=[0.5, 0.2, 0.2, 0.1]))]
        draft.rows(f"r{number}", [(sides[0], body, sides[1])])
    costs: dict[int | None, float] = {c: float(rng.integers(-5, 8)) for c in [*x, *n, *y]}
    draft.minimize(costs, "maximize")
    return draft.problem()


def laminar(rng: np.random.Generator, columns: Sequence[int]) -> list[dict[int, float]]:
    """Rows that are disjoint or nested, each with one sign."""
    found: list[dict[int, float]] = []

    def split(some: list[int]) -> None:
        if rng.random() < 0.8:
            found.append(dict.fromkeys(some, float(rng.choice([1, -1]))))
        if len(some) > 1 and rng.random() < 0.85:
            at = int(rng.integers(1, len(some)))
            split(some[:at])
            split(some[at:])

    split([int(c) for c in rng.permutation(columns)])
    return found[:4]


def two_families(rng: np.random.Generator) -> Problem:
    draft = Draft()
    x, n = draft.columns("x", 6), draft.columns("n", 1, 0, 3)
    for number, rows in enumerate((laminar(rng, x), laminar(rng, x))):
        made: list[tuple[float, Affine, float]] = []
        for body in rows:
            low = float(rng.integers(-3, 1))
            made.append((low, {**body, n[0]: float(rng.integers(-1, 2))}, low + float(rng.integers(1, 4))))
        if made:
            draft.rows(f"family{number}", made)
    draft.minimize({c: float(rng.integers(-4, 5)) for c in [*x, *n]})
    return draft.problem()


def random_equations(rng: np.random.Generator) -> Problem:
    """Integer columns, continuous ones in equations with small, even and decimal coefficients, and rows of bounds."""
    draft = Draft()
    n = draft.columns("n", 3, 0, int(rng.integers(1, 4)))
    x = draft.columns("x", 3, 0, float(rng.choice([4.0, 5.5, 30.0])), integer=False)
    for k in range(int(rng.integers(1, 4))):
        scale = float(rng.choice([1.0, 1.0, 2.0, 0.1, 0.7]))
        body = {int(c): scale * float(rng.integers(-3, 4)) for c in rng.choice(n, 2, replace=False)}
        body[x[k % 3]] = scale * float(rng.choice([1.0, -1.0, 1.0, 2.0]))
        if rng.random() < 0.4:
            body[x[int(rng.integers(3))]] = scale * float(rng.choice([1.0, -2.0]))
        side = scale * float(rng.choice([0, 1, 2, 0.5], p=[0.4, 0.3, 0.2, 0.1]))
        draft.rows(f"e{k}", [(side if rng.random() < 0.85 else -INF, body, side)])
    draft.rows("r", [(-INF, {x[0]: float(rng.integers(2, 80)), n[0]: 2.0}, float(rng.integers(3, 90)))])
    draft.minimize({c: float(rng.integers(-5, 6)) for c in (*n, *x)})
    return draft.problem()
