"""Decision expressions as columnar affine expressions over the rows of a frame."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.affine import Affine, Block, constant
from gpusched_dsl.compiling.evaluate import Evaluator
from gpusched_dsl.compiling.frames import Frame, Mask
from gpusched_dsl.compiling.references import plain_keys
from gpusched_dsl.language.checked import (
    Arithmetic,
    Choice,
    Constant,
    Core,
    Fallback,
    Function,
    IndexRef,
    LetRef,
    Logic,
    Negate,
    Reduction,
    VariableRef,
)
from gpusched_dsl.language.diagnostics import DiagnosticError


class Linearizer:
    """Reads affine expressions off checked expressions; what is not affine is refused with the term named."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.ev = evaluator

    def affine(self, core: Core, frame: Frame) -> Affine:
        """One affine expression per row of the frame; raises DiagnosticError (GSM3010) for anything else."""
        if not core.decision:
            return constant(frame.size, self.ev.numbers(core, frame))
        match core:
            case VariableRef():
                return self._variable(core, frame)
            case LetRef():
                return self._let(core, frame)
            case Negate():
                return -self.affine(core.operand, frame)
            case Arithmetic(op="+"):
                return self.affine(core.left, frame) + self.affine(core.right, frame)
            case Arithmetic(op="-"):
                return self.affine(core.left, frame) + -self.affine(core.right, frame)
            case Arithmetic(op="*"):
                return self._product(core, frame)
            case Arithmetic(op="/") if not core.right.decision:
                return self._quotient(core, frame)
            case Arithmetic(op="^") if isinstance(core.right, Constant) and core.right.value == 1.0:
                return self.affine(core.left, frame)
            case Reduction(op="sum"):
                return self._sum(core, frame)
            case Choice() if not core.condition.decision:
                return self._branches(self.ev.mask(core.condition, frame), core.then, core.otherwise, frame)
            case Fallback():
                return self._branches(self.ev.found(core.reference, frame), core.reference, core.fallback, frame)
        raise self._not_affine(core)

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

    def _let(self, core: LetRef, frame: Frame) -> Affine:
        let = self.ev.model.lets[core.name]
        inner = self.affine(let.value, self.ev.let_frame(core, frame))
        callers = {
            variable: subscript.variable
            for variable, subscript in zip(let.indexing.variables, core.subscripts, strict=True)
            if isinstance(subscript, IndexRef)
        }
        return inner.rekeyed(callers)

    def _product(self, core: Arithmetic, frame: Frame) -> Affine:
        if core.left.decision and core.right.decision:
            raise self._not_affine(core)
        factor, expression = (core.right, core.left) if core.left.decision else (core.left, core.right)
        return self.affine(expression, frame).scaled(self.ev.numbers(factor, frame))

    def _quotient(self, core: Arithmetic, frame: Frame) -> Affine:
        divisor = self.ev.numbers(core.right, frame)
        self.ev.refuse_where(divisor == 0, "GSM3003", "division by zero", core.right, frame, "is zero")
        return self.affine(core.left, frame).divided(divisor)

    def _sum(self, core: Reduction, frame: Frame) -> Affine:
        grown = self.ev.expand(frame, core.indexing, core.span)
        body = self.affine(core.body, grown.frame)
        if grown.parent is None and grown.frame.size == frame.size:
            return body
        return body.summed(grown.parents(), frame.size, frozenset(core.indexing.variables))

    def _branches(self, mask: Mask, then: Core, otherwise: Core, frame: Frame) -> Affine:
        yes, no = np.flatnonzero(mask), np.flatnonzero(~mask)
        if not len(no):
            return self.affine(then, frame)
        if not len(yes):
            return self.affine(otherwise, frame)
        return self.affine(then, frame.take(yes)).spread(yes, frame.size) + self.affine(
            otherwise, frame.take(no)
        ).spread(no, frame.size)

    def _not_affine(self, core: Core) -> DiagnosticError:
        what = "logic on variables" if isinstance(core, Logic) else "this term"
        if isinstance(core, Arithmetic):
            what = {"*": "a product of variables", "/": "a division by a variable", "^": "a power of a variable"}[
                core.op
            ]
        elif isinstance(core, Function):
            what = f"`{core.name}` of variables"
        elif isinstance(core, Reduction):
            what = f"`{core.op}` over variables"
        return self.ev.failure(
            "GSM3010",
            f"{what} is not linear, and this version has no reformulation for it",
            core.span,
            "not linear in the variables",
            help="write it with linear constraints and binary variables, or as a parameter when it only needs data",
        )
