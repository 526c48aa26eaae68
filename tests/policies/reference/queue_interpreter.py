"""A slow, plain interpreter of the policies for queues: `append`, and `sort` at the end; random scenarios."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from instance_reader import Code, Key, ranks

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.language.checked_policy import CheckedPolicy, CheckedRanking

Pair = tuple[int, int]  # a job and a node
AllowsQueues = Callable[[Mapping[int, list[int]]], bool]  # whether rows allow the queues of nodes, the first job first


class Queues:
    """One plan; places are integers, counted from the end of a queue."""

    def __init__(self, policy: CheckedPolicy, store: ValueStore, allows: AllowsQueues | None = None) -> None:
        self.allows, self.queues = allows, dict[int, list[int]]()
        self.policy, self.ev = policy, Evaluator(policy.model, store, MemoryLimits())
        placement = policy.model.placement
        assert placement is not None
        self.placement, self.job = placement, policy.order.indexing.variables[0]
        at = [placement.position(role) for role in ("job", "node", "place_from_end")]
        self.job_at, self.node_at, self.place_at = at
        variable = policy.model.variables[placement.variable]
        columns = self.ev.index_domain(variable.indexing, variable.span).columns()
        self.elements = set(zip(*(column.tolist() for column in columns), strict=True))

    def element(self, job: int, node: int, place: int) -> Code:
        codes = {self.job_at: job, self.node_at: node, self.place_at: place}
        return tuple(codes[at] for at in range(3))

    def run(self) -> set[Code]:
        lasts = self.placement.value("lasts")
        assert lasts is not None
        ready: dict[int, float] = {}
        by_finish = self.policy.place[0].text == "append by earliest_finish"
        for job in self.order():
            options: list[tuple[float, int]] = []  # the best first
            for node in self.nodes_of(job):
                indices = self.placement.indices
                frame = Frame(1, {indices[self.job_at]: np.array([job]), indices[self.node_at]: np.array([node])})
                end = ready.get(node, 0.0) + float(self.ev.number_column(lasts, frame)[0])
                options.append((end, node))
            if by_finish:
                rank = ranks([(end,) for end, _ in options])
                options = [options[at] for _, at in sorted((r, at) for at, r in enumerate(rank))]
            for end, node in options:
                self.queues.setdefault(node, []).append(job)
                if self.allows is None or self.allows(self.in_order()):
                    ready[node] = end
                    break
                self.queues[node].pop()
        found = set()
        for node, queue in self.in_order().items():
            for before, job in enumerate(queue):
                found.add(self.element(job, node, len(queue) - before))
        return found

    def in_order(self) -> dict[int, list[int]]:
        """The queues as they run at the end."""
        return {node: self.sorted_queue(node, queue) for node, queue in self.queues.items() if queue}

    def keys(self, keys, frame: Frame) -> list[Key]:
        columns = [self.ev.number_column(k.value, frame) * (-1.0 if k.descending else 1.0) for k in keys]
        return [tuple(float(c[at]) for c in columns) for at in range(frame.size)]

    def order(self) -> list[int]:
        order = self.policy.order
        jobs = sorted(self.ev.index_domain(order.indexing, order.span).columns()[0].tolist())
        rank = ranks(self.keys(order.keys, Frame(len(jobs), {self.job: np.array(jobs)})))
        return [job for _, job in sorted(zip(rank, jobs, strict=True))]

    def nodes_of(self, job: int) -> list[int]:
        """The nodes that the lines list for a job and the model allows, the best first."""
        found: list[int] = []
        for ranking in (self.policy.choose, self.policy.otherwise):
            if ranking is not None and ranking.indexing.iterators:
                found += [node for node in self.listed(ranking, job) if node not in found]
        return [node for node in found if self.element(job, node, 1) in self.elements]

    def listed(self, ranking: CheckedRanking, job: int) -> list[int]:
        frame = self.ev.expand(Frame(1, {self.job: np.array([job])}), ranking.indexing, ranking.span).frame
        name = self.placement.indices[self.node_at].name
        bound = next(v for v in ranking.indexing.variables if v.name == name)
        nodes = np.broadcast_to(frame.columns[bound], (frame.size,)).tolist()
        keys = dict(zip(nodes, self.keys(ranking.keys, frame), strict=True))
        in_order = sorted(keys)
        rank = ranks([keys[node] for node in in_order])
        return [node for _, node in sorted(zip(rank, in_order, strict=True))]

    def sorted_queue(self, node: int, queue: list[int]) -> list[int]:
        sort = next((rule.key for rule in self.policy.finish if rule.key is not None), None)
        if sort is None:
            return queue
        columns = {self.job: np.array(queue), self.placement.indices[self.node_at]: np.full(len(queue), node)}
        rank = ranks(self.keys((sort,), Frame(len(queue), columns)))
        return [queue[at] for _, at in sorted((r, at) for at, r in enumerate(rank))]


def queue_text(seed: int) -> str:
    """Up to nine jobs on up to four GPUs of three types; numbers are small, so that many of them tie."""
    rng = np.random.default_rng([5, seed])
    types = [f"t{i}" for i in range(int(rng.integers(1, 4)))]
    gpus = [(f"g{i}", str(rng.choice(types))) for i in range(int(rng.integers(1, 5)))]
    jobs = [(f"j{i}", int(rng.integers(0, 3))) for i in range(int(rng.integers(1, 10)))]
    rows = [
        (j, t, int(rng.integers(1, 6)), int(rng.random() < 0.9), *rng.integers(1, 4, 8).tolist())
        for j, _ in jobs
        for t in types
        if rng.random() < 0.9
    ] or [(jobs[0][0], types[0], 1, *[1] * 9)]
    measured = [
        f"{of}_{when}" for of in ("gpu_util", "gpu_mem_util", "gpu_mem", "cpu_util") for when in ("burst", "peak")
    ]

    def table(values) -> str:
        return "  ".join(" ".join(map(str, row)) for row in values) + ";\n"

    return f"""import "gsdsl:allocation/policies.gsm";
scenario S for ProfiledAllocation {{
  Types = {{ {", ".join(types)} }};
  table GPUs: gpu_type = {table(gpus)}  table Jobs: turn = {table(jobs)}
  table Profiled: exec_time[s] fits {" ".join(measured)} = {table(rows)}}}
"""
