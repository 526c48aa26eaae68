"""An external program as a planner: it reads events as lines, and writes decisions as lines.

The lines are those of live runs, with three kinds more (docs/live.md, "Programs as methods"). A program is told only
what an online scheduler may know, and each of its decisions is verified before it takes effect.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.blocks.policies.scope import clock_unit
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.units import number_factor
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.live.messages import VERSION
from gpusched_dsl.online.planners.program_decision import entries_of, values_of
from gpusched_dsl.online.planners.program_lines import (
    JobValues,
    Label,
    Line,
    cluster_line,
    element_labels,
    hidden_parameters,
    job_line,
)
from gpusched_dsl.online.planners.program_process import ProgramProcess, command_of
from gpusched_dsl.online.planners.protocol import PlanningRequest
from gpusched_dsl.online.run_config import PROGRAM
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.placement_reader import cluster_of
from gpusched_dsl.policies.plan import Plan

SECONDS = 10.0  # of a decision, without a time limit of the run
END_SECONDS = 1.0
START_SECONDS = 30.0  # more for the first decision: interpreters and libraries start
SAME = 1e-12


@dataclass(eq=False)
class ProgramPlanner:
    """A program that runs as a child process from the first plan on. `base`: the data of the run, once read."""

    name: str
    online: CheckedOnline
    base: Base | None = None
    _process: ProgramProcess | None = field(default=None, init=False)
    _now: float = field(default=0.0, init=False)
    _events: int = field(default=0, init=False)
    _jobs: dict[Label, float] = field(default_factory=dict, init=False)  # present ones: their first time in a way
    _progress: dict[Label, float] = field(default_factory=dict, init=False)
    _nodes: frozenset[Label] = field(default=frozenset(), init=False)  # available ones

    def with_data(self, base: Base) -> ProgramPlanner:
        """Return the planner of a run with these data. Raises DiagnosticError (GSM7002) for gangs and slots."""
        placement = self.online.base.placement
        assert placement is not None
        if placement.has_gangs or self.online.window is not None or placement.index("node") is None:
            message = f"`{self.name}` cannot plan: programs place jobs on single nodes, at events"
            help = "use a policy or a solver for gangs, slots and counted nodes"
            raise DiagnosticError([Diagnostic("GSM7002", message, self.online.span, help=help)])
        return replace(self, base=base)

    def fresh(self) -> ProgramPlanner:
        return replace(self)

    def close(self) -> None:
        if self._process is not None and self._process.is_open:
            with suppress(DiagnosticError):
                self._process.ask(msgspec.json.encode(self._event("end", self._now)) + b"\n", END_SECONDS)
            self._process.close()
        self._process = None

    def plan(self, request: PlanningRequest) -> Plan:
        """Send what has changed, and return the verified decision.

        Raises DiagnosticError: GSM7013 the program fails, GSM7012 its decision is refused.
        """
        assert self.base is not None
        began = time.perf_counter()
        model, store = self.online.base, request.instance.store
        cluster = cluster_of(model, store, self.base.limits, tables=False)
        now = request.now * number_factor(clock_unit(model), PlacementEvaluator(model, store, self.base.limits).time)
        self._now = now
        seconds = SECONDS if request.seconds is None else request.seconds
        if self._process is None:
            command = command_of(self.name, self.name.removeprefix(PROGRAM))
            self._process = ProgramProcess(self.name, command)
            seconds += START_SECONDS
            first = [self._cluster(cluster, request)]
        else:
            first = []
        lines = [*first, *self._changes(cluster, request, now), self._event("tick", now)]
        self._process.ask(b"".join(msgspec.json.encode(line) + b"\n" for line in lines), seconds)
        where = f"the decision of `{self.name}` at {now:.6g}"
        entries = None
        while entries is None:
            entries = entries_of(self._process.answer(seconds), cluster.placement.variable, where)
        values = values_of(entries, cluster, store, where)
        return Plan({cluster.placement.variable: values}, self.name, seconds=time.perf_counter() - began)

    # --- lines -------------------------------------------------------------------------------------------------------

    def _cluster(self, cluster: Cluster, request: PlanningRequest) -> Line:
        assert self.base is not None
        store = request.instance.store
        read = PlacementEvaluator(self.online.base, store, self.base.limits)
        self._nodes = frozenset(_labels(cluster, store, cluster.node_at, cluster.nodes))
        return cluster_line(cluster, store, request.seed, str(read.time), str(read.money))

    def _event(self, kind: str, now: float, **fields: Any) -> Line:
        self._events += 1
        return {"version": VERSION, "id": f"e{self._events}", "time": now, "kind": kind, **fields}

    def _changes(self, cluster: Cluster, request: PlanningRequest, now: float) -> Iterator[Line]:
        """Yield the events since the last plan."""
        store = request.instance.store
        nodes = frozenset(_labels(cluster, store, cluster.node_at, cluster.nodes))
        jobs = _labels(cluster, store, cluster.job_at, cluster.jobs)
        present = set(jobs)
        for label in [label for label in self._jobs if label not in present]:
            del self._jobs[label]
            self._progress.pop(label, None)
            yield self._event("completion", now, job=label)
        for label in sorted(self._nodes - nodes, key=str):
            yield self._event("node_down", now, node=label)
        for label in sorted(nodes - self._nodes, key=str):
            yield self._event("node_up", now, node=label)
        self._nodes = nodes
        yield from self._progresses(cluster, jobs, now)
        yield from self._arrivals(cluster, request, jobs, now)

    def _progresses(self, cluster: Cluster, jobs: list[Label], now: float) -> Iterator[Line]:
        time = _first_times(cluster)
        for label, left in zip(jobs, time.tolist(), strict=True):
            if label in self._jobs and self._jobs[label] > 0:
                fraction = min(1.0, max(0.0, 1.0 - left / self._jobs[label]))
                if abs(fraction - self._progress.get(label, 0.0)) > SAME:
                    self._progress[label] = fraction
                    yield self._event("progress", now, job=label, fraction=fraction)

    def _arrivals(self, cluster: Cluster, request: PlanningRequest, jobs: list[Label], now: float) -> Iterator[Line]:
        base = request.base or self.base
        assert base is not None
        store, time = request.instance.store, _first_times(cluster)
        new = [number for number, label in enumerate(jobs) if label not in self._jobs]
        if not new:
            return
        root = self.online.jobs_root
        codes = {number: base.store.universes[root].code_of[jobs[number]] for number in new}
        reader = JobValues(self.online.base, root, hidden_parameters(self.online))
        values = reader.of(base.store, np.array(sorted(codes.values()), dtype=np.int64))
        for number in new:
            self._jobs[jobs[number]] = float(time[number])
            yield self._event("arrival", now, job=jobs[number], values=values[codes[number]])
            yield job_line(cluster, store, number, now)


def _labels(cluster: Cluster, store: Any, at: int, codes: Ints) -> list[Label]:
    labels = element_labels(cluster, store, at)
    return [labels[code] for code in codes.tolist()]


def _first_times(cluster: Cluster) -> Any:
    """Return the time left of each job in its first way, 0 without ways."""
    work = cluster.work
    if not len(work.time):
        return np.zeros(len(work.due))
    has = work.first_way[1:] > work.first_way[:-1]
    first = np.minimum(work.first_way[:-1], len(work.time) - 1)
    return np.where(has, work.time[first], 0.0)
