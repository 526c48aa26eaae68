"""Continuous variables that are always integer, so that their values may be carried as statuses.

Let x be continuous variables with whole bounds. If in every row that reads them the other variables are whole and the
numbers too, each x has the coefficient 1 or -1, and there is at most one of each sign, then the rows are those of a
dual network once the whole variables are fixed: totally unimodular, so some best values of x are whole. A row may have
further continuous variables that stand in no other row: they add unit columns. (Shared between rows it may not be:
`b >= x[1] - x[0]` and `b >= x[2] - x[1]` with x[0] = 0 and x[2] = 1 have their least b at x[1] = 1/2.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusched_dsl.language.blocks.online.carry_analysis.slots import Owner, Seen
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
    """A variable in a row: its sign, the indices in its subscripts, and whether it is in a sum (`many`)."""

    name: str
    sign: int
    over: frozenset[IndexVar]
    many: bool


def is_whole_by_itself(seen: Seen, name: str) -> bool:
    """Whether an optimal plan has integer values of a continuous variable, by the theorem above; False: not proved."""
    rows = [o for o in seen.owners if o.constraint and name in seen.families(o.body)]
    return _plain(seen, name) and all(_keeps_whole(row, seen, name) for row in rows)


def _plain(seen: Seen, name: str) -> bool:
    """Whether a variable has integer bounds, and all terms are affine in it."""
    kinds = [numeric_type(b.value) for b in seen.model.variables[name].bounds]
    affine = all(_affine(t.value, seen, name) for o in seen.model.objectives for t in o.terms)
    return affine and all(k is not None and k.integer for k in kinds)


def _keeps_whole(row: Owner, seen: Seen, name: str) -> bool:
    if not isinstance(row.body, ComparisonChain) or len(row.body.operands) != 2:
        return False
    left, right = (_places(o, seen, sign, False) for o, sign in zip(row.body.operands, (1, -1), strict=True))
    if left is None or right is None:
        return False
    own = [p for p in left + right if p.name == name]
    if any(p.many for p in own) or len(own) != len({p.sign for p in own}):
        return False
    real = [p for p in left + right if p.name != name and seen.model.variables[p.name].kind == "real"]
    return all(_takes_up(p, row, seen) for p in real)


def _takes_up(place: _Place, row: Owner, seen: Seen) -> bool:
    """Whether a continuous variable occurs in no other row, with a separate row for each element."""
    others = (o for o in seen.owners if o.constraint and o is not row)
    alone = not any(place.name in seen.families(o.body) for o in others)
    return alone and not place.many and set(row.indexing.variables) <= place.over and _plain(seen, place.name)


def _places(expr: TypedExpr, seen: Seen, sign: int, many: bool) -> list[_Place] | None:
    """Return the variables of an affine expression with integer coefficients, continuous ones with 1 or -1;
    else None.
    """
    if not expr.decision:
        return [] if _whole(expr) else None
    match expr:
        case VariableRef(name=name, subscripts=subscripts):
            over = frozenset(s.variable for s in subscripts if isinstance(s, IndexRef))
            return [_Place(name, sign, over, many)]
        case Negate(operand=operand):
            return _places(operand, seen, -sign, many)
        case Arithmetic(op="+" | "-" as op, left=left, right=right):
            one = _places(left, seen, sign, many)
            two = _places(right, seen, sign if op == "+" else -sign, many)
            return None if one is None or two is None else one + two
        case Arithmetic(op="*", left=left, right=right):
            factor, rest = (left, right) if right.decision else (right, left)
            found = _places(rest, seen, sign, many)
            if factor.decision or not _whole(factor) or found is None:
                return None
            return None if any(seen.model.variables[p.name].kind == "real" for p in found) else found
        case Fallback(reference=reference, fallback=fallback):
            return _places(reference, seen, sign, many) if not fallback.decision and _whole(fallback) else None
        case LetRef(name=name):
            found = _places(seen.model.lets[name].value, seen, sign, many)
            # Indices of a `let` are not those of the row: what stands for a row of its own is not known.
            return None if found is None else [replace(p, over=frozenset()) for p in found]
        case Reduction(op="sum", body=body):
            return _places(body, seen, sign, True)
    return None


def _whole(expr: TypedExpr) -> bool:
    kind = numeric_type(expr)
    return kind is not None and kind.integer


def _affine(expr: TypedExpr, seen: Seen, name: str) -> bool:
    """Whether a term is affine in a variable, whatever the coefficients."""
    if not expr.decision or name not in seen.families(expr):
        return True
    match expr:
        case VariableRef():
            return True
        case Negate(operand=operand) | Fallback(reference=operand):
            return _affine(operand, seen, name)
        case Arithmetic(op="+" | "-", left=left, right=right):
            return _affine(left, seen, name) and _affine(right, seen, name)
        case Arithmetic(op="*" | "/", left=left, right=right):
            return not (left.decision and right.decision) and _affine(left, seen, name) and _affine(right, seen, name)
        case LetRef(name=let):
            return _affine(seen.model.lets[let].value, seen, name)
        case Reduction(op="sum", body=body):
            return _affine(body, seen, name)
    return False
