"""The half `t <= max(b_1, ..., b_n)`, which is not convex: a hull over 0/1 columns where one is known, or binaries."""

from __future__ import annotations

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.passes.min_max_forms import Maxima, first_true
from gpusched_dsl.compiling.passes.missing_bounds import missing_bounds
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder, index_of_columns
from gpusched_dsl.compiling.passes.rows import RowBuilder, number_index, numbers_within
from gpusched_dsl.compiling.passes.steps import INDICATOR, INTEGERS, Analysis, Target
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.granularity import steps_of
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

BigM = tuple[float, float]

# Rounding errors of ends that are computed differently, relative to them.
CLOSE = ROUNDING


def add_upper_halves(
    builder: ProblemBuilder, analysis: Analysis, maxima: Maxima, target: Target, effects: list[str]
) -> tuple[Bools, BigM | None]:
    """Adds the rows of `t <= max b` where that is needed; which entries it left, and the range of the big M.

    Raises DiagnosticError (GSM3202) naming a column without a bound.
    """
    left = np.zeros(maxima.size, dtype=np.bool_)
    wanted = maxima.upper.copy()
    for which, state, words in (
        (two_valued(maxima), state_sums, "bounded by the sum of its 0/1 arguments"),
        (positive_part(maxima), state_literals, "bounded by each 0/1 column"),
        (difference(maxima), state_difference, "bounded by the two 0/1 columns"),
    ):
        found = wanted & which
        if found.any():
            state(builder, maxima.take(np.flatnonzero(found)))
            effects.append(words)
            wanted &= ~found
    if not wanted.any():
        return left, None
    if not target.takes(INTEGERS):
        return wanted, None
    effects.append("binaries choose the argument")
    return left, state_choice(builder, analysis, maxima.take(np.flatnonzero(wanted)), target)


# --- hulls -----------------------------------------------------------------------------------------------------------


def two_valued(maxima: Maxima) -> Bools:
    """Handle arguments with only the values L and U: `t <= L + sum (b_k - L)`."""
    floor, ceiling = maxima.floor[maxima.entry_of], maxima.ceiling[maxima.entry_of]
    step = steps_of(maxima.b, maxima.integer)
    low_end = _same(maxima.low, floor)
    fits = low_end & _same(maxima.high, ceiling) & _at_most(maxima.high - maxima.low, step)
    return ~maxima.any_argument(~(fits | (low_end & maxima.constant)))


def state_sums(builder: ProblemBuilder, maxima: Maxima) -> None:
    rows = RowBuilder(maxima.size).add(np.arange(maxima.size, dtype=np.int64), maxima.results, 1.0)
    rows.add_affines(maxima.entry_of, maxima.b, -maxima.sign)
    _state(builder, maxima, "sum", np.arange(maxima.size), None, rows, (1 - maxima.counts) * maxima.floor)


def positive_part(maxima: Maxima) -> Bools:
    """`max(b, L)` where b exceeds L only with every literal at 1: `t <= L + (U - L) * literal` for each."""
    pair = maxima.counts == 2
    moving = ~maxima.constant
    one: Bools = np.bincount(maxima.entry_of[moving], minlength=maxima.size) == 1
    if not one.any():
        return one
    size = np.abs(maxima.b.matrix.values)
    entry = maxima.entry_of_nonzero
    rise = maxima.ceiling - maxima.floor
    fits = maxima.literal & _at_most(rise[entry], size)
    fitting: Bools = pair & one & (np.bincount(entry[~fits], minlength=maxima.size) == 0)
    return fitting


def state_literals(builder: ProblemBuilder, maxima: Maxima) -> None:
    entry, values = maxima.entry_of_nonzero, maxima.b.matrix.values
    slope = (maxima.ceiling - maxima.floor)[entry] / np.abs(values)
    each = np.arange(len(entry), dtype=np.int64)
    rows = RowBuilder(len(entry)).add(each, maxima.results[entry], 1.0)
    rows.add(each, maxima.b.matrix.columns, -maxima.sign * slope * values)
    _state(builder, maxima, "hull", entry, numbers_within(entry), rows, maxima.floor[entry] - slope * maxima.least)


def difference(maxima: Maxima) -> Bools:
    """`abs(P (p + q - 1))` of two literals."""
    if not maxima.mirrored:
        return np.zeros(maxima.size, dtype=np.bool_)
    size = np.abs(maxima.b.matrix.values)
    entry = maxima.entry_of_nonzero
    fits = maxima.literal & _same(size, maxima.ceiling[entry])
    both = (maxima.counts == 2) & _same(maxima.low[maxima.starts[:-1]], -maxima.high[maxima.starts[:-1]])
    four = np.bincount(entry, minlength=maxima.size) == 4
    fitting: Bools = both & four & (np.bincount(entry[~fits], minlength=maxima.size) == 0)
    return fitting


def state_difference(builder: ProblemBuilder, maxima: Maxima) -> None:
    """`t <= P - c_1 x + c_2 y + ...` and its mirror: the argument `c_1 x + c_2 y` with one term turned round."""
    first = maxima.b.take(maxima.starts[:-1])
    twice = first.take(np.repeat(np.arange(maxima.size, dtype=np.int64), 2))
    sign = np.tile([-1.0, 1.0, 1.0, -1.0], maxima.size)
    turned = structs.replace(twice.matrix, values=sign * twice.matrix.values)
    entry = np.repeat(np.arange(maxima.size, dtype=np.int64), 2)
    each = np.arange(2 * maxima.size, dtype=np.int64)
    rows = RowBuilder(len(each)).add(each, maxima.results[entry], 1.0)
    rows.add(turned.row_of.astype(np.int64), turned.columns, -turned.values)
    # P p = c x - least(c x), so P (1 - p + q) has this constant.
    columns, values = turned.columns, twice.matrix.values
    low, high = maxima.column_low[columns], maxima.column_high[columns]
    least = np.where(values > 0, values * low, values * high)
    side = maxima.ceiling[entry] - np.bincount(turned.row_of, weights=sign * least, minlength=len(each))
    _state(builder, maxima, "hull", entry, numbers_within(entry), rows, side)


# --- binaries --------------------------------------------------------------------------------------------------------


def state_choice(builder: ProblemBuilder, analysis: Analysis, maxima: Maxima, target: Target) -> BigM | None:
    """Add binaries that choose the largest argument; the last argument has none if big M suffices."""
    slack = _slack(maxima)
    unbounded = maxima.any_argument(~np.isfinite(slack))
    big_m: BigM | None = None
    if not unbounded.all():
        big_m = _by_big_m(builder, maxima, np.flatnonzero(~unbounded))
    if unbounded.any():
        if not target.takes(INDICATOR):
            needed = _needed_arguments(maxima, slack)
            problem, bounds = analysis.problem, analysis.bounds
            raise DiagnosticError(missing_bounds(problem, bounds, maxima.b, needed, maxima.name, maxima.span))
        _by_conditions(builder, maxima.take(np.flatnonzero(unbounded)))
    return big_m


def _slack(maxima: Maxima) -> Floats:
    """By how much t may exceed each argument: the largest upper end of the others, less its own lower end."""
    entry, starts = maxima.entry_of, maxima.starts
    top = first_true(maxima.high == maxima.ceiling[entry], starts)
    others = maxima.high.copy()
    others[top] = -np.inf
    second = np.maximum.reduceat(others, starts[:-1])
    reach = maxima.ceiling[entry]
    reach[top] = second
    with np.errstate(invalid="ignore"):
        return reach - maxima.low


def _needed_arguments(maxima: Maxima, slack: Floats) -> tuple[Codes, Codes]:
    """Return the arguments without a lower bound, and those without an upper bound."""
    endless = maxima.any_argument(~np.isfinite(slack))[maxima.entry_of]
    return np.flatnonzero(endless & np.isneginf(maxima.low)), np.flatnonzero(endless & np.isposinf(maxima.high))


def _by_big_m(builder: ProblemBuilder, maxima: Maxima, entries: Codes) -> BigM:
    part = maxima.take(entries)
    slack = _slack(part)
    entry = part.entry_of
    last = np.zeros(len(entry), dtype=np.bool_)
    last[part.starts[1:] - 1] = True
    own = np.flatnonzero(~last)
    z = _binaries(builder, part, own)
    # t <= b_k + M_k (1 - z_k); of the last argument 1 - z is the sum of the other z.
    every = np.arange(len(entry), dtype=np.int64)
    rows = part.rows_against(every, every)
    rows.add(own, z, part.sign * slack[own])
    rows.add(part.starts[1:][entry[own]] - 1, z, -part.sign * slack[part.starts[1:] - 1][entry[own]])
    _state(builder, part, "choice", entry, numbers_within(entry), rows, np.where(last, 0.0, slack))
    many = np.flatnonzero(part.counts > 2)
    if len(many):
        _one_of(builder, part, many, entry[own], z, 0.0)
    return float(slack.min()), float(slack.max())


def _by_conditions(builder: ProblemBuilder, part: Maxima) -> None:
    every = np.arange(len(part.entry_of), dtype=np.int64)
    z = _binaries(builder, part, every)
    rows = part.rows_against(every, every)
    _state(builder, part, "choice", part.entry_of, numbers_within(part.entry_of), rows, 0.0, z)
    _one_of(builder, part, np.arange(part.size), part.entry_of, z, 1.0)


def _binaries(builder: ProblemBuilder, part: Maxima, arguments: Codes) -> Int32s:
    """A column per argument, 1 for the first one that is the largest."""
    entry = part.entry_of

    def choose(point: Floats) -> Floats:
        values = part.b.values(point)
        largest = np.maximum.reduceat(values, part.starts[:-1])
        flags = np.zeros(len(entry))
        flags[first_true(values == largest[entry], part.starts)] = 1.0
        return flags[arguments]

    index = number_index(builder.problem, part.results[entry[arguments]], numbers_within(entry[arguments]))
    return builder.add_columns(f"{part.family}.chosen", index, 0.0, 1.0, True, choose, part.span)


def _one_of(builder: ProblemBuilder, part: Maxima, entries: Codes, entry: Codes, z: Int32s, lower: float) -> None:
    """At most one (`lower` 0) or exactly one (1) of the binaries of each entry is 1."""
    place = np.full(part.size, -1, dtype=np.int64)
    place[entries] = np.arange(len(entries))
    kept = place[entry] >= 0
    rows = RowBuilder(len(entries)).add(place[entry[kept]], z[kept], 1.0)
    index = index_of_columns(builder.problem, part.results[entries])
    builder.add_rows(f"{part.family}.one", index, rows.matrix(), lower, 1.0, part.span)


# --- helpers ---------------------------------------------------------------------------------------------------------


def _state(
    builder: ProblemBuilder, maxima: Maxima, name: str, entry: Codes, number: Codes | None, rows: RowBuilder,
    side: Floats | float, z: Int32s | None = None,
) -> None:  # fmt: skip
    """Rows `sign * (...) <= side`, where `rows` has the author's signs; z: only where that column is 1."""
    sides = np.broadcast_to(np.asarray(side, dtype=np.float64), (rows.count,))
    low = np.full(rows.count, -np.inf) if maxima.sign > 0 else rows.side - sides
    high = rows.side + sides if maxima.sign > 0 else np.full(rows.count, np.inf)
    results = maxima.results[entry]
    index = (
        index_of_columns(builder.problem, results) if number is None else number_index(builder.problem, results, number)
    )
    condition = None if z is None else (z, np.ones(len(z), dtype=np.bool_))
    builder.add_rows(f"{maxima.family}.{name}", index, rows.matrix(), low, high, maxima.span, condition)


def _same(one: Floats, other: Floats) -> Bools:
    with np.errstate(invalid="ignore"):
        same: Bools = (one == other) | (np.abs(one - other) <= CLOSE * np.maximum(1.0, np.abs(other)))
    return same


def _at_most(one: Floats, other: Floats) -> Bools:
    below: Bools = one <= other + CLOSE * np.maximum(1.0, np.abs(other))
    return below
