"""Whether an expression is 0 for an element for which a plan decides nothing."""

from __future__ import annotations

from gpusched_dsl.language.checked import (
    Arithmetic,
    CheckedModel,
    Executed,
    IfThenElse,
    IndexRef,
    IndexVar,
    LetRef,
    Negate,
    Reduction,
    TypedExpr,
    VariableRef,
)


def vanishes(expr: TypedExpr, model: CheckedModel, index: IndexVar) -> bool:
    """Whether an expression is surely 0 where all variables with this index as a subscript are 0."""
    match expr:
        case VariableRef():
            return _has(expr.subscripts, index)
        case Negate(operand=inner) | Executed(body=inner):
            return vanishes(inner, model, index)
        case Arithmetic(op="*", left=left, right=right):
            return vanishes(left, model, index) or vanishes(right, model, index)
        case Arithmetic(op="/", left=left):
            return vanishes(left, model, index)
        case Arithmetic(op="+" | "-", left=left, right=right):
            return vanishes(left, model, index) and vanishes(right, model, index)
        case IfThenElse(then=then, otherwise=otherwise):
            return vanishes(then, model, index) and vanishes(otherwise, model, index)
        case Reduction(op="sum", body=body):
            return vanishes(body, model, index)
        case LetRef(name=name, subscripts=subscripts) if name in model.lets and _has(subscripts, index):
            let = model.lets[name]
            pairs = zip(let.indexing.variables, subscripts, strict=True)
            return any(vanishes(let.value, model, own) for own, subscript in pairs if _has((subscript,), index))
    return False


def _has(subscripts: tuple[TypedExpr, ...], index: IndexVar) -> bool:
    return any(isinstance(s, IndexRef) and s.variable is index for s in subscripts)
