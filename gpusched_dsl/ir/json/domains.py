"""Index domains in a problem file: each once, by number, and products as their factors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from gpusched_dsl.ir.domains import (
    Component,
    Domain,
    IntervalDomain,
    ProductDomain,
    ScalarDomain,
    TupleDomain,
    Universe,
)
from gpusched_dsl.ir.json.arrays import Number


class UniverseFile(msgspec.Struct, forbid_unknown_fields=True):
    """The elements of a nominal set, in order; all strings or all integers, distinct."""

    name: str
    labels: list[str | int]


class ScalarsFile(msgspec.Struct, tag_field="kind", tag="scalars", forbid_unknown_fields=True):
    """No index: one empty tuple."""


class IntervalFile(msgspec.Struct, tag_field="kind", tag="interval", forbid_unknown_fields=True):
    """The codes `low, low + step, ...` up to `high`. With a universe they count its elements from 0."""

    low: int
    high: int
    step: Annotated[int, Meta(ge=1)] = 1
    universe: Number | None = None


class TuplesFile(msgspec.Struct, tag_field="kind", tag="tuples", forbid_unknown_fields=True):
    """Distinct tuples by column of codes; a component is a universe, or null for integers."""

    components: list[Number | None]
    codes: list[list[int]]


class ProductFile(msgspec.Struct, tag_field="kind", tag="product", forbid_unknown_fields=True):
    """All combinations of domains with smaller numbers, the last one varying fastest."""

    factors: Annotated[list[Number], Meta(min_length=1)]


DomainFile = ScalarsFile | IntervalFile | TuplesFile | ProductFile


@dataclass
class DomainStore:
    """Numbers universes and domains as they are mentioned."""

    universes: list[Universe] = field(default_factory=list)
    domains: list[DomainFile] = field(default_factory=list)
    _seen: dict[int, tuple[int, object]] = field(default_factory=dict)  # the object is kept so that its id stays taken

    def domain(self, domain: Domain) -> int:
        if id(domain) in self._seen:
            return self._seen[id(domain)][0]
        stored = self._domain_file(domain)
        return self._remember(domain, self.domains, stored)

    def _domain_file(self, domain: Domain) -> DomainFile:
        if isinstance(domain, ScalarDomain):
            return ScalarsFile()
        if isinstance(domain, IntervalDomain):
            return IntervalFile(domain.low, domain.high, domain.step, self._component(domain.component))
        if isinstance(domain, ProductDomain):
            return ProductFile([self.domain(factor) for factor in domain.factors])
        components = [self._component(component) for component in domain.components]
        return TuplesFile(components, [codes.tolist() for codes in domain.columns()])

    def _component(self, component: Component) -> int | None:
        if component is None:
            return None
        if id(component) in self._seen:
            return self._seen[id(component)][0]
        return self._remember(component, self.universes, component)

    def _remember(self, key: object, store: list[Any], value: object) -> int:
        store.append(value)
        self._seen[id(key)] = (len(store) - 1, key)
        return len(store) - 1


def domain_of(stored: DomainFile, universes: list[Universe], earlier: list[Domain]) -> Domain:
    """Return the domain of a checked form; products refer to the `earlier` ones."""

    def component(number: int | None) -> Component:
        return None if number is None else universes[number]

    if isinstance(stored, ScalarsFile):
        return ScalarDomain()
    if isinstance(stored, IntervalFile):
        return IntervalDomain(stored.low, stored.high, stored.step, component(stored.universe))
    if isinstance(stored, ProductFile):
        return ProductDomain(tuple(earlier[number] for number in stored.factors))
    codes = tuple(np.array(column, dtype=np.int64) for column in stored.codes)
    return TupleDomain(tuple(component(number) for number in stored.components), codes)
