"""Continuous variables that are always integer, so that their values may be carried as statuses.

Let x be continuous variables with integer bounds. In every row with an x, let all other variables and numbers be
integer, let each x have the coefficient 1 or -1, and let there be at most one x of each sign. If the integer variables
are fixed, the rows are those of a dual network: they are totally unimodular, so some optimal x is integer. A row may
have other continuous variables that are in no other row: they add unit columns. They cannot be shared between rows:
`b >= x[1] - x[0]` and `b >= x[2] - x[1]` with x[0] = 0 and x[2] = 1 have their minimal b at x[1] = 1/2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusched_dsl.language.blocks.online.carry_analysis.slots import Owner, WindowView
from gpusched_dsl.language.checked import (
    Arithmetic,
    ComparisonChain,
    Fallback,
    IndexRef,
    IndexVar,
    LetRef,
    Negate,
    Reduction,
    TypedExpr,
    VariableRef,
)
from gpusched_dsl.language.checking.kinds import numeric_type


@dataclass(frozen=True, slots=True)
class _Place:
    """A variable in a row: its sign, the indices in its subscripts, and whether it is `in_sum`."""

    name: str
    sign: int
    over: frozenset[IndexVar]
    in_sum: bool


def is_implied_integer(view: WindowView, name: str) -> bool:
    """Whether an optimal plan has integer values of a continuous variable, by the theorem above; False: not proved."""
    rows = [o for o in view.owners if o.constraint and name in view.families(o.body)]
    return _is_affine_with_integer_bounds(view, name) and all(_keeps_integrality(row, view, name) for row in rows)


def _is_affine_with_integer_bounds(view: WindowView, name: str) -> bool:
    """Whether a variable has integer bounds, and all terms are affine in it."""
    types = [numeric_type(b.value) for b in view.model.variables[name].bounds]
    affine = all(_is_affine(t.value, view, name) for o in view.model.objectives for t in o.terms)
    return affine and all(k is not None and k.integer for k in types)


def _keeps_integrality(row: Owner, view: WindowView, name: str) -> bool:
    if not isinstance(row.body, ComparisonChain) or len(row.body.operands) != 2:
        return False
    left, right = (_places(o, view, sign, False) for o, sign in zip(row.body.operands, (1, -1), strict=True))
    if left is None or right is None:
        return False
    own = [p for p in left + right if p.name == name]
    if any(p.in_sum for p in own) or len(own) != len({p.sign for p in own}):
        return False
    real = [p for p in left + right if p.name != name and view.model.variables[p.name].kind == "real"]
    return all(_is_slack(p, row, view) for p in real)


def _is_slack(place: _Place, row: Owner, view: WindowView) -> bool:
    """Whether a continuous variable occurs in no other row, with a separate row for each element."""
    others = (o for o in view.owners if o.constraint and o is not row)
    alone = not any(place.name in view.families(o.body) for o in others)
    return (
        alone
        and not place.in_sum
        and set(row.indexing.variables) <= place.over
        and _is_affine_with_integer_bounds(view, place.name)
    )


def _places(expr: TypedExpr, view: WindowView, sign: int, in_sum: bool) -> list[_Place] | None:
    """Return the variables of an affine expression with integer coefficients, continuous ones with 1 or -1;
    else None.
    """
    if not expr.decision:
        return [] if _is_integer(expr) else None
    match expr:
        case VariableRef(name=name, subscripts=subscripts):
            over = frozenset(s.variable for s in subscripts if isinstance(s, IndexRef))
            return [_Place(name, sign, over, in_sum)]
        case Negate(operand=operand):
            return _places(operand, view, -sign, in_sum)
        case Arithmetic(op="+" | "-" as op, left=left, right=right):
            left_places = _places(left, view, sign, in_sum)
            right_places = _places(right, view, sign if op == "+" else -sign, in_sum)
            return None if left_places is None or right_places is None else left_places + right_places
        case Arithmetic(op="*", left=left, right=right):
            factor, rest = (left, right) if right.decision else (right, left)
            found = _places(rest, view, sign, in_sum)
            if factor.decision or not _is_integer(factor) or found is None:
                return None
            return None if any(view.model.variables[p.name].kind == "real" for p in found) else found
        case Fallback(reference=reference, fallback=fallback):
            return _places(reference, view, sign, in_sum) if not fallback.decision and _is_integer(fallback) else None
        case LetRef(name=name):
            found = _places(view.model.lets[name].value, view, sign, in_sum)
            # Indices of a `let` are not those of the row: it is unknown whether each element has its own row.
            return None if found is None else [replace(p, over=frozenset()) for p in found]
        case Reduction(op="sum", body=body):
            return _places(body, view, sign, True)
    return None


def _is_integer(expr: TypedExpr) -> bool:
    kind = numeric_type(expr)
    return kind is not None and kind.integer


def _is_affine(expr: TypedExpr, view: WindowView, name: str) -> bool:
    """Whether a term is affine in a variable, with any coefficients."""
    if not expr.decision or name not in view.families(expr):
        return True
    match expr:
        case VariableRef():
            return True
        case Negate(operand=operand) | Fallback(reference=operand):
            return _is_affine(operand, view, name)
        case Arithmetic(op="+" | "-", left=left, right=right):
            return _is_affine(left, view, name) and _is_affine(right, view, name)
        case Arithmetic(op="*" | "/", left=left, right=right):
            return (
                not (left.decision and right.decision)
                and _is_affine(left, view, name)
                and _is_affine(right, view, name)
            )
        case LetRef(name=let):
            return _is_affine(view.model.lets[let].value, view, name)
        case Reduction(op="sum", body=body):
            return _is_affine(body, view, name)
    return False
