"""The decision of a policy on a built instance: values of the variables of its plan."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.interchangeable.quotient import Quotient
from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.ir.tolerances import CHOSEN
from gpusched_dsl.language.checked import TypedExpr
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.controlled_search import run
from gpusched_dsl.policies.instructions import cluster_for, instructions_of
from gpusched_dsl.policies.job_facts import JobFacts, with_job_facts
from gpusched_dsl.policies.kernels.free_capacity import pin
from gpusched_dsl.policies.kernels.pricing import PRICES
from gpusched_dsl.policies.kernels.row_guard import RowGuard
from gpusched_dsl.policies.kinds import appends, has_gangs, has_slots
from gpusched_dsl.policies.memory import replanning_times, values_to_remember
from gpusched_dsl.policies.plan import Plan, portfolio_without_run
from gpusched_dsl.policies.prices.values import with_prices
from gpusched_dsl.policies.relabelling import relabel_schedule
from gpusched_dsl.policies.rows.asking import RowsAsked
from gpusched_dsl.policies.rows.guard import running_of
from gpusched_dsl.policies.rules import FINISH_CODES, PLACE_CODES
from gpusched_dsl.policies.search import UNLIMITED, SearchResult, SearchSettings, never
from gpusched_dsl.policies.stages import with_stages
from gpusched_dsl.policies.standalone import is_standalone, reserves, run_standalone
from gpusched_dsl.policies.workload import (
    NONE,
    Instructions,
    Schedule,
    copy_of,
    empty_schedule,
    with_ways_as_listed,
)

Stop = Callable[[], bool]
Tell = Callable[[int, float], None]  # passes done, best price
LISTED = 10  # jobs that a move looks at where its length is not stated


def decide(
    policy: CheckedPolicy,
    store: ValueStore,
    limits: MemoryLimits,
    seed: int = 0,
    running: PlanValues | None = None,
    stop: Stop | None = None,
    tell: Tell | None = None,
    known: JobFacts | None = None,
    seconds: float | None = None,
    quotient: Quotient | None = None,
    *,
    priced: bool = True,
) -> Plan:
    """Return the plan of a policy. `running` is the previous plan, whose jobs stay if the policy has `keep running`.

    `known` tells when jobs arrived and what service they had (`job_facts.py`). `stop` is asked, and `tell` told how far
    it is, now and then; `seconds` is the time after which `stop` asks, for controllers on workers. `quotient` is the
    one of the model, if it is known. Without `priced` the price of the plan is only computed where the policy compares
    plans.

    Raises DiagnosticError as evaluation does, where the placement does not say what is needed (GSM3016), and for a
    portfolio (GSM7015), and as `with_prices` does.
    """
    began = time.perf_counter()
    if policy.portfolio is not None:
        raise portfolio_without_run(policy)
    capacity = with_prices(policy, with_job_facts(policy, store, limits, known), limits, quotient)
    store = with_stages(policy, capacity.store, limits)
    priced_plan = priced or compares_plans(policy)
    found = _decide(policy, store, limits, seed, running, stop, tell, known, seconds, priced_plan)
    statistics = {**found.statistics, "prices_seconds": capacity.seconds} if policy.prices else found.statistics
    return replace(found, seconds=time.perf_counter() - began, bound=capacity.bound, statistics=statistics)


def _decide(
    policy: CheckedPolicy,
    store: ValueStore,
    limits: MemoryLimits,
    seed: int,
    running: PlanValues | None,
    stop: Stop | None,
    tell: Tell | None,
    known: JobFacts | None,
    seconds: float | None,
    priced: bool,
) -> Plan:
    """Return the plan by the store with all facts of jobs, prices and results of stages."""
    if has_slots(policy) and has_gangs(policy):
        from gpusched_dsl.policies.gangs.slotted_run import run_slotted_gangs

        return run_slotted_gangs(policy, store, limits, running, stop)
    if has_slots(policy):
        from gpusched_dsl.policies.slotted.run import run_slotted

        return run_slotted(policy, store, limits, stop)
    if appends(policy):
        from gpusched_dsl.policies.queues.run import run_queues

        return run_queues(policy, store, limits, stop)
    cluster = cluster_for(policy, store, limits, priced=priced)
    instructions = instructions_of(policy, cluster, store, limits)
    cluster = replace(cluster, work=with_ways_as_listed(cluster.work, instructions))
    if has_gangs(policy):
        return _decide_on_gangs(policy, cluster, instructions, store, limits, running, known)
    settings = settings_of(policy, store, limits)
    initial = None
    if running is not None and any(rule.name == "running" for rule in policy.keep):
        initial = schedule_from(cluster, running)

    def run_with(guard: RowGuard | None, lines: Instructions, once: bool) -> SearchResult[Schedule]:
        begins = initial
        if asked.placed is not None:
            begins = empty_schedule(cluster.work) if initial is None else copy_of(initial)
            pin(cluster.work, begins, asked.placed.job, asked.placed.node, asked.placed.way)
        if is_standalone(policy):
            linked = asked.linked() if guard is not None and reserves(policy) else None
            return run_standalone(policy, cluster, lines, begins, store, limits, known, guard, linked)
        effort = replace(settings, iterations=0, moves=()) if once else settings
        return run(cluster.work, lines, effort, seed, begins, stop or never, tell, seconds, guard)

    def on_nodes_as_before(found: SearchResult[Schedule]) -> SearchResult[Schedule]:
        moved = copy_of(found.schedule)
        relabel_schedule(cluster.work, moved, schedule_from(cluster, running or {}))
        return replace(found, elite=[moved, *found.elite[1:]])

    start = running_of(empty_schedule(cluster.work) if initial is None else initial)
    asked = RowsAsked(policy.model, cluster, store, limits, np.ones(len(cluster.work.due), dtype=np.int64), start)
    keeps_nodes = running is not None and any(rule.name == "nodes" for rule in policy.keep)
    outcome = asked.first_that_obeys(
        run_with,
        lambda found: running_of(found.schedule),
        instructions,
        on_nodes_as_before if keeps_nodes else None,
        reserves=is_standalone(policy) and reserves(policy),
    )
    return Plan(
        asked.values_of(running_of(outcome.schedule)),
        objective=outcome.price if priced else None,
        statistics={
            "iterations": float(outcome.iterations),
            "compile_seconds": outcome.compile_seconds,
            **asked.statistics(),
        },
        stopped=outcome.stopped,
        again=replanning_times(policy, cluster, outcome.schedule, store, limits),
        remembered=values_to_remember(policy, cluster, outcome.schedule, instructions, store, limits),
        obeys_rows=asked.checked,
    )


def _decide_on_gangs(
    policy: CheckedPolicy,
    cluster: Cluster,
    instructions: Instructions,
    store: ValueStore,
    limits: MemoryLimits,
    running: PlanValues | None,
    known: JobFacts | None,
) -> Plan:
    """The decision where a job may have several nodes."""
    from gpusched_dsl.policies.gangs.reader import gang_cluster
    from gpusched_dsl.policies.gangs.run import plan_gangs

    gangs = gang_cluster(policy, cluster, instructions, store, limits)
    keeps = running is not None and any(rule.name == "running" for rule in policy.keep)
    start = gangs.schedule_from(running) if running is not None and keeps else gangs.empty_schedule()
    plan, asked, compiling = plan_gangs(policy, gangs, instructions, start, store, limits, known)
    statistics = {"iterations": 0.0, "compile_seconds": compiling, **asked.statistics()}
    return Plan(asked.values_of(plan.running()), statistics=statistics, obeys_rows=asked.checked)


def compares_plans(policy: CheckedPolicy) -> bool:
    """Whether a policy may read what it costs that jobs are late or wait: to choose between plans or sizes of jobs."""
    if policy.draws or policy.moves or policy.repeat or policy.improve or policy.split or is_standalone(policy):
        return True
    known = PLACE_CODES.keys() | FINISH_CODES.keys()  # a plug-in may read all
    rules = [rule.text for rule in (*policy.place, *policy.finish)]
    return any(text not in known or "if_cheaper" in text for text in rules)


def settings_of(policy: CheckedPolicy, store: ValueStore, limits: MemoryLimits) -> SearchSettings:
    """How often, how many and by which price: the numbers in a policy's last lines."""
    ev = Evaluator(policy.model, store, limits)

    def integer(expr: TypedExpr | None, otherwise: int) -> int:
        return otherwise if expr is None else max(0, round(ev.number(expr)))

    return SearchSettings(
        iterations=integer(policy.repeat, 0),
        keep=max(1, integer(policy.improve, 1)),
        improve=max(1, integer(policy.improve, 1)),
        price=policy.kept if policy.kept in PRICES else "total",
        moves=tuple((m.text, integer(m.arguments[0] if m.arguments else None, LISTED)) for m in policy.moves),
        rounds=UNLIMITED if policy.all_rounds else integer(policy.rounds, 1),
        controllers=max(1, integer(policy.split, 1)),
    )


def schedule_from(cluster: Cluster, plan: PlanValues) -> Schedule:
    """Return the schedule of an earlier plan; unknown jobs and nodes are skipped."""
    schedule = empty_schedule(cluster.work)
    given = plan.get(cluster.placement.variable)
    if given is not None:
        chosen = given.values > CHOSEN
        pin(cluster.work, schedule, *cluster.running_jobs([c[chosen] for c in given.codes]))
        schedule.chosen[:] = NONE  # the rules did not choose it anew
    return schedule
