"""Evaluates the right sides of `carry`, the state for the next plan, on the data of the complete run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from gpusched_dsl.compiling.data.slicing import InstanceView, KnownValues
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.store import MISSING, Param, ValueStore
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Values, spread
from gpusched_dsl.ir.domains import Domain, IntervalDomain, ScalarDomain, TupleDomain
from gpusched_dsl.language.checked import Element, LetRef, ParamRef, VariableRef
from gpusched_dsl.language.checked_online import CheckedCarry, CheckedOnline
from gpusched_dsl.language.checking.walk import Part as CorePart
from gpusched_dsl.language.checking.walk import children
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.plan_columns import set_plan

INTEGRAL = 1e-6  # a state is this near to an integer, or the plan is refused


@dataclass(frozen=True, eq=False)
class LoopClock:
    """The loop's own names at one time: numbers, and arrays over all jobs of the run."""

    now: float
    remaining: Floats
    done: Floats
    running: Floats
    requested: Floats
    committed: int = int(MISSING)  # code of the last slot that was executed


@dataclass(frozen=True, eq=False)
class CurrentPlan:
    """Values of variables of the current plan, in codes of the complete run; all others are 0."""

    values: Mapping[str, VariableValues] = field(default_factory=dict)


def variables_read(expr: CorePart, online: CheckedOnline) -> frozenset[str]:
    """Return the variables that an expression reads, also through `let`s."""
    return names_read([expr], online, VariableRef)


def names_read(
    values: Sequence[CorePart], online: CheckedOnline, kind: type[VariableRef] | type[ParamRef]
) -> frozenset[str]:
    """Return the variables or parameters that expressions read, also through `let`s."""
    found: set[str] = set()
    lets: set[str] = set()
    open_ = list(values)
    while open_:
        part = open_.pop()
        if isinstance(part, kind):
            found.add(part.name)
        elif isinstance(part, LetRef) and part.name not in lets:
            lets.add(part.name)
            open_.append(online.model.lets[part.name].value)
        open_.extend(children(part))
    return frozenset(found)


class Carrier:
    """Evaluates the carries of one online block. The universes are those of the complete run."""

    def __init__(self, online: CheckedOnline, base: Base) -> None:
        self.online, self.base = online, base
        self.reads = {carry.target: variables_read(carry.value, online) for carry in online.carries}

    @cached_property
    def variables(self) -> frozenset[str]:
        """Return the variables with values that are kept from one plan to the next."""
        return frozenset().union(*self.reads.values())

    def carried_values(
        self, part: InstanceView, clock: LoopClock, last: CurrentPlan | None, onto: InstanceView | None = None
    ) -> dict[str, KnownValues]:
        """The carried parameters of the next plan; those that read a plan keep their given values before the first.

        With `onto`, the values are for this part, and right sides see the elements of `part`.
        """
        store = self.store_at(part, clock, last)
        found = {}
        for carry in self.online.carries:
            if last is not None or not self.reads[carry.target]:
                found[carry.target] = KnownValues(_CarriedValues(self, carry, store, onto or part))
        return found

    def store_at(self, part: InstanceView, clock: LoopClock, last: CurrentPlan | None) -> ValueStore:
        """Return the data of right sides: given values of the complete run, present elements, the clock, the last plan.

        Slots are those of the complete run: the right side encodes when a value becomes known.
        """
        base, online = self.base.store, self.online
        sets: dict[str, Domain] = dict(base.sets)
        for root, codes in part.kept.items():
            if online.window is None or root != self.slots_root:
                sets[root] = TupleDomain((base.universes[root],), (codes,))
        params = {**base.params, **self._clock_params(clock)}
        store = ValueStore(base.universes, sets, params, base.randoms, {}, np.zeros(0))
        if last is not None:
            ev = Evaluator(online.model, base, self.base.limits)
            set_plan(store, ev, (online.model.variables[name] for name in sorted(self.variables)), last.values)
        return store

    @property
    def slots_root(self) -> str:
        assert self.online.window is not None
        root = self.online.base.sets[self.online.window.slots].root
        assert root is not None
        return root

    def _clock_params(self, clock: LoopClock) -> dict[str, Param]:
        scalar = ScalarDomain()
        params = {"now": Param(scalar, np.array([clock.now]))}
        if self.online.window is not None:
            params["committed"] = Param(scalar, np.array([clock.committed], dtype=np.int64))
        if self.online.arrival is not None:
            jobs = self.base.store.universes[self.online.arrival.jobs]
            every = IntervalDomain(0, len(jobs.labels) - 1, 1, jobs)
            for name in ("remaining", "done", "running", "requested"):
                params[name] = Param(every, getattr(clock, name))
        return params


@dataclass(frozen=True, eq=False)
class _CarriedValues:
    """The values of one carried parameter on its domain in a part."""

    carrier: Carrier
    carry: CheckedCarry
    store: ValueStore
    part: InstanceView

    def __call__(self, domain: Domain) -> Values:
        carrier, carry = self.carrier, self.carry
        columns: tuple[Codes, ...] = self.part.outer_codes(domain.components, domain.columns()) if domain.arity else ()
        frame = Frame(domain.size, dict(zip(carry.variables, columns, strict=True)))
        ev = Evaluator(carrier.online.model, self.store, carrier.base.limits)
        target = carrier.online.base.params[carry.target]
        if isinstance(target.type, Element):
            codes = spread(ev.codes(carry.value, frame), domain.size)
            [inner] = self.part.inner_codes((self.store.universes[target.type.root],), (codes,))
            return np.where(inner >= 0, inner, MISSING)
        values = np.array(spread(ev.numbers(carry.value, frame), domain.size), dtype=np.float64)
        if target.kind in ("binary", "integer"):
            values = self._round_to_integers(values, ev, frame, target.kind)
        return values

    def _round_to_integers(self, values: Floats, ev: Evaluator, frame: Frame, kind: str) -> Floats:
        """Return states as integers: a solver's 0.9999999 is 1, and values far from an integer are rejected."""
        rounded_values = np.rint(values)
        wrong = np.abs(values - rounded_values) > INTEGRAL
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            message = f"`{self.carry.target}` is {kind}, but {float(values[at]):g} is carried into it: "
            message += ev.row_text(frame, at)
            help = "carry an integer variable, or round here: `round(...)`"
            found = Diagnostic("GSM7001", message, self.carry.value.span, "not an integer", help=help)
            raise DiagnosticError([found])
        return rounded_values


def drop_values(current_plan: CurrentPlan, variable: str, kept: Bools) -> CurrentPlan:
    """Return the plan with only the `kept` values of a variable."""
    values = current_plan.values[variable]
    remaining = VariableValues(tuple(c[kept] for c in values.codes), values.values[kept])
    return replace(current_plan, values={**current_plan.values, variable: remaining})
