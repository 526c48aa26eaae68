"""From a model to one with an offered shed: the power by slot, a column for the shed, and a row for each slot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    CheckedLet,
    CheckedModel,
    CheckedVariable,
    Element,
    IndexVar,
    Numeric,
)
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.parsing.parser import parse
from gpusched_dsl.language.source import Source
from gpusched_dsl.language.units import Unit, has_dimension
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.workflows.flexibility.config import CODE

Power = CheckedLet | CheckedVariable


@dataclass(frozen=True, eq=False)
class ShedModel:
    """A workspace with the extended model: `scenario` is its scenario, `shed` and `rows` are its new declarations."""

    workspace: Workspace
    scenario: str
    power: str
    unit: Unit
    slots: str
    shed: str
    rows: str


def with_shed(workspace: Workspace, model: CheckedModel, scenario: str, power: str | None) -> ShedModel:
    """Return the workspace with a model that extends this one by a shed, and its scenario.

    Raises DiagnosticError (GSM4025) if decisions have no slots, if there is no power by slot or more than one, and
    without exactly one objective.
    """
    slots = _slots_of(model)
    if len(model.objectives) != 1:
        count = len(model.objectives)
        message = f"the cost of a shed needs one objective, `{model.name}` has {count}"
        place = model.objectives[1].span if count > 1 else model.span
        help = "choose an option or a model with one objective: costs of several levels have no price per kW"
        raise DiagnosticError([Diagnostic(CODE, message, place, help=help)])
    chosen = _power_of(model, slots, power)
    assert isinstance(chosen.type, Numeric)
    taken = {*model.sets, *model.params, *model.lets, *model.variables, *model.constraints, *model.reports,
             *model.randoms, *model.options}  # fmt: skip
    shed, rows = _free("offered_shed", taken), _free("power_with_shed", taken)
    name = _free(f"{model.name}_with_shed", workspace.models)
    own = _free(f"{scenario}_with_shed", {*workspace.scenarios, *workspace.models})
    text = _text(model, chosen, slots, shed, rows, name, own, scenario if scenario in workspace.scenarios else None)
    diagnostics = Diagnostics()
    file = parse(Source(f"{model.name} with a shed", text), diagnostics)
    diagnostics.raise_if_errors()
    block, made = file.blocks
    assert isinstance(block, tree.ModelBlock)
    assert isinstance(made, tree.Scenario)
    extended = structs.replace(
        workspace, models={**workspace.models, name: block}, scenarios={**workspace.scenarios, own: made}
    )
    return ShedModel(extended, own, chosen.name, chosen.type.unit, slots, shed, rows)


def _slots_of(model: CheckedModel) -> str:
    """Return the root set of the slots of the placement."""
    placement = model.placement
    root = "" if placement is None else placement.root("slot")
    if root:
        return root
    span = model.span if placement is None else placement.span
    message = f"decisions of `{model.name}` have no slots, so it has no power by slot"
    help = "the `placement` names the slot, an element of a set: `placement train[b, k, h] { job b;  slot h;  ... }`"
    raise DiagnosticError([Diagnostic(CODE, message, span, help=help)])


def _power_of(model: CheckedModel, slots: str, name: str | None) -> Power:
    """Return the named power, or the only variable or `let` with a unit of power and an index over the slots."""
    declared: dict[str, Power] = {**model.variables, **model.lets}
    by_slot = {n: d for n, d in declared.items() if _slot_indices(d, slots) and isinstance(d.type, Numeric)}
    powers = [n for n, d in by_slot.items() if _is_power(d)]
    if name is not None:
        if name in by_slot and len(_slot_indices(by_slot[name], slots)) == 1:
            return by_slot[name]
        found = declared.get(name)
        if found is None:
            message = f"`{name}` is no variable and no `let` of `{model.name}`"
            help = did_you_mean(name, declared) or f"those with a power by slot: {_list_names(powers)}"
            raise DiagnosticError([Diagnostic(CODE, message, help=help)])
        message = f"`{name}` has no single index over `{slots}`, so it is no power by slot"
        raise DiagnosticError([Diagnostic(CODE, message, found.span, help=f"powers by slot: {_list_names(powers)}")])
    if len(powers) == 1 and len(_slot_indices(by_slot[powers[0]], slots)) == 1:
        return by_slot[powers[0]]
    if powers:
        message = f"`{model.name}` has several powers by slot: {_list_names(powers)}"
        help = f"choose the one of the whole cluster: `--power {powers[0]}`"
        raise DiagnosticError([Diagnostic(CODE, message, by_slot[powers[1]].span, help=help)])
    message = f"`{model.name}` has no power by slot"
    help = (
        f"declare a `let` or a variable with a unit of power and an index over `{slots}`, such as "
        f"`let power[k in Nodes, h in {slots}] in W = ...;`, or name one without a unit: `--power NAME`"
    )
    raise DiagnosticError([Diagnostic(CODE, message, model.span, help=help)])


def _is_power(declared: Power) -> bool:
    return isinstance(declared.type, Numeric) and has_dimension(declared.type.unit, energy=1, time=-1)


def _slot_indices(declared: Power, slots: str) -> list[IndexVar]:
    return [v for v in declared.indexing.variables if isinstance(v.type, Element) and v.type.root == slots]


def _text(
    model: CheckedModel, power: Power, slots: str, shed: str, rows: str, name: str, own: str, scenario: str | None
) -> str:
    """The extended model and its scenario: power of the slot over all other indices, plus the shed."""
    indexing = power.indexing
    names = {v: v.name if v.name.isidentifier() else f"index_{at}" for at, v in enumerate(indexing.variables, start=1)}
    slot = _free("slot_of_event", {*names.values(), *model.sets, *model.params, *model.lets, *model.variables})
    iterators = ", ".join(f"{_bound(names, i.variables)} in {i.domain.span.text}" for i in indexing.iterators)
    [own_slot] = _slot_indices(power, slots)
    conditions = " and ".join((*(f"({c.span.text})" for c in indexing.conditions), f"{names[own_slot]} == {slot}"))
    subscripts = ", ".join(names[v] for v in indexing.variables)
    assert isinstance(power.type, Numeric)
    unit = "" if power.type.unit.is_dimensionless else f"in {power.type.unit.text} "
    extends = "" if scenario is None else f" extends {scenario}"
    return (
        f"model {name} extends {model.name} {{\n"
        f"  var {shed} {unit}>= 0;\n"
        f"  constraint {rows}[{slot} in {slots}]: sum[{iterators} where {conditions}] {power.name}[{subscripts}]"
        f" + {shed} <= 0;\n}}\n"
        f"scenario {own} for {name}{extends} {{ }}\n"
    )


def _bound(names: Mapping[IndexVar, str], variables: tuple[IndexVar, ...]) -> str:
    texts = [names[v] for v in variables]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _free(name: str, taken: Iterable[str]) -> str:
    known = set(taken)
    while name in known:
        name += "_"
    return name


def _list_names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
