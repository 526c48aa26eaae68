"""The data of a run in a state: the given values, by name. All others follow from them and the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gpusched_dsl.compiling.data.slicing import InstanceView, LawSlice, ParamSlice, Ready, SetSlice
from gpusched_dsl.compiling.evaluation.store import Param, RandomLaws
from gpusched_dsl.ir.distributions.stacked import DistinctLaws
from gpusched_dsl.ir.domains import (
    Component,
    Domain,
    IntervalDomain,
    ProductDomain,
    ScalarDomain,
    TupleDomain,
    Universe,
)
from gpusched_dsl.ir.json.arrays import Broken, Unwritable
from gpusched_dsl.ir.json.laws import LawFile, law_file, law_of
from gpusched_dsl.online.checkpoints.codec import DamagedState, NotEncodable
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.updates import rebuild

Plain = dict[str, Any]


def data_of(base: Base) -> Plain:
    """Return the given values of a base for `encode`. Raises NotEncodable for a law without a form in files."""
    store, model = base.store, base.model
    found: dict[str, Any] = {}
    for name in model.data_order:
        if name not in base.input_names:
            continue
        if name in model.sets and model.sets[name].root == name:
            found[name] = list(store.universes[name].labels)
        elif name in model.sets:
            found[name] = _domain(store.sets[name])
        elif name in model.params:
            param = store.params[name]
            found[name] = {"domain": _domain(param.domain), "values": param.values}
        else:
            laws = store.randoms[name]
            found[name] = {"domain": _domain(laws.domain), "laws": _laws(laws, name), "which": laws.which}
    return found


def base_from(data: Plain, start: Base) -> Base:
    """Return the base with these given values for the model of `start`, that of the beginning of the run.

    Raises DamagedState for values that are not those of the model, DiagnosticError as a build does.
    """
    model = start.model
    roots = {name for name in data if name in model.sets and model.sets[name].root == name}
    universes = {name: _universe(name, data[name], start) for name in roots}
    whole = InstanceView({**start.store.universes, **universes}, {})
    ready: dict[str, Ready] = {}
    for name, plain in data.items():
        if name in roots:
            ready[name] = universes[name]
        elif name in model.sets:
            ready[name] = SetSlice(_domain_from(plain, whole.universes), whole)
        elif name in model.params:
            param = Param(_domain_from(plain["domain"], whole.universes), plain["values"])
            ready[name] = ParamSlice(model.params[name], param, whole)
        elif name in model.randoms:
            laws = DistinctLaws(_law_from(law, name) for law in plain["laws"])
            domain = _domain_from(plain["domain"], whole.universes)
            ready[name] = LawSlice(RandomLaws(domain, laws, plain["which"]), whole)
        else:
            raise DamagedState(f"`{name}` is not in the model")
    return rebuild(start, ready)


def _universe(name: str, labels: list[str | int], start: Base) -> Universe:
    known = start.store.universes.get(name)
    found = tuple(labels)
    return known if known is not None and known.labels == found else Universe(name, found)


def _laws(laws: RandomLaws, name: str) -> list[Plain]:
    try:
        found: list[Plain] = [msgspec.to_builtins(law_file(law)) for law in laws.laws]
    except Unwritable as failure:
        raise NotEncodable(f"a law of `{name}`: {failure}") from failure
    return found


def _law_from(plain: Plain, name: str) -> Any:
    try:
        return law_of(msgspec.convert(plain, LawFile), name)
    except (msgspec.ValidationError, Broken) as failure:
        raise DamagedState(str(failure)) from failure


# --- domains ---------------------------------------------------------------------------------------------------------


def _domain(domain: Domain) -> Plain:
    match domain:
        case ScalarDomain():
            return {}
        case IntervalDomain():
            return {"interval": [domain.low, domain.high, domain.step, _name(domain.component)]}
        case TupleDomain():
            return {"of": [_name(c) for c in domain.components], "codes": list(domain.codes)}
        case ProductDomain():
            return {"factors": [_domain(factor) for factor in domain.factors]}
    raise NotEncodable(f"a domain of class `{type(domain).__name__}`")


def _domain_from(plain: Plain, universes: Mapping[str, Universe]) -> Domain:
    if "interval" in plain:
        low, high, step, name = plain["interval"]
        return IntervalDomain(low, high, step, None if name is None else universes[name])
    if "of" in plain:
        components = tuple(None if name is None else universes[name] for name in plain["of"])
        return TupleDomain(components, tuple(plain["codes"]))
    if "factors" in plain:
        return ProductDomain(tuple(_domain_from(factor, universes) for factor in plain["factors"]))
    return ScalarDomain()


def _name(component: Component) -> str | None:
    return None if component is None else component.name
