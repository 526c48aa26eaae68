"""Small problems from a table: read as a text of gsdsl, and solved by enumeration with NumPy alone."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

TABLE = Path(__file__).parent / "instances.toml"
CLOSE = 1e-7
Values = Mapping[str, Any]  # by column: an array over the points, or a number


@dataclass(frozen=True)
class Column:
    name: str
    lower: float
    upper: float


@dataclass(frozen=True)
class Instance:
    """One problem of the table; `value` is the optimum, "infeasible" or "unbounded"."""

    source: str
    like: str
    reals: tuple[Column, ...]
    integers: tuple[Column, ...]
    sense: str
    objective: str
    rows: tuple[str, ...]
    box: float
    inside: str
    value: float | str

    def text(self) -> str:
        """The problem in the language of gsdsl."""
        columns = [_declared(c, "") for c in self.reals] + [_declared(c, "integer ") for c in self.integers]
        rows = [f"constraint row{k}: {row};" for k, row in enumerate(self.rows)]
        lines = [*columns, f"{self.sense} total: {self.objective};", *rows]
        return "model M {\n  " + "\n  ".join(lines) + "\n}\nscenario S for M {}\n"


def instances() -> list[Instance]:
    """All problems of the table."""
    with TABLE.open("rb") as file:
        return [_instance(entry) for entry in tomllib.load(file)["instance"]]


def enumerated(one: Instance) -> float | str:
    """The best value, from all integer points in the box and all vertices of the rest."""
    best = _best(one, one.box)
    if best is None:
        return "infeasible"
    if best[1]:
        further = _best(one, 2 * one.box)
        assert further is not None
        assert abs(further[0]) > abs(best[0]) + CLOSE, "the optimum touches the box but does not grow with it"
        return "unbounded"
    return best[0]


def _instance(entry: Mapping[str, Any]) -> Instance:
    sense = "minimize" if "minimize" in entry else "maximize"
    return Instance(
        entry["source"],
        entry["like"],
        _columns(entry.get("real", "")),
        _columns(entry.get("integer", "")),
        sense,
        entry[sense],
        tuple(entry["where"]),
        float(entry.get("box", np.inf)),
        entry.get("inside", ""),
        entry["value"],
    )


def _columns(text: str) -> tuple[Column, ...]:
    parts = [part.split() for part in text.split(",") if part.strip()]
    return tuple(Column(name, float(lower), float(upper)) for name, lower, upper in parts)


def _declared(column: Column, kind: str) -> str:
    lower = f" >= {column.lower:g}" if np.isfinite(column.lower) else ""
    upper = f" <= {column.upper:.12g}" if np.isfinite(column.upper) else ""
    return f"var {column.name} {kind}{lower}{upper};".replace("  ", " ")


def _best(one: Instance, box: float) -> tuple[float, bool] | None:
    """The best value inside the box, and whether each point of that value touches a side that only the box has."""
    points = _integer_points(one, box)
    names = [c.name for c in one.reals]
    rows = [row for row in one.rows if _names(row) & set(names)]
    points = _holding(points, [row for row in one.rows if row not in rows])
    count = len(next(iter(points.values()))) if points else 1
    sides, equal = _half_spaces(one, rows, points, count, box)
    cost, base = _affine(one.objective, names, points, count)
    sign = 1.0 if one.sense == "minimize" else -1.0
    found: list[tuple[float, bool]] = []
    for active in combinations([k for k in range(len(sides)) if k not in equal], max(len(names) - len(equal), 0)):
        values = _vertices([sides[k] for k in (*equal, *active)], len(names), count)
        fits = np.isfinite(values).all(axis=1)
        for slopes, side in sides:
            fits &= (slopes * values).sum(axis=1) <= side + CLOSE * np.maximum(1, np.abs(side))
        for k in equal:
            slopes, side = sides[k]
            fits &= (slopes * values).sum(axis=1) >= side - CLOSE * np.maximum(1, np.abs(side))
        if fits.any():
            total = sign * (base + (cost * values).sum(axis=1))
            touches = _touching(one, points, values, box, count)
            for free in (fits & ~touches, fits & touches):
                if free.any():
                    found.append((float(total[free].min()), bool((free & touches).any())))
    if not found:
        return None
    least = min(value for value, _ in found)
    return sign * least, all(touches for value, touches in found if value <= least + CLOSE)


def _integer_points(one: Instance, box: float) -> dict[str, Any]:
    ranges = [np.arange(np.ceil(max(c.lower, -box)), np.floor(min(c.upper, box)) + 1) for c in one.integers]
    grids = np.meshgrid(*ranges, indexing="ij")
    return {c.name: grid.ravel() for c, grid in zip(one.integers, grids, strict=True)}


def _holding(points: dict[str, Any], rows: list[str]) -> dict[str, Any]:
    """The points at which the rows without real columns hold, one row after the other."""
    for row in rows:
        holds = np.asarray(_evaluate(row, points), dtype=bool)
        points = {name: values[holds] for name, values in points.items()}
    return points


def _half_spaces(
    one: Instance, rows: list[str], points: Values, count: int, box: float
) -> tuple[list[tuple[Any, Any]], list[int]]:
    """Each row and bound as `slopes * x <= side` at each integer point, and the places of the equations."""
    names = [c.name for c in one.reals]
    sides: list[tuple[Any, Any]] = []
    equal: list[int] = []
    for row in rows:
        left, sign, right = re.split(r"(<=|>=|==)", row)
        slopes, rest = _affine(f"({left}) - ({right})", names, points, count)
        if sign == "==":
            equal.append(len(sides))
        sides.append((-slopes, rest) if sign == ">=" else (slopes, -rest))
    for k, column in enumerate(one.reals):
        unit = np.zeros((count, len(names)))
        unit[:, k] = 1.0
        sides.append((unit, np.full(count, min(column.upper, box))))
        sides.append((-unit, np.full(count, -max(column.lower, -box))))
    return sides, equal


def _affine(text: str, names: list[str], points: Values, count: int) -> tuple[Any, Any]:
    """Slopes by real column and the rest of an expression at each integer point; it must be affine in the reals."""

    def at(reals: Any) -> Any:
        return np.broadcast_to(_evaluate(text, {**points, **dict(zip(names, reals, strict=True))}), count)

    rest = at(np.zeros(len(names)))
    slopes = np.empty((count, len(names)))
    for k, unit in enumerate(np.eye(len(names))):
        slopes[:, k] = at(unit) - rest
    other = np.arange(len(names)) * 1.5 - 2.25
    assert np.allclose(at(other), rest + slopes @ other), f"`{text}` is not affine"
    return slopes, rest


def _vertices(active: list[tuple[Any, Any]], size: int, count: int) -> Any:
    """The point where all active sides hold, at each integer point; NaN where there is no single one."""
    if size == 0:
        return np.zeros((count, 0))
    matrix = np.stack([slopes for slopes, _ in active], axis=1)
    sides = np.stack([np.broadcast_to(side, count) for _, side in active], axis=1)
    regular = np.abs(np.linalg.det(matrix)) > 1e-9
    values = np.full((count, size), np.nan)
    if regular.any():
        values[regular] = np.linalg.solve(matrix[regular], sides[regular][:, :, None])[:, :, 0]
    return values


def _touching(one: Instance, points: Values, values: Any, box: float, count: int) -> Any:
    """Where a column is at a side of the box that is not a bound of its own."""
    touches = np.zeros(count, dtype=bool)
    for k, column in enumerate((*one.integers, *one.reals)):
        at = points[column.name] if k < len(one.integers) else values[:, k - len(one.integers)]
        if column.upper > box:
            touches |= at >= np.floor(box) - CLOSE
        if column.lower < -box:
            touches |= at <= np.ceil(-box) + CLOSE
    return touches


def _names(text: str) -> set[str]:
    return set(re.findall(r"[a-z]\w*", text))


def _evaluate(text: str, values: Values) -> Any:
    """The value of an expression or a condition that gsdsl and Python read alike after these changes."""
    premise, implies, conclusion = text.partition("=>")
    if implies:
        return ~_evaluate(premise, values) | _evaluate(conclusion, values)
    python = text.replace(" or ", " | ").replace(" mod ", " % ").replace(" div ", " // ")
    functions = {"max": np.maximum, "all_different": _all_different, "__builtins__": {}}
    return eval(python, functions, dict(values))


def _all_different(*values: Any) -> Any:
    differ = np.ones(np.shape(values[0]), dtype=bool)
    for one, other in combinations(values, 2):
        differ &= one != other
    return differ
