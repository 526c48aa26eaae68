"""A model with an offered shed (the power by slot, a column, a row for each slot), and the slots of the event."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.tolerances import ROUNDING
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
from gpusched_dsl.language.units import Unit, convertible, factor, has_dimension, parse_unit_text
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.options.reading import has_unit, seconds_of
from gpusched_dsl.workflows.flexibility.asked import NOTHING_TO_ASK

EVENT = "GSM4026"  # slots that are not in the horizon
_CLOCK = re.compile(r"([0-9]{1,2}):([0-5][0-9])")
_FORM = "write the first and the last slot, such as `68..75`, or times from the start of slot 0, such as `17:00..19:00`"

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
        raise DiagnosticError([Diagnostic(NOTHING_TO_ASK, message, place, help=help)])
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
    raise DiagnosticError([Diagnostic(NOTHING_TO_ASK, message, span, help=help)])


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
            raise DiagnosticError([Diagnostic(NOTHING_TO_ASK, message, help=help)])
        message = f"`{name}` has no single index over `{slots}`, so it is no power by slot"
        raise DiagnosticError(
            [Diagnostic(NOTHING_TO_ASK, message, found.span, help=f"powers by slot: {_list_names(powers)}")]
        )
    if len(powers) == 1 and len(_slot_indices(by_slot[powers[0]], slots)) == 1:
        return by_slot[powers[0]]
    if powers:
        message = f"`{model.name}` has several powers by slot: {_list_names(powers)}"
        help = f"choose the one of the whole cluster: `--power {powers[0]}`"
        raise DiagnosticError([Diagnostic(NOTHING_TO_ASK, message, by_slot[powers[1]].span, help=help)])
    message = f"`{model.name}` has no power by slot"
    help = (
        f"declare a `let` or a variable with a unit of power and an index over `{slots}`, such as "
        f"`let power[k in Nodes, h in {slots}] in W = ...;`, or name one without a unit: `--power NAME`"
    )
    raise DiagnosticError([Diagnostic(NOTHING_TO_ASK, message, model.span, help=help)])


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


@dataclass(frozen=True, eq=False)
class EventSlots:
    """Which slots the event has, and which are before the notice; `hours` is the length of a slot, None if unknown."""

    slots: Bools
    before_notice: Bools
    first: str
    last: str
    hours: float | None


def event_of(
    text: str, notice: str | None, model: CheckedModel, store: ValueStore, slots: str, limits: MemoryLimits
) -> EventSlots:
    """Return the slots of an event. Raises DiagnosticError (GSM4026) if they are not in the horizon."""
    labels = [str(label) for label in store.universes[slots].labels]
    hours = slot_hours(model, store, limits)
    first, last = _ends(text, labels, slots, hours)
    chosen = np.zeros(len(labels), dtype=np.bool_)
    chosen[first : last + 1] = True
    fixed = np.zeros(len(labels), dtype=np.bool_)
    if notice is not None:
        fixed[: max(0, first - _notice_slots(notice, hours))] = True
    return EventSlots(chosen, fixed, labels[first], labels[last], hours)


def slot_hours(model: CheckedModel, store: ValueStore, limits: MemoryLimits) -> float | None:
    """Return the length of a slot in hours: `lasts` of the placement, if it is one time for all decisions."""
    evaluator = PlacementEvaluator(model, store, limits)
    hour = parse_unit_text("h")
    if evaluator.placement.value("lasts") is None or not convertible(evaluator.time, hour):
        return None
    domain = store.variables[evaluator.placement.variable].domain
    times = evaluator.times("lasts", evaluator.frame(domain.columns()), 0.0)
    if not len(times) or times.min() <= 0 or np.ptp(times) > ROUNDING * times.max():
        return None
    return float(times[0]) * float(factor(evaluator.time, hour))


def _ends(text: str, labels: list[str], slots: str, hours: float | None) -> tuple[int, int]:
    """Return the positions of the first and the last slot."""
    start, dots, end = (part.strip() for part in text.partition(".."))
    if not start or (dots and not end):
        raise _error(f"`{text}` is no event", _FORM)
    if _CLOCK.fullmatch(start) or _CLOCK.fullmatch(end):
        return _ends_of_times(text, start, end, labels, hours)
    unknown = [label for label in dict.fromkeys((start, end or start)) if label not in labels]
    if unknown:
        span = f"`{slots}` has the slots {labels[0]} to {labels[-1]}" if labels else f"`{slots}` is empty"
        help = did_you_mean(unknown[0], labels) or _FORM
        raise _error(f"the event is outside of the horizon: there is no slot `{unknown[0]}`; {span}", help)
    first, last = labels.index(start), labels.index(end or start)
    if last < first:
        raise _error(f"the event `{text}` ends before it begins", _FORM)
    return first, last


def _ends_of_times(text: str, start: str, end: str, labels: list[str], hours: float | None) -> tuple[int, int]:
    """Return the first and last of the slots that overlap a stretch of time."""
    if hours is None:
        message = "the slots have no common length in time, so an event has no times"
        raise _error(message, "name slots, such as `68..75`; times need `lasts` of the placement, the length of a slot")
    begin, until = _hours_of(start, text), _hours_of(end, text)
    if until <= begin:
        raise _error(f"the event `{text}` ends before it begins", _FORM)
    horizon = len(labels) * hours
    if until > horizon + ROUNDING:
        message = f"the event `{text}` is outside of the horizon: the slots end {horizon:g} h after the start of slot"
        raise _error(f"{message} `{labels[0]}`" if labels else message, _FORM)
    return int(begin / hours + ROUNDING), int(np.ceil(until / hours - ROUNDING)) - 1


def _hours_of(text: str, whole: str) -> float:
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise _error(f"`{whole}` has no two times", _FORM)
    return int(found[1]) + int(found[2]) / 60


def _notice_slots(text: str, hours: float | None) -> int:
    """Return a notice as a number of slots, rounded down to complete slots."""
    if text.isdecimal():
        return int(text)
    form = "write a number of slots such as 8, or a duration such as 2h"
    if not has_unit(text):
        raise _error(f"`{text}` is no notice", form)
    if hours is None:
        raise _error("the slots have no common length in time, so a notice is a number of slots", form)
    try:
        return int(seconds_of(text) / 3600 / hours + ROUNDING)
    except ValueError as error:
        raise _error(f"`{text}` is no notice: {error}", form) from None


def _error(message: str, help: str) -> DiagnosticError:
    return DiagnosticError([Diagnostic(EVENT, message, help=help)])
