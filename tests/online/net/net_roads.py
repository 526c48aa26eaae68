"""One case by every road, each compared with the others and with the simulator."""

from __future__ import annotations

import io
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from net_cases import ENDS_LAW, Case
from net_simulator import Simulation
from typed_cases import TypedCase
from typed_simulator import TypedSimulation

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import Workspace, workspace_from_text
from gpusched_dsl.online.journal.recorder import Recorder
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.open import loop_of, open_run, setup_of
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.workflows.estimate import estimate
from gpusched_dsl.workflows.live import run_live_loop

CONFIG = RunConfig(online="Block", method="Queue", seed=1)
MOST = 2000  # events, after which a case is no use
SAME = 1e-8  # relative, between ways to reckon that round otherwise


@dataclass
class Told:
    """What became of a case: what is wrong, and how it went."""

    wrong: list[str]
    replayed: bool
    plans: int
    ended: str
    total: float


class HasText(Protocol):
    """A case as text for the engine."""

    @property
    def text(self) -> str: ...


def opened(case: HasText) -> Workspace:
    found = Diagnostics()
    workspace = workspace_from_text(case.text, "net.gsm", found, Path.cwd())
    found.raise_if_errors()
    return workspace


def event_loop(workspace: Workspace, *, whole: bool = False, config: RunConfig = CONFIG) -> EventLoop:
    loop = open_run(workspace, replace(config, most_events=MOST))
    assert isinstance(loop, EventLoop)
    if not whole:
        loop.fast_replay = None
    return loop


def check(case: Case | TypedCase, folder: Path | None = None) -> Told:
    """Drive a case by all roads; those by a journal only where there is a folder for one."""
    workspace = opened(case)
    loop = event_loop(workspace).run()
    if loop.ended == "events":
        return Told([], False, len(loop.steps), loop.ended, loop.total)
    fast = replayed(workspace)
    case, wrong = realised(workspace, case, loop)
    slow = simulated(case)
    wrong += [] if fast is None else compared("replay", fast, loop)
    wrong += parts_of(loop) if slow is None else against_simulator(loop, slow)
    result = RunResult(fast or loop, RunInfo("Queue"))
    if result.contradiction is not None:
        wrong.append(f"the total {result.total!r} is below its bound {result.bound.value!r}")
    if folder is not None:
        wrong += journalled(workspace, loop, folder, case.seed)
        wrong += estimated(workspace, case, loop) if slow is not None else []
        wrong += lived(workspace, case, loop, slow, folder) if slow is not None else []
    return Told(wrong, fast is not None, len(loop.steps), loop.ended, loop.total)


def simulated(case: Case | TypedCase) -> Simulation | None:
    """The run by the simulator; None where the policy draws."""
    if isinstance(case, TypedCase):
        return None if case.draws else TypedSimulation(case).run()
    return Simulation(case).run()


def realised(workspace: Workspace, case: Case | TypedCase, run: RunOutcome) -> tuple[Case | TypedCase, list[str]]:
    """The case with what the run has drawn, which is an input of the simulator; what no law allows is wrong."""
    ends, stretch = run.world.ends / run.world.work, run.world.stretch
    wrong = drawn_outside(case.laws, ends, stretch)
    jobs = zip(case.jobs, ends.tolist(), stretch.tolist(), strict=True)
    case = replace(case, jobs=tuple(replace(job, ends=end, stretch=slower) for job, end, slower in jobs))
    return replace(case, outage_times=flips(workspace, case)) if "outages" in case.laws else case, wrong


def drawn_outside(laws: frozenset[str], ends: np.ndarray, stretch: np.ndarray) -> list[str]:
    """Draws that their laws do not allow."""
    wrong = []
    if "ends" in laws and not ((ends >= ENDS_LAW[0] - SAME) & (ends <= ENDS_LAW[1] + SAME)).all():
        wrong.append(f"drawn ends {ends.tolist()}")
    if "stretch" in laws and not ((stretch >= 0.5) & (stretch <= 2.0)).all():
        wrong.append(f"drawn stretch {stretch.tolist()}")
    return wrong


def flips(workspace: Workspace, case: Case) -> tuple[tuple[float, ...], ...]:
    """When each node fails and is there again, as the engine draws it."""
    [outages] = event_loop(workspace).nodes.outages
    times: list[list[float]] = [[] for _ in outages.next]
    for _ in range(MOST):
        now = float(outages.next.min())
        for n in np.flatnonzero(outages.next == now).tolist():
            times[n].append(now)
        outages.at(now, 0.0)
    return tuple(map(tuple, times))


def replayed(workspace: Workspace, config: RunConfig = CONFIG) -> RunOutcome | None:
    """The replay of a run, None where it is not proved equal: `run` takes the same loop as without it then."""
    fast = event_loop(workspace, whole=True, config=config)
    found = None if fast.fast_replay is None else fast.fast_replay(fast)
    return found if isinstance(found, RunOutcome) else None


def compared(what: str, one: RunOutcome, other: RunOutcome, *, exact: bool = False) -> list[str]:
    """Differences between two runs."""
    wrong = [f"{what}: ended {one.ended}, not {other.ended}"] if one.ended != other.ended else []
    for name in ("end", "first_start", "status", "due", "done"):
        ours, theirs = getattr(one.world, name), getattr(other.world, name)
        same = np.array_equal(ours, theirs, equal_nan=True) if exact else near(ours, theirs)
        if not same:
            wrong.append(f"{what}: {name} {ours.tolist()}, not {theirs.tolist()}")
    ours, theirs = one.world.ledger.totals, other.world.ledger.totals
    if (exact and ours != theirs) or not alike(ours, theirs):
        wrong.append(f"{what}: {ours}, not {theirs}")
    return wrong


def against_simulator(run: RunOutcome, slow: Simulation) -> list[str]:
    wrong = [] if run.ended == slow.ended else [f"simulator: ended {slow.ended}, not {run.ended}"]
    starts, ends = [one.start for one in slow.jobs], [one.end for one in slow.jobs]
    if not near(run.world.first_start, np.array(starts)):
        wrong.append(f"simulator: starts {starts}, not {run.world.first_start.tolist()}")
    if not near(run.world.end, np.array(ends)):
        wrong.append(f"simulator: ends {ends}, not {run.world.end.tolist()}")
    if not alike(run.world.ledger.totals, slow.terms):
        wrong.append(f"simulator: {slow.terms}, not {run.world.ledger.totals}")
    counts = {name: int(amounts.sum()) for name, amounts in run.world.counts.items()}
    if counts != {name: slow.counts[name] for name in counts}:
        wrong.append(f"simulator: {dict(slow.counts)}, not {counts}")
    wrong += parts_of(run)
    if len(run.steps) != slow.plans:
        wrong.append(f"simulator: {slow.plans} plans, not {len(run.steps)}")
    return wrong


def journalled(
    workspace: Workspace, loop: RunOutcome, folder: Path, seed: int, config: RunConfig = CONFIG
) -> list[str]:
    """Recorded; killed after some plans and resumed; and all made again: the same to the last bit."""
    path = folder / f"net{seed}.db"
    kill_after = seed % max(len(loop.steps), 1)
    setup = setup_of(workspace, replace(config, most_events=MOST)).stateless()
    with Recorder(path, setup, RunInfo("Queue")) as recorder:
        died = loop_of(setup, journal=recorder.steps)
        died.stop = lambda: len(died.steps) > kill_after
        died.run()  # and no more is written: as of a process that has gone
    with Recorder(path, setup, RunInfo("Queue")) as recorder:
        again = loop_of(setup, journal=recorder.steps).run()
        recorder.close_with(again)
    path.unlink()
    return compared("killed and resumed", again, loop, exact=True)


def estimated(workspace: Workspace, case: Case | TypedCase, loop: RunOutcome) -> list[str]:
    """Where nothing is drawn, an estimate is the run itself. Outages by a constant law count as drawn.

    A job whose plans do not carry its remaining work may never end in a drawn future.
    """
    ends = loop.world.end
    if loop.ended != "finished" or np.isnan(ends).any():
        return []
    found = estimate(workspace, "j0", replace(CONFIG, seed=0, most_events=MOST), samples=2)
    if case.laws:
        known = found.end[~np.isnan(found.end)]
        return [] if found.drawn and (known >= case.jobs[0].submitted).all() else [f"estimate: {found.end.tolist()}"]
    cost = sum(float(amounts[0]) for amounts in loop.world.ledger.jobs.values())
    told = [f"estimate: end {found.end.tolist()}, not {ends[0]}"] if not near(found.end, ends[0]) else []
    return told + ([] if near(found.cost, np.array(cost)) else [f"estimate: cost {found.cost.tolist()}, not {cost}"])


def lived(
    workspace: Workspace,
    case: Case | TypedCase,
    loop: RunOutcome,
    slow: Simulation,
    folder: Path,
    config: RunConfig = CONFIG,
) -> list[str]:
    """A live session with the events of the run: the same decisions, the same bill."""
    file, out = folder / f"live{case.seed}.jsonl", io.BytesIO()
    file.write_bytes(b"".join(events_of(case, loop, slow)))
    run_live_loop(workspace, str(file), out, config)
    file.unlink()
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    wrong = [f"live: {record}" for record in records if record["kind"] == "error"]
    [finished] = [record["result"] for record in records if record["kind"] == "finished"]
    if not alike(finished["costs"], loop.world.ledger.totals):
        wrong.append(f"live: {finished['costs']}, not {loop.world.ledger.totals}")
    times = [record["time"] for record in records if record["kind"] == "decision"]
    if not (len(times) == len(loop.steps) and near(np.array(times), np.array([s.time for s in loop.steps]))):
        wrong.append(f"live: plans at {times}, not at {[s.time for s in loop.steps]}")
    return wrong


def events_of(case: Case | TypedCase, loop: RunOutcome, slow: Simulation) -> list[bytes]:
    """Lines of events: each completion and outage at its time, and a tick wherever else something happens."""
    told: list[tuple[float, int, dict[str, object]]] = []
    for number, end in enumerate(loop.world.end.tolist()):
        if not math.isnan(end):
            told.append((end, 1, {"kind": "completion", "job": f"j{number}"}))
    for time, node, up in slow.outages_at:
        told.append((time, 2, {"kind": "node_up" if up else "node_down", "node": f"n{node}"}))
    for time, dones in slow.done_at:
        told += [(time, 0, {"kind": "progress", "job": f"j{number}", "done": done}) for number, done in dones.items()]
    told += [(time, 3, {"kind": "tick"}) for time in (step.time for step in loop.steps)]
    told += [(job.submitted, 3, {"kind": "tick"}) for job in case.jobs]
    told.sort(key=lambda one: one[:2])
    told.append((told[-1][0], 4, {"kind": "end"}))
    return [
        json.dumps({"version": 1, "id": f"e{k}", "time": time, **event}).encode() + b"\n"
        for k, (time, _, event) in enumerate(told)
    ]


def parts_of(run: RunOutcome) -> list[str]:
    """Costs by job and by place add up to the total wherever they are told."""
    totals, wrong = run.world.ledger.totals, []
    for parts in (run.world.ledger.jobs, run.world.ledger.places):
        sums = {name: float(amounts.sum()) for name, amounts in parts.items()}
        if not alike(sums, {name: totals[name] for name in sums}):
            wrong.append(f"parts {sums} of {totals}")
    return wrong


def near(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.allclose(one, other, rtol=SAME, atol=SAME, equal_nan=True))


def alike(one: dict[str, float], other: dict[str, float]) -> bool:
    return all(math.isclose(one.get(n, 0.0), other.get(n, 0.0), rel_tol=SAME, abs_tol=SAME) for n in {*one, *other})
