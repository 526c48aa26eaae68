"""Random small problems with nonlinear parts, for property tests of passes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from drafts import Affine, Draft

from gpusched_dsl.ir.definitions import Curves
from gpusched_dsl.ir.problem import Problem

KINDS = ("product", "extreme", "power", "unary", "piecewise", "holds", "distinct")


def random_problem(
    rng: np.random.Generator,
    kinds: Sequence[str] = KINDS,
    *,
    binaries: int = 3,
    whole: int = 2,
    continuous: int = 0,
    blocks: int = 3,
    rows: int = 3,
    conditions: bool = True,
    plain: bool = False,
) -> Problem:
    """Binary, whole and continuous columns with small bounds, `blocks` definitions of the given kinds on anything made
    before them, rows over everything, some under a condition, and a random objective.

    `plain`: arguments are single columns, as grounding gives them for products; continuous columns are then taken at
    most once per product, so that the optimum can be enumerated.
    """
    draft = Draft()
    x = draft.columns("x", binaries)
    n = draft.columns("n", whole, int(rng.integers(-3, 1)), int(rng.integers(1, 4))) if whole else []
    y = (
        draft.columns("y", continuous, float(rng.integers(-4, 1)), float(rng.integers(1, 9)), integer=False)
        if continuous
        else []
    )
    declared, discrete, everything = [*x, *n], [*x, *n], [*x, *n, *y]

    def affine(of: Sequence[int]) -> Affine:
        if plain or rng.random() < 0.4:
            return int(rng.choice(of))
        chosen = rng.choice(of, size=min(len(of), int(rng.integers(1, 3))), replace=False)
        coefficients: dict[int | None, float] = {int(c): float(rng.choice([-2, -1, -0.5, 0.5, 1, 2])) for c in chosen}
        if rng.random() < 0.5:
            coefficients[None] = float(rng.integers(-2, 3))
        return coefficients

    def product() -> list[Affine]:
        factors: list[Affine] = [affine(discrete) for _ in range(1 if rng.random() < 0.8 else 2)]
        return [*factors, affine(everything)]

    def positive() -> Affine:
        """At least 1: where a term has no value is for checks that come before."""
        column = int(rng.choice(declared))
        return {column: 1.0, None: 1.0 - draft.lower[column]}

    def intervals(each: int) -> list[Affine]:
        """Two or three, with a binary for their presence."""
        found: list[Affine] = []
        for _ in range(int(rng.integers(2, 4))):
            found += [affine(discrete), affine(discrete), int(rng.choice(x))]
            found += [affine(discrete)] * (each - 3)
        return found

    for number in range(blocks):
        kind = str(rng.choice(kinds))
        name, size = f"{kind}_{number}", int(rng.integers(1, 3))
        fixed = True  # whether the results are discrete when the whole columns are
        match kind:
            case "product":
                entries = [product() for _ in range(size)]
                made = draft.product(name, entries)
                fixed = not y
            case "extreme":
                make = draft.largest if rng.random() < 0.5 else draft.smallest
                made = make(name, [[affine(everything) for _ in range(int(rng.integers(1, 4)))] for _ in range(size)])
                fixed = not y
            case "power":
                exponents = rng.choice([-2, -1, 0.5, 1, 2, 3], size=size).tolist()
                whole_ones = [p >= 0 and p == int(p) for p in exponents]
                made = draft.power(name, [affine(discrete) if w else positive() for w in whole_ones], exponents)
            case "unary":
                function = str(rng.choice(["abs", "exp", "log"]))
                of = everything if function == "abs" else declared
                made = draft.unary(
                    name, function, [positive() if function == "log" else affine(of) for _ in range(size)]
                )
                fixed = not y
            case "piecewise":
                curves = random_curves(rng, 2)
                made = draft.piecewise(
                    name, [affine(everything) for _ in range(size)], rng.integers(0, 2, size).tolist(), curves
                )
                fixed = not y
            case "distinct":
                made = draft.distinct(name, [[affine(discrete) for _ in range(int(rng.integers(1, 4)))]] * size)
            case "no_overlap":
                made = draft.no_overlap(name, [intervals(3) for _ in range(size)])
            case "cumulative":
                made = draft.cumulative(name, [[*intervals(4), affine(discrete)] for _ in range(size)])
            case _:
                ends = [sorted(rng.integers(-3, 4, 2).tolist()) for _ in range(size)]
                sides = [(a if rng.random() < 0.6 else -np.inf, b if rng.random() < 0.6 else np.inf) for a, b in ends]
                made = draft.holds(name, [(low, affine(discrete), high) for low, high in sides])
        everything += made
        if fixed:
            discrete += made
    for number in range(rows):
        chosen = rng.choice(everything, size=min(len(everything), int(rng.integers(1, 4))), replace=False)
        body = {int(c): float(rng.choice([-3, -2, -1, -0.1, 0.7, 1, 2])) for c in chosen}
        low, high = sorted(rng.integers(-6, 9, 2).tolist())
        sides = [(low, np.inf), (-np.inf, high), (low, high)][int(rng.integers(3))]
        when = (int(rng.choice(x)), bool(rng.random() < 0.5)) if conditions and rng.random() < 0.3 else None
        draft.rows(f"r{number}", [(sides[0], body, sides[1])], when)
    chosen = rng.choice(everything, size=min(len(everything), 4), replace=False)
    costs: dict[int | None, float] = {int(c): float(rng.integers(-4, 5)) for c in chosen}
    draft.minimize(costs, "minimize" if rng.random() < 0.5 else "maximize")
    return draft.problem()


def random_curves(rng: np.random.Generator, count: int) -> Curves:
    sizes = rng.integers(1, 4, count)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    x = np.concatenate([np.sort(rng.choice(np.arange(-4, 5), size=s, replace=False)) for s in sizes]).astype(float)
    y = rng.integers(-4, 5, starts[-1]).astype(float)
    before, after = (rng.choice([-1.0, 0.0, 0.5, 2.0], count) for _ in range(2))
    return Curves(starts.astype(np.int64), x, y, before, after, np.zeros(count))
