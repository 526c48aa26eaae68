"""References to indices and declarations: names, subscripts, `(x[h-1] else 0)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    CheckedLet,
    CheckedParam,
    CheckedRandom,
    CheckedSet,
    CheckedVariable,
    Element,
    ElementWithLabel,
    Fallback,
    IndexRef,
    Iterator,
    KnownValue,
    LetRef,
    NamedSet,
    Numeric,
    ParamRef,
    RandomRef,
    TextType,
    TypedExpr,
    ValueType,
    VariableRef,
)
from gpusched_dsl.language.checked import StringLiteral as LabelExpr
from gpusched_dsl.language.checking.component_names import IGNORED, component_names
from gpusched_dsl.language.checking.conversion import alternatives, fit, unit_in
from gpusched_dsl.language.checking.kinds import INTEGER_TYPE, PLAIN, as_element, describe, numeric_type
from gpusched_dsl.language.checking.ranges import check_inside
from gpusched_dsl.language.checking.scope import Scope
from gpusched_dsl.language.checking.symbols import ExtraName, Subscripted, SubscriptSlot, Valued, slots_of
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


Reference = tree.Name | tree.Subscript


def declaration_labels(checker: Checker, typed: TypedExpr) -> list[Label]:
    """Return a label at the declaration of a reference, for diagnostics about its type."""
    match typed:
        case IndexRef(variable=variable):
            if variable.span == typed.span:
                return []
            return [Label(variable.span, f"`{variable.name}` is {describe(variable.type)}")]
        case ParamRef(name=name) | VariableRef(name=name) | LetRef(name=name) | RandomRef(name=name):
            span = checker.symbols.span_of(name)
            return [Label(span, f"`{name}` is declared here")] if span is not None else []
        case _:
            return []


def check_reference(
    checker: Checker, expr: tree.Name | tree.Subscript | tree.Otherwise, scope: Scope
) -> TypedExpr | None:
    match expr:
        case tree.Otherwise():
            return _otherwise(checker, expr, scope)
        case tree.Name(text=name) if name in scope.bindings:
            binding = scope.bindings[name]
            if binding is None:
                return None
            return IndexRef(span=expr.span, type=binding.variable.type, variable=binding.variable)
        case _:
            return _reference(checker, expr, scope, inside=True)


def _otherwise(checker: Checker, expr: tree.Otherwise, scope: Scope) -> TypedExpr | None:
    reference = _reference(checker, expr.reference, scope, inside=False)
    fallback = checker.check(expr.fallback, scope)
    if reference is None or fallback is None:
        return None
    if not isinstance(reference, (ParamRef, VariableRef, LetRef)):
        checker.error(
            "GSM1106",
            "only a parameter, a variable or a `let` can have an `else` value",
            expr.reference.span,
            "none of these",
        )
        return None
    pair = _keep_first(checker, reference, fallback)
    if pair is None:
        return None
    decision = reference.decision or pair.decision
    kind, other = reference.type, numeric_type(pair)
    if isinstance(kind, Numeric) and other is not None and not other.integer:
        kind = structs.replace(kind, integer=False)
    return Fallback(span=expr.span, type=kind, decision=decision, reference=reference, fallback=pair)


def _keep_first(checker: Checker, reference: TypedExpr, fallback: TypedExpr) -> TypedExpr | None:
    """The fallback in the unit of the reference, which itself must stay a bare reference."""
    if numeric_type(reference) is not None and numeric_type(fallback) is not None:
        because = Label(reference.span, f"this is in `{unit_in(reference)}`")
        return fit(checker, fallback, unit_in(reference), because=because)
    pair = alternatives(checker, reference, fallback)
    return pair[1] if pair is not None else None


def _reference(checker: Checker, expr: Reference, scope: Scope, inside: bool) -> TypedExpr | None:
    """A reference to something declared; `inside`: a subscript that can fall outside is an error."""
    name = expr.name.text if isinstance(expr, tree.Subscript) else expr.text
    place = expr.name.span if isinstance(expr, tree.Subscript) else expr.span
    subscripts = expr.subscripts if isinstance(expr, tree.Subscript) else ()
    extra = checker.symbols.extras.get(name)
    if extra is not None:
        return _extra(checker, expr, name, extra, subscripts, scope)
    declared = checker.symbols.values.get(name)
    if declared is None:
        for subscript in subscripts:
            checker.check(subscript, scope)
        if name not in checker.symbols.poisoned:
            _report_no_value(checker, name, place, scope, bool(subscripts))
        return None
    slots = slots_of(declared)
    typed_args = subscripts_of(checker, declared, slots, expr, subscripts, scope)
    if isinstance(declared, CheckedRandom) and not scope.expecting:
        checker.error(
            "GSM1215",
            f"`{name}` is random and can occur only in `E(...)` and `P(...)`",
            place,
            "has no single value",
            secondary=[Label(declared.span, f"`{name}` is declared as random")],
            help=f"take its expectation: `E({expr.span.text})`",
        )
        return None
    if typed_args is None:
        return None
    if inside and not check_inside(checker, declared, slots, typed_args, scope):
        return None
    return _typed_reference(declared, expr.span, typed_args)


def _typed_reference(declared: Valued, span: Span, subscripts: tuple[TypedExpr, ...]) -> TypedExpr:
    decided = any(s.decision for s in subscripts)
    match declared:
        case CheckedParam(name=name, type=kind):
            return ParamRef(span=span, type=kind, decision=decided, name=name, subscripts=subscripts)
        case CheckedVariable(name=name, type=kind):
            return VariableRef(span=span, type=kind, decision=True, name=name, subscripts=subscripts)
        case CheckedLet(name=name, type=kind, value=value):
            decision = value.decision or decided
            return LetRef(span=span, type=kind, decision=decision, name=name, subscripts=subscripts)
        case CheckedRandom(name=name, type=kind):
            return RandomRef(span=span, type=kind, name=name, subscripts=subscripts)


def _report_no_value(checker: Checker, name: str, place: Span, scope: Scope, subscripted: bool) -> None:
    symbols = checker.symbols
    declared = symbols.span_of(name)
    if name in scope.bindings:
        binding = scope.bindings[name]
        checker.error(
            "GSM1106",
            f"`{name}` is an index and has no subscripts",
            place,
            "an index",
            secondary=[Label(binding.variable.span, "bound here")] if binding is not None else [],
        )
    elif declared is not None:
        is_set = name in symbols.sets
        as_set = f"{name}[...]" if is_set and symbols.sets[name].is_indexed else name
        iterate = f"iterate over it, as in `sum[... in {as_set}]`, or count its elements: `count({as_set})`"
        when = f"select declarations by it: `when {name} == ... {{ ... }}`"
        sort = symbols.sort_of(name)
        checker.error(
            "GSM1106",
            f"`{name}` is {sort}, not a value",
            place,
            "not a value",
            secondary=[Label(declared, f"`{name}` is declared here")],
            help=iterate if is_set else when if sort == "an option" else None,
        )
    else:
        known = [*symbols.usable()] if subscripted else [*scope.bindings, *symbols.usable()]
        written = name.lower() if name.lower() in ("true", "false") else None
        power = {"²": 2, "³": 3}.get(name[-1:])
        if written is None and power is not None and name[:-1] in known:
            written = f"{name[:-1]} ^ {power}"
        is_infinity = name.lower() in ("inf", "infinity")
        endless = "remove the bound: without it there is no limit; data are finite" if is_infinity else None
        checker.error(
            "GSM1101",
            f"unknown name `{name}`",
            place,
            "not declared" if subscripted else "neither an index nor declared",
            help=(f"write `{written}`" if written else endless)
            or did_you_mean(name, known)
            or _explain_naming(name, scope, subscripted),
            fix=written,
        )


def _explain_naming(name: str, scope: Scope, subscripted: bool) -> str | None:
    """`param x[Jobs] = 2 * w[j]`: the index has to be named. `sum[j in Jobs] w[j] + v[j]`: it is known no longer."""
    if subscripted or len(name) > 2:
        return None
    if not scope.unnamed:
        return "an index is known only in the expression of its brackets; the body of `sum[...]` ends at `+` and `-`"
    return f"name the index in the declaration: `{name} in {scope.unnamed[0]}`"


def subscripts_of(
    checker: Checker,
    declared: Subscripted,
    slots: list[SubscriptSlot],
    expr: Reference,
    subscripts: tuple[tree.Expr, ...],
    scope: Scope,
) -> tuple[TypedExpr, ...] | None:
    """One typed expression per subscript position, each of the type of the position."""
    typed_args = [checker.check(subscript, scope) for subscript in subscripts]
    if any(isinstance(subscript, tree.TupleExpr) for subscript in subscripts):
        return None
    if len(subscripts) != len(slots):
        _report_arity(checker, declared, slots, expr, len(subscripts))
        return None
    fitted: list[TypedExpr] = []
    for typed, slot in zip(typed_args, slots, strict=True):
        part = _fit_subscript(checker, declared, typed, slot, slots) if typed is not None else None
        if part is not None:
            fitted.append(part)
    return tuple(fitted) if len(fitted) == len(slots) else None


def _fit_subscript(
    checker: Checker, declared: Subscripted, typed: TypedExpr, slot: SubscriptSlot, slots: list[SubscriptSlot]
) -> TypedExpr | None:
    if typed.decision and not isinstance(declared, CheckedRandom | CheckedSet):
        from gpusched_dsl.language.checking.decided_subscripts import decided_subscript

        return decided_subscript(checker, declared, typed, slot)
    if not checker.data_only(typed, f"a subscript of `{declared.name}`"):
        return None
    part = as_element(typed, slot.type)
    if part is not None:
        return part
    if slot.type == INTEGER_TYPE and numeric_type(typed) == PLAIN:
        checker.require_integer(typed)
        return None
    kind = numeric_type(typed)
    if kind is not None and kind.unit == DIMENSIONLESS and _is_ordered(checker, slot.type):
        return (
            ElementWithLabel(span=typed.span, type=slot.type, operand=typed) if checker.require_integer(typed) else None
        )
    where = (
        f"subscript {slots.index(slot) + 1} of `{declared.name}`"
        if len(slots) > 1
        else (f"the subscript of `{declared.name}`")
    )
    checker.error(
        "GSM1203",
        f"{where} must be {describe(slot.type)}, `{typed.span.text}` is {describe(typed.type)}",
        typed.span,
        describe(typed.type),
        secondary=[
            Label(slot.domain.span, f"`{declared.name}` is indexed by this"),
            *declaration_labels(checker, typed),
        ],
        help=_advise(typed, slot.type),
    )
    return None


def _advise(typed: TypedExpr, wanted: ValueType) -> str | None:
    if typed.type == TextType():
        return "write the number of an integer position without quotes"
    if isinstance(wanted, Element) and isinstance(typed.type, Numeric):
        return f"declare `set {wanted.root} ordered` and use integer labels to select its elements by number"
    return None


def _is_ordered(checker: Checker, kind: ValueType) -> bool:
    return isinstance(kind, Element) and checker.symbols.sets[kind.root].ordered


def _report_arity(
    checker: Checker, declared: Subscripted, slots: list[SubscriptSlot], expr: Reference, given: int
) -> None:
    names = [n for it in declared.indexing.iterators for n in _index_names(checker, it)]
    pattern = f"{declared.name}[{', '.join(names)}]" if names else declared.name
    wants = f"{len(slots)} subscript{'' if len(slots) == 1 else 's'}" if slots else "no subscripts"
    has = "none" if given == 0 else str(given)
    place = expr.span
    if isinstance(expr, tree.Subscript) and expr.subscripts:
        place = expr.subscripts[0].span.to(expr.subscripts[-1].span)
    tuples = [
        f"`{it.domain.span.text}` counts {len(it.variables)}"
        for it in declared.indexing.iterators
        if len(it.variables) > 1
    ]
    checker.error(
        "GSM1201",
        f"`{declared.name}` has {wants}, {has} given" if slots else f"`{declared.name}` has no subscripts, {has} given",
        place,
        f"{has} given",
        secondary=[Label(declared.span, f"`{declared.name}` is declared here")],
        notes=tuples,
        help=f"write it as `{pattern}`",
    )


def _index_names(checker: Checker, iterator: Iterator) -> tuple[str, ...]:
    names = tuple(v.name for v in iterator.variables)
    if IGNORED not in names:
        return names
    if isinstance(iterator.domain, NamedSet) and len(names) == 1:
        return (iterator.domain.name[:1].lower(),)
    return component_names(checker, iterator.domain)


def _extra(
    checker: Checker,
    expr: Reference,
    name: str,
    extra: ExtraName,
    subscripts: tuple[tree.Expr, ...],
    scope: Scope,
) -> TypedExpr | None:
    """A name that the place gives."""
    typed_args = [checker.check(subscript, scope) for subscript in subscripts]
    if extra.type is None:
        return None
    if len(typed_args) != len(extra.indices):
        wants = f"{len(extra.indices)} subscript{'' if len(extra.indices) == 1 else 's'}"
        checker.error(
            "GSM1201",
            f"`{name}` has {wants if extra.indices else 'no subscripts'}, {len(typed_args) or 'none'} given",
            expr.span,
            f"{len(typed_args) or 'none'} given",
        )
        return None
    fitted: list[TypedExpr] = []
    for typed, kind in zip(typed_args, extra.indices, strict=True):
        part = typed if typed is None or kind is None else as_element(typed, kind)
        if part is not None:
            fitted.append(part)
        elif typed is not None and kind is not None:
            checker.error(
                "GSM1203",
                f"`{name}` is indexed by {describe(kind)}, `{typed.span.text}` is {describe(typed.type)}",
                typed.span,
                describe(typed.type),
                secondary=declaration_labels(checker, typed),
            )
    if len(fitted) < len(typed_args):
        return None
    if extra.text is not None:
        return LabelExpr(span=expr.span, type=extra.type, text=extra.text)
    return KnownValue(span=expr.span, type=extra.type, name=name, subscripts=tuple(fitted))
