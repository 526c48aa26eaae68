"""`norm(x, y)` and `norm[i in A] x[i]`: the root of the sum of squares, as it could be written out."""

from __future__ import annotations

from functools import reduce

from gpusched_dsl.language.checked import (
    Arithmetic,
    Constant,
    Function,
    Numeric,
    Reduction,
    TypedExpr,
    TypedIndexing,
)
from gpusched_dsl.language.checking.conversion import unit_in
from gpusched_dsl.language.checking.kinds import INTEGER_TYPE, numeric_type
from gpusched_dsl.language.source import Span


def norm(span: Span, numbers: list[TypedExpr], indexing: TypedIndexing | None) -> TypedExpr:
    """Return the norm of numbers in one unit, or of one number over indices."""
    decision = any(typed.decision for typed in numbers)
    unit = unit_in(numbers[0])
    squares = [_square(typed) for typed in numbers]
    kind = Numeric(all(_is_integer(s) for s in squares), unit**2)
    inside: TypedExpr
    if indexing is None:
        inside = reduce(
            lambda a, b: Arithmetic(span=span, type=kind, decision=decision, op="+", left=a, right=b), squares
        )
    else:
        inside = Reduction(span=span, type=kind, decision=decision, op="sum", indexing=indexing, body=squares[0])
    return Function(span=span, type=Numeric(False, unit), decision=decision, name="sqrt", arguments=(inside,))


def _square(typed: TypedExpr) -> TypedExpr:
    two = Constant(span=typed.span, type=INTEGER_TYPE, value=2.0)
    kind = Numeric(_is_integer(typed), unit_in(typed) ** 2)
    return Arithmetic(span=typed.span, type=kind, decision=typed.decision, op="^", left=typed, right=two)


def _is_integer(typed: TypedExpr) -> bool:
    kind = numeric_type(typed)
    return kind is not None and kind.integer
