"""The construction rules written out slowly from their specification, on dictionaries and lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.policies.workload import NONE, Schedule, Workload, empty_schedule


@dataclass
class Node:
    number: int
    there: bool
    kind: int
    jobs: dict[int, int] = field(default_factory=dict)  # job: way
    gpus: list[list[int]] = field(default_factory=list)  # jobs of each shared GPU; empty: it is no longer shared
    turn: int = NONE
    exclusive: bool = False
    pinned: bool = False


@dataclass
class Policy:
    """`choose`, `otherwise`: keys of every way, None where it is left out."""

    place: Sequence[str]
    finish: Sequence[str]
    order: Sequence[int]
    choose: Sequence[tuple[float, ...] | None]
    otherwise: Sequence[tuple[float, ...] | None]
    swap: Sequence[float] = ()
    way_list: Sequence[int] = ()
    way_odds: Sequence[float] = ()
    node_list: int = 1
    node_odds: str = "inverse idle"


class Pass:
    """One pass over the queue; with `rng`, drawn."""

    def __init__(self, work: Workload, policy: Policy, rng: np.random.Generator | None = None) -> None:
        self.work, self.policy, self.rng = work, policy, rng
        self.nodes = [Node(n, bool(k != NONE), int(k)) for n, k in enumerate(work.node_kind)]
        self.turns = 0
        self.queue = list(policy.order)

    # --- what nodes have left

    def size(self, w: int) -> int:
        return int(self.work.size[w])

    def free(self, node: Node) -> int:
        whole = sum(self.size(w) for w in node.jobs.values() if self.size(w) >= self.work.parts)
        shared = self.work.parts * sum(1 for gpu in node.gpus if gpu)
        return int(self.work.units[node.kind]) - whole - shared

    def units_left(self, node: Node, gpu: int) -> int:
        return self.work.parts - sum(self.size(node.jobs[j]) for j in node.gpus[gpu])

    def gpus_for(self, node: Node, size: int) -> list[tuple[int, int]]:
        """Units left after and the GPU, of the shared GPUs that hold a part; the best first."""
        return sorted(
            (self.units_left(node, gpu) - size, gpu)
            for gpu in range(len(node.gpus))
            if node.gpus[gpu] and self.units_left(node, gpu) >= size
        )

    def capacities(self, node: Node, kind: int, w: int) -> bool:
        for r in range(self.work.needs.shape[1]):
            taken = sum(self.work.needs[other, r] for other in node.jobs.values())
            if taken + self.work.needs[w, r] > self.work.room[kind, r] + 1e-6:
                return False
        return True

    def fits(self, node: Node, kind: int, w: int) -> bool:
        if not self.capacities(node, kind, w):
            return False
        empty = not node.jobs
        free = int(self.work.units[kind]) if empty else self.free(node)
        if self.size(w) < self.work.parts:
            return free >= self.work.parts or bool(self.gpus_for(node, self.size(w)))
        return free >= self.size(w)

    def same_size(self, j: int, kind: int, size: int) -> int | None:
        for w in self.ways(j):
            if self.work.kind[w] == kind and self.size(w) == size:
                return w
        return None

    def ways(self, j: int) -> list[int]:
        return [w for w in range(len(self.work.job)) if self.work.job[w] == j]

    def in_use(self) -> list[Node]:
        """Nodes that jobs may join: those that are there by number, then the others as they were opened."""
        used = [node for node in self.nodes if node.jobs and not node.exclusive]
        return sorted(used, key=lambda node: (0, node.number) if node.there else (1, node.turn))

    def family(self, kind: int) -> int:
        return int(self.work.family[kind])

    def to_be_had(self, kind: int) -> bool:
        return sum(1 for node in self.nodes if node.kind == kind) < self.work.stock[kind]

    # --- placing

    def put(self, j: int, node: Node, w: int, gpu: int | None = None, exclusive: bool = False) -> bool:
        if not node.jobs:
            node.kind, node.turn, node.exclusive = int(self.work.kind[w]), self.turns, exclusive
            self.turns += 1
        node.jobs[j] = w
        if self.size(w) < self.work.parts:
            if gpu is None:
                gpu = next((i for i, who in enumerate(node.gpus) if not who), len(node.gpus))
                if gpu == len(node.gpus):
                    node.gpus.append([])
            node.gpus[gpu].append(j)
        return True

    def best(self, options: list[tuple[Node, int]]) -> tuple[Node, int] | None:
        """BEST of the specification: by `choose` if it lets any in, else by `otherwise`; node before way on a tie."""
        position = {id(node): place for place, node in enumerate(self.in_use())}
        for keys in (self.policy.choose, self.policy.otherwise):
            known = [(keys[w], position.get(id(node), 0), w, node) for node, w in options if keys[w] is not None]
            if known:
                _, _, w, node = min(known, key=lambda option: option[:3])
                return node, w
        return None

    def listed(self, j: int) -> list[int]:
        """All ways, the best first."""
        choose, otherwise = self.policy.choose, self.policy.otherwise
        first = sorted((w for w in self.ways(j) if choose[w] is not None), key=lambda w: (choose[w], w))
        rest = [w for w in self.ways(j) if choose[w] is None and otherwise[w] is not None]
        return first + sorted(rest, key=lambda w: (otherwise[w], w))

    def draw(self, odds: Sequence[float]) -> int:
        assert self.rng is not None
        drawn = self.rng.random() * sum(odds)
        for place, weight in enumerate(odds):
            drawn -= weight
            if drawn < 0:
                return place
        return 0

    def settle(self, j: int, size: int, places: list[tuple[int, Node, int | None]]) -> bool:
        """Take the first of the places, or draw one of the first."""
        places = places[: self.policy.node_list if self.rng is not None else 1]
        if not places:
            return False
        at = 0
        if len(places) > 1:
            idle = [left / self.work.parts for left, _, _ in places]
            weights = {
                "inverse idle": [1 / (1 + i) for i in idle],
                "idle": [1 + i for i in idle],
                "": [1.0] * len(idle),
            }
            at = self.draw(weights[self.policy.node_odds])
        _, node, gpu = places[at]
        kind = node.kind
        w = self.same_size(j, kind, size)
        assert w is not None
        return self.put(j, node, w, gpu)

    def fitting(self, j: int, w: int) -> list[tuple[int, Node, int | None]]:
        """Places in use of the same family by units left after; shared GPUs alone if one has room for a part."""
        size = self.size(w)
        shared: list[tuple[int, Node, int | None]] = []
        whole: list[tuple[int, Node, int | None]] = []
        for node in self.in_use():
            if self.family(node.kind) != self.family(int(self.work.kind[w])):
                continue
            other = self.same_size(j, node.kind, size)
            if other is None or not self.capacities(node, node.kind, other):
                continue
            if size < self.work.parts:
                shared += [
                    (self.units_left(node, gpu) - size, node, gpu)
                    for gpu in range(len(node.gpus))
                    if node.gpus[gpu] and self.units_left(node, gpu) >= size
                ]
            left = self.free(node) - max(size, self.work.parts)
            if left >= 0:
                whole.append((left, node, None))
        return sorted(shared or whole, key=lambda place: place[0])

    def empty_places(self, j: int, w: int) -> list[tuple[int, Node, int | None]]:
        size = self.size(w)
        found = []
        for node in self.nodes:
            if node.there and not node.jobs and self.family(node.kind) == self.family(int(self.work.kind[w])):
                other = self.same_size(j, node.kind, size)
                if other is not None and self.fits(node, node.kind, other):
                    found.append((int(self.work.units[node.kind]) - max(size, self.work.parts), node, None))
        return sorted(found, key=lambda place: (place[0], place[1].number))

    def rent(self, j: int, w: int, exclusive: bool) -> bool:
        node = next((node for node in self.nodes if not node.there and not node.jobs), None)
        if node is None:
            return False
        own = int(self.work.kind[w])
        kinds = [k for k in range(len(self.work.units)) if self.family(k) == self.family(own)]
        kinds.sort(key=lambda k: (-self.work.units[k], self.work.price[k] / self.work.units[k], k))
        for k in [own] if exclusive else kinds:
            other = self.same_size(j, k, self.size(w))
            if self.to_be_had(k) and other is not None and self.fits(node, k, other):
                return self.put(j, node, other, exclusive=exclusive)
        return False

    def rule(self, name: str, following: str, j: int, w: int | None) -> bool:
        drawing = self.rng is not None and self.policy.node_list > 1
        if name in ("best_suboptimal", "first_suboptimal"):
            options = [
                [
                    (node, way)
                    for way in self.ways(j)
                    if self.work.kind[way] == node.kind and self.fits(node, node.kind, way)
                ]
                for node in self.in_use()
            ]
            if name == "first_suboptimal":
                options = [some for some in options if self.best(some) is not None][:1]
            best = self.best([option for some in options for option in some])
            if best is None:
                return False
            node, way = best
            gpus = self.gpus_for(node, self.size(way)) if self.size(way) < self.work.parts else []
            return self.put(j, node, way, gpus[0][1] if gpus else None)
        if w is None:
            return False
        size = self.size(w)
        if name == "best_fit" or (name == "first_fit" and drawing):
            places = self.fitting(j, w)
            if drawing and following == "new_node" and places and places[0][2] is None:
                places += self.empty_places(j, w)
            return self.settle(j, size, places)
        if name == "first_fit":
            for node in self.in_use():
                if self.family(node.kind) == self.family(int(self.work.kind[w])):
                    other = self.same_size(j, node.kind, size)
                    if other is not None and self.fits(node, node.kind, other):
                        gpus = self.gpus_for(node, size) if size < self.work.parts else []
                        return self.put(j, node, other, gpus[0][1] if gpus else None)
            return False
        if name == "new_node":
            return self.settle(j, size, self.empty_places(j, w)) or self.rent(j, w, False)
        assert name == "new_node exclusive"
        for node in self.nodes:
            if node.there and not node.jobs and node.kind == self.work.kind[w] and self.fits(node, node.kind, w):
                return self.put(j, node, w, exclusive=True)
        return self.rent(j, w, True)

    def place(self, j: int) -> bool:
        """False: the queue stops."""
        listed = self.listed(j)
        first = listed[0] if listed else None
        if self.rng is not None and listed:
            wanted = sum(1 for w in listed if self.policy.choose[w] is not None)
            some = listed[: min(self.policy.way_list[j], wanted)]
            if len(some) > 1:
                first = some[self.draw([self.policy.way_odds[w] for w in some])]
        rules = list(self.policy.place)
        for at, name in enumerate(rules):
            following = rules[at + 1] if at + 1 < len(rules) else ""
            if name == "wait":
                return False
            if name == "postpone":
                return True
            if name == "next_choice":
                for w in listed:
                    if w != first:
                        for before, earlier in enumerate(rules[:at]):
                            if earlier != "next_choice" and self.rule(earlier, rules[before + 1], j, w):
                                return True
            elif self.rule(name, following, j, first):
                return True
        return True

    # --- finishing

    def finish(self) -> None:
        place = {j: at for at, j in enumerate(self.queue)}
        for name in self.policy.finish:
            for node in self.nodes:
                if not node.jobs:
                    continue
                jobs = sorted((j for j in node.jobs if j not in self.kept), key=lambda j: place[j])
                if name == "smaller_type":
                    if not node.there and not node.pinned:
                        self.shrink(node)
                elif name == "expand_parts":
                    for gpu in range(len(node.gpus)):
                        while self.expand(node, gpu, jobs):
                            pass
                else:
                    while self.grow(node, jobs, name == "grow by speedup"):
                        pass

    def shrink(self, node: Node) -> None:
        used = int(self.work.units[node.kind]) - self.free(node)
        kinds = [k for k in range(len(self.work.units)) if self.family(k) == self.family(node.kind)]
        kinds = [k for k in kinds if self.work.units[k] >= used and self.to_be_had(k)]
        kinds.sort(key=lambda k: (self.work.units[k], self.work.price[k], k))
        if not kinds or self.work.units[kinds[0]] >= self.work.units[node.kind]:
            return
        new = {j: self.same_size(j, kinds[0], self.size(w)) for j, w in node.jobs.items()}
        if any(w is None or self.work.time[w] > self.work.time[node.jobs[j]] for j, w in new.items()):
            return
        for r in range(self.work.needs.shape[1]):
            if sum(self.work.needs[w, r] for w in new.values()) > self.work.room[kinds[0], r] + 1e-6:
                return
        node.kind, node.jobs = kinds[0], {j: w for j, w in new.items() if w is not None}

    def gains(self, node: Node, j: int, size: int) -> int | None:
        """The way of a job on its node with another size, if the node has enough of the further capacities."""
        w = self.same_size(j, node.kind, size)
        if w is None:
            return None
        others = Node(0, True, node.kind, {other: way for other, way in node.jobs.items() if other != j})
        return w if self.capacities(others, node.kind, w) else None

    def grow(self, node: Node, jobs: list[int], all_at_once: bool) -> bool:
        idle = self.free(node) // self.work.parts
        step = (idle if all_at_once else min(idle, 1)) * self.work.parts
        found = []
        for at, j in enumerate(jobs):
            size = self.size(node.jobs[j])
            w = self.gains(node, j, size + step) if step and size >= self.work.parts else None
            if w is not None and self.work.time[node.jobs[j]] / self.work.time[w] > 1:
                ratio = self.work.time[node.jobs[j]] / self.work.time[w]
                found.append((-ratio, -self.work.weight[j], at, j, w))
        if not found:
            return False
        *_, j, w = min(found)
        node.jobs[j] = w
        return True

    def expand(self, node: Node, gpu: int, jobs: list[int]) -> bool:
        who = node.gpus[gpu]
        if not who:
            return False
        found = []
        for at, j in enumerate(jobs):
            if j in who:
                now = node.jobs[j]
                sizes = range(self.size(now) + self.units_left(node, gpu), self.size(now), -1)
                ways = [self.gains(node, j, size) for size in sizes]
                ways = [w for w in ways if w is not None and self.work.time[w] < self.work.time[now]]
                if ways:
                    found.append((self.work.time[ways[0]] - self.work.time[now], -self.work.weight[j], at, j, ways[0]))
        if not found:
            return False
        *_, j, w = min(found)
        node.jobs[j] = w
        if self.size(w) == self.work.parts:
            node.gpus[gpu] = []
        return True

    # --- all of it

    def run(self, start: Schedule) -> Schedule:
        self.kept = {int(j) for j in np.flatnonzero(start.node != NONE)}
        for n in np.argsort(start.opened, kind="stable"):
            node = self.nodes[n]
            for j in np.flatnonzero(start.node == n):
                node.kind, node.turn, node.pinned = int(start.kind[n]), int(start.opened[n]), True
                node.jobs[int(j)] = int(start.way[j])
                if start.gpu[j] != NONE:
                    while len(node.gpus) <= start.gpu[j]:
                        node.gpus.append([])
                    node.gpus[start.gpu[j]].append(int(j))
        self.turns = int(start.opened.max(initial=NONE)) + 1
        if self.rng is not None:
            for at in range(len(self.queue) - 1):
                chance = self.policy.swap[self.queue[at]]
                if chance > 0 and self.rng.random() < chance:
                    self.queue[at], self.queue[at + 1] = self.queue[at + 1], self.queue[at]
        for j in self.queue:
            if j not in self.kept and not self.place(j):
                break
        chosen = {j: w for node in self.nodes for j, w in node.jobs.items()}
        self.finish()
        plan = self.schedule()
        for j, w in chosen.items():
            plan.chosen[j] = start.chosen[j] if j in self.kept else w
        return plan

    def schedule(self) -> Schedule:
        plan = empty_schedule(self.work)
        for node in self.nodes:
            if not node.jobs:
                continue
            n = node.number
            plan.kind[n], plan.jobs[n], plan.opened[n] = node.kind, len(node.jobs), node.turn
            plan.used[n] = self.work.units[node.kind] - self.free(node)
            for j, w in node.jobs.items():
                plan.node[j], plan.way[j] = n, w
            for gpu, who in enumerate(node.gpus):
                for j in who:
                    plan.gpu[j] = gpu
                if who:
                    plan.spare[n, gpu] = self.units_left(node, gpu)
            for r in range(self.work.needs.shape[1]):
                taken = math.fsum(self.work.needs[w, r] for w in node.jobs.values())
                plan.left[n, r] = self.work.room[node.kind, r] - taken
        return plan
