"""Semicontinuous variables: `var x[I] semicontinuous >= 2 <= 5;` is 0, or from 2 to 5.

Such a variable is one between 0 and its largest value with a constraint: `x <= 0 or x >= 2`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    CheckedBound,
    CheckedCheck,
    CheckedConstraint,
    CheckedVariable,
    ComparisonChain,
    Constant,
    IndexRef,
    Logic,
    Logical,
    TypedExpr,
    VariableRef,
)
from gpusched_dsl.language.source import Span

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


class Semicontinuous(Struct, frozen=True):
    """A variable from 0 up, the constraint that excludes the values between, and what its smallest values must be."""

    variable: CheckedVariable
    constraint: CheckedConstraint
    checks: tuple[CheckedCheck, ...]


def with_constraint(checker: Checker, decl: tree.VarDecl, variable: CheckedVariable) -> Semicontinuous | None:
    """A semicontinuous variable as a plain one with a constraint; None (GSM1408) without a smallest value."""
    name, span = decl.name.text, decl.name.span
    least = [b for b in variable.bounds if b.op in (">=", "==")]
    if decl.kind == "binary":
        message = f"`{name}` is semicontinuous, so it cannot be `binary`"
        checker.error("GSM1408", message, span, help="remove `semicontinuous`")
        return None
    if not least:
        message = f"`{name}` is semicontinuous, but has no smallest value other than 0"
        checker.error("GSM1408", message, span, help="state it as a bound: `semicontinuous >= 2 <= 5`")
        return None

    def compare(left: TypedExpr, op: str, right: TypedExpr, at: Span) -> ComparisonChain:
        decision = left.decision or right.decision
        return ComparisonChain(span=at, type=Logical(), decision=decision, operands=(left, right), ops=(op,))

    zero = Constant(span=span, type=variable.type, value=0.0)
    subscripts = tuple(IndexRef(span=v.span, type=v.type, variable=v) for v in variable.indexing.variables)
    itself = VariableRef(span=span, type=variable.type, decision=True, name=name, subscripts=subscripts)
    above: TypedExpr = compare(itself, ">=", least[0].value, least[0].span)
    if len(least) > 1:
        every = tuple(compare(itself, ">=", b.value, b.span) for b in least)
        above = Logic(span=span, type=Logical(), decision=True, op="and", operands=every)
    body = Logic(span=span, type=Logical(), decision=True, op="or", operands=(compare(itself, "<=", zero, span), above))
    rest = tuple(structs.replace(b, op="<=") for b in variable.bounds if b.op != ">=")
    checks = tuple(
        CheckedCheck(
            b.value.span, variable.indexing, compare(b.value, ">=", zero, b.value.span),
            f"the smallest value of `{name}` other than 0 must not be negative",
        )
        for b in least
    )  # fmt: skip
    return Semicontinuous(
        structs.replace(variable, bounds=(CheckedBound(">=", zero, span), *rest), least=tuple(b.value for b in least)),
        CheckedConstraint(f"{name}.semicontinuous", span, variable.indexing, body),
        checks,
    )
