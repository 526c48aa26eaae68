"""One case of gangs by every road, each compared with the others and with the simulator."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from gang_cases import GangCase
from gang_simulator import GangSimulation, Stay, simulated_gangs
from net_roads import (
    SAME,
    Told,
    against_simulator,
    event_loop,
    journalled,
    near,
    opened,
    parts_of,
)
from state_roads import Seen, known, values_against
from state_simulator import Element

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.ir.domains import decode
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.history import stretches_of
from gpusched_dsl.online.live.session import LiveRun
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.external_slots import AnyExternalLoop
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.workflows.live import live_parts

PLANS = 40  # after which a run is stopped: its budget stops a job for ever
EXPECTED = ("GSM7005", "GSM7009")  # jobs that wait for ever, and solvers under load
Taken = dict[int, dict[int, int]]  # by job and node, the workers of a plan


def check_gangs(case: GangCase, folder: Path | None = None) -> Told:
    """Drive a case by all roads; those by a journal, and live, only where there is a folder for one."""
    workspace = opened(case)
    config = RunConfig(online="Block", method=case.method, seed=1, gap=0.0)
    loop = event_loop(workspace, config=config)
    loop.stop = lambda: len(loop.steps) > PLANS
    seen: Seen = []
    taken: list[Taken] = []
    loop.examine = lambda instance, plan, number: seen.append(known(case, instance))
    loop.on_plan = lambda loop: taken.append(decided(loop))
    run = loop.run()
    slow = simulated_gangs(replace(case, gone=()), taken)
    wrong = [f"warning: {w.message}" for w in run.warnings if w.code not in EXPECTED]
    wrong += values_against(seen, slow) + slow.wrong
    if run.ended == "interrupt":
        return Told(wrong, False, len(run.steps), run.ended, run.total)
    if not slow.wrong:
        wrong += against_simulator(run, slow) + stays_against(run, slow) + paid_against(run, slow)
    wrong += parts_of(run)
    if folder is not None and not wrong:
        if not (case.alike and case.solved):  # of equally good plans, a solver that begins anew may take another one
            wrong += journalled(workspace, run, folder, case.seed, config)
        wrong += lived_gangs(workspace, case, config)
    return Told(wrong, False, len(run.steps), run.ended, run.total)


def lived_gangs(workspace: Workspace, case: GangCase, config: RunConfig) -> list[str]:
    """A live run, and the simulator beside it, which says what happens: also jobs that are withdrawn and come back."""
    parts = live_parts(workspace, config)
    loop = parts.make_loop(None)
    beside = Beside(case, loop)
    records: list[dict[str, Any]] = []
    ended = LiveRun(loop, lambda text: records.append(json.loads(text)), clock=parts.clock).run(beside)
    slow, wrong = beside.slow, beside.wrong
    wrong += [f"live: {record}" for record in records if record["kind"] == "error"]
    if wrong or slow.wrong or beside.stopped:
        return [*wrong, *(f"live: {text}" for text in slow.wrong)]
    found = loop.outcome(slow.ended)
    wrong += values_against(beside.seen, slow) + against_simulator(found, slow) + stays_against(found, slow)
    wrong += paid_against(found, slow)
    return [f"live: {text}" for text in wrong] + ([] if ended else ["live: not ended"])


class Beside:
    """The events of a live run, by a simulator that takes the plans of this run."""

    def __init__(self, case: GangCase, loop: AnyExternalLoop) -> None:
        self.slow, self.loop = GangSimulation(case), loop
        self.lines: deque[bytes] = deque()
        self.number = self.steps = 0
        self.seen: Seen = []
        self.wrong: list[str] = []
        self.plans = False  # whether the simulator waits for a plan
        self.ended = self.stopped = False
        self.last: dict[str, dict[Element, float]] = {}
        loop.examine = self.note

    def note(self, instance: Instance, plan: object, number: int) -> None:
        self.last = known(self.slow.case, instance)

    def next(self) -> bytes | None:
        if not self.lines:
            self.go_on()
        return self.lines.popleft() if self.lines else None

    def is_ready(self) -> bool:
        return bool(self.lines)

    def peek(self) -> bytes | None:
        return self.lines[0] if self.lines else None

    def go_on(self) -> None:
        """The plan of the last time, then what happens at the next one."""
        slow = self.slow
        made = self.loop.step_count - self.steps
        self.steps = self.loop.step_count
        if made != int(self.plans and bool(slow.present())):
            self.wrong.append(f"{made} plans at {slow.now}, not {int(self.plans)}")
        if self.plans and slow.present():
            slow.case = replace(slow.case, taken=(*slow.case.taken, decided(self.loop)))
            self.seen.append(self.last)
        if self.plans:
            slow.plan()
        self.stopped = slow.plans > PLANS
        if self.ended or self.wrong or self.stopped:
            return
        self.plans, events = False, [{"kind": "end"}]
        if slow.go_on():
            running = slow.running() if slow.case.stretch else []  # else jobs progress as planned
            self.plans = bool(slow.happen())
            going = [one for one in running if one.state != "done"]
            progress = [{"kind": "progress", "job": f"j{one.number}", "done": one.done} for one in going]
            events = [*progress, *slow.events, {"kind": "tick"}]
        self.ended = slow.ended != ""
        for event in events:
            text = {"version": 1, "id": f"e{self.number}", "time": slow.now, **event}
            self.lines.append(json.dumps(text).encode() + b"\n")
            self.number += 1


def decided(loop: SimulationLoop) -> Taken:
    """The workers of each job on each node in the present plan, by their numbers."""
    plan = loop.current_plan
    assert plan is not None
    given, found = plan.values["run"], defaultdict[int, dict[int, int]](dict)
    keys = decode(loop.codes.components("run"), given.codes)
    for (job, node), value in zip(keys, given.values.tolist(), strict=True):
        if round(value):
            found[number(job)][number(node)] = round(value)
    return dict(found)


def number(label: object) -> int:
    return int(str(label)[1:])


def stays_against(run: RunOutcome, slow: GangSimulation) -> list[str]:
    """Who ran where and when, other than by the simulator."""
    ours = stays_of(run, slow.case)
    theirs = sorted(joined(slow.stays))
    same = len(ours) == len(theirs) and all(
        one[:2] == other[:2] and np.allclose(one[2:], other[2:], rtol=SAME, atol=SAME)
        for one, other in zip(ours, theirs, strict=True)
    )
    return [] if same else [f"simulator: {theirs}, not {ours}"]


def paid_against(run: RunOutcome, slow: GangSimulation) -> list[str]:
    """Where jobs pay other parts of the execution than by the simulator."""
    parts = run.world.ledger.jobs.get("execution")
    ours = [0.0] * len(slow.paid) if parts is None else parts.tolist()
    theirs = [slow.paid[j] for j in range(len(slow.paid))]
    return [] if near(np.array(ours), np.array(theirs)) else [f"simulator: jobs pay {theirs}, not {ours}"]


def stays_of(run: RunOutcome, case: GangCase) -> list[Stay]:
    parts = stretches_of(run.world)
    found: dict[tuple[int, float, float], list[tuple[int, int]]] = defaultdict(list)
    rows = zip(
        *(column.tolist() for column in (parts.job, parts.place, parts.uses, parts.start, parts.end)), strict=True
    )
    for job, place, uses, start, end in rows:
        found[job, start, end].append((place, round(uses / case.jobs[job].gpus)))
    return sorted(joined([(job, tuple(sorted(spread)), start, end) for (job, start, end), spread in found.items()]))


def joined(stays: list[Stay]) -> list[Stay]:
    """Stays that go on in the same way as one."""
    found: list[Stay] = []
    for job, spread, start, end in sorted(stays, key=lambda stay: (stay[0], stay[2])):
        if found and found[-1][:2] == (job, spread) and abs(found[-1][3] - start) <= SAME:
            start = found.pop()[2]
        found.append((job, spread, start, end))
    return found
