"""One case of accumulated values with a window by every road, each compared with the others and with the simulator."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from gang_window_simulator import GangWindowSimulation
from gang_windows import GangWindowCase
from net_roads import Told, alike, compared, near, opened, parts_of
from state_cases import TEAMS
from state_window_simulator import State, StateWindowSimulation
from state_windows import StateWindowCase
from window_simulator import Taken

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.ir.domains import decode
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.journal.recorder import Recorder
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.loops.slots import SlotLoop
from gpusched_dsl.online.loops.step_journal import StepJournal
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.workflows.live import run_live_loop


def config_of(case: StateWindowCase) -> RunConfig:
    method = case.method if isinstance(case, GangWindowCase) else "highs"
    return RunConfig(online="Block", method=method, seed=1, gap=0.0)


def check_state_windows(case: StateWindowCase, folder: Path | None = None) -> Told:
    """Drive a case by all roads; those by a journal, and live, only where there is a folder for one."""
    workspace = opened(case)
    loop, plans, known = slot_loop(setup_of(workspace, config_of(case)), case)
    run = loop.run()
    wrong, slow = against_simulation(case, run, plans, known)
    wrong += [f"warning: {warning.message}" for warning in run.warnings]
    if folder is not None and not wrong:
        wrong += journalled(workspace, case, run, folder)
        if not case.stretch and not case.ends:  # a live run takes jobs to progress as planned
            wrong += lived(workspace, case, run, slow, folder)
    return Told(wrong, False, len(run.steps), run.ended, run.total)


def slot_loop(
    setup: RunSetup, case: StateWindowCase, journal: StepJournal | None = None
) -> tuple[SlotLoop, list[Taken], list[State]]:
    """A loop that is ready to run and notes every plan, and what it knows."""
    loop = loop_of(setup, journal=journal)
    assert isinstance(loop, SlotLoop)
    plans: list[Taken] = []
    known: list[State] = []

    def noted(instance: Instance, plan: Plan, number: int) -> None:
        plans.append(Taken(loop.world.now, {"train": trained(instance, plan)}, plan.objective))
        values = {name: instance.store.params[name].values for name in ("top", "used", "last_load", "had")}
        known.append({name: value.tolist() for name, value in values.items()})

    loop.examine = noted
    return loop, plans, known


def trained(instance: Instance, plan: Plan) -> dict[tuple, float]:
    """Decisions by numbers of jobs, nodes and slots."""
    given = plan.values["train"]
    variables = instance.scenario.model.variables["train"].indexing.variables
    keys = decode([instance.store.component(v.type) for v in variables], given.codes)
    return {
        (int(str(job)[1:]), int(str(node)[1:]), int(slot)): value
        for (job, node, slot), value in zip(keys, given.values.tolist(), strict=True)
    }


def against_simulation(
    case: StateWindowCase, run: RunOutcome, plans: list[Taken], known: list[State]
) -> tuple[list[str], StateWindowSimulation]:
    as_case: Any = case
    simulation = GangWindowSimulation if isinstance(case, GangWindowCase) else StateWindowSimulation
    slow = simulation(as_case, plans).run()
    for number, (ours, theirs) in enumerate(zip(known, slow.known, strict=False)):
        expected = {name: [theirs[name]] for name in ("top", "used", "last_load")}
        expected["had"] = [theirs["had"][team] for team in TEAMS]
        told = [name for name in ours if not near(np.array(ours[name]), np.array(expected[name]))]
        if told:
            return [f"plan {number}: {name} {expected[name]}, not {ours[name]}" for name in told], slow
    if slow.wrong:
        return list(slow.wrong), slow
    wrong = [] if run.ended == "horizon" else [f"ended {run.ended}"]
    asked = [(step.time, set(step.why)) for step in run.steps]
    if asked != slow.asked:
        wrong.append(f"simulator: plans {slow.asked}, not {asked}")
    for name, ours in (("start", run.world.first_start), ("end", run.world.end), ("done", run.world.done)):
        theirs = np.array([getattr(one, name) for one in slow.jobs])
        if not near(ours, theirs):
            wrong.append(f"simulator: {name} {theirs.tolist()}, not {ours.tolist()}")
    if not alike(run.world.ledger.totals, slow.terms):
        wrong.append(f"simulator: {slow.terms}, not {run.world.ledger.totals}")
    return wrong + parts_of(run), slow


def journalled(workspace: Workspace, case: StateWindowCase, run: RunOutcome, folder: Path) -> list[str]:
    """Recorded whole; killed at a slot and resumed: the same to the last bit."""
    path, outcomes = folder / f"states{case.seed}.db", []
    for kill_after in (None, case.seed % max(len(run.steps), 1)):
        if kill_after is not None:
            setup = setup_of(workspace, config_of(case)).stateless()
            with Recorder(path, setup, RunInfo(config_of(case).method)) as recorder:
                died, _, _ = slot_loop(setup, case, recorder.steps)
                died.stop = lambda died=died, most=kill_after: len(died.steps) > most
                died.run()  # and no more is written: as of a process that has gone
        setup = setup_of(workspace, config_of(case)).stateless()
        with Recorder(path, setup, RunInfo(config_of(case).method)) as recorder:
            loop, _, _ = slot_loop(setup, case, recorder.steps)
            outcomes.append(loop.run())
            recorder.close_with(outcomes[-1])
        path.unlink()
    wrong = compared("killed and resumed", outcomes[1], outcomes[0], exact=True)
    return wrong + compared("recorded", outcomes[0], run)


def lived(
    workspace: Workspace, case: StateWindowCase, run: RunOutcome, slow: StateWindowSimulation, folder: Path
) -> list[str]:
    """A live session with the events of the run: the same plans, the same bill.

    It ends before the first window that goes beyond the horizon: a live run adds further slots.
    """
    last = case.horizon - case.lookahead + 1
    file, out = folder / f"live{case.seed}.jsonl", io.BytesIO()
    file.write_bytes(b"".join(events_of(case, run, slow, last)))
    run_live_loop(workspace, str(file), out, config_of(case))
    file.unlink()
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    wrong = [f"live: {record}" for record in records if record["kind"] == "error"]
    [finished] = [record["result"] for record in records if record["kind"] == "finished"]
    paid = slow.terms_before[last] if last < case.horizon else slow.terms
    if not alike(finished["costs"], paid):
        wrong.append(f"live: {finished['costs']}, not {paid}")
    told = [(r["time"], r["objective"]) for r in records if r["kind"] == "decision" and r["why"] != ["slot"]]
    made = [(taken.time, taken.objective) for taken in slow.plans if taken.time < (last - 0.5) * case.slot]
    if not near(np.array(told, float), np.array(made, float)):
        wrong.append(f"live: plans {told}, not {made}")
    return wrong


def events_of(case: StateWindowCase, run: RunOutcome, slow: StateWindowSimulation, last: int) -> list[bytes]:
    """Lines of events before a slot: completions and outages, and a tick at the beginning of each slot."""
    told: list[tuple[float, int, dict[str, object]]] = []
    for number, end in enumerate(run.world.end.tolist()):
        if not math.isnan(end):
            told.append((end, 1, {"kind": "completion", "job": f"j{number}"}))
    for time, node, up in slow.outages_at:
        told.append((time, 2, {"kind": "node_up" if up else "node_down", "node": f"n{node}"}))
    told += [(h * case.slot, 3, {"kind": "tick"}) for h in range(last)]
    told = sorted((one for one in told if one[0] <= last * case.slot), key=lambda one: one[:2])
    told.append((last * case.slot, 4, {"kind": "end"}))
    return [
        json.dumps({"version": 1, "id": f"e{k}", "time": time, **event}).encode() + b"\n"
        for k, (time, _, event) in enumerate(told)
    ]
