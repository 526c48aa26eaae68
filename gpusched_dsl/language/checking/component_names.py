"""Names of the components of sets that the author has not named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.language.checked import ComprehensionSet, IndexedSetRef, IndexRef, NamedSet, TypedSet

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


IGNORED = "_"


def component_names(checker: Checker, domain: TypedSet) -> tuple[str, ...]:
    """Return names for the components of a set: those of its definition, else letters."""
    value: TypedSet | None = domain
    while isinstance(value, NamedSet):
        declared = checker.symbols.sets.get(value.name)
        value = declared.value if declared is not None else None
    named = isinstance(value, ComprehensionSet) and not isinstance(value, IndexedSetRef)
    if named and isinstance(value, ComprehensionSet) and all(isinstance(e, IndexRef) for e in value.element):
        return tuple(e.variable.name for e in value.element if isinstance(e, IndexRef))
    return (
        tuple("ijklmn"[: len(domain.types)])
        if len(domain.types) <= 6
        else tuple(f"i{n}" for n in range(1, len(domain.types) + 1))
    )
