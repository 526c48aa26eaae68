"""Indices of formulas in scenarios: `cap[("a", j) in Links] = 2;`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import IndexRef, NamedSet, SliceSet, TypedExpr, TypedIndexing
from gpusched_dsl.language.checking.component_names import IGNORED
from gpusched_dsl.language.checking.symbols import SubscriptSlot
from gpusched_dsl.language.scenarios.values import label_names
from gpusched_dsl.language.source import Span


def listed_subscripts(
    node: tree.Indexing, indexing: TypedIndexing, *, complete: bool
) -> list[tuple[tree.Expr | None, TypedExpr | None, Span]]:
    """The subscripts that an index list gives: fixed labels as written, and indices.

    Of `("a", j) in Links` it gives `j`, or both components if `complete`.
    """
    iterators = iter(indexing.iterators)
    found: list[tuple[tree.Expr | None, TypedExpr | None, Span]] = []
    for index in node.indices:
        if not index.names:
            found.append((index.domain, None, index.span))
            continue
        iterator = next(iterators)
        indices = iter([IndexRef(span=index.span, type=v.type, variable=v) for v in iterator.variables])
        fixed = iterator.domain.fixed if isinstance(iterator.domain, SliceSet) else (None,) * len(iterator.variables)
        for expr in fixed:
            if expr is None:
                found.append((None, next(indices), index.span))
            elif complete:
                found.append((None, expr, index.span))
    return found


def literals_within(indexing: tree.Indexing, slots: Sequence[SubscriptSlot]) -> list[tree.Index]:
    """The indices, with `j in { a, b }` as `j in Jobs inter { "a", "b" }`: the labels belong to the index set."""
    found: list[tree.Index] = []
    free, names = [], set[str]()
    for index in indexing.indices:
        fixed = sum(index.fixed_at(at) is not None or name.text in names for at, name in enumerate(index.names))
        free.append(len(index.names) - fixed if index.names else 1)
        names.update(name.text for name in index.names if name.text != IGNORED)
    complete = [max(1, len(index.names)) for index in indexing.indices]
    counts = complete if sum(free) != len(slots) == sum(complete) else free
    places = accumulate(counts, initial=0)
    for index, at in zip(indexing.indices, places, strict=False):
        domain = label_names(index.domain) if index.names else index.domain
        own = slots[at].domain if at < len(slots) else None
        if isinstance(domain, tree.SetLiteral) and isinstance(own, NamedSet):
            name = tree.Name(span=domain.span, text=own.name)
            domain = tree.Binary(span=domain.span, op="inter", left=name, right=domain)
        found.append(structs.replace(index, domain=domain))
    return found
