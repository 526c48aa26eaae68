"""A slow, plain interpreter of the policies on nodes: it carries out the steps that `language.md` describes.

It works on the records of `instance_reader.py`, with lists and dictionaries, and without draws. `allows` may refuse
plans: a place counts as one, and a change is made, only if it accepts the plan with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from instance_reader import NEAR, Code, Instance, Kind, Way, are_same

from gpusched_dsl.language.checked_policy import CheckedPolicy

Allows = Callable[[Sequence[Code]], bool]  # the elements of a plan that are 1


@dataclass
class Node:
    """A node and its jobs; `gpu` is the shared GPU of each job that has a part of one."""

    number: int
    there: Kind | None  # its kind, None where that is chosen
    jobs: dict[int, Way] = field(default_factory=dict)
    gpu: dict[int, int] = field(default_factory=dict)
    turn: int = -1
    closed: bool = False  # to other jobs
    had_jobs: bool = False  # before the plan

    @property
    def kind(self) -> Kind | None:
        return next((way.kind for way in self.jobs.values()), self.there)

    def parts(self) -> dict[int, Fraction]:
        """What is left of each shared GPU."""
        found: dict[int, Fraction] = {}
        for job, gpu in self.gpu.items():
            found[gpu] = found.get(gpu, Fraction(1)) - self.jobs[job].size
        return found

    def free(self) -> Fraction:
        """GPUs that no job has a part of."""
        assert self.kind is not None
        whole = sum(way.size for job, way in self.jobs.items() if job not in self.gpu)
        return self.kind.gpus - whole - len(self.parts())


@dataclass
class Place:
    """Where a job may go: what is then left of the node, or of the shared GPU."""

    left: Fraction
    node: Node
    way: Way
    gpu: int | None = None  # a GPU that is shared already


def has_capacities(jobs: Iterable[Way], way: Way) -> bool:
    """Whether memory and the like suffice for a way beside other jobs."""
    taken = [sum(amounts) for amounts in zip(*(w.needs for w in (*jobs, way)), strict=True)]
    return all(t <= room + NEAR * abs(room) for t, room in zip(taken, way.kind.room, strict=True))


class Interpreter:
    """One plan; `running` are the elements of jobs that keep their places, in the order in which they are put there."""

    def __init__(
        self, policy: CheckedPolicy, of: Instance, running: Sequence[Code] = (), allows: Allows | None = None
    ) -> None:
        self.of, self.allows = of, allows
        self.place = [rule.text for rule in policy.place]
        self.finish = [rule.text for rule in policy.finish]
        self.nodes = [Node(n, of.node_kind.get(n)) for n in sorted({*of.node_kind, *of.to_rent})]
        self.by_number = {node.number: node for node in self.nodes}
        self.turns = 0
        for element in running:
            self.pin(element)
        self.kept = {job for node in self.nodes for job in node.jobs}
        self.queue = of.queue

    def pin(self, element: Code) -> None:
        """Put a running job where it is, if there is room."""
        way, node = self.of.way_at(element), self.by_number.get(element[self.of.node_at])
        if way is None or node is None or (node.jobs and node.kind is not way.kind):
            return
        if (places := self.places(node, way)) and has_capacities(node.jobs.values(), way):
            self.put(places[0])
            node.had_jobs = True

    def run(self) -> set[Code]:
        """The elements of the plan that are 1."""
        for job in self.queue:
            if job not in self.kept and not self.try_rules(job):
                break
        for name in self.finish:
            for node in self.nodes:
                if any(job not in self.kept for job in node.jobs):
                    self.finish_node(name, node)
        return set(self.plan())

    def plan(self) -> list[Code]:
        return [self.of.element(way, node.number) for node in self.nodes for way in node.jobs.values()]

    def admits(self, node: Node, way: Way) -> bool:
        return self.allows is None or self.allows([*self.plan(), self.of.element(way, node.number)])

    # --- room --------------------------------------------------------------------------------------------------------

    def in_use(self) -> list[Node]:
        """Nodes that jobs may join: those that are there as in the data, then the others as they were opened."""
        used = [node for node in self.nodes if node.jobs and not node.closed]
        return sorted(used, key=lambda node: (0, node.number) if node.there else (1, node.turn))

    def places(self, node: Node, way: Way) -> list[Place]:
        """The places of a way on a node of its kind: shared GPUs with room first, the tightest one, then others."""
        free = way.kind.gpus if not node.jobs else node.free()
        whole = [Place(free - max(way.size, 1), node, way)] if free >= max(way.size, 1) else []
        if not way.is_part:
            return whole
        parts = sorted((left - way.size, gpu) for gpu, left in node.parts().items() if left >= way.size)
        return [Place(left, node, way, gpu) for left, gpu in parts] + whole

    def admitted_places(self, node: Node, way: Way | None) -> list[Place]:
        if way is None or not has_capacities(node.jobs.values(), way):
            return []
        places = self.places(node, way)
        return places if places and self.admits(node, way) else []

    def put(self, place: Place) -> None:
        node, way = place.node, place.way
        if not node.jobs:
            node.turn, self.turns = self.turns, self.turns + 1
        if way.is_part:
            unused = next(gpu for gpu in range(len(node.gpu) + 1) if gpu not in node.gpu.values())
            node.gpu[way.job] = unused if place.gpu is None else place.gpu
        node.jobs[way.job] = way

    # --- rules -------------------------------------------------------------------------------------------------------

    def try_rules(self, job: int) -> bool:
        """Place a job by the first rule that finds room; False where the queue stops."""
        listed = self.ways_of(job)
        for at, name in enumerate(self.place):
            if name == "wait":
                return False
            if name == "postpone":
                return True
            if name == "next_choice":
                tries = [(i, way) for way in listed[1:] for i in range(at) if "suboptimal" not in self.place[i]]
            else:
                tries = [(at, listed[0] if listed else None)]
            for i, way in tries:
                place = self.find(i, job, way)
                if place is not None:
                    self.put(place)
                    place.node.closed = self.place[i] == "new_node exclusive"
                    return True
        return True

    def ways_of(self, job: int) -> list[Way]:
        """The listed ways of a job, its choice first."""
        return self.of.listed(job)

    def find(self, at: int, job: int, way: Way | None) -> Place | None:
        """The place that a rule finds."""
        options = self.options(self.place[at], job, way)
        return options[0] if options else None

    def options(self, rule: str, job: int, way: Way | None) -> list[Place]:
        """The places of a rule, the best first; of suboptimal ways and nodes to rent that alone."""
        if rule == "best_suboptimal":
            return self.best(job, self.in_use())
        if rule == "first_suboptimal":
            return next((places for node in self.in_use() if (places := self.best(job, [node]))), [])
        if way is None or rule == "next_choice":
            return []
        if rule in ("best_fit", "first_fit"):
            return self.fit(way, first=rule == "first_fit")
        return self.new_node(way, alone=rule == "new_node exclusive")

    def fit(self, way: Way, *, first: bool) -> list[Place]:
        """On the node in use, of the family of the way, that has the least left then, or that comes first."""
        found: list[Place] = []
        for node in self.in_use():
            assert node.kind is not None
            if node.kind.family == way.kind.family:
                found += self.admitted_places(node, self.of.on_kind(way, node.kind))
        return found if first else sorted(found, key=lambda place: (place.gpu is None, place.left))

    def new_node(self, way: Way, *, alone: bool) -> list[Place]:
        """On the smallest node that is there and not in use, else on one to rent, as the largest type."""
        return self.empty_nodes(way, alone=alone) or self.to_rent(way, alone=alone)

    def empty_nodes(self, way: Way, *, alone: bool) -> list[Place]:
        found = []
        for node in self.nodes:
            if node.there is not None and not node.jobs:
                fits = node.there is way.kind if alone else node.there.family == way.kind.family
                found += self.admitted_places(node, self.of.on_kind(way, node.there)) if fits else []
        return sorted(found, key=lambda place: place.left)

    def to_rent(self, way: Way, *, alone: bool) -> list[Place]:
        family = sorted((k for k in self.of.kinds if k.family == way.kind.family), key=lambda k: k.size_first)
        for kind in [way.kind] if alone else family:
            if sum(node.kind is kind for node in self.nodes) < kind.stock:
                for node in self.nodes:
                    if node.there is None and not node.jobs:
                        places = self.admitted_places(node, self.of.on_kind(way, kind))
                        if places:
                            return places[:1]
        return []

    def best(self, job: int, nodes: Sequence[Node]) -> list[Place]:
        """On one of these nodes in the best way with room: of `choose`, else of `otherwise`."""
        found = []
        for at, node in enumerate(nodes):
            for order, way in enumerate(self.of.ways.get(job, [])):
                rank = (0, way.choose) if way.choose is not None else (1, way.otherwise)
                if way.kind is node.kind and rank[1] is not None and (places := self.admitted_places(node, way)):
                    found.append((rank, at, order, places[0]))
        return [min(found, key=lambda option: option[:3])[3]] if found else []

    # --- finish ------------------------------------------------------------------------------------------------------

    def finish_node(self, name: str, node: Node) -> None:
        if name == "smaller_type":
            if node.there is None and not node.had_jobs:
                self.shrink(node)
        elif name == "expand_parts":
            for gpu in sorted(node.parts()):
                while self.grow(node, self.larger_parts(node, gpu)):
                    pass
        else:
            while self.grow(node, self.more_gpus(node, name)):
                pass

    def change(self, node: Node, ways: dict[int, Way]) -> bool:
        """Run jobs of a node in other ways, if that is allowed."""
        old = dict(node.jobs)
        node.jobs.update(ways)
        if self.allows is None or self.allows(self.plan()):
            return True
        node.jobs.update(old)
        return False

    def shrink(self, node: Node) -> None:
        """The smallest type of the family with room for the jobs in use, unless one of them becomes slower."""
        assert node.kind is not None
        used = node.kind.gpus - node.free()
        kinds = [k for k in self.of.kinds if k.family == node.kind.family and k.gpus >= used]
        kinds = [k for k in kinds if sum(n.kind is k for n in self.nodes) < k.stock]
        new = min(kinds, key=lambda k: (k.gpus, k.price, k.number), default=node.kind)
        ways = {job: self.of.on_kind(way, new) for job, way in node.jobs.items()}
        if new.gpus >= node.kind.gpus or any(
            w is None or (w.time > node.jobs[job].time and not are_same(w.time, node.jobs[job].time))
            for job, w in ways.items()
        ):
            return
        known = [w for w in ways.values() if w is not None]
        if has_capacities(known[1:], known[0]):
            self.change(node, {w.job: w for w in known})

    def grow(self, node: Node, options: list[tuple[float, Way]]) -> bool:
        """The change with the largest gain; of equal ones that of the larger weight, then of the earlier job."""
        best: tuple[float, Way] | None = None
        for gain, way in options:
            if best is not None:
                more = self.of.weight[way.job], self.of.weight[best[1].job]
                if are_same(gain, best[0]):
                    if more[0] <= more[1] or are_same(*more):
                        continue
                elif gain < best[0]:
                    continue
            if self.allows is None or self.would_be_allowed(node, way):
                best = (gain, way)
        if best is None:
            return False
        node.jobs[best[1].job] = best[1]
        if best[1].size == 1:
            node.gpu.pop(best[1].job, None)
        return True

    def would_be_allowed(self, node: Node, way: Way) -> bool:
        old = node.jobs[way.job]
        allowed = self.change(node, {way.job: way})
        node.jobs[way.job] = old
        return allowed

    def larger(self, node: Node, way: Way, size: Fraction) -> Way | None:
        """A job's way on its node with so many GPUs, the first listed one, if memory and the like suffice."""
        same = [w for w in self.of.ways[way.job] if w.kind is way.kind and w.size == size]
        listed = [w for w in self.of.listed(way.job) if w in same]
        others = [w for job, w in node.jobs.items() if job != way.job]
        return next((w for w in (listed or same)[:1] if has_capacities(others, w)), None)

    def movable(self, node: Node) -> list[Way]:
        """The jobs of a node that did not run before, in the order of the queue."""
        return [node.jobs[job] for job in self.queue if job in node.jobs and job not in self.kept]

    def more_gpus(self, node: Node, name: str) -> list[tuple[float, Way]]:
        """The gains of jobs with whole GPUs from idle ones, all of them or one."""
        idle = node.free() // 1
        if not idle:
            return []
        found = []
        for now in self.movable(node):
            way = None if now.is_part else self.larger(node, now, now.size + (idle if name == "grow by speedup" else 1))
            if way is None:
                continue
            if name.endswith("speedup"):
                gain = now.time / way.time if way.time > 0 else float("inf")
                if gain > 1 and not are_same(gain, 1.0):
                    found.append((gain, way))
            elif now.time - way.time > NEAR * abs(now.time):
                more = way.rate - now.rate
                if now.kind.rate_of is not None:
                    in_use = int((now.kind.gpus - node.free()) // 1)
                    more = now.kind.rate_of(in_use + 1) - (now.kind.rate_of(in_use) if in_use else 0.0)
                if name == "grow_by_one by time" or more * way.time <= now.late - way.late:
                    found.append((now.time - way.time, way))
        return found

    def larger_parts(self, node: Node, gpu: int) -> list[tuple[float, Way]]:
        """The gains of the jobs on a shared GPU, each from the largest part that makes it faster."""
        left = node.parts().get(gpu, Fraction(0))
        found = []
        for now in self.movable(node):
            if node.gpu.get(now.job) != gpu or not left:
                continue
            sizes = {
                w.size for w in self.of.ways[now.job] if w.kind is now.kind and now.size < w.size <= now.size + left
            }
            for size in sorted(sizes, reverse=True):
                way = self.larger(node, now, size)
                if way is None or now.time - way.time <= NEAR * abs(now.time):
                    continue
                if self.allows is None or self.would_be_allowed(node, way):
                    found.append((now.time - way.time, way))
                    break
        return found
