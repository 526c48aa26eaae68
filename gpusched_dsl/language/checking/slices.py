"""Slices of sets of tuples: `(i, k) in Links` with a known `k`, `(1, j) in Links`."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    ComparisonChain,
    IndexRef,
    IndexVar,
    Iterator,
    Logical,
    SliceSet,
    TypedExpr,
    TypedIndexing,
    TypedSet,
)
from gpusched_dsl.language.checking.component_names import IGNORED
from gpusched_dsl.language.checking.kinds import as_element
from gpusched_dsl.language.checking.protocol import Checker
from gpusched_dsl.language.checking.scope import Scope
from gpusched_dsl.language.checking.sets import check_component, report_misfit
from gpusched_dsl.language.diagnostics.diagnostic import Label


def selecting_expression(index: tree.Index, component: int, scope: Scope) -> tree.Expr | None:
    """The expression of a component of a tuple that selects; None for a new index.

    A name selects if it is an index already, outside or before in the same list: `[k in K] ... sum[(i, k) in Links]`.
    """
    if not index.is_tuple or component >= len(index.names):
        return None
    name = index.names[component]
    if index.fixed_at(component) is not None:
        return index.fixed_at(component)
    return tree.Name(span=name.span, text=name.text) if name.text in scope.bindings else None


def check_slice(
    checker: Checker, index: tree.Index, domain: TypedSet, fixed: Sequence[tree.Expr | None], scope: Scope
) -> TypedSet | None:
    """`(i, k) in Links` with a known `k`, `(1, j) in Links`: the tuples with these values."""
    if all(fixed):
        names = index.names[0].span.to(index.names[-1].span)
        checker.error(
            "GSM1105",
            f"`{index.span.text}` has no new index",
            names,
            "all of them are known",
            help=f"write a condition, `where {index.span.text}`, or choose other names",
        )
        return None
    typed_args = [None if e is None else check_component(checker, e, scope) for e in fixed]
    found: list[TypedExpr | None] = []
    for expr, typed, kind in zip(fixed, typed_args, domain.types, strict=True):
        part = None if typed is None else as_element(typed, kind)
        if typed is not None and part is None:
            outer = scope.bindings.get(expr.text) if isinstance(expr, tree.Name) else None
            place = (
                [] if outer is None else [Label(outer.variable.span, "this index selects; another name is a new index")]
            )
            report_misfit(checker, typed, kind, place)
        if expr is not None and part is None:
            return None
        found.append(part)
    own = tuple(IndexVar(IGNORED, kind, name.span) for kind, name in zip(domain.types, index.names, strict=True))
    refs = tuple(IndexRef(span=variable.span, type=variable.type, variable=variable) for variable in own)
    return SliceSet(
        span=index.span,
        types=tuple(kind for kind, expr in zip(domain.types, fixed, strict=True) if expr is None),
        element=tuple(ref for ref, expr in zip(refs, found, strict=True) if expr is None),
        indexing=TypedIndexing(
            (Iterator(own, domain, index.span),),
            tuple(
                ComparisonChain(span=expr.span, type=Logical(), operands=(ref, expr), ops=("==",))
                for ref, expr in zip(refs, found, strict=True)
                if expr is not None
            ),
        ),
    )
