"""The assertions of a constraint: rows with two sides, some only for a value of a binary column."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.lowering.affine import Affine, constant
from gpusched_dsl.compiling.lowering.linear import Linearizer
from gpusched_dsl.ir import definitions
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.granularity import next_above, next_below, steps_of
from gpusched_dsl.language.checked import ComparisonChain, IfThenElse, Logic, Reduction, TypedExpr

INFINITY = float("inf")
STRICT = ("<", ">")
Condition = tuple[Int32s, Bools]  # a binary column per row, and the value at which the row must hold


class Assertion(Struct, frozen=True, eq=False):
    """`lower <= expression - its constant <= upper`, a row for each row of `frame`.

    `rows` are the places of these rows in the frame of the constraint (None: all of it), `condition` when they hold.
    """

    expression: Affine
    lower: Floats
    upper: Floats
    frame: Frame
    rows: Codes | None
    condition: Condition | None


class Assertions:
    """Splits the body of a constraint. Conditions on data choose rows, conditions on decisions guard them."""

    def __init__(self, linear: Linearizer) -> None:
        self.linear = linear
        self.ev = linear.ev
        self._conjunctions: dict[tuple[int, ...], tuple[tuple[TypedExpr, ...], TypedExpr]] = {}

    def of(
        self, expr: TypedExpr, frame: Frame, rows: Codes | None = None, guards: tuple[TypedExpr, ...] = ()
    ) -> Iterator[Assertion]:
        """Return all rows which state that `expr` is true wherever the guards are."""
        if not expr.decision:
            true = self.ev.mask(expr, frame).astype(np.float64)
            yield from self._guarded_rows(expr, _Read(constant(frame.size, true), 1.0, INFINITY), frame, rows, guards)
        elif isinstance(expr, ComparisonChain) and self._is_closed(expr, frame):
            yield from self._guarded_rows(expr, None, frame, rows, guards)
        elif isinstance(expr, ComparisonChain) and len(expr.ops) > 1:
            yield from self.of(self.linear.truths.pairs(expr), frame, rows, guards)
        elif isinstance(expr, Logic) and expr.op == "and":
            for operand in expr.operands:
                yield from self.of(operand, frame, rows, guards)
        elif isinstance(expr, Logic) and expr.op == "=>":
            yield from self._implication_rows(expr.operands[0], expr.operands[1], frame, rows, guards)
        elif isinstance(expr, IfThenElse):
            negated = self._negation(expr.condition)
            yield from self._implication_rows(expr.condition, expr.then, frame, rows, guards)
            yield from self._implication_rows(negated, expr.otherwise, frame, rows, guards)
        else:
            yield from self._guarded_rows(expr, self._clause(expr, frame), frame, rows, guards)

    def _is_closed(self, expr: ComparisonChain, frame: Frame) -> bool:
        """Whether rows can state the chain: `a < b` is one if a - b moves in steps, `a != b` never is."""
        if "!=" in expr.ops:
            return False
        operands = zip(expr.operands, expr.ops, expr.operands[1:], strict=False)
        return all(
            (self._steps(self.linear.affine(a, frame) + -self.linear.affine(b, frame)) > 0).all()
            for a, op, b in operands
            if op in STRICT
        )

    def _steps(self, difference: Affine) -> Floats:
        return steps_of(self.linear.nonlinear.as_affines(difference), self.linear.terms.integer)

    # --- implications ------------------------------------------------------------------------------------------------

    def _implication_rows(
        self, condition: TypedExpr, body: TypedExpr, frame: Frame, rows: Codes | None, guards: tuple[TypedExpr, ...]
    ) -> Iterator[Assertion]:
        if condition.decision:
            yield from self.of(body, frame, rows, (*guards, condition))
            return
        yield from self._chosen_rows(np.flatnonzero(self.ev.mask(condition, frame)), body, frame, rows, guards)

    def _chosen_rows(
        self, chosen: Codes, body: TypedExpr, frame: Frame, rows: Codes | None, guards: tuple[TypedExpr, ...]
    ) -> Iterator[Assertion]:
        if len(chosen) == frame.size:
            yield from self.of(body, frame, rows, guards)
        elif len(chosen):
            yield from self.of(body, frame.take(chosen), chosen if rows is None else rows[chosen], guards)

    def _negation(self, condition: TypedExpr) -> TypedExpr:
        key = (-1, id(condition))
        known = self._conjunctions.get(key)
        if known is None:
            negation = Logic(
                span=condition.span, type=condition.type, decision=condition.decision, op="not", operands=(condition,)
            )
            known = self._conjunctions[key] = ((condition,), negation)
        return known[1]

    def _conjunction(self, guards: tuple[TypedExpr, ...]) -> TypedExpr:
        if len(guards) == 1:
            return guards[0]
        key = tuple(map(id, guards))
        known = self._conjunctions.get(key)
        if known is None:
            span = guards[0].span
            conjunction = Logic(span=span, type=guards[0].type, decision=True, op="and", operands=guards)
            known = self._conjunctions[key] = (guards, conjunction)
        return known[1]

    def _guarded_rows(
        self, expr: TypedExpr, read: _Read | None, frame: Frame, rows: Codes | None, guards: tuple[TypedExpr, ...]
    ) -> Iterator[Assertion]:
        """Return the rows of a comparison (or of the expression already `read`) under the guards."""
        if not guards:
            yield from self._sides(expr, read, frame, rows, None)
            return
        truth = self.linear.truths.affine(self._conjunction(guards), frame)
        clause = self._literal(expr, frame) if read is None else read
        if clause is not None and clause.lower == 1.0:  # a count of what is true, and 1 under the guards
            yield _at_least(clause.value + -truth, 0.0, frame, rows)
            return
        if clause is not None and clause.at_most_one:
            yield _at_least(-clause.value + -truth, -1.0, frame, rows)
            return
        always, some, condition = self._as_condition(truth, expr)
        for chosen, under in ((always, None), (some, condition)):
            if len(chosen) == frame.size:
                yield from self._sides(expr, read, frame, rows, under)
            elif len(chosen):
                inner = frame.take(chosen)
                again = None if read is None else self._reread(expr, inner)
                yield from self._sides(expr, again, inner, chosen if rows is None else rows[chosen], under)

    def _reread(self, expr: TypedExpr, frame: Frame) -> _Read:
        if not expr.decision:
            return _Read(constant(frame.size, self.ev.mask(expr, frame).astype(np.float64)), 1.0, INFINITY)
        return self._clause(expr, frame)

    def _as_condition(self, truth: Affine, expr: TypedExpr) -> tuple[Codes, Codes, Condition]:
        """Return the unconditional rows, the conditional rows, and for the latter a binary column and its value."""
        affines = self.linear.nonlinear.as_affines(truth)
        matrix, counts = affines.matrix, np.diff(affines.matrix.starts)
        always: Codes = np.flatnonzero((counts == 0) & (affines.constants > 0.5))
        some: Codes = np.flatnonzero(counts > 0)
        columns = np.zeros(len(some), dtype=np.int32)
        values = np.ones(len(some), dtype=np.bool_)
        first = matrix.starts[some]
        single = counts[some] == 1
        literal = single & (np.abs(matrix.values[first]) == 1.0) if len(some) else single
        columns[literal] = matrix.columns[first[literal]]
        values[literal] = matrix.values[first[literal]] > 0
        if not literal.all():
            columns[~literal] = self._condition_columns(affines.take(some[~literal]), expr)
        self.linear.terms.make_integer(columns)
        return always, some, (columns, values)

    def _condition_columns(self, truths: definitions.Affines, expr: TypedExpr) -> Int32s:
        """Binary columns that are 1 where some truth values are."""
        starts = definitions.unary_starts(truths.count)
        return self.linear.terms.add(
            "condition",
            IntervalDomain(1, truths.count),
            lambda results: definitions.MinMax(results, starts, truths, expr.span, "the condition", True),
            expr.span,
            zero_one=True,
            integer=True,
        )

    # --- clauses -----------------------------------------------------------------------------------------------------

    def _literal(self, expr: TypedExpr, frame: Frame) -> _Read | None:
        """That a comparison of single binaries is true, else None."""
        if not isinstance(expr, ComparisonChain) or len(expr.ops) > 1:
            return None
        left, right = (self.linear.affine(o, frame) for o in expr.operands)
        truth = self.linear.truths.of_single_binaries(left + -right, expr.ops[0])
        return None if truth is None else _Read(truth, 1.0, INFINITY)

    def _clause(self, expr: TypedExpr, frame: Frame) -> _Read:
        """A condition as a row over truth values."""
        truths = self.linear.truths
        match expr:
            case Logic(op="or"):
                total = constant(frame.size, np.zeros(frame.size))
                for operand in expr.operands:
                    total = total + truths.affine(operand, frame)
                return _Read(total, 1.0, INFINITY)
            case Logic(op="not"):
                return _Read(truths.affine(expr.operands[0], frame), -INFINITY, 0.0, at_most_one=True)
            case Logic(op="<=>"):
                one, other = (truths.affine(o, frame) for o in expr.operands)
                return _Read(one + -other, 0.0, 0.0)
            case Reduction(op="any" | "all"):
                counted_body = expr.body if expr.op == "any" else None
                grown = self.ev.expand(frame, expr.indexing, expr.span, counted_body)
                truth = truths.affine(expr.body, grown.frame)
                counted = truth if expr.op == "any" else truths.negate(truth)  # of `all`, those that do not hold
                total = counted.sum_rows(grown.parent, frame.size, frozenset(expr.indexing.variables))
                return _Read(total, 1.0, INFINITY) if expr.op == "any" else _Read(total, -INFINITY, 0.0)
        return _Read(truths.affine(expr, frame), 1.0, INFINITY)

    # --- rows --------------------------------------------------------------------------------------------------------

    def _sides(
        self, expr: TypedExpr, read: _Read | None, frame: Frame, rows: Codes | None, condition: Condition | None
    ) -> Iterator[Assertion]:
        if read is not None:
            lower, upper = read.lower - read.value.constant, read.upper - read.value.constant
            low, high = (np.broadcast_to(side, (frame.size,)) for side in (lower, upper))
            yield Assertion(read.value, low, high, frame, rows, condition)
            return
        assert isinstance(expr, ComparisonChain)
        operands, ops = expr.operands, expr.ops
        if ops in (("<=", "<="), (">=", ">=")) and [o.decision for o in operands] == [False, True, False]:
            ends = [np.broadcast_to(self.ev.numbers(operands[at], frame), (frame.size,)) for at in (0, 2)]
            low, high = ends if ops[0] == "<=" else ends[::-1]
            middle = self.linear.affine(operands[1], frame)
            yield Assertion(middle, low - middle.constant, high - middle.constant, frame, rows, condition)
            return
        affine = [self.linear.affine(o, frame) for o in operands]
        for left, op, right in zip(affine, ops, affine[1:], strict=False):
            difference = left + -right
            side = np.broadcast_to(-difference.constant, (frame.size,))
            free = np.broadcast_to(INFINITY, (frame.size,))
            lower, upper = -free if op == "<=" else side, free if op == ">=" else side
            if op in STRICT:
                steps = self._steps(difference)
                lower, upper = (-free, next_below(side, steps)) if op == "<" else (next_above(side, steps), free)
            yield Assertion(difference, lower, upper, frame, rows, condition)


class _Read(Struct, frozen=True, eq=False):
    """`lower <= value <= upper`, already read; values are nonnegative integers, `at_most_one` marks 0 or 1."""

    value: Affine
    lower: float
    upper: float
    at_most_one: bool = False


def _at_least(expression: Affine, side: float, frame: Frame, rows: Codes | None) -> Assertion:
    lower = np.broadcast_to(side - expression.constant, (frame.size,))
    return Assertion(expression, lower, np.broadcast_to(INFINITY, (frame.size,)), frame, rows, None)
