"""A policy for queues run on a built instance: values of the placement's variable.

`order` lists jobs, `choose` and then `otherwise` their nodes, `append` puts each at the end of a queue, `finish sort
by` puts every queue in another order at the end. Equal keys leave jobs and nodes as their sets have them. A job
without a node that the model allows is in no queue.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.language.checked_policy import CheckedPolicy, CheckedRanking
from gpusched_dsl.policies.decision_evaluator import elements_in_order, key_table
from gpusched_dsl.policies.kernels.ranking import order_rows
from gpusched_dsl.policies.node_kinds import no_index, position_of
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.policies.queues.passes import Candidates, QueuePasses
from gpusched_dsl.policies.rows.excess import excess_of
from gpusched_dsl.policies.rows.problem import side_model, side_problem
from gpusched_dsl.policies.rows.sides import MOST_PLACES, MovedSides, first_that_obeys

UNPLACED = "unplaced"  # statistic: the jobs that no queue took


def run_queues(
    policy: CheckedPolicy,
    store: ValueStore,
    limits: MemoryLimits,
    stop: Callable[[], bool] | None = None,
) -> Plan:
    """The plan of a policy with `place append`. Nothing is drawn and nothing kept.

    Raises DiagnosticError as evaluation does, and where the placement does not say what is needed (GSM3016).
    """
    return Queues(policy, store, limits).run(stop)


class Queues:
    def __init__(self, policy: CheckedPolicy, store: ValueStore, limits: MemoryLimits) -> None:
        assert policy.model.placement is not None, "the checker refuses policies for models without a placement"
        self.policy, self.placement, self.store = policy, policy.model.placement, store
        self.limits = limits
        self.ev = Evaluator(policy.model, store, limits)
        self.job, self.node = position_of(self.placement, "job"), position_of(self.placement, "node")
        self.place = position_of(self.placement, "place_from_end")

    def run(self, stop: Callable[[], bool] | None) -> Plan:
        jobs, order = elements_in_order(self.ev, self.policy.order)
        ordered = jobs[order]
        found = self._candidates(ordered)
        side, variable = side_model(self.policy.model).rows, self.placement.variable
        passes = QueuePasses(self, ordered, found, stop)
        order = np.arange(len(ordered))
        plan = passes.plan(None, order, None)
        size = len(found.job) * len(ordered)
        if variable not in side.variables or size > MOST_PLACES:
            return plan

        def sides() -> MovedSides:
            problem = side_problem(side, self.placement, self.store, self.limits)
            begin = np.arange(len(found.job)) * len(ordered)
            one_each = np.ones(len(ordered), dtype=np.int64)
            column = passes.columns(problem)
            return MovedSides(problem, self.placement, begin, order, column, one_each, job=found.turn)

        excess_of_values = partial(excess_of, side, self.store, self.limits)
        return first_that_obeys(plan, UNPLACED, excess_of_values, sides, passes, order)

    def plan(
        self, ordered: Codes, found: Candidates, taken: Ints, place: Ints, stop: Callable[[], bool] | None
    ) -> Plan:
        placed = np.flatnonzero(taken >= 0)
        job, node, place = found.job[taken[placed]], found.node[taken[placed]], place[placed]
        from_end = self.from_end(job, node, place)
        columns = {self.job: job, self.node: node, self.place: self.codes_of_places(from_end)}
        codes = tuple(columns[at] for at in range(len(self.placement.indices)))
        values = {self.placement.variable: VariableValues(codes, np.ones(len(job)))}
        left = {UNPLACED: float(len(ordered) - len(placed))}
        return Plan(values, statistics=left, stopped=stop is not None and stop())

    # --- the placement -----------------------------------------------------------------------------------------------

    def _pairs(self, job: Codes, node: Codes) -> Frame:
        indices = self.placement.indices
        return Frame(len(job), {indices[self.job]: job, indices[self.node]: node})

    def _allowed_pairs(self, job: Codes, node: Codes) -> Ints:
        """Which pairs the family of variables has, at the last place of a queue."""
        variable = self.policy.model.variables[self.placement.variable]
        parts = {self.job: job, self.node: node, self.place: self.codes_of_places(np.ones(len(job), dtype=np.int64))}
        frame = Frame(len(job), {v: parts[at] for at, v in enumerate(variable.indexing.variables)})
        return np.flatnonzero(self.ev.in_index_list(variable.indexing, frame))

    def codes_of_places(self, from_end: Ints) -> Codes:
        """Places are numbers from 1 on, so that the number is the code; an ordered set has its first element there."""
        variable = self.policy.model.variables[self.placement.variable].indexing.variables[self.place]
        return from_end if self.store.component(variable.type) is None else from_end - 1

    # --- what the policy says ----------------------------------------------------------------------------------------

    def _candidates(self, ordered: Codes) -> Candidates:
        """The nodes of every job by `choose`, then those that `otherwise` adds."""
        listed = [(at, r) for at, r in enumerate((self.policy.choose, self.policy.otherwise)) if r is not None]
        parts = [
            (np.full(len(turn), at), turn, node, rank)
            for at, r in listed
            for turn, node, rank in [self._listed_candidates(r, ordered)]
        ]
        if not parts:
            none = np.zeros(0, dtype=np.int64)
            return Candidates(none, none, none, np.zeros(0))
        line, turn, node, rank = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((rank, line, turn))
        turn, node = turn[order], node[order]
        _, once = np.unique(np.stack((turn, node), axis=1), axis=0, return_index=True)
        kept = np.sort(once)
        kept = kept[self._allowed_pairs(ordered[turn[kept]], node[kept])]
        turn, node, job = turn[kept], node[kept], ordered[turn[kept]]
        lasts = self.placement.value("lasts")
        if lasts is None:
            raise no_index(self.placement, "lasts")
        return Candidates(turn, job, node, self.ev.number_column(lasts, self._pairs(job, node)))

    def _listed_candidates(self, ranking: CheckedRanking, ordered: Codes) -> tuple[Ints, Codes, Ints]:
        """Turns and nodes that a line lists, and the rank of each among all of the line."""
        job = self.policy.order.indexing.variables[0]
        place = np.argsort(ordered, kind="stable")
        frame = self.ev.expand(Frame(len(ordered), {job: ordered}), ranking.indexing, ranking.span).frame
        name = self.placement.indices[self.node].name
        bound = next(v for v in ranking.indexing.variables if v.name == name)
        jobs, nodes = (np.broadcast_to(frame.columns[v], (frame.size,)) for v in (job, bound))
        by_node = np.argsort(nodes, kind="stable")  # equal keys: as the set of nodes has them
        keys = key_table(self.ev, ranking.keys, frame)[by_node]
        rank = np.empty(frame.size, dtype=np.int64)
        rank[by_node[order_rows(keys)]] = np.arange(frame.size)
        return place[np.searchsorted(ordered[place], jobs)], nodes, rank

    def from_end(self, job: Codes, node: Codes, place: Ints) -> Ints:
        """Return positions counted from the end of each queue, after sorting it if the policy states it."""
        order = np.lexsort((place, node))
        keys = self.sort_keys(job, node)
        if keys is not None:
            sorted_ = order_rows(keys[order])
            order = order[sorted_[np.argsort(node[order][sorted_], kind="stable")]]
        _, start, size = np.unique(node[order], return_index=True, return_counts=True)
        from_end = np.empty(len(job), dtype=np.int64)
        from_end[order] = np.repeat(start + size, size) - np.arange(len(job))
        return from_end

    def sort_keys(self, job: Codes, node: Codes) -> Floats | None:
        """Return the keys of `finish sort by`, None without it."""
        sort = next((rule.key for rule in self.policy.finish if rule.key is not None), None)
        if sort is None:
            return None
        scope = {v.name: v for v in self.policy.order.indexing.variables}
        names = self.placement.indices[self.node]
        frame = Frame(len(job), {scope[self.placement.indices[self.job].name]: job, names: node})
        return key_table(self.ev, (sort,), frame)
