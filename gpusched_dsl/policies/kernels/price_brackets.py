"""The search for prices of time (`policies/price_search.py`), problem by problem, where all survival functions are
tables.

The operations and their order are those of the search with arrays, so that the results are the same to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.distributions.tables import SAME_LEVEL
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place

# The search ends when the profile costs at most this share more than the best one.
GAP = 1e-12
# Far beyond what any search took; bisection alone ends after about 60 steps.
MOST_STEPS = 200
# The narrowest step of a search, as a share of what is between the prices, and the first.
LEAST_SHARE, FIRST_SHARE = 1e-9, 0.02
SAME_PRICE = 4e-16


class BindingProblems(NamedTuple):
    """P problems with a binding due date, with ladders of at most R + 1 rungs; names as in `PriceSearch`."""

    time_price: Floats  # (P, R)
    pace_gain: Floats  # (P, R)
    last: Codes  # (P,) the last rung
    fastest: Floats  # (P,) the time that all work takes on it
    target: Floats
    scale: Floats
    done: Floats
    limit: Floats
    start: Floats
    end: Floats
    rest: Floats
    span: Floats
    row: Codes  # (P,) the table


class SurvivalTables(NamedTuple):
    """Table i has the knots `starts[i] .. starts[i+1]-1`; as in `Tables`, with the flat parts of all tables."""

    starts: Codes
    knots: Floats
    left: Floats
    right: Floats
    density: Floats
    flat_starts: Codes
    flat_levels: Floats


@compiled
def price_brackets(problems: BindingProblems, tables: SurvivalTables) -> tuple[Floats, Floats]:
    """The lower and the upper ends of the prices of all problems."""
    count = len(problems.target)
    low, high = np.zeros(count), np.zeros(count)
    for p in range(count):
        low[p], high[p], time_low, time_high = bracket_of_rung(problems, tables, p)
        if low[p] < high[p]:
            low[p], high[p] = narrow_bracket(problems, tables, p, low[p], high[p], time_low, time_high)
    return low, high


@compiled_in_place
def bracket_of_rung(problems: BindingProblems, tables: SurvivalTables, p: int) -> tuple[float, float, float, float]:
    """The prices next to each other at which rungs fall out, and the times beyond the due date at both."""
    first, last = 0, problems.last[p]
    low, high = 0.0, 0.0
    if last > 0:
        high = problems.time_price[p, last - 1]
    time_high = problems.fastest[p] - problems.target[p]
    time_low, _ = times_at(problems, tables, p, 0.0)
    if time_low <= 0:
        high, first = 0.0, last
    while first < last:
        middle = (first + last) // 2
        price = problems.time_price[p, middle]
        short, long = times_at(problems, tables, p, price)
        if short > 0:
            low, time_low, first = price, short, middle + 1
        elif long < 0:
            high, time_high, last = price, long, middle
        else:
            low, high, first = price, price, last
    return low, high, time_low, time_high


@compiled_in_place
def narrow_bracket(
    problems: BindingProblems,
    tables: SurvivalTables,
    p: int,
    low: float,
    high: float,
    time_low: float,
    time_high: float,
) -> tuple[float, float]:
    """Chandrupatla's method between two prices."""
    new, old, f_new, f_old = high, low, time_high, time_low
    share = 0.5
    if f_new != f_old:
        share = min(max(f_new / (f_new - f_old), FIRST_SHARE), 1 - FIRST_SHARE)
    for _ in range(MOST_STEPS):
        price = price_at_a_jump(problems, tables, p, new + share * (old - new), min(new, old), max(new, old))
        short, long = times_at(problems, tables, p, price)
        if short <= 0 and long >= 0:
            return price, price
        f_price = short if short > 0 else long
        if (f_price > 0) == (f_new > 0):
            third, f_third = new, f_new
        else:
            third, f_third, old, f_old = old, f_old, new, f_new
        new, f_new = price, f_price
        low, high = min(new, old), max(new, old)
        width = abs(old - new)
        if width * min(abs(f_new), abs(f_old)) <= GAP * problems.scale[p] or width <= SAME_PRICE * high:
            break
        share = next_share(new, old, third, f_new, f_old, f_third)
    return low, high


@compiled_in_place
def next_share(new: float, old: float, third: float, f_new: float, f_old: float, f_third: float) -> float:
    """Where to go between `new` and `old`, as a share of the way from `new`."""
    if new == old or third == old or f_new == f_old or f_third in (f_old, f_new):
        return 0.5
    xi, phi = (new - old) / (third - old), (f_new - f_old) / (f_third - f_old)
    if not (phi * phi < xi and (1 - phi) * (1 - phi) < 1 - xi):
        return 0.5
    step = f_new / (f_old - f_new) * f_third / (f_old - f_third)
    step += (third - new) / (old - new) * f_new / (f_third - f_new) * f_old / (f_third - f_old)
    if not np.isfinite(step):
        return 0.5
    return float(min(max(step, LEAST_SHARE), 1 - LEAST_SHARE))


@compiled_in_place
def price_at_a_jump(
    problems: BindingProblems, tables: SurvivalTables, p: int, price: float, low: float, high: float
) -> float:
    """The price, or the jump of the time nearest to it between `low` and `high`."""
    next_up, next_down = np.inf, 0.0
    rest, span, row = problems.rest[p], problems.span[p], problems.row[p]
    first, end = tables.flat_starts[row], tables.flat_starts[row + 1]
    for k in range(problems.time_price.shape[1]):
        of_rung = problems.time_price[p, k]
        level = rest + price / of_rung * span
        above = first_at_most(tables.flat_levels, first, end, level * (1 + SAME_LEVEL)) - 1
        below = first_below(tables.flat_levels, first, end, level * (1 - SAME_LEVEL))
        if above >= first:
            over = (tables.flat_levels[above] - rest) / span
            if over <= 1.0:
                next_up = min(next_up, over * of_rung)
        if below < end and of_rung < np.inf:
            next_down = max(next_down, max((tables.flat_levels[below] - rest) / span, 0.0) * of_rung)
    raised, lowered = low < next_up < high, low < next_down < high
    if raised and (not lowered or next_up - price < price - next_down):
        return float(next_up)
    return float(next_down) if lowered else price


@compiled_in_place
def times_at(problems: BindingProblems, tables: SurvivalTables, p: int, price: float) -> tuple[float, float]:
    """The shortest and the longest time of a best profile at a price, less the time left."""
    fixed, short, long = problems.fastest[p] - problems.target[p], 0.0, 0.0
    for k in range(problems.time_price.shape[1]):
        early, late = switches_at(problems, tables, p, price / problems.time_price[p, k])
        short += problems.pace_gain[p, k] * (early - problems.done[p])
        long += problems.pace_gain[p, k] * (late - problems.done[p])
    return fixed + short, fixed + long


@compiled_in_place
def switches_at(problems: BindingProblems, tables: SurvivalTables, p: int, y: float) -> tuple[float, float]:
    """The earliest and the latest work at which F is y (`RemainingWork.inverses`)."""
    done, limit, start, end = problems.done[p], problems.limit[p], problems.start[p], problems.end[p]
    if y > 1.0:
        return done, done
    level = problems.rest[p] + min(y, 1.0) * problems.span[p]
    lower, upper = inverses_at(tables, problems.row[p], level)
    early, late = min(max(lower, start), end), min(max(upper, start), end)
    return done if y >= 1.0 else early, limit if y <= 0.0 else late


@compiled_in_place
def inverses_at(tables: SurvivalTables, row: int, u: float) -> tuple[float, float]:
    """`Tables.inverses` of one level."""
    first, end = tables.starts[row], tables.starts[row + 1] - 1
    here = min(first_at_most(tables.right, first, end + 1, u * (1 + SAME_LEVEL)), end)
    before = max(here - 1, first)
    lower = falls_to(tables, u, before, here)
    level = u * (1 - SAME_LEVEL)
    last = here if tables.left[here] >= level else before
    while last < end and tables.left[last + 1] >= level:
        last += 1
    return lower, max(lower, falls_to(tables, u, last, min(last + 1, end)))


@compiled_in_place
def falls_to(tables: SurvivalTables, u: float, knot: int, after: int) -> float:
    """Where S falls to u after a knot: there, on the way to the next knot, or by a jump at that knot."""
    gap = tables.right[knot] - u
    if gap <= 0:
        return float(tables.knots[knot])
    if tables.density[knot] > 0:
        return float(min(tables.knots[knot] + gap / tables.density[knot], tables.knots[after]))
    return float(tables.knots[after])


@compiled_in_place
def first_at_most(values: Floats, first: int, end: int, bound: float) -> int:
    """The first place from `first` to before `end` of a value that is at most the bound, else `end`; values fall."""
    while first < end:
        middle = (first + end) // 2
        if values[middle] <= bound:
            end = middle
        else:
            first = middle + 1
    return first


@compiled_in_place
def first_below(values: Floats, first: int, end: int, bound: float) -> int:
    """The same of a value below the bound."""
    while first < end:
        middle = (first + end) // 2
        if values[middle] < bound:
            end = middle
        else:
            first = middle + 1
    return first
