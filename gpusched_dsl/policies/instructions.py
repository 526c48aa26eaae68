"""A policy's lines as arrays: keys, conditions and odds, evaluated over all jobs and ways at once."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import Frame, ranges
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Codes, Floats, Ints, is_counting, spread
from gpusched_dsl.language.checked import IndexVar, TypedExpr
from gpusched_dsl.language.checked_policy import CheckedPolicy, CheckedRanking
from gpusched_dsl.policies.cluster import Cluster, numbers
from gpusched_dsl.policies.decision_evaluator import DecisionEvaluator, key_table
from gpusched_dsl.policies.kernels.ranking import list_ways, order_rows, rank_ways
from gpusched_dsl.policies.placement_reader import cluster_of, keys_of_ways
from gpusched_dsl.policies.plug_ins import plug_ins
from gpusched_dsl.policies.rules import NODE_ODDS
from gpusched_dsl.policies.workload import NONE, Instructions

SMALL = 1e-9  # odds are inverse to at least this cost


def binds_nodes(policy: CheckedPolicy) -> bool:
    """Whether a policy chooses nodes by name, so that every node is a kind of its own."""
    placement = policy.model.placement
    assert placement is not None
    names = {v.name for r in (policy.choose, policy.otherwise) if r is not None for v in r.indexing.variables}
    node = placement.value("node")
    return node is not None and node.span.text in names  # a placement without nodes is refused elsewhere


def cluster_for(policy: CheckedPolicy, store: ValueStore, limits: MemoryLimits, *, priced: bool = True) -> Cluster:
    """The cluster of a built instance as a policy sees it. `priced` and errors are those of `cluster_of`."""
    keys = keys_of_ways(policy)
    return cluster_of(policy.model, store, limits, nodes_differ=binds_nodes(policy), keys=keys, priced=priced)


def instructions_of(policy: CheckedPolicy, cluster: Cluster, store: ValueStore, limits: MemoryLimits) -> Instructions:
    """The policy's lines for one decision. Raises DiagnosticError as evaluation does."""
    return PolicyLineReader(policy, cluster, store, limits).run()


class PolicyLineReader:
    """Evaluates the lines of a policy for the cluster of one instance."""

    def __init__(self, policy: CheckedPolicy, cluster: Cluster, store: ValueStore, limits: MemoryLimits) -> None:
        self.policy, self.cluster, self.work = policy, cluster, cluster.work
        self.ev = DecisionEvaluator(policy.model, store, limits)
        self.job = policy.order.indexing.variables[0]

    def run(self) -> Instructions:
        policy, work = self.policy, self.work
        domain = self.ev.index_domain(policy.order.indexing, policy.order.span)
        queued = numbers(self.cluster.jobs, domain.columns()[0])
        queued = queued[queued != NONE]  # the placement has no way for the others
        frame = Frame(len(queued), {self.job: self.cluster.jobs[queued]})
        keys = key_table(self.ev, policy.order.keys, frame)
        choose = self._ranks(policy.choose, frame, queued)
        otherwise = self._ranks(policy.otherwise, frame, queued)
        if policy.choose is None:
            choose, otherwise = otherwise, choose
        ranked, preferred = list_ways(work.first_way, choose, otherwise)
        place_draw = policy.draws.get("place")
        place, finish = plug_ins().place_codes(), plug_ins().finish_codes()
        return Instructions(
            order=queued[order_rows(keys)],
            choose_rank=choose,
            otherwise_rank=otherwise,
            ranked=ranked,
            preferred=preferred,
            place=np.array(
                [place[r.text] for r in policy.place if r.text in place], dtype=np.int64
            ),  # others: `decide.py`
            finish=np.array([finish[r.text] for r in policy.finish], dtype=np.int64),
            swap_chance=self._swap_chance(frame, queued),
            way_list=self._way_list(frame, queued),
            way_odds=self._way_odds(),
            node_list=1 if place_draw is None else self._count(place_draw.count),
            node_odds=NODE_ODDS["" if place_draw is None else place_draw.odds],
        )

    def _ranks(self, ranking: CheckedRanking | None, jobs: Frame, queued: Codes) -> Ints:
        """The rank of each way among those of its job, NEVER where the line does not list it."""
        ways = len(self.work.job)
        listed = np.zeros(ways, dtype=np.int64)
        if ranking is None:
            return rank_ways(self.work.first_way, np.zeros((ways, 0)), listed)
        if ranking.indexing.iterators:
            frame = self.ev.expand(jobs, ranking.indexing, ranking.span).frame
            row, way = self.ways_of(ranking, frame)
        else:
            frame, row, way = self.all_ways(queued)
        keys = key_table(self.ev, ranking.keys, frame)
        listed[way] = 1
        if not (len(row) == len(way) == ways and is_counting(row) and is_counting(way)):
            table = np.zeros((ways, keys.shape[1]))
            table[way] = keys[row]
            keys = table
        return rank_ways(self.work.first_way, keys, listed)

    def all_ways(self, queued: Codes) -> tuple[Frame, Codes, Codes]:
        """A frame with all ways of the queued jobs; its rows and these ways."""
        cluster = self.cluster
        waits = np.zeros(len(cluster.jobs), dtype=np.bool_)
        waits[queued] = True
        way = np.flatnonzero(waits[self.work.job])
        columns = dict(zip(cluster.placement.indices, (column[way] for column in cluster.ways), strict=True))
        frame = Frame(len(way), {**columns, self.job: cluster.jobs[self.work.job[way]]})
        return frame, np.arange(len(way)), way

    def ways_of(self, ranking: CheckedRanking, frame: Frame) -> tuple[Codes, Codes]:
        """Rows of the frame and the ways that each names: one, or one for each kind that it leaves open."""
        cluster = self.cluster
        bound: dict[str, IndexVar] = {v.name: v for v in ranking.indexing.variables}
        own = [v.name for v in cluster.placement.indices]
        named = own[cluster.type_at] if cluster.type_at is not None else own[cluster.node_at]
        extra = [name for name in bound if name not in own]
        kind = bound.get(extra[0] if extra else named)

        def column(variable: IndexVar) -> Codes:
            return spread(frame.columns[variable], frame.size)

        if kind is None:
            row = np.repeat(np.arange(frame.size), len(cluster.kinds))
            number = np.tile(np.arange(len(cluster.kinds)), frame.size)
        else:
            by_label = np.argsort(cluster.kinds, kind="stable")
            labels, codes = cluster.kinds[by_label], column(kind)
            if (labels[1:] != labels[:-1]).all():
                place = numbers(labels, codes)
                row = np.flatnonzero(place != NONE)
                number = by_label[place[row]]
            else:  # several kinds of one type
                first = np.searchsorted(labels, codes)
                counts = np.searchsorted(labels, codes, side="right") - first
                row = np.repeat(np.arange(frame.size), counts)
                number = by_label[np.repeat(first, counts) + ranges(counts)]
        job = numbers(cluster.jobs, column(self.job))
        rest = [column(bound[own[at]]) for at in cluster.rest_at]
        if not (len(row) == frame.size and is_counting(row)):
            job, rest = job[row], [c[row] for c in rest]
        way = cluster.way_of(job, number, rest)
        kept = np.flatnonzero(way != NONE)
        return (row, way) if len(kept) == len(way) else (row[kept], way[kept])

    # --- draws -----------------------------------------------------------------------------------------------------

    def _count(self, expr: TypedExpr | None) -> int:
        return 1 if expr is None else max(1, int(self.ev.number(expr)))

    def _swap_chance(self, frame: Frame, queued: Codes) -> Floats:
        found = np.zeros(len(self.cluster.jobs))
        draw = self.policy.draws.get("order")
        if draw is not None and draw.probability is not None:
            found[queued] = np.clip(self.ev.number_column(draw.probability, frame), 0.0, 1.0)
        return found

    def _way_list(self, frame: Frame, queued: Codes) -> Ints:
        found = np.ones(len(self.cluster.jobs), dtype=np.int64)
        draw = self.policy.draws.get("choose")
        if draw is not None and draw.count is not None:
            found[queued] = np.maximum(1, np.floor(self.ev.number_column(draw.count, frame) + SMALL)).astype(np.int64)
        return found

    def _way_odds(self) -> Floats:
        draw = self.policy.draws.get("choose")
        cost = self.work.rate * self.work.time
        match "" if draw is None else draw.odds:
            case "inverse cost":
                return 1.0 / np.maximum(cost, SMALL)
            case "cost":
                return np.maximum(cost, SMALL)
        return np.ones(len(cost))
