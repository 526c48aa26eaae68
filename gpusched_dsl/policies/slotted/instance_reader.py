"""A policy for slots on a built instance: jobs, classes of nodes, slots and loads as arrays, by the one evaluator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.grids import GridAxis
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Ints, numbered_by_first
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.blocks.policies.rule_table import SERVE
from gpusched_dsl.language.checked import Element, IndexVar, TypedExpr, TypedIndexing
from gpusched_dsl.language.checked_policy import CheckedLoads, CheckedPolicy, CheckedSlots
from gpusched_dsl.policies.decision_evaluator import elements_in_order, key_table
from gpusched_dsl.policies.kernels.slotted_cluster import Guard, Serving, SlottedCluster
from gpusched_dsl.policies.node_types import parameters_of_node
from gpusched_dsl.policies.rules import GUARD_CODES, SERVING_CODES


@dataclass(frozen=True, eq=False)
class SlottedInstance:
    """A cluster and the elements of its numbers: codes of jobs, nodes, slots, and of the served services.

    `most` is the largest load of a service that a node of each class may get: above it, requests are not served.
    `occupied` is what `occupies` states, which only gangs may state with a fraction: lengths are rounded up.
    """

    cluster: SlottedCluster
    guard: Guard
    serving: Serving
    jobs: Codes
    nodes: Codes
    slots: Codes
    services: Codes
    occupied: Floats  # (J, C) slots, 0 where a job may not run
    most: Floats | None = None  # (S, C)


def read_instance(policy: CheckedPolicy, store: ValueStore, limits: MemoryLimits) -> SlottedInstance:
    """Return the decision of a policy with `slots`. Raises DiagnosticError as evaluation does, and GSM3016."""
    assert policy.slots is not None
    return _Reader(policy, policy.slots, Evaluator(policy.model, store, limits)).run()


class _Reader:
    def __init__(self, policy: CheckedPolicy, slots: CheckedSlots, ev: Evaluator) -> None:
        assert policy.choose is not None, "the checker asks for it"
        self.policy, self.lines, self.ev, self.choose = policy, slots, ev, policy.choose
        self.job = policy.order.indexing.variables[0]
        chosen = {v.name: v for v in self.choose.indexing.variables}
        self.node = chosen.get(slots.node.name, slots.node)
        self.slot = chosen.get(slots.slot.name, slots.slot)

    def run(self) -> SlottedInstance:
        jobs, order = elements_in_order(self.ev, self.policy.order)
        nodes = np.sort(self._elements(self.node))
        self.slots = self._elements(self.slot)
        self.jobs = jobs
        class_of = self._classes(nodes)
        _, first = np.unique(class_of, return_index=True)
        self.kinds = nodes[first]  # one node of each class
        allowed = self._allowed_slots()
        occupied, length = self._length(allowed)
        reserve, serve = self.lines.reserve, self.lines.serve
        cluster = SlottedCluster(
            class_of=class_of,
            allowed=allowed,
            key=self._key(allowed),
            length=length,
            first=_first_allowed(allowed),
            order=order,
            value=self._performance(),
        )
        services = np.zeros(0, dtype=np.int64) if serve is None else self._elements(serve.service)
        serving, most = self._read_serving(serve)
        guard = self._read_guard(reserve)
        return SlottedInstance(cluster, guard, serving, jobs, nodes, self.slots, services, occupied, most)

    # --- axes --------------------------------------------------------------------------------------------------------

    def _elements(self, index: IndexVar) -> Codes:
        """Return all elements of the root set of an index in their order; of integers those that the family has."""
        if isinstance(index.type, Element):
            return self.ev.store.sets[index.type.root].columns()[0]
        placement = self.policy.model.placement
        assert placement is not None
        family = self.policy.model.variables[placement.variable].indexing
        at = [v.name for v in placement.indices].index(index.name)
        for iterator in family.iterators:
            if family.variables[at] in iterator.variables:
                column = self.ev.domain(iterator.domain).columns()[iterator.variables.index(family.variables[at])]
                return np.unique(column)
        raise AssertionError("every index of a family has an iterator")

    def _classes(self, nodes: Codes) -> Ints:
        lines, marks = self.lines, []
        parts = [(c, self.node) for c in (*self.choose.indexing.conditions, *(k.value for k in self.choose.keys))]
        parts += [(lines.occupies, lines.node)]
        iterators = [(i, self.node) for i in self.choose.indexing.iterators]
        for loads in (lines.reserve, lines.serve):
            if loads is not None:
                parts += [(c, loads.node) for c in (*loads.indexing.conditions, *loads.rule.arguments)]
                iterators += [(i, loads.node) for i in loads.indexing.iterators]
        read = parameters_of_node(parts, self.policy.model)
        for iterator, node in iterators:
            if iterator.variables == (node,):
                marks.append(self.ev.contains(iterator.domain, [nodes], Frame(len(nodes), {node: nodes})))
            elif node in iterator.variables:
                read = None
        return _classes_of(nodes, read, self.ev.store, [m.astype(np.int64) for m in marks])

    def _grid(self, *axes: tuple[IndexVar, Codes]) -> Frame:
        return Frame.grid([GridAxis((variable,), (codes,), len(codes)) for variable, codes in axes])

    # --- jobs --------------------------------------------------------------------------------------------------------

    def _allowed_slots(self) -> Bools:
        """In which slots a job may be on a node of each class, by `choose`."""
        frame = self._grid((self.job, self.jobs), (self.node, self.kinds), (self.slot, self.slots))
        inside = self.ev.in_index_list(self.choose.indexing, frame)
        return inside.reshape(len(self.jobs), len(self.kinds), len(self.slots))

    def _key(self, allowed: Bools) -> Floats:
        """The key of every choice that there is; of several keys the rank among the choices of the job."""
        keys = self.choose.keys
        by_slot = any(self.slot in self.ev.needs(key.value) for key in keys)
        where = allowed if by_slot else allowed.any(axis=2, keepdims=True)
        job, kind, slot = np.nonzero(where)
        frame = Frame(len(job), {self.job: self.jobs[job], self.node: self.kinds[kind], self.slot: self.slots[slot]})
        columns = key_table(self.ev, keys, frame).T
        found = np.full(where.shape, np.inf)
        if len(columns) == 1:
            found[where] = columns[0]
        elif len(columns):
            order = np.lexsort((*columns[::-1], job))
            sorted_ = np.stack([c[order] for c in (*columns, job)])
            rank = np.empty(len(job))
            rank[order] = np.cumsum(np.concatenate([[0], (np.diff(sorted_, axis=1) != 0).any(axis=0)])[: len(job)])
            found[where] = rank
        else:
            found[where] = 0.0
        return found

    def _length(self, allowed: Bools) -> tuple[Floats, Ints]:
        """Return the stated number of slots of a job on a node of each class, 0 if it may not run, and the integer."""
        where = allowed.any(axis=2)
        job, kind = np.nonzero(where)
        frame = Frame(len(job), {self.job: self.jobs[job], self.lines.node: self.kinds[kind]})
        stated = self.ev.number_column(self.lines.occupies, frame)
        placement = self.policy.model.placement
        assert placement is not None
        slots = np.ceil(stated - ROUNDING) if placement.has_gangs else np.rint(stated)
        message = "a job occupies at least one slot"
        self.ev.refuse_where(slots < 1, "GSM3016", message, self.lines.occupies, frame, "less than one")
        occupied, found = np.zeros(where.shape), np.zeros(where.shape, dtype=np.int64)
        occupied[where], found[where] = stated, slots
        return occupied, found

    def _performance(self) -> Floats:
        """Return the performance of a job by its last slot, if that places it."""
        key = next((rule.key for rule in self.policy.place if rule.key is not None), None)
        if key is None:
            return np.zeros((len(self.jobs), 0))
        frame = self._grid((self.job, self.jobs), (self.lines.slot, self.slots))
        sign = -1.0 if key.descending else 1.0
        return sign * self.ev.number_column(key.value, frame).reshape(len(self.jobs), len(self.slots))

    # --- loads -------------------------------------------------------------------------------------------------------

    def _read_guard(self, loads: CheckedLoads | None) -> Guard:
        if loads is None:
            return Guard(0, np.zeros((0, len(self.kinds))), np.zeros((0, len(self.slots))))
        (capacity,) = self._rule_arguments(loads, loads.rule.arguments)
        return Guard(GUARD_CODES[loads.rule.text], np.maximum(capacity, 0.0), self._loads(loads))

    def _read_serving(self, loads: CheckedLoads | None) -> tuple[Serving, Floats | None]:
        """Return how loads are served, and the largest load of a node if the rule states it."""
        if loads is None:
            none = np.zeros((0, len(self.kinds)))
            return Serving(0, none, np.zeros((0, len(self.slots))), none, none, np.zeros(0)), None
        nothing = np.zeros((len(self._elements(loads.service)), len(self.kinds)))
        bound = np.zeros(len(nothing))
        required = len(SERVE[loads.rule.text].parameters)
        given = loads.rule.arguments
        most = None
        if len(given) > required:
            (most,) = self._rule_arguments(loads, given[required:])
            most = np.maximum(most, 0.0)
        capacity, whole, unit = self._rule_arguments(loads, given[:required]), nothing, nothing
        if loads.rule.text == "cheapest_nodes":
            _, whole, unit = capacity
        elif loads.rule.text == "pools":
            bound = capacity[1].max(axis=1, initial=0.0)
        code = SERVING_CODES[loads.rule.text]
        return Serving(code, np.maximum(capacity[0], 0.0), self._loads(loads), whole, unit, bound), most

    def _loads(self, loads: CheckedLoads) -> Floats:
        """The load of every service in every slot, 0 where a condition leaves the slot out."""
        services = self._elements(loads.service)
        frame = self._grid((loads.service, services), (loads.slot, self.slots))
        rows = np.flatnonzero(self._conditions(loads, loads.node, frame))
        found = np.zeros(frame.size)
        found[rows] = self.ev.number_column(loads.load, frame.take(rows))
        return np.maximum(found, 0.0).reshape(len(services), len(self.slots))

    def _rule_arguments(self, loads: CheckedLoads, arguments: tuple[TypedExpr, ...]) -> list[Floats]:
        """Arguments of a rule by service and class, 0 where the service does not run; if none, 1 where it does."""
        services = self._elements(loads.service)
        frame = self._grid((loads.service, services), (loads.node, self.kinds))
        rows = np.flatnonzero(self._conditions(loads, loads.slot, frame))
        part = frame.take(rows)
        found: list[Floats] = []
        for expr in arguments or (None,):
            column = np.zeros(frame.size)
            column[rows] = 1.0 if expr is None else self.ev.number_column(expr, part)
            found.append(column.reshape(len(services), len(self.kinds)))
        return found

    def _conditions(self, loads: CheckedLoads, other: IndexVar, frame: Frame) -> Bools:
        """Return which rows satisfy the conditions that do not depend on an index unbound in the frame."""
        kept = [i for i in loads.indexing.iterators if other not in i.variables]
        conditions = [c for c in loads.indexing.conditions if other not in self.ev.needs(c)]
        return self.ev.in_index_list(TypedIndexing(tuple(kept), tuple(conditions)), frame)


def _first_allowed(allowed: Bools) -> Ints:
    """Return the first slot in which each job may run anywhere, the number of slots where it may not."""
    slots = np.arange(allowed.shape[2], dtype=np.int64)
    return np.asarray(np.where(allowed.any(axis=1), slots, len(slots)).min(axis=1, initial=len(slots)))


def _classes_of(nodes: Codes, names: frozenset[str] | None, store: ValueStore, marks: Iterable[Codes]) -> Ints:
    """Return the class of every node, numbered by the first node of each; `marks` distinguish nodes like parameters."""
    if names is None:
        return np.arange(len(nodes), dtype=np.int64)
    columns = [np.asarray(m, dtype=np.int64) for m in marks]
    for name in sorted(names):
        param = store.params[name]
        place = param.domain.locate((nodes,))
        _, which = np.unique(param.values[np.maximum(place, 0)], return_inverse=True)
        columns.append(np.where(place >= 0, which.reshape(-1), -1))
    if not columns:
        return np.zeros(len(nodes), dtype=np.int64)
    return numbered_by_first(np.stack(columns, axis=1))[1]
