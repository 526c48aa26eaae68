"""The optimum of a small generated model by enumeration, and the errors of a given point.

Integer columns are enumerated; with continuous columns an exact linear program is left for every choice of integers and
of pieces (which argument of a `max` is the largest, which side of an `or` is satisfied).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from algebras import Affine, Dead, Exact, Grid, Pieces, Tolerant, Unsupported, as_maybe, as_range
from exact_lp import Ends, Row, minimum
from model_tree import UNITS, Model, Objective, Ref, Var, walk
from model_values import Column, Values

MOST_POINTS = 1 << 16
MOST_PIECES = 300
# Later objectives may gain by what earlier ones may lose: 1e-5 of the value or of the largest coefficient, and by rows
# that are kept within 1e-6 (docs/modelling.md, several objectives).
KEPT_WITHIN = Fraction(11, 1_000_000)
ONE = Fraction(1)


@dataclass(frozen=True)
class Reference:
    """What is right: the status and the values of all objectives, in their units.

    `best` are the values that are possible where every earlier objective is only nearly as good as it can be, `lost`
    by how much worse each may be for the sake of a later one.
    """

    status: str
    objectives: tuple[Fraction, ...] = ()
    best: tuple[Fraction, ...] = field(default=(), compare=False)
    lost: tuple[Fraction, ...] = field(default=(), compare=False)


def reference(model: Model, most_pieces: int = MOST_PIECES) -> Reference:
    """The optimum; raises Unsupported where there are too many points or pieces, Outside without a meaning."""
    whole, continuous, count = _columns(model)
    if count > MOST_POINTS:
        raise Unsupported("points")
    if not count:
        return Reference("infeasible")
    grid, kept = _grid(model, whole, _continuous(model) if continuous else set())
    if not continuous:
        found = _of_grid(model, grid, kept)
        return _in_units(model, found, found, [Fraction(0)] * len(found)) if found else Reference("infeasible")
    ends = [e for _, e in continuous]
    leaves = _all_leaves(model, whole, kept, continuous, most_pieces)
    units = {variable.name: UNITS[variable.unit] for variable in model.variables}
    scales = [units[column[0]] for column, _ in continuous]
    exact_values = _of_pieces(model, leaves, ends, scales, Fraction(0))
    if isinstance(exact_values, str):
        return Reference(exact_values)
    values, lost = exact_values
    nearly = exact_values if len(values) == 1 else _of_pieces(model, leaves, ends, scales, KEPT_WITHIN)
    # A slack of an earlier objective can open a direction in which a later one has no end.
    best, lost = (values, lost) if isinstance(nearly, str) else nearly
    return _in_units(model, values, best, lost)


def _columns(model: Model) -> tuple[list[tuple[Column, list[Fraction]]], list[tuple[Column, Ends]], int]:
    """Integer columns with their values, continuous ones with their ends, and the number of integer points."""
    exact = Values(model, Exact())
    whole: list[tuple[Column, list[Fraction]]] = []
    continuous: list[tuple[Column, Ends]] = []
    count = 1
    for column, variable, low, high in exact.columns():
        size = UNITS[variable.unit]
        if variable.kind:
            first, last = -(-low // size), high // size
            whole.append((column, [Fraction(v) * size for v in range(first, last + 1)]))
            count *= len(whole[-1][1])
        else:
            continuous.append((column, (low, high)))
    return whole, continuous, count


def has_no_end(model: Model, name: str, *, upper: bool) -> bool:
    """Whether a continuous variable has, for some key, no largest (else: no smallest) value at feasible points.

    True where no point is feasible. Raises Unsupported like `reference`.
    """
    whole, continuous, count = _columns(model)
    if count > MOST_POINTS:
        raise Unsupported("points")
    _, kept = _grid(model, whole, _continuous(model))
    leaves = _all_leaves(model, whole, kept, continuous)
    ends, sign = [e for _, e in continuous], -1 if upper else 1
    feasible = False
    for at, (column, _) in enumerate(continuous):
        for leaf in leaves if column[0] == name else ():
            status = minimum([sign * ONE * (k == at) for k in range(len(ends))], leaf.rows, ends).status
            feasible = feasible or status != "infeasible"
            if status == "unbounded":
                return True
    return not feasible


def _in_units(
    model: Model, values: Sequence[Fraction], best: Sequence[Fraction], lost: Sequence[Fraction]
) -> Reference:
    sizes = [UNITS[o.unit] for o in model.objectives]
    each = (tuple(v / size for v, size in zip(some, sizes, strict=True)) for some in (values, best, lost))
    return Reference("optimal", *each)


def _grid(
    model: Model, whole: Sequence[tuple[Column, list[Fraction]]], continuous: set[str]
) -> tuple[Values, np.ndarray]:
    """All integer points, and which of them satisfy the constraints that read nothing continuous."""
    axes = [np.array([float(v) for v in values]) for _, values in whole]
    mesh = [m.ravel() for m in np.meshgrid(*axes, indexing="ij")] if axes else []
    values = Values(model, Grid(), {column: m for (column, _), m in zip(whole, mesh, strict=True)})
    kept = np.ones(len(mesh[0]) if mesh else 1, dtype=bool)
    for constraint, env in values.constraints():
        if not any(isinstance(n, Ref) and n.name in continuous for n in walk(constraint)):
            kept &= values.truth(constraint.body, env)
    return values, kept


def _continuous(model: Model) -> set[str]:
    """The names of continuous variables and of the lets that read them."""
    names = {v.name for v in model.variables if not v.kind}
    while True:
        more = {x.name for x in model.lets if any(isinstance(n, Ref) and n.name in names for n in walk(x.body))}
        if more <= names:
            return names
        names |= more


def _sign(objective: Objective) -> int:
    return 1 if objective.sense == "minimize" else -1


def _of_grid(model: Model, values: Values, kept: np.ndarray) -> tuple[Fraction, ...] | None:
    if not kept.any():
        return None
    best: list[Fraction] = []
    for objective in model.objectives:
        found = np.broadcast_to(_sign(objective) * np.asarray(values.objective(objective), dtype=float), kept.shape)
        least = found[kept].min()
        kept = kept & (found <= least + Grid.EPSILON)
        best.append(_sign(objective) * Fraction(float(least)))
    return tuple(best)


@dataclass(frozen=True)
class _Leaf:
    rows: list[Row]
    goals: list[Affine]


def _all_leaves(
    model: Model,
    whole: Sequence[tuple[Column, list[Fraction]]],
    kept: np.ndarray,
    continuous: Sequence[tuple[Column, Ends]],
    most: int = MOST_PIECES,
) -> list[_Leaf]:
    leaves: list[_Leaf] = []
    none = tuple(Fraction(0) for _ in continuous)
    free = {
        column: Affine(Fraction(0), tuple(ONE if k == at else Fraction(0) for k in range(len(continuous))))
        for at, (column, _) in enumerate(continuous)
    }
    points = itertools.product(*(values for _, values in whole))
    for point, fine in zip(points, kept, strict=True):
        if fine:
            fixed = {column: v for (column, _), v in zip(whole, point, strict=True)}
            leaves += _leaves(model, {**fixed, **free}, none, most - len(leaves))
    return leaves


def _of_pieces(
    model: Model, leaves: list[_Leaf], ends: Sequence[Ends], units: Sequence[Fraction], within: Fraction
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]] | str:
    """The optimum of each objective where earlier ones may lose `within` of their size, and the losses; or a status.

    `units` are those of the continuous columns: the size of a coefficient is per unit, as the model states it.
    """
    best: list[Fraction] = []
    lost: list[Fraction] = []
    for at, objective in enumerate(model.objectives):
        sign = _sign(objective)
        found = [(leaf, minimum([sign * c for c in leaf.goals[at].terms], leaf.rows, ends)) for leaf in leaves]
        if any(o.status == "unbounded" for _, o in found):
            return "unbounded"
        costs = [(o.value + sign * leaf.goals[at].constant, leaf) for leaf, o in found if o.status == "optimal"]
        if not costs:
            return "infeasible"
        least = min(c for c, _ in costs)
        best.append(sign * least)
        sizes = (abs(c) * u for _, leaf in costs for c, u in zip(leaf.goals[at].terms, units, strict=True))
        slack = within * max(abs(least), max(sizes, default=Fraction(0)))
        lost.append(slack if at + 1 < len(model.objectives) else Fraction(0))
        leaves = [
            _Leaf([*leaf.rows, _kept(leaf.goals[at] * -sign, least + slack, equal=not within)], leaf.goals)
            for cost, leaf in costs
            if cost <= least + slack
        ]
    return tuple(best), tuple(lost)


def _kept(gain: Affine, most: Fraction, *, equal: bool) -> Row:
    return Row(gain.terms, gain.constant + most, equal)


def _leaves(model: Model, point: Mapping[Column, Any], none: tuple[Fraction, ...], most: int) -> Iterator[_Leaf]:
    script: list[int] = []
    for _ in range(2 * most):
        pieces = Pieces(script)
        values = Values(model, pieces, point)
        try:
            for constraint, env in values.constraints():
                values.require(constraint.body, env)
            goals = [Affine(Fraction(0), none) + values.objective(o) for o in model.objectives]
            most -= 1
            if most < 0:
                break
            yield _Leaf(pieces.rows, goals)
        except Dead:
            pass
        script = script[: len(pieces.counts)]
        while script and script[-1] + 1 == pieces.counts[len(script) - 1]:
            script.pop()
        if not script:
            return
        script[-1] += 1
    raise Unsupported("pieces")


# --- given points ----------------------------------------------------------------------------------------------------


def faults(model: Model, point: Mapping[Column, float], tolerance: float) -> list[str]:
    """What a point breaks, each as a short text; values in the units of their variables."""
    limit = Fraction(tolerance)
    found: list[str] = []
    exact = Values(model, Exact())
    taken: dict[Column, Any] = {}
    for column, variable, low, high in exact.columns():
        value = Fraction(point.get(column, 0.0))
        size = UNITS[variable.unit]
        if variable.kind:
            if abs(value - round(value)) > limit:
                found.append(f"{column} is {float(value)}")
            taken[column] = as_range(round(value) * size)
        else:
            taken[column] = _about(value, size)
        slack = Fraction(0) if variable.kind else limit * max(1, abs(value)) * size
        at = taken[column].low
        if (low is not None and at < low - slack) or (high is not None and at > high + slack):
            found.append(f"{column} is {float(value)}, outside its bounds")
    found += [f"{column} does not exist" for column, value in point.items() if column not in taken and value]
    values = Values(model, Tolerant(limit), taken)
    for constraint, env in values.constraints():
        if not as_maybe(values.truth(constraint.body, env)).possible:
            found.append(f"{constraint.name}{dict(env)} is broken")
    return found


def objective_ranges(model: Model, point: Mapping[Column, float], tolerance: float) -> list[tuple[float, float]]:
    """Between which ends each objective is at a point, in its unit."""
    exact = Values(model, Exact())
    taken: dict[Column, Any] = {}
    for column, variable, _, _ in exact.columns():
        value = Fraction(point.get(column, 0.0))
        taken[column] = (
            as_range(round(value)) * UNITS[variable.unit] if variable.kind else _about(value, UNITS[variable.unit])
        )
    values = Values(model, Tolerant(Fraction(tolerance)), taken)
    ranges = [(as_range(values.objective(o)), UNITS[o.unit]) for o in model.objectives]
    return [(float(r.low / size), float(r.high / size)) for r, size in ranges]


def _about(value: Fraction, unit: Fraction) -> Any:
    """A value in a unit, in seconds; what is compared with it may differ by a share of the unit."""
    found = as_range(value * unit)
    return type(found)(found.low, found.high, max(abs(value), ONE) * unit)


def declared_columns(model: Model) -> list[tuple[Column, Var]]:
    return [(column, variable) for column, variable, _, _ in Values(model, Exact()).columns()]
