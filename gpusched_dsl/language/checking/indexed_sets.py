"""Indexed sets: `set Pred[j in Jobs] within Jobs;` and `Pred[j]`.

An indexed set is one set of tuples, its indices first: `Pred` has the pair (j, p) where `Pred[j]` has p. So data,
slices and symmetry treat it as any set of tuples, and `p in Pred[j]` is `(j, p) in Pred`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    CheckedSet,
    ComparisonChain,
    ComprehensionSet,
    IndexedSetRef,
    IndexRef,
    IndexVar,
    Iterator,
    Logical,
    Membership,
    NamedSet,
    TypedExpr,
    TypedIndexing,
    TypedSet,
)
from gpusched_dsl.language.checking.component_names import IGNORED
from gpusched_dsl.language.checking.ranges import check_inside
from gpusched_dsl.language.checking.references import subscripts_of
from gpusched_dsl.language.checking.scope import Scope
from gpusched_dsl.language.checking.symbols import slots_of
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.source import Span

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


def of_tuples(
    decl: tree.SetDecl, indexing: TypedIndexing, within: TypedSet | None, value: TypedSet | None
) -> CheckedSet:
    """The indexed set as a set of tuples, from its indices and the sets of the elements at one of them."""
    elements = value or within
    assert elements is not None
    index_types = tuple(variable.type for variable in indexing.variables)
    return CheckedSet(
        decl.name.text,
        decl.name.span,
        (*index_types, *elements.types),
        None,
        within=None if within is None else _with_indices(indexing, within),
        value=None if value is None else _with_indices(indexing, value),
        doc=decl.doc,
        indexing=indexing,
    )


def _with_indices(indexing: TypedIndexing, elements: TypedSet) -> TypedSet:
    """All tuples of indices and elements."""
    own = tuple(IndexVar(IGNORED, kind, elements.span) for kind in elements.types)
    iterators = (*indexing.iterators, Iterator(own, elements, elements.span))
    variables = (*indexing.variables, *own)
    return ComprehensionSet(
        span=elements.span,
        types=tuple(variable.type for variable in variables),
        element=tuple(_reference(variable, elements.span) for variable in variables),
        indexing=TypedIndexing(iterators, indexing.conditions),
    )


def _reference(variable: IndexVar, span: Span) -> TypedExpr:
    return IndexRef(span=span, type=variable.type, variable=variable)


def declaration_is_complete(checker: Checker, decl: tree.SetDecl) -> bool:
    """Whether an indexed set states its elements and no property of a set that is not indexed."""
    assert decl.indexing is not None
    name = decl.name.text
    sound = True
    for word, is_stated in (("ordered", decl.ordered), ("identical", decl.identical)):
        if is_stated:
            checker.error(
                "GSM1408",
                f"`{name}` is indexed, so it cannot be `{word}`",
                decl.name.span,
                "indexed",
                help=f"declare the set of its elements `{word}`",
            )
            sound = False
    if decl.within is None and decl.value is None:
        checker.error(
            "GSM1023",
            f"the elements of the indexed set `{name}` are unknown",
            decl.name.span,
            "neither `within` nor `=`",
            help=f"state their set: `set {name}{decl.indexing.span.text} within ...;`",
        )
        sound = False
    return sound


def check_indexed_reference(checker: Checker, expr: tree.Subscript, scope: Scope) -> TypedSet | None:
    """`Pred[j]`: the set of one index."""
    found = _subscripts(checker, expr, scope)
    if found is None:
        return None
    declared, subscripts = found
    own = tuple(IndexVar(IGNORED, kind, expr.span) for kind in declared.types)
    indices, elements = own[: len(subscripts)], own[len(subscripts) :]
    tuples = NamedSet(span=expr.span, types=declared.types, name=declared.name)
    conditions = tuple(
        ComparisonChain(span=s.span, type=Logical(), operands=(_reference(variable, s.span), s), ops=("==",))
        for variable, s in zip(indices, subscripts, strict=True)
    )
    return IndexedSetRef(
        span=expr.span,
        types=declared.types[len(subscripts) :],
        element=tuple(_reference(variable, expr.span) for variable in elements),
        indexing=TypedIndexing((Iterator(own, tuples, expr.span),), conditions),
        name=declared.name,
        subscripts=subscripts,
    )


def membership(domain: IndexedSetRef, element: tuple[TypedExpr, ...], span: Span, *, negated: bool) -> Membership:
    """`p in Pred[j]` as `(j, p) in Pred`, which joins can use."""
    variables = domain.indexing.variables
    tuples = NamedSet(span=domain.span, types=tuple(v.type for v in variables), name=domain.name)
    return Membership(span=span, type=Logical(), element=(*domain.subscripts, *element), domain=tuples, negated=negated)


def _subscripts(
    checker: Checker, expr: tree.Subscript, scope: Scope
) -> tuple[CheckedSet, tuple[TypedExpr, ...]] | None:
    name = expr.name.text
    declared = checker.symbols.sets.get(name)
    if declared is None or not declared.indexing.iterators:
        for subscript in expr.subscripts:
            checker.check(subscript, scope)
        if name not in checker.symbols.poisoned:
            _report_not_indexed(checker, expr, declared)
        return None
    slots = slots_of(declared)
    found = subscripts_of(checker, declared, slots, expr, expr.subscripts, scope)
    if found is None or not check_inside(checker, declared, slots, found, scope):
        return None
    return declared, found


def _report_not_indexed(checker: Checker, expr: tree.Subscript, declared: CheckedSet | None) -> None:
    name = expr.name.text
    where = checker.symbols.span_of(name)
    if declared is not None:
        checker.error(
            "GSM1201",
            f"set `{name}` has no subscripts, {len(expr.subscripts)} given",
            expr.span,
            "not an indexed set",
            secondary=[Label(declared.span, f"`{name}` is declared here")],
            help=f"write `{name}`, or declare an indexed set: `set {name}[...] within ...;`",
        )
        return
    if where is None:
        checker.error(
            "GSM1101",
            f"unknown set `{name}`",
            expr.name.span,
            "no set of this name",
            help=did_you_mean(name, [n for n, s in checker.symbols.sets.items() if s.is_indexed])
            or f"declare it: `set {name}[...] within ...;`",
        )
        return
    checker.error(
        "GSM1106",
        "a value is used as a set",
        expr.span,
        "not a set",
        secondary=[Label(where, f"`{name}` is {checker.symbols.sort_of(name)}")],
        help="write a set name, `{ ... }`, a range `1..n`, or sets joined by union, inter, diff, cross",
    )
