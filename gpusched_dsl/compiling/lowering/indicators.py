"""Conditions on decisions as affine expressions with the value 1 if the condition is true, else 0.

Conditions on intervals become definitions over start, length, presence, demand and capacity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.frames import Expansion, Frame
from gpusched_dsl.compiling.lowering.affine import Affine, AffineBlock, constant
from gpusched_dsl.compiling.lowering.affine_reader import AffineReader, caller_keys
from gpusched_dsl.compiling.lowering.auxiliaries import Making, interleave
from gpusched_dsl.compiling.lowering.nonlinear import Nonlinear
from gpusched_dsl.ir import definitions
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.definitions.affine import Affines
from gpusched_dsl.ir.matrix import stack
from gpusched_dsl.ir.problem import Matrix
from gpusched_dsl.language.checked import (
    ComparisonChain,
    Fallback,
    Function,
    IfThenElse,
    IntervalLoad,
    LetRef,
    Logic,
    ParamRef,
    Reduction,
    TimeInterval,
    TypedExpr,
    VariableRef,
    has_decided_subscripts,
    interval_of,
)
from gpusched_dsl.language.text.shortening import shorten

INFINITY = float("inf")
Derived = TypeVar("Derived", ComparisonChain, IfThenElse)


class Reification:
    """Truth values of conditions, in the service of a reader."""

    def __init__(self, linear: AffineReader, nonlinear: Nonlinear) -> None:
        self.linear = linear
        self.nonlinear = nonlinear
        self.ev = linear.ev
        self._others: dict[int, tuple[TypedExpr, TypedExpr]] = {}

    def affine(self, expr: TypedExpr, frame: Frame) -> Affine:
        """The truth value in every row; raises DiagnosticError (GSM3010) for conditions without one."""
        if not expr.decision:
            return constant(frame.size, self.ev.mask(expr, frame).astype(np.float64))
        match expr:
            case VariableRef() | ParamRef():
                return self.linear.affine(expr, frame)
            case LetRef() if has_decided_subscripts(expr):
                return self.linear.affine(expr, frame)
            case LetRef():
                let = self.ev.model.lets[expr.name]
                return self.affine(let.value, self.ev.let_frame(expr, frame)).rekey(caller_keys(let, expr))
            case Fallback():
                return self.linear.affine(expr, frame)
            case ComparisonChain():
                return self._comparison(expr, frame)
            case Logic(op="not"):
                return self.negate(self.affine(expr.operands[0], frame))
            case Logic(op="and" | "or" | "=>"):
                return self.nonlinear.define(expr, frame, lambda inner: self._join(expr, inner), zero_one=True)
            case Logic(op="<=>"):
                one, other = (self.affine(o, frame) for o in expr.operands)
                both = self.nonlinear.product(one, other, expr)
                return constant(frame.size, np.ones(frame.size)) + -one + -other + both.scale(np.float64(2.0))
            case Reduction(op="any" | "all"):
                return self.nonlinear.define(expr, frame, lambda inner: self._quantify(expr, inner), zero_one=True)
            case Reduction(op="all_different") | Function(name="all_different"):
                return self.nonlinear.define(
                    expr, frame, lambda inner: self._compare_all(expr, inner), zero_one=True, integer=True
                )
            case Reduction(op="no_overlap" | "cumulative"):
                return self.nonlinear.define(
                    expr, frame, lambda inner: intervals_definition(self, expr, inner), zero_one=True, integer=True
                )
            case IfThenElse() if not expr.condition.decision:
                return self.linear.branches(
                    self.ev.mask(expr.condition, frame), expr.then, expr.otherwise, frame, self.affine
                )
            case IfThenElse():
                return self.affine(self._derive(expr, _as_implications), frame)
        raise self.nonlinear.refusal(expr)

    @staticmethod
    def negate(truth: Affine) -> Affine:
        return constant(truth.size, np.ones(truth.size)) + -truth

    def _join(self, expr: Logic, inner: Frame) -> tuple[str, Making]:
        """`or` as the largest of some truth values, `and` as the smallest; `a => b` is `not a or b`."""
        parts = [self.affine(o, inner) for o in expr.operands]
        if expr.op == "=>":
            parts[0] = self.negate(parts[0])
        starts, arguments = interleave([self.nonlinear.as_affines(p) for p in parts])
        largest, name = expr.op != "and", shorten(expr.span.text)
        kind = "or" if largest else "and"
        return kind, lambda results: definitions.MinMax(results, starts, arguments, expr.span, name, largest)

    def _quantify(self, expr: Reduction, inner: Frame) -> tuple[str, Making]:
        """`any` and `all` over an index list; over nothing `any` is 0 and `all` is 1."""
        largest = expr.op == "any"
        grown = self.ev.expand(inner, expr.indexing, expr.span)
        body = self.nonlinear.as_affines(self.affine(expr.body, grown.frame))
        starts, arguments = self._group_rows(grown, body, inner.size, 0.0 if largest else 1.0)
        name = shorten(expr.span.text)
        return expr.op, lambda results: definitions.MinMax(results, starts, arguments, expr.span, name, largest)

    def _compare_all(self, expr: Reduction | Function, inner: Frame) -> tuple[str, Making]:
        """Whether some numbers differ; over nothing they do."""
        if isinstance(expr, Function):
            starts, arguments = interleave([self.nonlinear.arguments(a, inner) for a in expr.arguments])
        else:
            grown = self.ev.expand(inner, expr.indexing, expr.span)
            starts, arguments = self._group_rows(
                grown, self.nonlinear.arguments(expr.body, grown.frame), inner.size, 0.0
            )
        name = shorten(expr.span.text)
        return "distinct", lambda results: definitions.Distinct(results, starts, arguments, expr.span, name)

    def _group_rows(self, grown: Expansion, body: Affines, size: int, neutral: float) -> tuple[Codes, Affines]:
        """The expressions of a grown frame by the rows that they come from; a row without any has `neutral`."""
        nothing = np.flatnonzero(np.bincount(grown.parents(), minlength=size) == 0)
        alone = np.full(len(nothing), neutral)
        groups = np.concatenate((grown.parents(), nothing))
        together = Affines(
            Matrix(
                np.concatenate((body.matrix.starts, np.full(len(nothing), body.matrix.nonzeros))),
                body.matrix.columns,
                body.matrix.values,
            ),
            np.concatenate((body.constants, alone)),
        )
        starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(groups, minlength=size))))
        return starts, together.take(np.argsort(groups, kind="stable"))

    # --- comparisons -------------------------------------------------------------------------------------------------

    def _comparison(self, expr: ComparisonChain, frame: Frame) -> Affine:
        if len(expr.ops) > 1:
            return self.affine(self.pairs(expr), frame)
        op, (left, right) = expr.ops[0], expr.operands
        if op in _OPPOSITE:
            return self.negate(self.affine(self._derive(expr, _opposite), frame))
        difference = self.linear.affine(left, frame) + -self.linear.affine(right, frame)
        simple = self.of_single_binaries(difference, op)
        if simple is not None:
            return simple
        return self.nonlinear.define(
            expr, frame, lambda inner: self._holds(expr, op, inner), zero_one=True, integer=True
        )

    def pairs(self, expr: ComparisonChain) -> TypedExpr:
        """A chain as the conjunction of its comparisons, the same object each time."""
        return self._derive(expr, _as_conjunction)

    def _derive(self, expr: Derived, make: Callable[[Derived], TypedExpr]) -> TypedExpr:
        """Return a canonical equivalent or opposite expression, so that it is defined once."""
        known = self._others.get(id(expr))
        if known is None:
            known = self._others[id(expr)] = (expr, make(expr))
        return known[1]

    def of_single_binaries(self, difference: Affine, op: str) -> Affine | None:
        """The truth of `difference op 0` where every row has one 0/1 column at most; None elsewhere."""
        affines = self.nonlinear.as_affines(difference)
        matrix, counts = affines.matrix, np.diff(affines.matrix.starts)
        if counts.max(initial=0) > 1 or not self.linear.terms.zero_one[matrix.columns].all():
            return None
        at_zero = _compare(affines.constants, op)
        rows = np.flatnonzero(counts)
        at_one = _compare(affines.constants[rows] + matrix.values, op)
        block = AffineBlock(
            rows, matrix.columns.astype(np.int64), at_one - at_zero[rows], f"truth@{id(difference)}", frozenset()
        )
        return Affine(difference.size, at_zero, (structs.replace(block, distinct=False),))

    def _holds(self, expr: ComparisonChain, op: str, inner: Frame) -> tuple[str, Making]:
        left, right = expr.operands
        difference = self.linear.affine(left, inner) + -self.linear.affine(right, inner)
        affines = self.nonlinear.as_affines(difference)
        sides = -affines.constants
        arguments = Affines(affines.matrix, np.zeros(inner.size))
        lower = np.full(inner.size, -INFINITY) if op == "<=" else sides
        upper = np.full(inner.size, INFINITY) if op == ">=" else sides
        name, starts = shorten(expr.span.text), definitions.unary_starts(inner.size)
        return "holds", lambda results: definitions.Reified(results, starts, arguments, expr.span, name, lower, upper)


def _compare(values: Floats, op: str) -> Floats:
    slack = 1e-9 * np.maximum(1.0, np.abs(values))
    closed = {"<=": values <= slack, ">=": values >= -slack, "==": np.abs(values) <= slack}
    truth = ~closed[_OPPOSITE[op]] if op in _OPPOSITE else closed[op]
    return truth.astype(np.float64)


_OPPOSITE = {"!=": "==", "<": ">=", ">": "<="}


def _opposite(expr: ComparisonChain) -> TypedExpr:
    return structs.replace(expr, ops=(_OPPOSITE[expr.ops[0]],))


def _as_implications(expr: IfThenElse) -> TypedExpr:
    """`if c then a else b` as `(c => a) and (not c => b)`."""

    def logic(op: str, *operands: TypedExpr) -> Logic:
        return Logic(span=expr.span, type=expr.type, decision=True, op=op, operands=operands)

    negated = logic("not", expr.condition)
    return logic("and", logic("=>", expr.condition, expr.then), logic("=>", negated, expr.otherwise))


def _as_conjunction(expr: ComparisonChain) -> TypedExpr:
    """`a <= x <= b` as `a <= x and x <= b`."""
    pairs = zip(expr.operands, expr.ops, expr.operands[1:], strict=False)
    parts = tuple(
        structs.replace(expr, operands=(a, b), ops=(op,), decision=a.decision or b.decision) for a, op, b in pairs
    )
    return Logic(span=expr.span, type=expr.type, decision=True, op="and", operands=parts)


def intervals_definition(truths: Reification, expr: Reduction, inner: Frame) -> tuple[str, Making]:
    """The definition of `no_overlap` or `cumulative` for each row of a frame."""
    grown = truths.ev.expand(inner, expr.indexing, expr.span)
    parts = _interval(truths, interval_of(expr.body), grown.frame)
    parents = grown.parents()
    name = shorten(expr.span.text)
    load = expr.body
    if not isinstance(load, IntervalLoad):
        starts, arguments = _group_arguments(parts, parents, inner.size, None)
        return expr.op, lambda results: definitions.NoOverlap(results, starts, arguments, expr.span, name)
    parts.append(truths.nonlinear.arguments(load.demand, grown.frame))
    capacity = truths.nonlinear.arguments(load.capacity, inner)
    starts, arguments = _group_arguments(parts, parents, inner.size, capacity)
    return expr.op, lambda results: definitions.Cumulative(results, starts, arguments, expr.span, name)


def _interval(truths: Reification, expr: TypedExpr, frame: Frame) -> list[Affines]:
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
