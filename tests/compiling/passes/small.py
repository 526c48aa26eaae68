"""Random small problems with definitions over integer columns, with only integer values."""

from __future__ import annotations

import numpy as np
from drafts import Affine, Draft

from gpusched_dsl.ir.definitions import MinMax, Power, Product, Reified, Unary
from gpusched_dsl.ir.problem import Problem

KINDS = ("product", "largest", "smallest", "abs", "square", "at_least", "at_most", "between")


def small_problem(
    seed: int, kinds: tuple[str, ...] = KINDS, results: int = 3, wide: int = 2, continuous: float = 0.0
) -> Problem:
    """`results` results over three whole columns of at most `wide` + 1 values, rows that some break, an objective.

    A column that is not binary is continuous with probability `continuous`.
    """
    random = np.random.default_rng(seed)
    draft = Draft()
    columns: list[int] = []
    for number in range(3):
        low = int(random.integers(-1, 2))
        if random.random() < 0.5:
            columns += draft.columns(f"b{number}")
        else:
            integer = bool(random.random() >= continuous)
            columns += draft.columns(f"x{number}", 1, low, low + int(random.integers(1, wide + 1)), integer)
    known = list(columns)
    for number in range(results):
        known += _defined(draft, f"r{number}", str(random.choice(kinds)), known, random)
    for number in range(int(random.integers(0, 4))):
        body, side = _affine(known, random, 3), float(random.integers(-2, 5))
        lower, upper = ((-np.inf, side), (side, np.inf), (side, side))[int(random.choice(3, p=(0.45, 0.45, 0.1)))]
        draft.rows(f"row{number}", [(lower, body, upper)], _condition(draft, random))
    draft.minimize(_affine(known, random, 4), str(random.choice(["minimize", "maximize"])))
    return draft.problem()


def _condition(draft: Draft, random: np.random.Generator) -> tuple[int, bool] | None:
    """None, or a binary column and a value; a result as often as a declared one."""
    binary = [c for c, whole in enumerate(draft.integer) if whole and (draft.lower[c], draft.upper[c]) == (0, 1)]
    if not binary or random.random() < 0.4:
        return None
    column = binary[-1] if random.random() < 0.5 else int(random.choice(binary))
    return column, bool(random.integers(2))


def _affine(known: list[int], random: np.random.Generator, most: int) -> Affine:
    chosen = random.choice(known, size=min(len(known), int(random.integers(1, most + 1))), replace=False)
    said: dict[int | None, float] = {int(c): float(random.choice([-2, -1, 1, 1, 2])) for c in chosen}
    if random.random() < 0.3:
        said[None] = float(random.integers(-2, 3))
    return said


def _defined(draft: Draft, name: str, kind: str, known: list[int], random: np.random.Generator) -> list[int]:
    def some(most: int) -> Affine:
        return _affine(known, random, most)

    match kind:
        case "product":
            return draft.define(name, Product, [[int(c) for c in random.choice(known, 2)]])
        case "largest" | "smallest":
            arguments = [some(2) for _ in range(int(random.integers(1, 4)))]
            if random.random() < 0.5:
                arguments.append({None: float(random.integers(-1, 2))})
            return draft.define(name, MinMax, [arguments], largest=kind == "largest")
        case "abs":
            return draft.define(name, Unary, [[some(2)]], function="abs")
        case "square":
            return draft.define(name, Power, [[some(1)]], exponents=np.array([2.0]))
    low = float(random.integers(-1, 3))
    lower = -np.inf if kind == "at_most" else low
    upper = np.inf if kind == "at_least" else low + (kind == "between") * float(random.integers(0, 2))
    return draft.define(name, Reified, [[some(2)]], lower=np.array([lower]), upper=np.array([upper]))
