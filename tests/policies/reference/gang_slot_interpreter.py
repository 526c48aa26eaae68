"""A slow, plain interpreter of the policies for gangs in slots: placed ahead in the cheapest slots, or slot by slot.

A plan is what each job has: a first slot, and workers on nodes. Where rows are asked, `allows` tells whether a plan, in
which the last gang may lack workers, obeys them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from slot_interpreter import Slots

from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.language.checked import TypedExpr
from gpusched_dsl.language.checked_policy import CheckedPolicy

ONE_NODE, ONE_RACK, FAR = 0, 1, 2


@dataclass(frozen=True)
class Seat:
    """The workers of a gang on each node in so many slots from `start` on; `total` is the sum of the key."""

    start: int
    slots: int
    workers: Mapping[int, int]
    total: float = 0.0


Plan = Mapping[int, Seat]
Allows = Callable[[Plan], bool]


class GangSlots(Slots):
    """One plan; `plan` has the seat of each job. The unit of the clock is a slot of one hour, or of the model."""

    def __init__(self, policy: CheckedPolicy, store: ValueStore, allows: Allows | None = None) -> None:
        super().__init__(policy, store)
        self.may, self.seats = allows, dict[int, Seat]()
        placement = policy.model.placement
        assert placement is not None
        self.placement = placement
        lasts = placement.value("lasts")
        assert lasts is not None
        self.starts = any(index is not placement.index("slot") for index in self.ev.needs(lasts))
        self.indexing = policy.model.variables[placement.variable].indexing
        self.bounds = [b.value for b in policy.model.variables[placement.variable].bounds if b.op == "<="]
        self.rack = {n: self.role("rack", self.jobs[0], n, self.slots[0]) for n in self.nodes}

    def run_gangs(self) -> dict[int, Seat]:
        rules = [rule.name for rule in self.policy.place]
        if "cheapest_block" in rules:
            for job in self.queue():
                self.seat(job, self.options(job, self.slots, ahead=True))
            return self.seats
        for slot in self.slots:
            for job in [j for j in self.queue() if j not in self.seats]:
                if not any(self.is_listed(job, n, slot) for n in self.nodes):
                    continue
                if not self.seat(job, self.options(job, [slot], ahead=False)) and "block" in rules:
                    break
        return self.seats

    def seat(self, job: int, options: Iterator[Seat]) -> bool:
        found = next(options, None)
        if found is not None:
            self.seats[job] = found
        return found is not None

    # --- the model ---------------------------------------------------------------------------------------------------

    def value(self, expr: TypedExpr, job: int, node: int, slot: int, indices: tuple[object, ...]) -> float:
        columns = {v: np.array([c]) for v, c in zip(indices, (job, node, slot), strict=True)}
        return float(self.ev.number_column(expr, Frame(1, columns))[0])  # type: ignore[arg-type]

    def role(self, name: str, job: int, node: int, slot: int, otherwise: float = 1.0) -> float:
        expr = self.placement.value(name)  # type: ignore[arg-type]
        if expr is None:
            return otherwise
        columns = {v: np.array([c]) for v, c in zip(self.placement.indices, (job, node, slot), strict=True)}
        return float(np.asarray(self.ev.values(expr, Frame(1, columns))).reshape(-1)[0])

    def exists(self, job: int, node: int, slot: int) -> bool:
        columns = {v: np.array([c]) for v, c in zip(self.indexing.variables, (job, node, slot), strict=True)}
        return bool(self.ev.in_index_list(self.indexing, Frame(1, columns))[0])

    def most(self, job: int, node: int, slot: int) -> int:
        """The most workers that the variable allows."""
        found = [self.value(b, job, node, slot, self.indexing.variables) for b in self.bounds]
        return int(min([*found, self.role("workers", job, node, slot)]))

    def free(self, node: int, slot: int) -> float:
        [uses] = self.placement.all("uses")
        assert uses.of is not None
        capacity = self.value(uses.of, self.jobs[0], node, slot, self.placement.indices)
        for job, seat in self.seats.items():
            if seat.start <= slot < seat.start + seat.slots:
                capacity -= seat.workers.get(node, 0) * self.role("uses", job, node, slot)
        return capacity

    # --- the places of one gang --------------------------------------------------------------------------------------

    def room(self, job: int, node: int, start: int, slots: int, ahead: bool) -> int:
        """The workers that a node may have in all slots of a block."""
        block = [h for h in range(start, start + slots) if h in self.slots]
        if (ahead and len(block) < slots) or not all(
            self.is_listed(job, node, h) for h in (block if ahead else [start])
        ):
            return 0
        asked = [start] if self.starts else block
        if not all(self.exists(job, node, h) for h in asked):
            return 0
        bound = min(self.most(job, node, h) for h in asked)
        return min(bound, *(int(self.free(node, h) // self.role("uses", job, node, start)) for h in block))

    def slots_on(self, job: int, nodes: list[int]) -> int:
        slowest = max(self.stated(job, n) for n in nodes)
        racks = {self.rack[n] for n in nodes}
        on_nodes = self.role("across_nodes", job, nodes[0], self.slots[0])
        factor = 1.0 if len(nodes) == 1 else on_nodes
        if len(racks) > 1:
            factor = self.role("across_racks", job, nodes[0], self.slots[0], on_nodes)
        return max(1, math.ceil(slowest * factor - 1e-9))

    def stated(self, job: int, node: int) -> float:
        frame = Frame(1, {self.job: np.array([job]), self.lines.node: np.array([node])})
        return float(self.ev.number_column(self.lines.occupies, frame)[0])

    def groups(self) -> Iterator[tuple[int, list[int]]]:
        yield from ((ONE_NODE, [n]) for n in self.nodes)
        for rack in sorted(set(self.rack.values())):
            own = [n for n in self.nodes if self.rack[n] == rack]
            if len(own) > 1:
                yield ONE_RACK, own
        if len(set(self.rack.values())) > 1:
            yield FAR, self.nodes

    def options(self, job: int, starts: list[int], *, ahead: bool) -> Iterator[Seat]:
        """The seats that rows allow: in the order of their sums as far as room alone counts."""
        workers = round(self.role("workers", job, self.nodes[0], self.slots[0]))
        found = []
        for number, (span, group) in enumerate(self.groups()):
            speeds = sorted({self.stated(job, n) for n in group})
            for speed in speeds:
                nodes = [n for n in group if self.stated(job, n) <= speed]
                factor = 1.0
                if span != ONE_NODE:
                    factor = self.role("across_nodes", job, nodes[0], self.slots[0])
                if span == FAR:
                    factor = self.role("across_racks", job, nodes[0], self.slots[0], factor)
                slots = max(1, math.ceil(speed * factor - 1e-9))
                for start in starts:
                    room = {n: self.room(job, n, start, slots, ahead) for n in nodes}
                    block = [h for h in range(start, start + slots) if h in self.slots]
                    cost = {n: sum(self.key(job, n, h) for h in block) for n in nodes if room[n]}
                    for variant in (0, 1):
                        ranked = [(round(cost[n], 6), -room[n], n) for n in cost]
                        if variant == 1:
                            ranked = [(float(less), total, n) for total, less, n in ranked]  # type: ignore[misc]
                        order = [n for *_, n in sorted(ranked)]
                        filled = fill(order, room, workers)
                        if (
                            filled is None
                            or self.slots_on(job, list(filled)) != slots
                            or not fits(span, filled, self.rack)
                        ):
                            continue
                        total = sum(cost[n] * k for n, k in filled.items())
                        tight = min(self.free(next(iter(filled)), h) for h in block) if span == ONE_NODE else 0.0
                        key = (round(total, 6), span, start, len(filled), tight, variant, number, speed)
                        found.append((key, start, slots, order, room, filled))
        for key, start, slots, order, room, filled in sorted(found, key=lambda one: one[0]):
            if self.may is None:
                yield Seat(start, slots, filled, key[0])
                continue
            chosen: dict[int, int] = {}
            for node in order:
                left = workers - sum(chosen.values())
                for k in range(min(room[node], left), 0, -1):
                    if self.may({**self.seats, job: Seat(start, slots, {**chosen, node: k})}):
                        chosen[node] = k
                        break
            if sum(chosen.values()) == workers and self.slots_on(job, list(chosen)) == slots:
                yield Seat(start, slots, chosen, key[0])


def fits(span: int, filled: Mapping[int, int], rack: Mapping[int, float]) -> bool:
    """Whether workers are as far apart as is counted for."""
    racks = len({rack[n] for n in filled})
    return racks > 1 if span == FAR else span == ONE_NODE or len(filled) > 1


def fill(order: list[int], room: Mapping[int, int], workers: int) -> dict[int, int] | None:
    found: dict[int, int] = {}
    for node in order:
        if (k := min(room[node], workers - sum(found.values()))) > 0:
            found[node] = k
    return found if sum(found.values()) == workers else None
