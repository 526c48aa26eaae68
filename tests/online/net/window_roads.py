"""One case of windows by every road, each compared with the others and with the simulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from net_roads import Told, alike, compared, drawn_outside, near, opened, parts_of
from window_cases import WindowCase
from window_simulator import Taken, WindowSimulation

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.ir.domains import decode
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.bounds.run_bound import NEVER_CAME, UNFINISHED, relaxation_bound
from gpusched_dsl.online.data.real_values import with_real_values
from gpusched_dsl.online.journal.recorder import Recorder
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.loops.slots import SlotLoop
from gpusched_dsl.online.loops.step_journal import StepJournal
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.planners.violations import BrokenRows
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.workflows.estimate import estimate


def check_windows(case: WindowCase, folder: Path | None = None) -> Told:
    """Drive a case by all roads; those by a journal, with every plan checked, only where there is a folder for one."""
    workspace = opened(case)
    loop, plans = slot_loop(setup_of_case(workspace, case, "none" if folder is None else "full"), case)
    run = loop.run()
    wrong = against_simulation(case, run, plans)
    wrong += [f"warning: {warning.message}" for warning in run.warnings]
    result = RunResult(run, RunInfo(case.method))
    if result.contradiction is not None:
        wrong.append(f"the total {result.total!r} is below its bound {result.bound.value!r}")
    if folder is not None:
        wrong += journalled(workspace, case, run, folder)
        wrong += estimated(workspace, case, run)
        wrong += bounded(workspace, case, result)
    return Told(wrong, False, len(run.steps), run.ended, run.total)


def setup_of_case(workspace: Workspace, case: WindowCase, verify: str = "none") -> RunSetup:
    return setup_of(workspace, RunConfig(online="Block", method=case.method, seed=1, gap=0.0, verify=verify))


def slot_loop(setup: RunSetup, case: WindowCase, journal: StepJournal | None = None) -> tuple[SlotLoop, list[Taken]]:
    """A loop that is ready to run and notes every plan."""
    loop = loop_of(setup, journal=journal)
    assert isinstance(loop, SlotLoop)
    plans: list[Taken] = []
    check_plan = loop.examine

    def noted(instance: Instance, plan: Plan, number: int) -> BrokenRows | None:
        plans.append(Taken(loop.world.now, by_places(case, instance, plan), plan.objective))
        return None if check_plan is None else check_plan(instance, plan, number)

    loop.examine = noted
    return loop, plans


def by_places(case: WindowCase, instance: Instance, plan: Plan) -> dict[str, dict[tuple[int, ...], float]]:
    """Values by numbers of jobs and nodes and places of slots in the run."""

    def place(label: str | int) -> int:
        return label - case.first if isinstance(label, int) else int(label[1:])

    found = {}
    for name, given in plan.values.items():
        variables = instance.scenario.model.variables[name].indexing.variables
        keys = decode([instance.store.component(v.type) for v in variables], given.codes)
        found[name] = {tuple(map(place, k)): v for k, v in zip(keys, given.values.tolist(), strict=True)}
    return found


def against_simulation(case: WindowCase, run: RunOutcome, plans: list[Taken]) -> list[str]:
    realised, wrong = with_draws(case, run)
    slow = WindowSimulation(realised, plans).run()
    if slow.wrong:
        return [*wrong, *slow.wrong]
    wrong += [] if run.ended == "horizon" else [f"ended {run.ended}"]
    asked = [(step.time, set(step.why)) for step in run.steps]
    if asked != slow.asked:
        wrong.append(f"simulator: plans {slow.asked}, not {asked}")
    world = run.world
    for name, ours in (
        ("start", world.first_start), ("end", world.end), ("done", world.done), ("due", world.due),
    ):  # fmt: skip
        theirs = np.array([getattr(one, name) for one in slow.jobs])
        if not near(ours, theirs):
            wrong.append(f"simulator: {name} {theirs.tolist()}, not {ours.tolist()}")
    if not alike(world.ledger.totals, slow.terms):
        wrong.append(f"simulator: {slow.terms}, not {world.ledger.totals}")
    return wrong + parts_of(run)


def with_draws(case: WindowCase, run: RunOutcome) -> tuple[WindowCase, list[str]]:
    """The case with what the run has drawn; what no law allows is wrong."""
    ends, stretch = run.world.ends / run.world.work, run.world.stretch
    wrong = drawn_outside(case.laws, ends, stretch)
    jobs = zip(case.jobs, ends.tolist(), stretch.tolist(), strict=True)
    return replace(case, jobs=tuple(replace(job, ends=end, stretch=slower) for job, end, slower in jobs)), wrong


def journalled(workspace: Workspace, case: WindowCase, run: RunOutcome, folder: Path) -> list[str]:
    """Recorded whole; killed at a slot and resumed: the same to the last bit. And the simulator follows both."""
    path = folder / f"windows{case.seed}.db"
    outcomes, wrong = [], []
    for kill_after in (None, case.seed % max(len(run.steps), 1)):
        if kill_after is not None:
            setup = setup_of_case(workspace, case).stateless()
            with Recorder(path, setup, RunInfo(case.method)) as recorder:
                died, _ = slot_loop(setup, case, recorder.steps)
                died.stop = lambda died=died, most=kill_after: len(died.steps) > most
                died.run()  # and no more is written: as of a process that has gone
        setup = setup_of_case(workspace, case).stateless()
        with Recorder(path, setup, RunInfo(case.method)) as recorder:
            loop, plans = slot_loop(setup, case, recorder.steps)
            outcomes.append(loop.run())
            recorder.close_with(outcomes[-1])
        path.unlink()
        if kill_after is None:
            wrong += [f"recorded: {one}" for one in against_simulation(case, outcomes[0], plans)]
    wrong += compared("killed and resumed", outcomes[1], outcomes[0], exact=True)
    if case.method != "highs":  # of equally good plans, a solver that begins anew may take another one
        wrong += compared("recorded", outcomes[0], run, exact=True)
    return wrong


def bounded(workspace: Workspace, case: WindowCase, result: RunResult) -> list[str]:
    """The relaxation of the whole horizon bounds a run that does all work and pays what the model says.

    At forecasts it bounds nothing, at real prices it does, where the block says which these are.
    """
    charged = {"energy", "lateness", *(["booting"] if case.boots else []), *(["starting"] if case.starts else [])}
    base = with_real_values(workspace, RunConfig(), result.outcome.online, result.outcome.base)
    at_forecasts = case.forecast != case.actual and base is result.outcome.base
    other = case.outages or case.ends or case.stretch or case.delays or case.charged or at_forecasts
    found = relaxation_bound(result.history, base)
    if other or not charged <= set(case.charges) or found.how in (UNFINISHED, NEVER_CAME):
        return []
    return [] if found.value is not None and not found.is_refuted_by(result.total) else [f"bound {found}"]


def estimated(workspace: Workspace, case: WindowCase, run: RunOutcome) -> list[str]:
    """Where nothing is drawn, an estimate is the run itself. Outages are drawn, though by a constant law."""
    if case.method == "highs" or case.laws:
        return []
    wrong = []
    for number, end in enumerate(run.world.end):
        if np.isnan(end):
            continue
        found = estimate(workspace, f"j{number}", RunConfig(online="Block", method=case.method), samples=2)
        cost = sum(float(amounts[number]) for amounts in run.world.ledger.jobs.values())
        if not near(found.end, end):
            wrong.append(f"estimate: end of j{number} {found.end.tolist()}, not {end}")
        if not near(found.cost, np.array(cost)):
            wrong.append(f"estimate: cost of j{number} {found.cost.tolist()}, not {cost}")
    return wrong
