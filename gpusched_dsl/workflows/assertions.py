"""Evaluates the assertions of a test on a result, and explains failures with their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME, Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Values
from gpusched_dsl.ir.tolerances import FEASIBILITY
from gpusched_dsl.language.blocks.tests.test_block import CheckedExpect
from gpusched_dsl.language.checked import (
    CheckedModel,
    ComparisonChain,
    Element,
    KnownValue,
    LetRef,
    Logic,
    Numeric,
    Reduction,
    TextType,
    TypedExpr,
    VariableRef,
)
from gpusched_dsl.language.checking.walk import first_decision, walk
from gpusched_dsl.reporting.result import Result

TOLERANCE = FEASIBILITY  # of real values of a result: relative above 1, absolute below


@dataclass(frozen=True, slots=True)
class FailedAssertion:
    """A failed assertion; `expr` is the failing part of its condition."""

    expr: TypedExpr
    message: str
    notes: tuple[str, ...] = ()


def failed_assertions(expect: CheckedExpect, result: Result) -> list[FailedAssertion]:
    """Return the failed assertions, empty if all pass. Raises DiagnosticError if one cannot be evaluated."""
    provenance = result.provenance
    assert provenance.model is not None
    assert provenance.store is not None
    values = known_values(result)
    missing = _missing_values(expect.condition, values, result)
    if missing is not None:
        return [missing]
    store = structs.replace(provenance.store, point=result.solved.point)
    evaluator = AnswerEvaluator(provenance.model, store, provenance.limits or MemoryLimits(), values)
    if expect.tolerance is not None:
        evaluator.tolerance = abs(evaluator.number(expect.tolerance))
    return [
        _describe(evaluator, part)
        for part in _conjuncts(expect.condition)
        if not bool(evaluator.mask(part, EMPTY_FRAME).all())
    ]


def known_values(result: Result) -> dict[str, float | str]:
    """Return the names that a result adds to its model: status, bound, gap, objectives and terms with a value."""
    values: dict[str, float | str | None] = {
        "status": result.status.value,
        "objective": result.objective,
        "bound": result.bound,
        "gap": result.gap,
        **{o.name: o.value for o in result.objectives if o.name is not None},
        **{t.name: t.value for o in result.objectives for t in o.terms if t.name is not None},
    }
    return {name: value for name, value in values.items() if value is not None}


class AnswerEvaluator(Evaluator):
    """Evaluates with the values of a result; compares expressions of these values within a tolerance.

    `tolerance`, from `within`, is absolute and also holds for data; without it values of the result may differ by
    `TOLERANCE` times the larger of 1 and both sides.
    """

    def __init__(
        self, model: CheckedModel, store: ValueStore, limits: MemoryLimits, known: Mapping[str, float | str]
    ) -> None:
        super().__init__(model, store, limits)
        self.known = known
        self.tolerance: float | None = None

    def _KnownValue(self, expr: KnownValue, frame: Frame) -> Values:
        value = self.known[expr.name]
        return np.array(value, dtype=object if isinstance(value, str) else np.float64)

    def _ComparisonChain(self, expr: ComparisonChain, frame: Frame) -> Values:
        exact = self.tolerance is None and not depends_on_answer(expr)
        if exact or not all(isinstance(o.type, Numeric) for o in expr.operands):
            return super()._ComparisonChain(expr, frame)
        sides = [self.numbers(o, frame) for o in expr.operands]
        result: Values = np.asarray(True)
        for left, op, right in zip(sides, expr.ops, sides[1:], strict=False):
            result = result & self._compare(left, op, right)
        return result

    def _compare(self, left: Values, op: str, right: Values) -> Values:
        difference = self.allowed_difference(left, right)
        result: Values
        match op:
            case "==":
                result = np.abs(left - right) <= difference
            case "!=":
                result = np.abs(left - right) > difference
            case "<=":
                result = left <= right + difference
            case ">=":
                result = left >= right - difference
            case "<":
                result = left < right
            case _:
                result = left > right
        return result

    def allowed_difference(self, left: Values, right: Values) -> Values:
        """Return the allowed difference of two sides."""
        if self.tolerance is not None:
            return np.asarray(self.tolerance)
        larger: Values = np.maximum(np.abs(left), np.abs(right))
        return TOLERANCE * np.maximum(1.0, larger)


def depends_on_answer(expr: TypedExpr) -> bool:
    """Whether an expression contains a value of the result."""
    return any(isinstance(p, KnownValue) or (isinstance(p, TypedExpr) and p.decision) for p in walk(expr))


def _missing_values(expr: TypedExpr, values: Mapping[str, float | str], result: Result) -> FailedAssertion | None:
    """Return the values that the condition needs but the result does not have."""
    missing = next((p for p in walk(expr) if isinstance(p, KnownValue) and p.name not in values), None)
    reference: KnownValue | VariableRef | LetRef | None = missing
    if reference is None and not result.has_point:
        reference = first_decision(expr)
    if reference is None:
        return None
    status = f"the status is `{result.status.value}`" + (f" ({result.reason})" if result.reason else "")
    return FailedAssertion(reference, f"`{reference.span.text}` has no value: {status}")


def _conjuncts(expr: TypedExpr) -> list[TypedExpr]:
    if isinstance(expr, Logic) and expr.op == "and":
        return [part for operand in expr.operands for part in _conjuncts(operand)]
    return [expr]


# --- messages --------------------------------------------------------------------------------------------------------


def _describe(evaluator: AnswerEvaluator, expr: TypedExpr) -> FailedAssertion:
    """Describe a failing condition with the values of its sides; of `all[...]`, with the first failing index."""
    if isinstance(expr, ComparisonChain):
        return FailedAssertion(
            expr,
            f"`{expr.span.text}` is false: {_sides(evaluator, expr, EMPTY_FRAME)}",
            _tolerance_note(evaluator, expr),
        )
    if isinstance(expr, Reduction) and expr.op == "all":
        expanded = evaluator.expand(EMPTY_FRAME, expr.indexing, expr.span).frame
        failing = np.flatnonzero(~evaluator.mask(expr.body, expanded))
        first = expanded.take(failing[:1])
        values = f": {_sides(evaluator, expr.body, first)}" if isinstance(expr.body, ComparisonChain) else ""
        where = evaluator.row_text(first, 0)
        message = f"`{expr.body.span.text}` is false for {len(failing)} of {expanded.size}, first for {where}{values}"
        return FailedAssertion(expr, message)
    return FailedAssertion(expr, f"`{expr.span.text}` is false")


def _sides(evaluator: AnswerEvaluator, expr: ComparisonChain, frame: Frame) -> str:
    """Return texts such as "`total` is 4.4279" for all sides that are not numbers."""
    sides = [
        f"`{o.span.text}` is {_value_text(evaluator, o, frame)}"
        for o in expr.operands
        if not o.span.text.replace(".", "").replace("-", "").isdigit() and not _is_label(o)
    ]
    return ", ".join(sides)


def _is_label(expr: TypedExpr) -> bool:
    return isinstance(expr.type, TextType) and not isinstance(expr, KnownValue)


def _value_text(evaluator: AnswerEvaluator, expr: TypedExpr, frame: Frame) -> str:
    if isinstance(expr.type, TextType):
        return f"`{np.asarray(evaluator.values(expr, frame)).reshape(-1)[0]}`"
    if isinstance(expr.type, Element):
        code = int(evaluator.codes(expr, frame).reshape(-1)[0])
        return f"`{evaluator.store.universes[expr.type.root].labels[code]}`"
    text = f"{float(evaluator.numbers(expr, frame).reshape(-1)[0]):.12g}"
    unit = expr.type.unit.text if isinstance(expr.type, Numeric) else "1"
    return text if unit == "1" else f"{text} {unit}"


def _tolerance_note(evaluator: AnswerEvaluator, expr: ComparisonChain) -> tuple[str, ...]:
    if not all(isinstance(o.type, Numeric) for o in expr.operands) or not set(expr.ops) & {"==", "<=", ">="}:
        return ()
    left, right = (evaluator.numbers(o, EMPTY_FRAME) for o in expr.operands[:2])
    return (f"a difference of {float(evaluator.allowed_difference(left, right).reshape(-1)[0]):.3g} is allowed",)
