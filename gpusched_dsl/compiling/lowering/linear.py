"""Decision expressions as columnar affine expressions over the rows of a frame; the nonlinear parts by definitions."""

from __future__ import annotations

import weakref
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.references import plain_keys
from gpusched_dsl.compiling.lowering.affine import Affine, AffineBlock, constant
from gpusched_dsl.compiling.lowering.affine_reader import AffineReader, caller_keys
from gpusched_dsl.compiling.lowering.auxiliaries import AuxiliaryColumns
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.language.checked import (
    Arithmetic,
    ComparisonChain,
    Expected,
    Fallback,
    Function,
    IfThenElse,
    LetRef,
    Logic,
    Negate,
    Reduction,
    TypedExpr,
    VariableRef,
    has_decided_subscripts,
)

if TYPE_CHECKING:
    from gpusched_dsl.compiling.lowering.decided_subscripts import DecidedSubscripts
    from gpusched_dsl.compiling.lowering.indicators import Reification
    from gpusched_dsl.compiling.lowering.nonlinear import Nonlinear


class Linearizer(AffineReader):
    """Reads affine expressions from checked expressions; nonaffine parts become auxiliary columns of `terms`."""

    def __init__(self, evaluator: Evaluator, terms: AuxiliaryColumns) -> None:
        super().__init__(evaluator, terms)
        # The parts know it weakly: a cycle would keep all data until a garbage collection.
        self._whole = cast(Linearizer, weakref.proxy(self))

    @cached_property
    def nonlinear(self) -> Nonlinear:
        from gpusched_dsl.compiling.lowering.nonlinear import Nonlinear

        return Nonlinear(self._whole)

    @cached_property
    def truths(self) -> Reification:
        from gpusched_dsl.compiling.lowering.indicators import Reification

        return Reification(self._whole, self.nonlinear)

    @cached_property
    def subscripts(self) -> DecidedSubscripts:
        from gpusched_dsl.compiling.lowering.decided_subscripts import DecidedSubscripts

        return DecidedSubscripts(self._whole, self.nonlinear, self.truths.affine)

    def affine(self, expr: TypedExpr, frame: Frame) -> Affine:
        """Return one affine expression per row of the frame; raise DiagnosticError (GSM3010) for unsupported forms."""
        checkpoint()
        if not expr.decision:
            return constant(frame.size, self.ev.numbers(expr, frame))
        if has_decided_subscripts(expr):
            return self.subscripts.affine(expr, None, frame, self.affine)
        match expr:
            case VariableRef():
                return self._variable(expr, frame)
            case LetRef():
                let = self.ev.model.lets[expr.name]
                return self.affine(let.value, self.ev.let_frame(expr, frame)).rekey(caller_keys(let, expr))
            case Negate():
                return -self.affine(expr.operand, frame)
            case Arithmetic(op="+"):
                return self.affine(expr.left, frame) + self.affine(expr.right, frame)
            case Arithmetic(op="-"):
                return self.affine(expr.left, frame) + -self.affine(expr.right, frame)
            case Arithmetic(op="*") if not (expr.left.decision and expr.right.decision):
                factor, expression = (expr.right, expr.left) if expr.left.decision else (expr.left, expr.right)
                return self.affine(expression, frame).scale(self.ev.numbers(factor, frame))
            case Arithmetic(op="/") if not expr.right.decision:
                divisor = self.ev.numbers(expr.right, frame)
                self.ev.refuse_where(divisor == 0, "GSM3003", "division by zero", expr.right, frame, "is zero")
                return self.affine(expr.left, frame).scale(divisor, np.divide)
            case Reduction(op="sum" | "count"):
                grown = self.ev.expand(frame, expr.indexing, expr.span, expr.body)
                read = self.affine if expr.op == "sum" else self.truths.affine
                body = read(expr.body, grown.frame)
                return body.sum_rows(grown.parent, frame.size, frozenset(expr.indexing.variables))
            case IfThenElse() if not expr.condition.decision:
                mask = self.ev.mask(expr.condition, frame)
                return self.branches(mask, expr.then, expr.otherwise, frame, self.affine)
            case IfThenElse():
                return self._choice(expr, frame)
            case Fallback() if has_decided_subscripts(expr.reference):
                return self.subscripts.affine(expr.reference, expr.fallback, frame, self.affine)
            case Fallback():
                found = self.ev.is_inside(expr.reference, frame)
                return self.branches(found, expr.reference, expr.fallback, frame, self.affine)
            case Expected():
                from gpusched_dsl.compiling.lowering.expected_values import lower_expectation

                return lower_expectation(self, self.nonlinear, expr, frame)
            case (
                ComparisonChain()
                | Logic()
                | Reduction(op="any" | "all" | "all_different" | "no_overlap" | "cumulative")
            ):
                return self.truths.affine(expr, frame)
            case Reduction(op="prod"):
                from gpusched_dsl.compiling.lowering.products_over import product_over

                return product_over(self.nonlinear, expr, frame)
            case Function(name="all_different"):
                return self.truths.affine(expr, frame)
        return self.nonlinear.affine(expr, frame)

    def _variable(self, expr: VariableRef, frame: Frame) -> Affine:
        family = self.ev.store.variables[expr.name]
        zero = np.float64(0.0)
        one = np.asarray(1.0)
        if not expr.subscripts:
            columns = np.full(frame.size, family.first, dtype=np.int64)
            return Affine(frame.size, np.asarray(zero), (AffineBlock(None, columns, one, expr.name, frozenset()),))
        position = np.broadcast_to(self.ev.variable_position(expr, frame), (frame.size,))
        rows = None
        if position.size and position.min() < 0:
            rows = np.flatnonzero(position >= 0)
            position = position[rows]
        if family.first:
            position = position + family.first
        block = AffineBlock(rows, position, one, expr.name, plain_keys(expr.subscripts))
        return Affine(frame.size, np.asarray(zero), (block,))

    def _choice(self, expr: IfThenElse, frame: Frame) -> Affine:
        """`if z then a else b` with a decided z: `b + z * (a - b)`."""
        truth = self.truths.affine(expr.condition, frame)
        then, otherwise = self.affine(expr.then, frame), self.affine(expr.otherwise, frame)
        return otherwise + self.nonlinear.product(truth, then + -otherwise, expr)
