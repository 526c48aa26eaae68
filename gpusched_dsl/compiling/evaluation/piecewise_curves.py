"""The curves of piecewise-linear functions that the author writes, from their points, or breakpoints and slopes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.compiling.evaluation.base_evaluator import BaseEvaluator
from gpusched_dsl.compiling.evaluation.frames import Frame, ranges
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.domains import Packing
from gpusched_dsl.language.checked import PiecewiseLinear, TypedExpr, TypedList

if TYPE_CHECKING:
    from gpusched_dsl.ir.definitions import Curves


CODE = "GSM3019"


def curves_of(ev: BaseEvaluator, expr: PiecewiseLinear, frame: Frame) -> tuple[Curves, Codes]:
    """The distinct curves of the rows of a frame, and the curve of each row.

    Raises DiagnosticError (GSM3019) for points that do not increase, and for a number of slopes that does not fit.
    """
    from gpusched_dsl.ir.definitions import Curves

    rows, which = _distinct_rows(expr, frame)
    starts, (x, *y) = _values(ev, expr.points, rows)
    if expr.slopes is None:
        _check_points(ev, expr, rows, starts, x, least=2)
        tilt = np.diff(y[0]) / np.where(np.diff(x) == 0, 1.0, np.diff(x)) if len(x) > 1 else np.zeros(0)
        return Curves(starts, x, y[0], tilt[starts[:-1]], tilt[starts[1:] - 2], np.zeros(rows.size)), which
    _check_points(ev, expr, rows, starts, x, least=0)
    slope_starts, (slopes,) = _values(ev, expr.slopes, rows)
    counts, given = np.diff(starts), np.diff(slope_starts)
    wrong = np.flatnonzero(given != counts + 1)
    if len(wrong):
        at = int(wrong[0])
        message = f"{counts[at]} breakpoints need {counts[at] + 1} slopes, {given[at]} given"
        help = "the first slope holds before the first breakpoint, the last one behind the last"
        raise _failure(ev, expr.slopes, rows, at, message, help)
    return _through_origin(starts, x, slope_starts, slopes), which


def _distinct_rows(expr: PiecewiseLinear, frame: Frame) -> tuple[Frame, Codes]:
    """The distinct index tuples that the lists depend on, and the place of each row among them."""
    needed = free_variables((expr.points, expr.slopes) if expr.slopes is not None else (expr.points,))
    variables = [v for v in frame.columns if v in needed]
    if not variables or not frame.size:
        return Frame(min(frame.size, 1), {}), np.zeros(frame.size, dtype=np.int64)
    columns = tuple(frame.columns[v] for v in variables)
    _, first, back = np.unique(Packing.of(columns).keys(columns), return_index=True, return_inverse=True)
    return Frame(len(first), {v: c[first] for v, c in zip(variables, columns, strict=True)}), back.reshape(-1)


def _values(ev: BaseEvaluator, items: TypedList, rows: Frame) -> tuple[Codes, list[Floats]]:
    """Where the items of each row start, and their numbers, a column for each part of an item."""
    if items.indexing is None:
        starts = len(items.rows) * np.arange(rows.size + 1, dtype=np.int64)
        if not items.rows:
            return starts, [np.zeros(0)]
        parts = range(len(items.rows[0]))
        return starts, [
            np.stack([_numbers(ev, item[part], rows) for item in items.rows], axis=1).reshape(-1) for part in parts
        ]
    grown = ev.expand(rows, items.indexing, items.span)
    parents, frame = grown.parents(), grown.frame
    columns = tuple(np.broadcast_to(frame.columns[v], (frame.size,)) for v in items.indexing.variables)
    order = np.lexsort((*reversed(ev.order_keys(items.indexing, columns)), parents))  # joins may list them otherwise
    counts = np.bincount(parents, minlength=rows.size)
    starts = np.concatenate(([0], np.cumsum(counts)))
    return starts, [_numbers(ev, part, frame)[order] for part in items.rows[0]]


def _numbers(ev: BaseEvaluator, expr: TypedExpr, frame: Frame) -> Floats:
    values = np.broadcast_to(ev.numbers(expr, frame), (frame.size,))
    ev.refuse_where(~np.isfinite(values), CODE, "a number is not finite", expr, frame, "not finite")
    return values


def _check_points(ev: BaseEvaluator, expr: PiecewiseLinear, rows: Frame, starts: Codes, x: Floats, least: int) -> None:
    few = np.flatnonzero(np.diff(starts) < least)
    if len(few):
        given = int(np.diff(starts)[few[0]])
        message = f"at least two points are needed, {given or 'none'} given"
        raise _failure(ev, expr.points, rows, int(few[0]), message, None)
    row_of = np.repeat(np.arange(rows.size), np.diff(starts))
    falling: Bools = (np.diff(x) <= 0) & (np.diff(row_of) == 0)
    if falling.any():
        at = int(np.flatnonzero(falling)[0])
        message = f"the points must increase, but {x[at + 1]:g} follows {x[at]:g}"
        raise _failure(ev, expr.points, rows, int(row_of[at]), message, "list them in increasing order, each once")


def _failure(ev: BaseEvaluator, items: TypedList, rows: Frame, row: int, message: str, help: str | None) -> Exception:
    where = ev.row_text(rows, row)
    return ev.failure(CODE, message + (f" for {where}" if where else ""), items.span, help=help)


def _through_origin(starts: Codes, x: Floats, slope_starts: Codes, slopes: Floats) -> Curves:
    """The functions with these slopes that are 0 at 0; one without breakpoints gets a point at 0."""
    from gpusched_dsl.ir.definitions import Curves

    counts = np.maximum(np.diff(starts), 1)
    filled = np.concatenate(([0], np.cumsum(counts)))
    points = np.zeros(filled[-1])
    row_of = np.repeat(np.arange(len(counts)), np.diff(starts))
    points[filled[row_of] + ranges(np.diff(starts))] = x
    own = np.repeat(np.arange(len(counts)), counts)
    place = ranges(counts)
    # The rise from one point to the next has the slope of the same place; that of the first point is left out.
    width = np.where(place > 0, np.diff(points, prepend=0.0), 0.0)
    rise = np.where(place > 0, slopes[np.minimum(slope_starts[own] + place, len(slopes) - 1)] * width, 0.0)
    total = np.cumsum(rise)
    y = total - total[filled[:-1]][own]
    before, after = slopes[slope_starts[:-1]], slopes[slope_starts[1:] - 1]
    none = np.zeros(len(counts))
    at_zero = Curves(filled, points, y, before, after, none).values(np.arange(len(counts), dtype=np.int64), none)
    return Curves(filled, points, y - at_zero[own], before, after, none)
