"""Decision expressions as columnar affine expressions over the rows of a frame; the nonlinear parts by definitions."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.references import plain_keys
from gpusched_dsl.compiling.lowering.affine import Affine, Block, constant
from gpusched_dsl.compiling.lowering.affine_reader import AffineReader
from gpusched_dsl.compiling.lowering.auxiliaries import Terms
from gpusched_dsl.compiling.lowering.expected_values import expected
from gpusched_dsl.compiling.lowering.indicators import Truths
from gpusched_dsl.compiling.lowering.nonlinear import Nonlinear
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.language.checked import (
    Arithmetic,
    Choice,
    Comparison,
    Expected,
    Fallback,
    LetRef,
    Logic,
    Negate,
    Reduction,
    TypedExpr,
    VariableRef,
)


class Linearizer(AffineReader):
    """Reads affine expressions off checked expressions; what is not affine becomes auxiliary columns of `terms`."""

    def __init__(self, evaluator: Evaluator, terms: Terms) -> None:
        super().__init__(evaluator, terms)
        self.nonlinear = Nonlinear(self)
        self.truths = Truths(self, self.nonlinear)

    def affine(self, core: TypedExpr, frame: Frame) -> Affine:
        """One affine expression per row of the frame; raises DiagnosticError (GSM3010) for what has no such form."""
        checkpoint()
        if not core.decision:
            return constant(frame.size, self.ev.numbers(core, frame))
        match core:
            case VariableRef():
                return self._variable(core, frame)
            case LetRef():
                return self.of_let(core, frame, self.affine)
            case Negate():
                return -self.affine(core.operand, frame)
            case Arithmetic(op="+"):
                return self.affine(core.left, frame) + self.affine(core.right, frame)
            case Arithmetic(op="-"):
                return self.affine(core.left, frame) + -self.affine(core.right, frame)
            case Arithmetic(op="*") if not (core.left.decision and core.right.decision):
                return self._scaled(core, frame)
            case Arithmetic(op="/") if not core.right.decision:
                return self._quotient(core, frame)
            case Reduction(op="sum"):
                return self.total(core, frame, self.affine)
            case Choice() if not core.condition.decision:
                mask = self.ev.mask(core.condition, frame)
                return self.branches(mask, core.then, core.otherwise, frame, self.affine)
            case Choice():
                return self._decided(core, frame)
            case Fallback():
                found = self.ev.found(core.reference, frame)
                return self.branches(found, core.reference, core.fallback, frame, self.affine)
            case Expected():
                return expected(self, self.nonlinear, core, frame)
            case Reduction(op="count"):
                return self.total(core, frame, self.truths.affine)
            case Comparison() | Logic() | Reduction(op="any" | "all"):
                return self.truths.affine(core, frame)
        return self.nonlinear.affine(core, frame)

    def _variable(self, core: VariableRef, frame: Frame) -> Affine:
        family = self.ev.store.variables[core.name]
        zero = np.float64(0.0)
        one = np.asarray(1.0)
        if not core.subscripts:
            columns = np.full(frame.size, family.first, dtype=np.int64)
            return Affine(frame.size, np.asarray(zero), (Block(None, columns, one, core.name, frozenset()),))
        position = np.broadcast_to(self.ev.variable_position(core, frame), (frame.size,))
        rows = None
        if position.size and position.min() < 0:
            rows = np.flatnonzero(position >= 0)
            position = position[rows]
        if family.first:
            position = position + family.first
        block = Block(rows, position, one, core.name, plain_keys(core.subscripts))
        return Affine(frame.size, np.asarray(zero), (block,))

    def _scaled(self, core: Arithmetic, frame: Frame) -> Affine:
        factor, expression = (core.right, core.left) if core.left.decision else (core.left, core.right)
        return self.affine(expression, frame).scaled(self.ev.numbers(factor, frame))

    def _quotient(self, core: Arithmetic, frame: Frame) -> Affine:
        divisor = self.ev.numbers(core.right, frame)
        self.ev.refuse_where(divisor == 0, "GSM3003", "division by zero", core.right, frame, "is zero")
        return self.affine(core.left, frame).divided(divisor)

    def _decided(self, core: Choice, frame: Frame) -> Affine:
        """`if z then a else b` with a decided z: `b + z * (a - b)`."""
        truth = self.truths.affine(core.condition, frame)
        then, otherwise = self.affine(core.then, frame), self.affine(core.otherwise, frame)
        return otherwise + self.nonlinear.product(truth, then + -otherwise, core)
