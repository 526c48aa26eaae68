"""`ord(s)` and `ord(s, S)`: the position of an element in an ordered set, counted from 1."""

from __future__ import annotations

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import Element, IndexRef, IntegerRange, NamedSet, Ordinal, TypedExpr, TypedSet
from gpusched_dsl.language.checking.arithmetic import ordered_set_of
from gpusched_dsl.language.checking.kinds import INTEGER_TYPE, as_element, describe, is_plain_whole
from gpusched_dsl.language.checking.protocol import Checker
from gpusched_dsl.language.checking.references import declaration_labels
from gpusched_dsl.language.checking.scope import Scope
from gpusched_dsl.language.checking.walk import indices_in
from gpusched_dsl.language.diagnostics.diagnostic import Label


def check_ordinal(checker: Checker, expr: tree.Call, scope: Scope) -> TypedExpr | None:
    """The position of an element in the named set, else in the ordered set that it runs over or belongs to."""
    given = len(expr.arguments)
    if given not in (1, 2):
        checker.error("GSM1212", f"`ord` has one or two arguments, {given or 'none'} given", expr.span, "wrong number")
        return None
    typed = checker.check(expr.arguments[0], scope)
    named = checker.set_of(expr.arguments[1], scope) if given == 2 else None
    if typed is None or (given == 2 and named is None) or not checker.data_only(typed, "the argument of `ord`"):
        return None
    domain = named if named is not None else _own_set(checker, typed, scope)
    if domain is None:
        _report_no_set(checker, expr, typed)
        return None
    if not is_ordered(checker, domain, "ord"):
        return None
    element = as_element(typed, domain.types[0])
    if element is None:
        checker.error(
            "GSM1203",
            f"`{typed.span.text}` is {describe(typed.type)}, but `{domain.span.text}` has elements of another type",
            typed.span,
            describe(typed.type),
            secondary=[Label(domain.span, describe(domain.types[0])), *declaration_labels(checker, typed)],
        )
        return None
    return Ordinal(span=expr.span, type=INTEGER_TYPE, operand=element, domain=domain)


def _own_set(checker: Checker, typed: TypedExpr, scope: Scope) -> TypedSet | None:
    """The set in which an element is counted if none is named."""
    if isinstance(typed.type, Element):
        name = ordered_set_of(checker, typed, scope) or typed.type.root
        return NamedSet(span=typed.span, types=(typed.type,), name=name)
    binding = scope.bindings.get(typed.variable.name) if isinstance(typed, IndexRef) else None
    domain = binding.domain if binding is not None else None
    fixed = domain is not None and len(domain.types) == 1 and not indices_in(domain)
    return domain if fixed and isinstance(domain, NamedSet | IntegerRange) else None


def _report_no_set(checker: Checker, expr: tree.Call, typed: TypedExpr) -> None:
    inside = typed.span.text
    number = is_plain_whole(typed)
    checker.error(
        "GSM1212",
        f"the set in which `{inside}` is counted is unknown"
        if number
        else f"`ord` needs an element of an ordered set, `{inside}` is {describe(typed.type)}",
        typed.span,
        describe(typed.type),
        help=f"name the set: `ord({inside}, S)`" if number else None,
    )


def is_ordered(checker: Checker, domain: TypedSet, function: str) -> bool:
    """Whether a set has positions for a function that needs them; reports GSM1212 and GSM1209."""
    if len(domain.types) > 1 or indices_in(domain):
        checker.error(
            "GSM1212",
            f"`{function}` of a set " + ("of tuples" if len(domain.types) > 1 else "that depends on an index"),
            domain.span,
            help="use an ordered set of single elements",
        )
        return False
    kind = domain.types[0]
    if not isinstance(kind, Element):
        return True
    sets = checker.symbols.sets
    declared = sets.get(domain.name) if isinstance(domain, NamedSet) else None
    root = sets.get(kind.root)
    if (declared is not None and declared.ordered) or (root is not None and root.ordered):
        return True
    checker.error(
        "GSM1209",
        f"the elements of `{kind.root}` have no order, so they have no positions",
        domain.span,
        "not ordered",
        secondary=[Label(root.span, f"`{kind.root}` is declared without `ordered`")] if root is not None else [],
        help=f"declare `set {kind.root} ordered`",
    )
    return False
