"""Simulated runs of blocks with windows as events of live runs, and what both decide and pay."""

from __future__ import annotations

import io
import json
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from live_toy import Killed, line
from window_cases import WindowCase

from gpusched_dsl.ir.domains import decode
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.online.data.updates import with_only
from gpusched_dsl.online.live.session import LiveRun
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.external_slots import ExternalSlotLoop
from gpusched_dsl.online.loops.setup import RunSetup, set_up
from gpusched_dsl.online.loops.slots import SlotLoop
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.workflows.live import run_live_loop

Event = dict[str, Any]


@dataclass
class Decisions:
    """The plans of a run by the labels of the elements that are not zero, what runs in each slot, and the costs."""

    plans: list[tuple[float, frozenset[str], dict[str, dict[tuple[Any, ...], float]]]]
    running: list[dict[Any, tuple[Any, ...]]]
    costs: dict[str, float]
    ends: dict[Any, float]


def window_setup(text: str, online: str, scenario: str | None, method: str, *, external: bool = False) -> RunSetup:
    found = Diagnostics()
    workspace = workspace_from_text(text, "windows.gsm", found, Path.cwd(), allow_outside=True)
    found.raise_if_errors()
    return setup_of(
        workspace, RunConfig(online=online, scenario=scenario, method=method, seed=1, gap=0.0), external=external
    )


class _Noted:
    """Notes the plans of a loop, and what runs once a slot has begun."""

    def __init__(self, loop: SimulationLoop) -> None:
        self.loop = loop
        self.plans: list[Any] = []
        loop.on_plan = self.note_plan

    def note_plan(self, loop: SimulationLoop) -> None:
        plan = loop.current_plan
        assert plan is not None
        values = {}
        for name, given in plan.values.items():
            keys = decode(loop.codes.components(name), given.codes) if given.codes else [()] * len(given.values)
            found = dict(zip(keys, np.round(given.values, 6).tolist(), strict=True))
            values[name] = {key: value for key, value in found.items() if value}
        step = loop.steps[-1]
        self.plans.append((step.time, frozenset(step.why), values))

    def running(self) -> dict[Any, tuple[Any, ...]]:
        world, labels = self.loop.world, self.loop.base.store.universes
        jobs = labels[self.loop.jobs_root].labels
        places = labels[self.loop.places_root].labels
        return {jobs[j]: (places[int(world.place[j])], int(world.kind[j])) for j in world.running.tolist()}

    def decisions(self, running: list[dict[Any, tuple[Any, ...]]]) -> Decisions:
        world, jobs = self.loop.world, self.loop.base.store.universes[self.loop.jobs_root].labels
        ends = {jobs[j]: float(world.end[j]) for j in np.flatnonzero(~np.isnan(world.end)).tolist()}
        return Decisions(self.plans, running, dict(world.ledger.totals), ends)


def simulated(setup: RunSetup, slots: int) -> tuple[Decisions, list[Event]]:
    """Simulate a number of slots; return the decisions, and what happened as events of a live run, with a tick at
    every border.
    """
    loop = loop_of(setup)
    assert isinstance(loop, SlotLoop)
    noted, running, events = _Noted(loop), list[dict[Any, tuple[Any, ...]]](), list[Event]()
    labels = loop.base.store.universes
    length, down = setup.slot_length, np.zeros(0, dtype=np.int64)
    begin = loop.begin_slot

    def noting() -> None:
        nonlocal down
        now_down = loop.nodes.down.get(loop.places_root, down[:0])
        places, at = labels[loop.places_root].labels, loop.slot * length
        events.extend(
            {"kind": "node_down", "time": at, "node": places[n]} for n in np.setdiff1d(now_down, down).tolist()
        )
        events.extend({"kind": "node_up", "time": at, "node": places[n]} for n in np.setdiff1d(down, now_down).tolist())
        events.append({"kind": "tick", "time": at})
        down = now_down
        begin()
        running.append(noted.running())

    loop.begin_slot = noting  # type: ignore[method-assign]
    while loop.slot < slots and not loop.step():
        pass
    loop.settle()
    jobs = labels[loop.jobs_root].labels
    ended = np.flatnonzero(~np.isnan(loop.world.end)).tolist()
    events += [{"kind": "completion", "time": float(loop.world.end[j]), "job": jobs[j]} for j in ended]
    events.sort(key=lambda event: (event["time"], event["kind"] == "tick"))  # a border begins after all of its time
    return noted.decisions(running), events


class EventLines:
    """Follows `LineSource` over events; those of one time are available together."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.lines = deque(line(event["kind"], f"e{k}", **_others(event)) for k, event in enumerate(events))
        self.number = 0

    def next(self) -> bytes | None:
        self.number += 1
        return self.lines.popleft() if self.lines else None

    def is_ready(self) -> bool:
        return bool(self.lines)

    def peek(self) -> bytes | None:
        return self.lines[0] if self.lines else None


def _others(event: Event) -> Event:
    return {name: value for name, value in event.items() if name != "kind"}


def live(setup: RunSetup, events: Sequence[Event], slots: int) -> tuple[Decisions, list[Event], ExternalSlotLoop]:
    """Drive a live run by the events and end it; return also its records."""
    loop = loop_of(setup)
    assert isinstance(loop, ExternalSlotLoop)
    noted, running, records = _Noted(loop), list[dict[Any, tuple[Any, ...]]](), list[Event]()
    begin = loop.begin_slot

    def noting() -> None:
        begin()
        running.append(noted.running())

    loop.begin_slot = noting  # type: ignore[method-assign]
    end = {"kind": "end", "time": slots * setup.slot_length}
    run = LiveRun(loop, lambda text: records.append(json.loads(text)), clock=loop.live_clock)
    assert run.run(EventLines([*events, end]))
    return noted.decisions(running), records, loop


def longer(case: WindowCase) -> WindowCase:
    """The case with more slots after its last one, whose values repeat those of the last: no window is cut."""
    more = case.lookahead
    return replace(
        case, forecast=case.forecast + case.forecast[-1:] * more, actual=case.actual + case.actual[-1:] * more
    )


# --- a model with plans that are known by heart -----------------------------------------------------------------------

CHEAP = """
model Cheap "Each job trains in the cheapest hours of the window; what is left is dear" {
  set Jobs;  set Nodes;  set Slots ordered;
  param price[Slots] in $/h;
  param hours[Jobs] in h >= 0;
  var train[Jobs, Nodes, Slots] binary;
  var left[Jobs] in h >= 0;
  minimize cost in $ {
    energy: sum[j in Jobs, n in Nodes, h in Slots] price[h] * 1[h] * train[j, n, h];
    later: sum[j in Jobs] 50[$/h] * left[j];
  }
  constraint enough[j in Jobs]: sum[n in Nodes, h in Slots] train[j, n, h] * 1[h] + left[j] >= hours[j];
  constraint one[n in Nodes, h in Slots]: sum[j in Jobs] train[j, n, h] <= 1;
  constraint once[j in Jobs, h in Slots]: sum[n in Nodes] train[j, n, h] <= 1;
  placement train[j, n, h] { job j;  node n;  slot h;  lasts 1[h]; }
}
scenario Day for Cheap {
  Nodes = { n1 };  Jobs = { };  table Jobs: hours[h] =;
  table Slots: price[$/h] = 0 3  1 1  2 4  3 1  4 5  5 9 ;
}
online Ahead for Cheap {
  window h in Slots lookahead 4 commit 2;
  arrive j in Jobs at submitted[j];
  replan on arrival, failure, recovery;
  work hours[j];  speed 1;
  carry hours[j] = max(0[h], hours[j] - done[j]);
  charge energy[j in Jobs, n in Nodes] in $ = sum[h in Slots] price[h] * 1[h] * train[j, n, h];
}
"""


def arrival(job: str, time: float, hours: float) -> bytes:
    return line("arrival", f"arrive {job}", time, job=job, values={"hours": hours})


def tick(time: float) -> bytes:
    return line("tick", f"tick {time}", time)


def records_of(
    lines: Sequence[bytes], folder: Path, text: str = CHEAP, *, journal: str = "", killed_at: int | None = None,
    start: str | None = None, online: str = "Ahead",
) -> list[Event]:  # fmt: skip
    """The records of `gsdsl run --live` over these lines, up to the one at which it is killed, and its warnings."""
    source, out = folder / "events.jsonl", _Out(killed_at)
    source.write_bytes(b"".join(lines))
    found = Diagnostics()
    workspace = workspace_from_text(text, "windows.gsm", found, Path.cwd(), allow_outside=True)
    found.raise_if_errors()
    config = RunConfig(online=online, method="highs", gap=0.0, journal=Path(journal) if journal else None)
    warnings: list[Any] = []
    with suppress(Killed):
        run_live_loop(workspace, str(source), out, config, start=start, report=warnings.extend)
    return [*out.records, *({"kind": "warning", "code": w.code, "message": w.message} for w in warnings)]


class _Out(io.BytesIO):
    def __init__(self, killed_at: int | None) -> None:
        super().__init__()
        self.records: list[Event] = []
        self.killed_at = killed_at

    def write(self, text: Any) -> int:
        self.records.append(json.loads(text))
        if len(self.records) == self.killed_at:
            raise Killed
        return len(text)


def of_kind(records: Sequence[Event], kind: str) -> list[Event]:
    return [record for record in records if record["kind"] == kind]


def runs(decision: Event) -> set[str]:
    """The jobs that run according to a decision, or in a later slot of it."""
    entries = decision["entries"]
    return {entry["index"][0] for entry in (entries["train"] if isinstance(entries, dict) else entries)}


# --- jobs that arrive by events --------------------------------------------------------------------------------------


def without_jobs(setup: RunSetup) -> RunSetup:
    """The setup of a live run with the same data except for the jobs."""
    base = setup.base
    empty = with_only(base, base.part({setup.jobs_root: np.zeros(0, dtype=np.int64)}))
    return set_up(setup.online, empty, setup.planner, setup.fallback, setup.config, external=True)


def arrivals(setup: RunSetup) -> list[Event]:
    """The jobs of the data as events: at the time at which each arrives, with all that is given for it."""
    base, root = setup.base, setup.jobs_root
    store, labels = base.store, base.store.universes[root].labels
    found = []
    for code, time in enumerate(setup.realisation.arrival.tolist()):
        if not np.isfinite(time):
            continue
        values: dict[str, Any] = {}
        for name in sorted(base.input_names):
            domain = store.sets[name] if name in store.sets else store.params[name].domain
            at = [k for k, c in enumerate(domain.components) if c is not None and c.name == root]
            if name == root or at != [0]:
                assert not at or name == root, f"`{name}` does not begin with the job"
                continue
            rows = np.flatnonzero(domain.columns()[0] == code)
            keys = (
                decode(domain.components[1:], tuple(c[rows] for c in domain.columns()[1:]))
                if domain.arity > 1
                else [()]
            )
            if name in store.sets:
                values[name] = [list(key) for key in keys]
            else:
                given = store.params[name].values[rows].tolist()
                values[name] = [[*key, value] for key, value in zip(keys, given, strict=True)]
        found.append({"kind": "arrival", "time": time, "job": labels[code], "values": values})
    return found
