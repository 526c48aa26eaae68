"""Explains why a job runs on its node, or waits, at a time of a run, by the method and by the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gpusched_dsl.explaining.decisions.counterfactuals import (
    MOST_ALTERNATIVES,
    CounterfactualProblem,
    ForcedDecision,
)
from gpusched_dsl.explaining.decisions.moment_reason import MomentJobs, MomentReason
from gpusched_dsl.explaining.decisions.planned import Cost
from gpusched_dsl.explaining.decisions.policy_trace import Turn, turn_lines, turn_of
from gpusched_dsl.explaining.job_reason import ROOM, JobReason
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.text.numbers import count_text, short, with_unit
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.clock_time import RunClock
from gpusched_dsl.online.loops.branching import Loop
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.loops.external_slots import AnyExternalLoop
from gpusched_dsl.online.loops.inspection import Moment, job_in, latest_moment, moment_at
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.loops.slots import SlotLoop
from gpusched_dsl.online.loops.step_journal import StepJournal
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.planners.policy import PolicyPlanner
from gpusched_dsl.online.planners.portfolio import PortfolioPlanner
from gpusched_dsl.online.planners.protocol import Planner
from gpusched_dsl.online.planners.stateless import StatelessPlanner
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.simulation.world import DONE, GONE, RUNNING, STATES, WAITING
from gpusched_dsl.reporting.report import Report
from gpusched_dsl.solving.variants.solver import VariantSolver
from gpusched_dsl.workflows.estimate import job_code, job_of_live, no_plan_error, title_of

SECONDS = 60.0
SCHEMA_VERSION = 1
MOST_MOVED = 5


@dataclass(frozen=True, eq=False)
class Alternative:
    """Another way for the job while all other jobs stay as planned; `entry` is its placement element."""

    entry: str
    forced: ForcedDecision


@dataclass(frozen=True, eq=False, repr=False)
class DecisionExplanation(Report):
    """Why a job runs on its node, or waits, in the plan that is current `at` a time.

    `reason` says it in words of GPUs, jobs and nodes: by what is free at that time. It is None if the placement does
    not state what nodes have. All else is the detail behind it.

    `plan` has the cost of the plan in the model, and the job's elements in it. A running job has `alternatives`,
    cheapest first, impossible ones last; a waiting job has `fixed` and `free`: it is forced to run, with the others as
    planned and with the others free. `left_out`: the number of alternatives that were not examined. `followed`: whose
    plan a portfolio followed.
    """

    title: str
    job: str
    at: float
    clock: RunClock
    planned_at: float
    method: str
    runs: bool
    plan: ForcedDecision
    turn: Turn | None = None
    alternatives: tuple[Alternative, ...] = ()
    left_out: int = 0
    fixed: ForcedDecision | None = None
    free: ForcedDecision | None = None
    followed: str = ""
    reason: JobReason | None = None

    @property
    def unit(self) -> str:
        """The unit of times, "" for none."""
        return self.clock.name

    def lines(self) -> list[str]:
        """Return the output of `gsdsl why`."""
        lines = [self.title, ""]
        state = f"runs: {', '.join(self.plan.entries)}" if self.runs else "waits"
        method = f"{self.method}, which follows {self.followed}," if self.followed else self.method
        source = f"by the plan of {method} at {self.clock.text(self.planned_at)}"
        lines += [f"{self.job} at {self.clock.text(self.at)} {state}, {source}"]
        if self.reason is not None:
            lines += self.reason.lines(self.clock.text)
        if self.turn is not None:
            lines += ["", *turn_lines(self.turn)]
        lines += ["", *self._model_lines()]
        return lines

    def _model_lines(self) -> Iterator[str]:
        cost = self.plan.cost
        if cost is None:
            yield "the plan violates constraints of the model, so the model cannot compare other plans"
            return
        values = ", ".join(f"{n} {with_unit(short(v), '' if u == '1' else u)}" for n, v, u in cost.objectives)
        yield f"cost of the plan in the model: {values}" if values else "the model has no objective"
        if self.runs:
            yield "in other ways, with all other jobs as planned:"
            if not self.alternatives:
                yield "  none"
            for other in self.alternatives:
                yield from _forced_lines(f"  {other.entry}", other.forced, cost)
            if self.left_out:
                yield f"  {count_text(self.left_out, 'more was', 'more were')} not examined"
        else:
            if self.fixed is not None:
                yield from _forced_lines("if it ran, with all other jobs as planned", self.fixed, cost)
            if self.free is not None:
                yield from _forced_lines("if it ran, with all other jobs free to change", self.free, cost)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the document of `gsdsl why --json`."""
        cost = self.plan.cost
        return {
            "schema_version": SCHEMA_VERSION,
            "job": self.job,
            "at": self.at,
            "at_date": self.clock.iso(self.at),
            "unit": self.clock.name,
            "planned_at": self.planned_at,
            "planned_at_date": self.clock.iso(self.planned_at),
            "method": self.method,
            "followed": self.followed or None,
            "runs": self.runs,
            "entries": list(self.plan.entries),
            "reason": None if self.reason is None else self.reason.to_dict(self.clock.iso),
            "cost": None if cost is None else _cost_document(cost),
            "turn": None if self.turn is None else turn_lines(self.turn),
            "alternatives": [{"entry": a.entry, **_forced_document(a.forced, cost)} for a in self.alternatives],
            "left_out": self.left_out,
            "others_as_planned": None if self.fixed is None else _forced_document(self.fixed, cost),
            "others_free": None if self.free is None else _forced_document(self.free, cost),
        }


def _cost_document(cost: Cost) -> dict[str, Any]:
    return {"objectives": {n: v for n, v, _ in cost.objectives}, "terms": dict(cost.terms)}


def _forced_document(forced: ForcedDecision, before: Cost | None) -> dict[str, Any]:
    return {
        "possible": forced.cost is not None,
        "entries": list(forced.entries),
        "changes": {} if forced.cost is None or before is None else {n: v for n, v, _ in forced.cost.changes(before)},
        "moved": list(forced.moves),
        "in_the_way": [{"give_way": change, "row": row} for change, row in forced.rows],
    }


def _forced_lines(what: str, forced: ForcedDecision, before: Cost) -> Iterator[str]:
    if forced.cost is None:
        yield f"{what}: not possible" + ("" if forced.rows else ", as far as the search in time shows")
        for change, row in forced.rows:
            yield f"    violates {change}: {row}"
        return
    where = f" ({', '.join(forced.entries)})" if forced.entries and forced.entries[0] not in what else ""
    yield f"{what}{where}: {forced.cost.change_text(before)}"
    for line in forced.moves[:MOST_MOVED]:
        yield f"    {line}"
    if len(forced.moves) > MOST_MOVED:
        yield f"    and {count_text(len(forced.moves) - MOST_MOVED, 'more job')}"


def why(
    workspace: Workspace,
    job: str | int,
    at: float | str,
    config: RunConfig,
    *,
    solver: VariantSolver | str = "highs",
    report: Callable[[Diagnostic], None] = lambda warning: None,
) -> DecisionExplanation:
    """Explain the plan that is current at a time. Plans come from the journal as far as it has them.

    The run goes on from the latest saved state before that time; `report` gets a warning for one that cannot be used.
    Raises DiagnosticError: GSM6021 for an unknown job, GSM6022 if there is no plan or the job is not present then, and
    the errors of `open_run`, planning, grounding and the journal.
    """
    with ExitStack() as stack:
        setup = setup_of(workspace, config)
        code = job_code(setup, job)
        loop = loop_of(setup)
        at = loop.run_clock.read(at)
        if config.journal is not None:
            from gpusched_dsl.online.checkpoints.restoring import restored_loop
            from gpusched_dsl.online.journal.journal import Journal

            journal = stack.enter_context(Journal.read(config.journal))
            header = {
                "online": setup.online.name, "model": setup.online.base.name, "method": config.method,
                "scenario": setup.base.instance.scenario.name or journal.header.get("scenario"),
                "seed": config.seed, "settings": dict(config.settings),
                "inputs_sha256": {**workspace.sha256, **setup.base.instance.inputs},
            }  # fmt: skip
            until = at - setup.slot_length  # a slot that has begun is explained before it ends
            loop, _ = restored_loop(partial(_loop_with, setup), journal, header, until=until, report=report)
        moment = moment_at(loop, at)
    return explain_moment(loop, moment, code, str(job), at, solver=solver)


def _loop_with(setup: RunSetup, steps: StepJournal) -> Loop:
    return loop_of(setup, journal=steps)


def explain_moment(
    loop: Loop,
    moment: Moment | None,
    code: int,
    job: str,
    at: float,
    *,
    solver: VariantSolver | str = "highs",
) -> DecisionExplanation:
    """Explain the plan of a moment for a job of the run. Raises DiagnosticError as `why` does."""
    limits = loop.config.permissions.limits()
    inner = None if moment is None else job_in(moment, loop.jobs_root, code)
    status = int(loop.world.status[code])
    # No plan follows the end of the last job, or one that the block does not replan on. Slots are executed ahead.
    has_left = isinstance(loop, EventLoop) and status in (DONE, GONE)
    if moment is None or inner is None or has_left:
        state = STATES[status]
        reason = "no plan was computed until then" if moment is None else f"`{job}` is {state} and not in any plan"
        raise no_plan_error(f"at {loop.run_clock.text(at)} {reason}", "choose a time at which the job is present")
    planner = loop.planner.planner if isinstance(loop.planner, StatelessPlanner) else loop.planner
    policy, followed = _policy_of(planner, moment)
    turn = None if policy is None else turn_of(policy, moment, inner, limits)
    solver = VariantSolver(solver, SECONDS) if isinstance(solver, str) else solver
    question = CounterfactualProblem(moment, inner, solver, limits)
    plan = question.evaluate_plan()
    found = MomentReason(question, _states_of(loop, moment), _slot_time(loop, moment)).reason(turn)
    answer = DecisionExplanation(
        title_of(loop),
        job,
        at,
        loop.run_clock,
        moment.now,
        moment.step.method,
        question.runs,
        plan,
        turn,
        followed=followed,
        reason=found,
    )
    if plan.cost is None:
        return answer
    return _with_alternatives(answer, question, moment)


def _states_of(loop: Loop, moment: Moment) -> MomentJobs:
    """Return the states of the jobs of a moment at the present time of the loop."""
    world, kept = loop.world, moment.part.kept[loop.jobs_root]
    ends = np.full(len(world.status), np.nan)
    ends[world.running] = world.planned_ends()
    status = world.status[kept]
    return MomentJobs(status == RUNNING, status == WAITING, ends[kept], world.due[kept])


def _slot_time(loop: Loop, moment: Moment) -> Callable[[int], float]:
    """Return the function from the code of a slot of a moment to the time at which it begins."""
    if not isinstance(loop, SlotLoop):
        return lambda slot: moment.now
    first, length = loop.first_planned_slot, loop.setup.slot_length
    return lambda slot: (first + slot) * length


def _policy_of(planner: Planner, moment: Moment) -> tuple[CheckedPolicy | None, str]:
    """Return the policy that made a plan, and whose plan a portfolio followed, "" without one."""
    if isinstance(planner, PortfolioPlanner) and moment.step.method == planner.name:
        followed = planner.followed_method(moment.notes)
        return planner.policy_named(followed), followed
    is_own = isinstance(planner, PolicyPlanner) and moment.step.method == planner.policy.name
    return planner.policy if is_own and isinstance(planner, PolicyPlanner) else None, ""


def _with_alternatives(
    answer: DecisionExplanation, question: CounterfactualProblem, moment: Moment
) -> DecisionExplanation:
    if not answer.runs:
        if not len(question.own_elements):
            return answer
        fixed = question.force_running(question.own_elements)
        free = question.force_running(question.own_elements, others=False)
        return replace(answer, fixed=fixed, free=free, reason=_with_cost(answer, fixed, free))
    planned = question.planned_values[question.own_elements] > 0.5
    has = set(question.own_elements[planned].tolist())
    others = [configuration for configuration in question.configurations if not has & set(configuration.tolist())]
    alternatives = [Alternative("waits", question.force_waiting())]
    for configuration in others[:MOST_ALTERNATIVES]:
        forced = question.force_running(configuration)
        entry = forced.entries[0] if forced.entries else _family_of(question, configuration)
        alternatives.append(Alternative(entry, forced))
    assert answer.plan.cost is not None
    alternatives.sort(key=lambda a: np.inf if a.forced.cost is None else a.forced.cost.total)
    return replace(answer, alternatives=tuple(alternatives), left_out=max(0, len(others) - MOST_ALTERNATIVES))


def _with_cost(answer: DecisionExplanation, fixed: ForcedDecision, free: ForcedDecision) -> JobReason | None:
    """Return the reason; for a job that has room, or waits for a slot, with the change of the cost if it ran."""
    reason, before = answer.reason, answer.plan.cost
    if reason is None or before is None or (reason.kind != ROOM and reason.slots is None):
        return reason
    if fixed.cost is not None:
        text = f"if it ran now, with all other jobs as planned: {fixed.cost.change_text(before)}"
    elif free.cost is not None:
        text = f"if it ran now, other jobs would have to change: {free.cost.change_text(before)}"
    else:
        return reason
    return replace(reason, note="; ".join(filter(None, (reason.note, text))))


def _family_of(question: CounterfactualProblem, configuration: Any) -> str:
    """Return the element, or the first of several that differ only in the node."""
    return question.entry(int(configuration[0])) + (" and equal ones on other nodes" if len(configuration) > 1 else "")


def explain_live(
    loop: AnyExternalLoop, job: str | int, *, solver: VariantSolver | str = "highs"
) -> DecisionExplanation:
    """Explain the current plan of a live run. Raises DiagnosticError: GSM6021 for an unknown job, GSM6022 if the job is
    in no plan; and the errors of grounding.
    """
    code = job_of_live(loop, job)
    slot = loop.slot - 1 if isinstance(loop, SlotLoop) else None  # the slot that has begun
    return explain_moment(loop, latest_moment(loop, slot), code, str(job), loop.now, solver=solver)
