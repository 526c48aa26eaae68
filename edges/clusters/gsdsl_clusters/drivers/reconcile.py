"""From the plan and an observation to actions: the difference between the wanted and the observed state.

Actions follow from the present difference only, never from what was decided or done before. So an action that was lost,
refused or half done is made again, and one that was done is not.

A job that moves runs on until its new place is free, in an order of moves in which no node ever lacks GPUs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gsdsl_clusters.drivers.move_order import JobMove, order_moves
from gsdsl_clusters.drivers.protocol import Action, ActionKind, Allocation, JobState, Observation, ObservedJob


@dataclass(frozen=True)
class WantedState:
    """The wanted state: the allocation of each job that should run, and all jobs that the run knows.

    `kinds` are the node types that the plan uses, by node, where the model names them. Jobs that are `away` are not in
    the plan for now: they must not start. The plan lets `barred` jobs run where they must not: they wait.
    """

    allocations: Mapping[str, Allocation]
    jobs: tuple[str, ...]
    step: int = 0
    kinds: Mapping[str, str] = field(default_factory=dict)
    away: Collection[str] = ()
    barred: Collection[str] = ()


@dataclass(frozen=True)
class Contradiction:
    """A difference that no permitted action removes. One of a node stops all actions."""

    about: str
    message: str
    stops_all: bool = False


@dataclass(frozen=True)
class Difference:
    """The actions towards the plan, in order, and what contradicts it. `waiting` are starts without free GPUs yet."""

    actions: tuple[Action, ...]
    contradictions: tuple[Contradiction, ...]
    waiting: tuple[str, ...] = ()


def difference(plan: WantedState, observation: Observation, *, preempt: bool) -> Difference:
    """Compare a plan with a cluster. Actions that free GPUs come before starts; starts keep the order of the plan, but
    wait for moves that need the same GPUs first.
    """
    contradictions = [*_node_contradictions(plan, observation)]
    stops: list[Action] = []
    starts: list[Action] = []
    moves: list[Action] = []
    reason = f"gsdsl step {plan.step}"
    for name in plan.jobs:
        job = observation.jobs.get(name)
        if job is None or job.state.has_ended or job.state is JobState.BLOCKED or job.unsupported:
            continue
        wanted = plan.allocations.get(name)
        if job.state is JobState.RUNNING:
            if wanted is not None and _same(wanted, job.allocation):
                continue
            where = "wait" if wanted is None else f"run on {_nodes(wanted)}"
            if preempt and name not in plan.barred:
                leaving = stops if wanted is None else moves
                leaving.append(Action(ActionKind.REQUEUE, name, reason=f"{reason}: to {where}"))
            else:
                message = f"job `{name}` runs on {_nodes(job.allocation)}, but the plan lets it {where}"
                contradictions.append(Contradiction(name, message))
        elif wanted is None or name in plan.barred or not _is_part(job, wanted):
            if not job.held:
                stops.append(Action(ActionKind.HOLD, name, reason=f"{reason}: to wait"))
        elif job.nodes and job.nodes != len(wanted):
            message = f"job `{name}` needs {job.nodes} nodes, but the plan lets it run on {_nodes(wanted)}"
            contradictions.append(Contradiction(name, message))
        elif not _is_released(job, wanted) or (job.gpus and job.gpus != sum(wanted.values())):
            if job.gpus and job.gpus != sum(wanted.values()):
                text = f"{reason}: {sum(wanted.values())} GPUs"
                starts.append(Action(ActionKind.RESIZE, name, wanted, text))
            starts.append(Action(ActionKind.START, name, wanted, f"{reason}: to run on {_nodes(wanted)}"))
    for name in plan.away:
        job = observation.jobs.get(name)
        if job is not None and job.state is JobState.PENDING and not job.held and not job.unsupported:
            stops.append(Action(ActionKind.HOLD, name, reason=f"{reason}: to wait"))
    stops += [
        Action(ActionKind.HOLD, name, reason=f"{reason}: to wait for other tasks of its array")
        for name, job in observation.jobs.items()
        if job.over_limit and not job.held and not job.unsupported
    ]
    if moves:
        moves, starts, blocked = _in_order(plan, observation, stops, starts, moves)
        found = _with_room(plan, observation, [*stops, *moves], starts, contradictions)
        return replace(found, waiting=(*found.waiting, *blocked))
    return _with_room(plan, observation, stops, starts, contradictions)


def answers(observation: Observation, left_out: Mapping[str, str]) -> tuple[Action, ...]:
    """The answers for jobs that ask and are left out, each with the reason."""
    return tuple(
        Action(ActionKind.LEAVE_OUT, name, reason=left_out[name])
        for name, job in observation.jobs.items()
        if job.asks and name in left_out
    )


def free_gpus(plan: WantedState, observation: Observation) -> Counter[str]:
    """The GPUs of each node that no job occupies, and none that was released for the node will occupy."""
    free = Counter({name: node.gpus if node.up else 0 for name, node in observation.nodes.items()})
    for job in observation.jobs.values():
        if job.state is JobState.PENDING and not job.held and job.pinned:
            wanted = plan.allocations.get(job.name)
            free.subtract(wanted if wanted is not None and _is_released(job, wanted) else {})
        free.subtract(job.allocation)
    return free


def _in_order(
    plan: WantedState,
    observation: Observation,
    stops: Sequence[Action],
    starts: Sequence[Action],
    moves: Sequence[Action],
) -> tuple[list[Action], list[Action], list[str]]:
    """The moves and starts of now, and the jobs for whose starts no move makes room.

    Starts of later rounds are not among these: they wait for moves, which are watched themselves. The order counts
    GPUs as free that jobs are leaving; a job leaves its place only once its new place is free.
    """
    jobs, free = observation.jobs, free_gpus(plan, observation)
    expected = Counter(free)
    for name in (action.job for action in stops if action.kind is ActionKind.REQUEUE):
        expected.update(jobs[name].allocation)
    for job in jobs.values():
        if job.state is not JobState.RUNNING and not job.partly_started:
            expected.update(job.allocation)
    begun = [JobMove(a.job, _own(jobs[a.job]), a.allocation) for a in starts if a.kind is ActionKind.START]
    moved = [JobMove(a.job, jobs[a.job].allocation, plan.allocations[a.job]) for a in moves]
    order = order_moves(expected, [*begun, *moved])
    first = set(order.rounds[0]) if order.rounds else set[str]()
    now = set(order.halted)
    for move in (*begun, *moved):
        if move.job in first - now and all(free[n] + move.old.get(n, 0) >= gpus for n, gpus in move.new.items()):
            now.add(move.job)
            free.subtract({n: max(0, gpus - move.old.get(n, 0)) for n, gpus in move.new.items()})
    ready = [action for action in starts if action.job in first]
    blocked = {move.job for move in begun}.intersection(order.blocked)
    return [a for a in moves if a.job in now], ready, sorted(blocked)


def _with_room(
    plan: WantedState,
    observation: Observation,
    stops: Sequence[Action],
    starts: Sequence[Action],
    contradictions: Sequence[Contradiction],
) -> Difference:
    """Keep the starts that have their GPUs free; the others wait for the next observation."""
    free, actions, waiting = free_gpus(plan, observation), [*stops], []
    for action in starts:
        job = observation.jobs[action.job]
        own = _own(job)
        if any(free[node] + own.get(node, 0) < gpus for node, gpus in action.allocation.items()):
            if action.kind is ActionKind.START:
                waiting.append(action.job)
            continue
        if action.kind is ActionKind.START:
            free.subtract(action.allocation)
            free.update(own)
        actions.append(action)
    return Difference(tuple(actions), tuple(contradictions), tuple(waiting))


def _node_contradictions(plan: WantedState, observation: Observation) -> list[Contradiction]:
    """Nodes with fewer GPUs, or of another type, than the plan uses."""
    used: Counter[str] = Counter()
    for allocation in plan.allocations.values():
        used.update(allocation)
    found = []
    for name in sorted(used):
        node = observation.nodes.get(name)
        if node is None or not node.up:
            continue  # it failed after the plan: the next plan knows
        if used[name] > node.gpus:
            message = f"the plan uses {used[name]} GPUs of `{name}`, which has {node.gpus}"
            found.append(Contradiction(name, message, stops_all=True))
        kind = plan.kinds.get(name)
        types = {other.gpu_type for other in observation.nodes.values()}
        if kind in types and node.gpu_type and kind != node.gpu_type:
            message = f"the plan uses `{name}` as `{kind}`, but its GPUs are `{node.gpu_type}`"
            found.append(Contradiction(name, message, stops_all=True))
    return found


def _own(job: ObservedJob) -> Allocation:
    """The GPUs of a waiting job that already has a part of its start."""
    return job.allocation if job.partly_started else {}


def _is_part(job: ObservedJob, wanted: Allocation) -> bool:
    """Whether nothing of a waiting job runs elsewhere."""
    return not job.partly_started or all(wanted.get(node, 0) >= gpus for node, gpus in job.allocation.items())


def _is_released(job: ObservedJob, wanted: Allocation) -> bool:
    return not job.held and not job.partly_started and set(job.pinned) == set(wanted)


def _same(wanted: Allocation, observed: Allocation) -> bool:
    return dict(wanted) == dict(observed)


def _nodes(allocation: Allocation) -> str:
    return ", ".join(f"{node} ({gpus} GPU{'' if gpus == 1 else 's'})" for node, gpus in allocation.items()) or "no node"
