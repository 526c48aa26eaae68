"""Evaluates the right sides of `carry`, the state for the next plan, on the data of the complete run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.data.slicing import InstanceView, KnownValues
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.store import MISSING, ExecutedSpan, Param, ValueStore
from gpusched_dsl.ir.arrays import Codes, Floats, Values, spread
from gpusched_dsl.ir.domains import Domain, IntervalDomain, ScalarDomain, TupleDomain
from gpusched_dsl.language.checked import CheckedVariable, Element, Executed, LetRef, ParamRef, VariableRef
from gpusched_dsl.language.checked_online import ELAPSED, CheckedCarry, CheckedOnline, previous_name
from gpusched_dsl.language.checking.walk import Part as CorePart
from gpusched_dsl.language.checking.walk import children, walk
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.past import CurrentPlan, ExecutedTime, KeptValues, Past
from gpusched_dsl.online.data.past_jobs import reads_all_jobs
from gpusched_dsl.online.data.plan_columns import set_plan

INTEGRAL = 1e-6  # a state is this near to an integer, or the plan is refused


@dataclass(frozen=True, eq=False)
class LoopClock:
    """The loop's own names at one time: numbers, and arrays over all jobs of the run.

    `arrived` are the jobs that have arrived, also those that have ended; None: those of the part that is planned.
    """

    now: float
    remaining: Floats
    done: Floats
    running: Floats
    requested: Floats
    committed: int = int(MISSING)  # code of the last slot that was executed
    elapsed: float = 0.0
    arrived: Codes | None = None


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


def accumulated_names(online: CheckedOnline) -> frozenset[str]:
    """Return the carried parameters with values of the last plan that right sides read."""
    previous, carried = online.previous_names, {carry.target for carry in online.carries}
    found: set[str] = set()
    for carry in online.carries:
        found.update(previous[name] for name in names_read([carry.value], online, ParamRef) if name in previous)
        executed = [part.body for part in walk(carry.value) if isinstance(part, Executed)]
        found |= names_read(executed, online, ParamRef) & carried
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

    @cached_property
    def accumulated(self) -> frozenset[str]:
        """Return the carried parameters of which values of the last plan are read."""
        return accumulated_names(self.online)

    @cached_property
    def _of_past(self) -> frozenset[str]:
        """Return the carried parameters whose right sides read decisions, `executed` or `previous`."""
        previous = self.online.previous_names.keys()
        return frozenset(
            carry.target
            for carry in self.online.carries
            if self.reads[carry.target]
            or any(isinstance(part, Executed) for part in walk(carry.value))
            or names_read([carry.value], self.online, ParamRef) & previous
        )

    @cached_property
    def _of_itself(self) -> frozenset[str]:
        """Return the carried parameters whose right sides read the value that they had in the last plan."""
        return frozenset(
            carry.target
            for carry in self.online.carries
            if previous_name(carry.target) in names_read([carry.value], self.online, ParamRef)
        )

    @cached_property
    def integrates(self) -> bool:
        """Whether the decisions in effect at each moment are read."""
        return any(isinstance(part, Executed) for carry in self.online.carries for part in walk(carry.value))

    @cached_property
    def _reads_all_jobs(self) -> bool:
        return reads_all_jobs(self.online)

    def kept_values(self, part: InstanceView, clock: LoopClock, past: Past | None) -> dict[str, KeptValues]:
        """Return the accumulated values in the next plan, of all elements, also those that no plan has any more.

        Elements that no plan has had begin with the values of the scenario if a right side reads its own last value.
        """
        if not self.accumulated:
            return {}
        stores = self._stores(part, clock, past)
        found = {}
        for carry in self.online.carries:
            if carry.target in self.accumulated:
                found[carry.target] = self._next_values(carry, stores[carry.target], clock, past)
        return found

    def _next_values(
        self, carry: CheckedCarry, store: ValueStore, clock: LoopClock, past: Past | None
    ) -> KeptValues:  # fmt: skip
        given = self.base.store.params[carry.target]
        domain = given.domain
        columns = domain.columns() if domain.arity else ()
        rows = np.arange(domain.size, dtype=np.int64)
        if clock.arrived is not None:
            for component, column in zip(domain.components, columns, strict=True):
                if component is not None and component.name == self.online.jobs_root:
                    rows = rows[np.isin(column[rows], clock.arrived)]
        columns = tuple(column[rows] for column in columns)
        if past is None and carry.target in self._of_past:
            return KeptValues(columns, given.values[rows])
        before = None if past is None else past.kept.get(carry.target)
        is_new = np.full(domain.size, carry.target in self._of_itself)
        if before is not None:
            at = domain.locate(before.columns) if domain.arity else np.zeros(1, dtype=np.int64)
            is_new[at[at >= 0]] = False
        is_new = is_new[rows]
        values = given.values[rows].copy()
        old = np.flatnonzero(~is_new)
        values[old] = _values_at(self, carry, store, tuple(column[old] for column in columns), len(old))
        return KeptValues(columns, values)

    def carried_values(
        self,
        part: InstanceView,
        clock: LoopClock,
        past: Past | None,
        kept: Mapping[str, KeptValues] | None = None,
        onto: InstanceView | None = None,
    ) -> dict[str, KnownValues]:
        """The carried parameters of the next plan; those that read a plan keep their given values before the first.

        `kept` are the accumulated ones. With `onto`, the values are for this part, and right sides see the elements of
        `part`.
        """
        stores = self._stores(part, clock, past)
        found = {}
        for carry in self.online.carries:
            if kept is not None and carry.target in kept:
                found[carry.target] = KnownValues(
                    _AccumulatedValues(self, carry, kept[carry.target], onto or part)
                )  # fmt: skip
            elif past is not None or carry.target not in self._of_past:
                found[carry.target] = KnownValues(
                    _CarriedValues(self, carry, stores[carry.target], onto or part)
                )  # fmt: skip
        return found

    def _stores(self, part: InstanceView, clock: LoopClock, past: Past | None) -> dict[str, ValueStore]:
        """Return the data of each right side, by its parameter.

        Where it reads decisions, its nodes include failed ones on which the last plan still has decisions: those of
        jobs that ended, or of executed slots.
        """
        store = self._store_at(part, clock, past)
        wide = store
        if past is not None and clock.arrived is not None:  # else these are the data of one of several controllers
            wide = self._with_decided_nodes(store, part.kept.keys() - {self.online.jobs_root}, past.plan)
        return {target: wide if reads else store for target, reads in self.reads.items()}

    def _with_decided_nodes(self, store: ValueStore, roots: Set[str], plan: CurrentPlan) -> ValueStore:
        """Return the data with all nodes on which the plan has decisions."""
        sets = dict(store.sets)
        for variable in self._read_variables:
            for at, index in enumerate(variable.indexing.variables):
                root = index.type.root if isinstance(index.type, Element) else ""
                if root in roots and variable.name in plan.values:
                    known = sets[root]
                    codes = np.union1d(known.columns()[0], plan.values[variable.name].codes[at])
                    if len(codes) > known.size:
                        sets[root] = TupleDomain(known.components, (codes,))
        return structs.replace(store, sets=sets)

    def _store_at(self, part: InstanceView, clock: LoopClock, past: Past | None) -> ValueStore:
        """Return the data of right sides: given values of the complete run, the clock, the last plan.

        Jobs are those that have arrived, also if they have ended; nodes are those of the part. Slots are those of the
        complete run: the right side encodes when a value becomes known.
        """
        base, online = self.base.store, self.online
        sets: dict[str, Domain] = base.sets.copy()
        for root, codes in part.kept.items():
            if root == online.jobs_root:
                codes = self._jobs(codes, clock, past)
            if online.window is None or root != self.slots_root:
                sets[root] = TupleDomain((base.universes[root],), (codes,))
        last_values = {}
        for name in self.accumulated:
            given = base.params[name]
            kept = None if past is None else past.kept.get(name)
            last_values[name] = given if kept is None else Param(given.domain, kept.over(given))
        params = base.params | self._clock_params(clock)
        params.update({previous_name(name): param for name, param in last_values.items()})
        store = ValueStore(base.universes, sets, params, base.randoms, {}, np.zeros(0), calendar=base.calendar)
        if past is None:
            return store
        set_plan(store, self._evaluator, self._read_variables, past.plan.values)
        if self.integrates:
            store.executed = tuple(self._executed(store, last_values, span) for span in past.executed)
        return store

    def _executed(self, store: ValueStore, last_values: Mapping[str, Param], span: ExecutedTime) -> ExecutedSpan:
        """Return the data in a span of time: all nodes, executed slots only, carried values as in the plan."""
        base, online = self.base.store, self.online
        sets = base.sets.copy()
        if online.jobs_root:
            sets[online.jobs_root] = store.sets[online.jobs_root]
        if online.window is not None and span.slots is not None:
            for name in {self.slots_root, online.window.slots}:
                rows = np.flatnonzero(np.isin(base.sets[name].columns()[0], span.slots))
                sets[name] = TupleDomain(base.sets[name].components, base.sets[name].columns_at(rows))
        inner = ValueStore(
            base.universes, sets, base.params | dict(last_values), base.randoms, {}, np.zeros(0), calendar=base.calendar
        )
        set_plan(inner, self._evaluator, self._read_variables, span.plan.values)
        return ExecutedSpan(span.times, inner)

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self.online.model, self.base.store, self.base.limits)

    @property
    def _read_variables(self) -> list[CheckedVariable]:
        return [self.online.model.variables[name] for name in sorted(self.variables)]

    def _jobs(self, present: Codes, clock: LoopClock, past: Past | None) -> Codes:
        """Return the jobs over which sums range; those that count for nothing may be left out."""
        if clock.arrived is None:
            return present
        if self._reads_all_jobs:
            return np.union1d(present, clock.arrived)
        plans = [] if past is None else [past.plan, *(span.plan for span in past.executed)]
        columns = [present]
        for variable in self._read_variables:
            for at, index in enumerate(variable.indexing.variables):
                if isinstance(index.type, Element) and index.type.root == self.online.jobs_root:
                    columns += [p.values[variable.name].codes[at] for p in plans if variable.name in p.values]
        return np.unique(np.concatenate(columns))

    @property
    def slots_root(self) -> str:
        assert self.online.window is not None
        root = self.online.base.sets[self.online.window.slots].root
        assert root is not None
        return root

    def _clock_params(self, clock: LoopClock) -> dict[str, Param]:
        scalar = ScalarDomain()
        params = {"now": Param(scalar, np.array([clock.now])), ELAPSED: Param(scalar, np.array([clock.elapsed]))}
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
        columns: tuple[Codes, ...] = self.part.outer_codes(domain.components, domain.columns()) if domain.arity else ()
        values = _values_at(self.carrier, self.carry, self.store, columns, domain.size)
        return _in_part(self.carrier, self.carry, values, self.part)


@dataclass(frozen=True, eq=False)
class _AccumulatedValues:
    """The accumulated values of one carried parameter on its domain in a part."""

    carrier: Carrier
    carry: CheckedCarry
    kept: KeptValues
    part: InstanceView

    def __call__(self, domain: Domain) -> Values:
        given = self.carrier.base.store.params[self.carry.target]
        values = self.kept.over(given)
        if domain.arity:
            values = values[given.domain.locate(self.part.outer_codes(domain.components, domain.columns()))]
        return _in_part(self.carrier, self.carry, values, self.part)


def _in_part(carrier: Carrier, carry: CheckedCarry, values: Values, part: InstanceView) -> Values:
    """Return values in codes of a part: elements that it lacks are missing."""
    target = carrier.online.base.params[carry.target]
    if not isinstance(target.type, Element):
        return values
    known = values >= 0
    [inner] = part.inner_codes((carrier.base.store.universes[target.type.root],), (np.where(known, values, 0),))
    return np.where(known & (inner >= 0), inner, MISSING)


def _values_at(
    carrier: Carrier, carry: CheckedCarry, store: ValueStore, columns: tuple[Codes, ...], size: int
) -> Values:
    """Return the values of a right side for elements in codes of the run."""
    frame = Frame(size, dict(zip(carry.variables, columns, strict=True)))
    ev = Evaluator(carrier.online.model, store, carrier.base.limits)
    target = carrier.online.base.params[carry.target]
    if isinstance(target.type, Element):
        return spread(ev.codes(carry.value, frame), size)
    values = np.array(spread(ev.numbers(carry.value, frame), size), dtype=np.float64)
    if target.kind in ("binary", "integer"):
        values = _round_to_integers(carry, values, ev, frame, target.kind)
    return values


def _round_to_integers(carry: CheckedCarry, values: Floats, ev: Evaluator, frame: Frame, kind: str) -> Floats:
    """Return states as integers: a solver's 0.9999999 is 1, and values far from an integer are rejected."""
    rounded_values = np.rint(values)
    wrong = np.abs(values - rounded_values) > INTEGRAL
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        message = f"`{carry.target}` is {kind}, but {float(values[at]):g} is carried into it: "
        message += ev.row_text(frame, at)
        help = "carry an integer variable, or round here: `round(...)`"
        raise DiagnosticError([Diagnostic("GSM7001", message, carry.value.span, "not an integer", help=help)])
    return rounded_values
