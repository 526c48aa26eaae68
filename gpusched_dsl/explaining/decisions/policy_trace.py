"""The turn of one job in the queue of a policy: its keys, its ways, and the rule that placed or refused it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.explaining.decisions.gang_trace import trace_gang
from gpusched_dsl.explaining.row_text import short
from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.language.blocks.policies.rule_table import PLACE, RuleShape
from gpusched_dsl.language.blocks.policies.steps import text_of
from gpusched_dsl.language.checked import Numeric, TypedExpr
from gpusched_dsl.language.checked_policy import CheckedPolicy, CheckedRanking, at
from gpusched_dsl.language.text.numbers import with_unit
from gpusched_dsl.online.loops.inspection import Moment
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.decide import schedule_from
from gpusched_dsl.policies.gangs.reader import GangCluster, gang_cluster
from gpusched_dsl.policies.gangs.workload import GangSchedule
from gpusched_dsl.policies.instructions import binds_nodes, cluster_for, instructions_of
from gpusched_dsl.policies.job_facts import JobFacts, with_job_facts
from gpusched_dsl.policies.kernels.construct import begin, look_up, make_scratch
from gpusched_dsl.policies.kinds import appends, has_gangs, has_slots
from gpusched_dsl.policies.plug_ins import PlacementPass, plug_ins
from gpusched_dsl.policies.prices.values import with_prices
from gpusched_dsl.policies.rows.asking import traced_rows
from gpusched_dsl.policies.stages import with_stages
from gpusched_dsl.policies.standalone import is_standalone
from gpusched_dsl.policies.workload import NONE, Instructions, Schedule, copy_of, empty_schedule, with_ways_as_listed

MOST_CONFIGURATIONS = 8
_OTHER = RuleShape("")  # of another package


@dataclass(frozen=True)
class RuleAttempt:
    """A rule that was tried for a configuration of the job, and whether it placed the job."""

    rule: str
    configuration: str
    placed: bool


@dataclass(frozen=True)
class Turn:
    """The decision of a policy about a job.

    `configurations` are the listed ones, best first, with keys; `wait_reason` explains why the job waits. `place`
    counts from 1 in a queue of `length`; 0: the job is not in it. `before` are the jobs before it (codes of the store)
    that the policy places too. `keeps`: it stays on its node. `notes` state what the trace does not cover.
    """

    policy: str
    place: int = 0
    length: int = 0
    keys: tuple[tuple[str, str], ...] = ()
    configurations: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    more_configurations: int = 0
    attempts: tuple[RuleAttempt, ...] = ()
    wait_reason: str = ""
    free: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    before: tuple[int, ...] = ()
    keeps: bool = False


def turn_of(policy: CheckedPolicy, moment: Moment, job: int, limits: MemoryLimits) -> Turn | None:
    """The turn of a job (its code in the moment's instance); None for policies that have no such queue.

    Raises DiagnosticError as `decide` does.
    """
    return turn_with(at(policy, moment.policy_now), moment.instance.store, moment.running, job, limits, moment.known)


def turn_with(
    policy: CheckedPolicy,
    store: ValueStore,
    running: PlanValues | None,
    job: int,
    limits: MemoryLimits,
    known: JobFacts | None = None,
) -> Turn | None:
    """The turn of a job (its code in the store); `running` is the previous plan. Otherwise as `turn_of`."""
    if has_slots(policy) or appends(policy) or is_standalone(policy):
        return None
    priced = with_prices(policy, with_job_facts(policy, store, limits, known), limits)
    store = with_stages(policy, priced.store, limits)
    cluster = cluster_for(policy, store, limits)
    lines = instructions_of(policy, cluster, store, limits)
    cluster = replace(cluster, work=with_ways_as_listed(cluster.work, lines))
    return _PolicyTracer(policy, cluster, lines, Evaluator(policy.model, store, limits), running, job).turn(limits)


class _PolicyTracer:
    def __init__(
        self,
        policy: CheckedPolicy,
        cluster: Cluster,
        lines: Instructions,
        ev: Evaluator,
        running: PlanValues | None,
        job: int,
    ) -> None:
        self.policy, self.cluster, self.lines, self.ev, self.running = policy, cluster, lines, ev, running
        self.job, self.number = job, int(np.searchsorted(cluster.jobs, job))
        self.names = [str(label) for label in self._labels(cluster.job_at)]
        # Kinds are the nodes themselves for a policy that names nodes.
        self.node_type = None if binds_nodes(policy) else cluster.placement.value("node_type")

    def _labels(self, place: int) -> Sequence[object]:
        component = self.ev.store.component(self.cluster.placement.indices[place].type)
        return [] if component is None else component.labels

    def turn(self, limits: MemoryLimits) -> Turn:
        policy, lines = self.policy, self.lines
        notes = []
        if policy.repeat is not None:
            notes.append(
                "the plan is the best of many randomised plans; this trace is of the first plan, without random draws"
            )
        if policy.split is not None:
            notes.append("jobs and nodes are distributed to several controllers; this trace is of a single controller")
        queue = lines.order.tolist()
        gangs = gang_cluster(policy, self.cluster, lines, self.ev.store, limits) if has_gangs(policy) else None
        start = self._start() if gangs is None else None
        first = None if gangs is None else self._gangs_at_start(gangs)
        if start.node[self.number] != NONE if start is not None else first is not None and first.runs[self.number]:
            notes.append("it keeps its node: `keep running`")
            return Turn(policy.name, length=len(queue), notes=tuple(notes), keeps=True)
        if self.number not in queue:
            conditions = [f"`{text_of(c.span.text)}`" for c in policy.order.indexing.conditions]
            why = f" where {' and '.join(conditions)}" if conditions else ""
            return Turn(policy.name, length=len(queue), wait_reason=f"it is not in the queue{why}", notes=tuple(notes))
        keys = self._keys(policy.order, Frame(1, {policy.order.indexing.variables[0]: np.array([self.job])}))
        if gangs is not None and first is not None:
            names = self._names_of(self.cluster.job_at, self.cluster.jobs)
            nodes = self._names_of(self.cluster.node_at, self.cluster.nodes)
            reason, room, placed = trace_gang(
                policy, gangs, lines, first, self.number, (names, nodes), self.ev.store, limits
            )
            tried = (RuleAttempt(policy.place[0].text, "", placed),)
            kept = np.flatnonzero(first.runs)
            known = tuple((n, v[0]) for n, v in keys)
            return Turn(
                policy.name, queue.index(self.number) + 1, len(queue), known, attempts=tried, wait_reason=reason,
                free=room, before=self._before(queue, kept),
            )  # fmt: skip
        assert start is not None
        ways, more = self._list_configurations()
        attempts, refused, free = self._trace_placement(queue, start, limits)
        return Turn(
            policy.name, queue.index(self.number) + 1, len(queue), tuple((n, v[0]) for n, v in keys), ways, more,
            attempts, refused, free, tuple(notes), self._before(queue, np.flatnonzero(start.node != NONE)),
        )  # fmt: skip

    def _before(self, queue: Sequence[int], kept: Ints) -> tuple[int, ...]:
        """Return the codes of the jobs before this one in the queue, without those that keep their nodes."""
        before = np.array(queue[: queue.index(self.number)], dtype=np.int64)
        return tuple(self.cluster.jobs[before[~np.isin(before, kept)]].tolist())

    def _gangs_at_start(self, gangs: GangCluster) -> GangSchedule:
        if self.running is None or not any(rule.name == "running" for rule in self.policy.keep):
            return gangs.empty_schedule()
        return gangs.schedule_from(self.running)

    def _names_of(self, place: int, codes: Codes) -> list[str]:
        labels = self._labels(place)
        return [str(labels[code]) if labels else str(code) for code in codes.tolist()]

    def _start(self) -> Schedule:
        if self.running is None or not any(rule.name == "running" for rule in self.policy.keep):
            return empty_schedule(self.cluster.work)
        return schedule_from(self.cluster, self.running)

    # --- keys and ways -----------------------------------------------------------------------------------------------

    def _keys(self, ranking: CheckedRanking, frame: Frame) -> list[tuple[str, list[str]]]:
        """The keys of a line as they are written, with their values in the rows of a frame."""
        found = []
        for key in ranking.keys:
            values: Floats = np.broadcast_to(self.ev.numbers(key.value, frame), (frame.size,))
            unit = str(key.value.type.unit) if isinstance(key.value.type, Numeric) else ""
            texts = [with_unit(short(float(v)), "" if unit == "1" else unit) for v in values]
            found.append((text_of(key.value.span.text), texts))
        return found

    def _list_configurations(self) -> tuple[tuple[tuple[str, tuple[tuple[str, str], ...]], ...], int]:
        """The configurations of the job that the policy lists, best first, with the keys of their line."""
        first, last = (int(at) for at in self.cluster.work.first_way[self.number : self.number + 2])
        ranked = [int(w) for w in self.lines.ranked[first:last] if w != NONE]
        preferred = int(self.lines.preferred[self.number])
        lists = [r for r in (self.policy.choose, self.policy.otherwise) if r is not None]
        texts = []
        for place, way in enumerate(ranked[:MOST_CONFIGURATIONS]):
            ranking = lists[0] if place < preferred else lists[-1]
            texts.append(
                (
                    self.configuration_text(way),
                    tuple((n, v[0]) for n, v in self._keys(ranking, self._frame(ranking, way))),
                )
            )
        return tuple(texts), max(0, len(ranked) - MOST_CONFIGURATIONS)

    def _frame(self, ranking: CheckedRanking, way: int) -> Frame:
        cluster = self.cluster
        indices = cluster.placement.indices
        columns = {i.name: column[way : way + 1] for i, column in zip(indices, cluster.ways, strict=True)}
        bound = {i: column[way : way + 1] for i, column in zip(indices, cluster.ways, strict=True)}
        bound[self.policy.order.indexing.variables[0]] = np.array([self.job], dtype=np.int64)
        kind = cluster.kinds[cluster.work.kind[way]]
        for variable in ranking.indexing.variables:
            bound[variable] = columns.get(variable.name, np.array([kind], dtype=np.int64))
        return Frame(1, bound)

    def configuration_text(self, way: int) -> str:
        """Return a configuration by its identifying indices: `B, g = 2`."""
        cluster = self.cluster
        parts = []
        kind = int(cluster.kinds[cluster.work.kind[way]])
        if self.node_type is not None:
            labels = self._type_labels(self.node_type)
            parts.append(str(labels[kind]) if labels is not None else str(kind))
        elif len(cluster.kinds) > 1:
            parts.append(str(self._labels(cluster.node_at)[kind]))
        for place in cluster.rest_at:
            index, code = cluster.placement.indices[place], int(cluster.ways[place][way])
            labels = self._labels(place)
            parts.append(f"{index.name} = {labels[code] if labels else code}")
        return ", ".join(parts)

    # --- placing -----------------------------------------------------------------------------------------------------

    def _trace_placement(
        self, queue: list[int], start: Schedule, limits: MemoryLimits
    ) -> tuple[tuple[RuleAttempt, ...], str, tuple[str, ...]]:
        """Return the rules tried for the job at its turn, why it waits, and the free capacity then."""
        work, lines, policy = self.cluster.work, self.lines, self.policy
        plan = copy_of(start)
        look, scratch = look_up(work), make_scratch(work, lines.node_list)
        begin(work, look, scratch, plan)
        attempts: list[RuleAttempt] = []
        rules = [rule.text for rule in policy.place]

        def record(rule: int, way: int, placed: bool) -> None:
            own = way != NONE and PLACE.get(rules[rule], _OTHER).takes == "one way"
            attempts.append(RuleAttempt(rules[rule], self.configuration_text(way) if own else "", placed))

        rng = np.random.default_rng(0)
        rows = traced_rows(policy.model, self.cluster, self.ev.store, limits, lines.order, start)
        guard = None if rows is None else rows.guard
        before = PlacementPass(work, look, lines, scratch, plan, False, rng, guard=guard)
        for j in queue[: queue.index(self.number)]:
            if plan.node[j] == NONE and not before.place(j):
                return (
                    (),
                    f"the queue stops at `{self.names[int(self.cluster.jobs[j])]}`, which waits by the rule `wait`",
                    (),
                )
        free = self._free(plan)
        own = PlacementPass(work, look, lines, scratch, plan, False, rng, record, guard)
        own.place(self.number)
        if plan.node[self.number] != NONE:
            return tuple(attempts), "", free
        if not (lines.ranked[work.first_way[self.number] : work.first_way[self.number + 1]] != NONE).any():
            return tuple(attempts), "the policy lists no way to run it", free
        listed_rules = ", ".join(f"`{rule}`" for rule in rules if PLACE.get(rule, _OTHER).takes != "no way")
        reason = f"none of {listed_rules} finds room for a listed way"
        refusal = "" if rows is None or own.refusing == NONE else rows.refusal_text(own.refusing, self.number)
        if refusal:
            reason += f" that the constraints of the model allow: {refusal}"
        return tuple(attempts), reason, free

    def _free(self, plan: Schedule) -> tuple[str, ...]:
        """The most that a node of each kind has left, and how many have nothing on them."""
        work, cluster = self.cluster.work, self.cluster
        lines = []
        labels = self._kind_labels()
        for k in range(len(work.units)):
            nodes = np.flatnonzero(plan.kind == k)
            left = (work.units[k] - plan.used[nodes]) / work.parts
            empty = int((plan.jobs[nodes] == 0).sum())
            in_use = left[plan.jobs[nodes] > 0]
            if len(nodes):
                most = f"at most {short(float(in_use.max()))} free on a used node" if len(in_use) else "no used node"
                lines.append(f"{labels[k]}: {most}, {empty} unused")
        unopened = int((plan.kind == NONE).sum())
        if unopened or (cluster.type_at is not None and not lines):
            lines.append(f"{unopened} unused")
        return tuple(lines)

    def _type_labels(self, node_type: TypedExpr) -> Sequence[object] | None:
        """Return the labels of types by code; None where types are numbers."""
        if self.cluster.type_texts:
            return self.cluster.type_texts
        component = self.ev.store.component(node_type.type)
        return None if component is None else component.labels

    def _kind_labels(self) -> list[str]:
        """Return a label of each kind: the common type of its nodes, or else a node of the kind."""
        cluster = self.cluster
        node_type = self.node_type
        if node_type is not None:
            types = self._type_labels(node_type)
            if types is None:
                return [f"{node_type.span.text} = {int(code)}" for code in cluster.kinds]
            return [str(types[int(code)]) for code in cluster.kinds]
        labels, nodes = self._labels(cluster.node_at), cluster.ways[cluster.node_at]
        labels_of_kinds = []
        for k in range(len(cluster.kinds)):
            ways = np.flatnonzero(cluster.work.kind == k)
            code = int(nodes[ways[0]]) if len(ways) else NONE
            labels_of_kinds.append(f"kind {k + 1}" if code == NONE else str(labels[code]) if labels else str(code))
        return labels_of_kinds


def turn_lines(turn: Turn) -> list[str]:
    """Return a turn as lines of text."""
    lines = []
    if turn.place:
        by = ", ".join(f"`{name}` {value}" for name, value in turn.keys)
        lines.append(
            (f"{turn.policy}: position {turn.place} of {turn.length} in the queue") + (f", by {by}" if by else "")
        )
    if turn.free:
        lines.append(f"state at its turn: {'; '.join(turn.free)}")
    if turn.configurations:
        lines.append("ways to run it, best first:")
        for way, keys in turn.configurations:
            outcome = [t for t in turn.attempts if t.configuration == way]
            outcome_text = ", ".join(f"`{t.rule}` {'places it' if t.placed else 'finds no room'}" for t in outcome)
            by = ", ".join(f"`{name}` {value}" for name, value in keys)
            lines.append(f"  {way}" + (f"   ({by})" if by else "") + (f"   {outcome_text}" if outcome_text else ""))
        if turn.more_configurations:
            lines.append(f"  and {turn.more_configurations} more")
    others = [t for t in turn.attempts if t.configuration not in {w for w, _ in turn.configurations}]
    for t in others:
        words = PLACE[t.rule].words if t.rule in PLACE else plug_ins().place[t.rule].words
        lines.append(f"`{t.rule}` ({words}) {'places it' if t.placed else 'finds no room'}")
    if turn.wait_reason:
        lines.append(f"it waits: {turn.wait_reason}")
    return [*lines, *turn.notes]
