"""The dependence of a value on the run: constant, with the remaining fraction of its job's work, or with the clock.

Read off the expression, through `let`s and derived parameters. What no rule covers has no form: None.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from gpusched_dsl.language.checked import (
    Arithmetic,
    CheckedParam,
    Constant,
    Function,
    IfThenElse,
    IndexRef,
    IndexVar,
    LetRef,
    Negate,
    ParamRef,
    TypedExpr,
)
from gpusched_dsl.online.replay.constancy import Constancy

Own = frozenset[IndexVar]  # indices that are the job which the value is for


@dataclass(frozen=True, slots=True)
class Dependence:
    """The value is (its value at the start of the job) * (fraction left), or grows by `slope` per unit of the clock.

    `slope` is in the unit of the value per unit of the run's clock; never both.
    """

    fraction: bool = False
    slope: float = 0.0


CONSTANT: Final = Dependence()
FRACTION: Final = Dependence(fraction=True)


class Dependences:
    """Forms of the expressions of one model.

    `still` knows everything that changes; `fractions` are parameters that are the fraction of work left of the job
    that they are for, `slopes` parameters that grow with the clock, by how much per unit of it.
    """

    def __init__(self, still: Constancy, fractions: Collection[str], slopes: Mapping[str, float]) -> None:
        self.still, self.fractions, self.slopes = still, fractions, slopes

    def of(self, expr: TypedExpr, own: Own) -> Dependence | None:
        """The form of an expression in which the indices `own` are the job; None where none is proved."""
        if self.still.change_in(expr) is None:
            return CONSTANT
        match expr:
            case ParamRef() | LetRef():
                return self._of_reference(expr, own)
            case Negate():
                return _scale(self.of(expr.operand, own), -1.0)
            case Arithmetic():
                return self._of_arithmetic(expr, own)
            case IfThenElse():
                both = (expr.then, expr.otherwise)
                return self._alike(both, own) if self.still.change_in(expr.condition) is None else None
            case Function() if expr.name in ("min", "max"):
                return self._alike(expr.arguments, own)
        return None

    def _of_reference(self, expr: ParamRef | LetRef, own: Own) -> Dependence | None:
        if any(self.still.change_in(subscript) is not None for subscript in expr.subscripts):
            return None
        if isinstance(expr, ParamRef) and expr.name in self.fractions:
            mine = len(expr.subscripts) == 1 and _is_own(expr.subscripts[0], own)
            return FRACTION if mine else None
        if isinstance(expr, ParamRef) and expr.name in self.slopes:
            return Dependence(slope=self.slopes[expr.name])
        model = self.still.model
        declared = model.params.get(expr.name) if isinstance(expr, ParamRef) else model.lets.get(expr.name)
        if expr.name in self.still.carried or declared is None or declared.value is None:
            return None
        if self.still.change_in_listed(declared.indexing) is not None:
            return None
        if isinstance(declared, CheckedParam) and declared.recursive:
            return None
        pairs = zip(declared.indexing.variables, expr.subscripts, strict=True)
        return self.of(declared.value, frozenset(variable for variable, sub in pairs if _is_own(sub, own)))

    def _of_arithmetic(self, expr: Arithmetic, own: Own) -> Dependence | None:
        left, right = self.of(expr.left, own), self.of(expr.right, own)
        if left is None or right is None:
            return None
        match expr.op:
            case "+" | "-":
                sign = 1.0 if expr.op == "+" else -1.0
                if left.fraction or right.fraction:
                    return FRACTION if left.fraction and right.fraction else None
                return Dependence(slope=left.slope + sign * right.slope)
            case "*":
                if right == CONSTANT:
                    return self._times(left, expr.right)
                return self._times(right, expr.left) if left == CONSTANT else None
            case "/" if right == CONSTANT:
                if left.slope:
                    by = expr.right.value if isinstance(expr.right, Constant) else 0.0
                    return _scale(left, 1.0 / by) if by else None
                return left
            case "/" if left.fraction and right.fraction:
                return CONSTANT
        return None

    @staticmethod
    def _times(one: Dependence, by: TypedExpr) -> Dependence | None:
        if one.slope:
            return _scale(one, by.value) if isinstance(by, Constant) else None
        return one

    def _alike(self, exprs: tuple[TypedExpr, ...], own: Own) -> Dependence | None:
        """The form of the smallest, the largest or one of several values that all have it."""
        forms = {self.of(expr, own) for expr in exprs}
        return forms.pop() if len(forms) == 1 else None


def _is_own(expr: TypedExpr, own: Own) -> bool:
    return isinstance(expr, IndexRef) and expr.variable in own


def _scale(one: Dependence | None, by: float) -> Dependence | None:
    return None if one is None else Dependence(one.fraction, one.slope * by)
