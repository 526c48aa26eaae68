"""Conditions on intervals as definitions over start, length, presence, demand and capacity."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.lowering.affine import Affine
from gpusched_dsl.compiling.lowering.auxiliaries import Making, interleave
from gpusched_dsl.compiling.lowering.nonlinear import Nonlinear
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.definitions import Affines, Cumulative, NoOverlap
from gpusched_dsl.ir.matrix import stack
from gpusched_dsl.ir.problem import Matrix
from gpusched_dsl.language.checked import IntervalLoad, LetRef, Reduction, TimeInterval, TypedExpr, interval_of
from gpusched_dsl.language.text.shortening import shorten


class Truths(Protocol):
    """What reads conditions as 0/1 values."""

    nonlinear: Nonlinear
    ev: Evaluator

    def affine(self, expr: TypedExpr, frame: Frame) -> Affine: ...


def intervals_definition(truths: Truths, expr: Reduction, inner: Frame) -> tuple[str, Making]:
    """The definition of `no_overlap` or `cumulative` for each row of a frame."""
    grown = truths.ev.expand(inner, expr.indexing, expr.span)
    parts = _interval(truths, interval_of(expr.body), grown.frame)
    parents = grown.parents()
    name = shorten(expr.span.text)
    load = expr.body
    if not isinstance(load, IntervalLoad):
        starts, arguments = _group_arguments(parts, parents, inner.size, None)
        return expr.op, lambda results: NoOverlap(results, starts, arguments, expr.span, name)
    parts.append(truths.nonlinear.arguments(load.demand, grown.frame))
    capacity = truths.nonlinear.arguments(load.capacity, inner)
    starts, arguments = _group_arguments(parts, parents, inner.size, capacity)
    return expr.op, lambda results: Cumulative(results, starts, arguments, expr.span, name)


def _interval(truths: Truths, expr: TypedExpr, frame: Frame) -> list[Affines]:
    """Start, length and presence of an interval in every row."""
    if isinstance(expr, LetRef):
        return _interval(truths, truths.ev.model.lets[expr.name].value, truths.ev.let_frame(expr, frame))
    assert isinstance(expr, TimeInterval)
    nonlinear = truths.nonlinear
    present = (
        _constants(np.ones(frame.size))
        if expr.presence is None
        else nonlinear.as_affines(truths.affine(expr.presence, frame))
    )
    return [nonlinear.arguments(expr.start, frame), nonlinear.arguments(expr.length, frame), present]


def _constants(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Affines:
    starts = np.zeros(len(values) + 1, dtype=np.int64)
    return Affines(Matrix(starts, np.zeros(0, dtype=np.int32), np.zeros(0)), values)


def _group_arguments(parts: list[Affines], parents: Codes, size: int, last: Affines | None) -> tuple[Codes, Affines]:
    """The arguments of intervals by the rows that they come from, then `last` of the row.

    A row without intervals gets one that is never present: definitions have arguments.
    """
    alone = np.flatnonzero(np.bincount(parents, minlength=size) == 0)
    nothing = _constants(np.zeros(len(parts) * len(alone)))
    _, each = interleave(parts)
    owners = np.concatenate((np.repeat(parents, len(parts)), np.repeat(alone, len(parts))))
    matrices, constants = [each.matrix, nothing.matrix], [each.constants, nothing.constants]
    if last is not None:
        owners = np.concatenate((owners, np.arange(size)))
        matrices.append(last.matrix)
        constants.append(last.constants)
    together = Affines(stack(matrices), np.concatenate(constants))
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(owners, minlength=size))))
    return starts, together.take(np.argsort(owners, kind="stable"))
