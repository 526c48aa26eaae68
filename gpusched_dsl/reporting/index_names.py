"""The names of the index columns of a table: the index names of the model, or the set's name."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.language.checked import (
    CheckedModel,
    ComprehensionSet,
    IndexRef,
    Iterator,
    NamedSet,
    SliceSet,
    TypedIndexing,
    TypedSet,
)

VALUE = "value"


def index_names(model: CheckedModel, indexing: TypedIndexing) -> tuple[str, ...]:
    """One distinct name per index position of a declaration."""
    return distinct([name for iterator in indexing.iterators for name in _iterator_names(model, iterator)])


def names_of_domain(domain: Domain) -> tuple[str, ...]:
    """Names for a problem without a model: those of the sets; `index` for integers."""
    return distinct([c.name if c is not None else "index" for c in domain.components])


def distinct(names: Sequence[str], taken: Sequence[str] = (VALUE,)) -> tuple[str, ...]:
    """Return the names, with a number appended to repeated ones."""
    result: list[str] = []
    for name in names:
        candidate, number = name, 2
        while candidate in result or candidate in taken:
            candidate, number = f"{name}_{number}", number + 1
        result.append(candidate)
    return tuple(result)


def _iterator_names(model: CheckedModel, iterator: Iterator) -> list[str]:
    if all(_is_named_by_author(v.name) for v in iterator.variables):
        return [v.name for v in iterator.variables]
    default_names = _set_names(model, iterator.domain, len(iterator.variables))
    return [
        v.name if _is_named_by_author(v.name) else name
        for v, name in zip(iterator.variables, default_names, strict=True)
    ]


def _is_named_by_author(name: str) -> bool:
    """Whether the model has this name; generated names are impossible in a text, and `_` is not a name."""
    return name.isidentifier() and name.strip("_") != "" and not name.startswith("_")


def _set_names(model: CheckedModel, domain: TypedSet, arity: int) -> list[str]:
    if isinstance(domain, SliceSet):
        names = _set_names(model, domain.domain, len(domain.fixed))
        return [names[at] for at in domain.free]
    if not isinstance(domain, NamedSet):
        return ["index"] * arity
    if arity == 1:
        return [domain.name]
    declared = model.sets.get(domain.name)
    value = declared.value if declared is not None else None
    if isinstance(value, ComprehensionSet) and all(isinstance(e, IndexRef) for e in value.element):
        return [e.variable.name if isinstance(e, IndexRef) else "index" for e in value.element]
    return [f"{domain.name}_{number}" for number in range(1, arity + 1)]
