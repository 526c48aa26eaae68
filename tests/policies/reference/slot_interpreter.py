"""A slow, plain interpreter of the policies for slots, without loads: started slot by slot, in turn, or placed ahead.

A plan is what each job has: slots of one node. Where rows are asked, `allows` tells whether a plan obeys them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from instance_reader import Key, are_same, ranks

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.language.checked import Element, IndexVar
from gpusched_dsl.language.checked_policy import CheckedPolicy

Plan = Mapping[tuple[int, int], list[int]]  # the slots of a job on a node
AllowsSlots = Callable[[Plan], bool]


class Slots:
    """One plan; jobs, nodes and slots are codes."""

    def __init__(self, policy: CheckedPolicy, store: ValueStore, allows: AllowsSlots | None = None) -> None:
        assert policy.slots is not None
        assert policy.choose is not None
        assert policy.slots.reserve is None
        self.policy, self.lines, self.allows = policy, policy.slots, allows
        self.ev = Evaluator(policy.model, store, MemoryLimits())
        self.job = policy.order.indexing.variables[0]
        own = {v.name: v for v in policy.choose.indexing.variables}
        self.node, self.slot = own[self.lines.node.name], own[self.lines.slot.name]
        self.jobs = self.elements(self.job)
        self.nodes = self.elements(self.node)
        placement = policy.model.placement
        assert placement is not None
        at = placement.position("slot")
        indexing = policy.model.variables[placement.variable].indexing
        assert at is not None
        slot = indexing.variables[at]
        [iterator] = [i for i in indexing.iterators if i.variables == (slot,)]
        self.slots = sorted(self.ev.domain(iterator.domain).columns()[0].tolist())
        self.plan: dict[tuple[int, int], list[int]] = {}
        self.used: set[tuple[int, int]] = set()  # nodes in slots

    def elements(self, index: IndexVar) -> list[int]:
        assert isinstance(index.type, Element)
        return sorted(self.ev.store.sets[index.type.root].columns()[0].tolist())

    def run(self) -> Plan:
        rule = self.policy.place[0].name
        if rule == "cheapest_block":
            self.place_ahead(singly=any(r.name == "cheapest_slots" for r in self.policy.place))
        elif rule == "by_performance":
            self.take_turns()
        else:
            self.start_now(blocking=any(r.name == "block" for r in self.policy.place))
        return self.plan

    # --- what the policy says ----------------------------------------------------------------------------------------

    def queue(self) -> list[int]:
        rank = ranks(self.keys(self.policy.order.keys, {self.job: self.jobs}))
        return [job for _, job in sorted(zip(rank, self.jobs, strict=True))]

    def keys(self, keys, columns: Mapping[IndexVar, list[int]]) -> list[Key]:  # type: ignore[no-untyped-def]
        frame = Frame(len(next(iter(columns.values()))), {v: np.array(c) for v, c in columns.items()})
        found = [self.ev.number_column(k.value, frame) * (-1.0 if k.descending else 1.0) for k in keys]
        return [tuple(float(column[at]) for column in found) for at in range(frame.size)]

    def is_listed(self, job: int, node: int, slot: int) -> bool:
        assert self.policy.choose is not None
        columns = {self.job: np.array([job]), self.node: np.array([node]), self.slot: np.array([slot])}
        return bool(self.ev.in_index_list(self.policy.choose.indexing, Frame(1, columns))[0])

    def key(self, job: int, node: int, slot: int) -> float:
        assert self.policy.choose is not None
        [key] = self.keys(self.policy.choose.keys, {self.job: [job], self.node: [node], self.slot: [slot]})
        return sum(key)

    def length(self, job: int, node: int) -> int:
        frame = Frame(1, {self.job: np.array([job]), self.lines.node: np.array([node])})
        return round(float(self.ev.number_column(self.lines.occupies, frame)[0]))

    def performance(self, job: int, last: int) -> float:
        """The performance of a job that ends in a slot; behind the last slot it goes on linearly."""
        [rule] = self.policy.place
        slots = self.slots[-2:]
        before, end = (k[0] for k in self.keys([rule.key], {self.job: [job, job], self.lines.slot: slots}))
        if last > slots[-1]:
            return end + (last - slots[-1]) * (end - before)
        [[value]] = self.keys([rule.key], {self.job: [job], self.lines.slot: [last]})
        return value

    # --- placing -----------------------------------------------------------------------------------------------------

    def waiting(self) -> list[int]:
        return [job for job in self.queue() if all(job != other for other, _ in self.plan)]

    def put(self, job: int, node: int, slots: list[int]) -> bool:
        """Give a job slots of a node if rows allow it."""
        if self.allows is not None and not self.allows({**self.plan, (job, node): slots}):
            return False
        self.plan[job, node] = slots
        self.used |= {(node, slot) for slot in slots}
        return True

    def place_ahead(self, *, singly: bool) -> None:
        for job in self.queue():
            free = {
                n: [h for h in self.slots if (n, h) not in self.used and self.is_listed(job, n, h)] for n in self.nodes
            }
            blocks = [
                (round(sum(self.key(job, n, h) for h in block), 6), n, block)
                for n in self.nodes
                for begin in free[n]
                if set(block := list(range(begin, begin + self.length(job, n)))) <= set(free[n])
            ]
            if any(self.put(job, n, block) for _, n, block in sorted(blocks)) or not singly:
                continue
            assert self.allows is None, "which single slots rows leave is not said"
            cheapest = {n: sorted(free[n], key=lambda h, n=n: self.key(job, n, h))[: self.length(job, n)] for n in free}  # type: ignore[misc]
            enough = [
                (sum(self.key(job, n, h) for h in own), n)
                for n, own in cheapest.items()
                if len(own) == self.length(job, n)
            ]
            if enough:
                node = min((round(cost, 6), n) for cost, n in enough)[1]
                self.put(job, node, sorted(cheapest[node]))

    def start(self, job: int, slot: int) -> bool | None:
        """Start a job on the free node of least key; None if the policy does not let it start in this slot."""
        listed = [n for n in self.nodes if self.is_listed(job, n, slot)]
        free = sorted((self.key(job, n, slot), n) for n in listed if (n, slot) not in self.used)
        started = any(self.put(job, n, list(range(slot, slot + self.length(job, n)))) for _, n in free)
        return started if listed else None

    def start_now(self, *, blocking: bool) -> None:
        for slot in self.slots:
            for job in self.waiting():
                if self.start(job, slot) is False and blocking:
                    break

    def take_turns(self) -> None:
        """In each slot, the job first that would be worst off if it started one slot later."""
        for slot in self.slots:
            tried: set[int] = set()
            while (job := self.worst(slot, tried)) is not None:
                tried.add(job)
                self.start(job, slot)

    def worst(self, slot: int, tried: set[int]) -> int | None:
        found: tuple[float, int] | None = None
        for job in self.waiting():
            if job in tried or not any(self.is_listed(job, n, slot) for n in self.nodes):
                continue
            value = self.performance(job, slot + min(self.length(job, n) for n in self.nodes))
            if found is None or (value < found[0] and not are_same(value, found[0])):
                found = (value, job)
        return None if found is None else found[1]
