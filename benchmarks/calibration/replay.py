"""A trace replayed live: every job that has to wait gets an estimate with only what is known at its arrival."""

from __future__ import annotations

import csv
import heapq
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gpusched_dsl as gs
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.online.loops.external import ExternalEventLoop
from gpusched_dsl.online.rollouts.arriving import add_arrivals
from gpusched_dsl.online.simulation.world import WAITING
from gpusched_dsl.workflows.estimate import seed_of

TEXT = """import "gsdsl:trace_replay/policies.gsm";
scenario Cluster for TraceReplay {{
  Nodes = {{ {nodes} }};
  gpus[n in Nodes] = {gpus};
  Jobs = {{ }};
}}
online Live for TraceReplay {{
  arrive j in Jobs at submitted[j];
  {stretch}
  replan on arrival, completion;
  carry remaining[j] = remaining[j];
  carry clock = now;
}}
"""
HOUR = 3600.0


@dataclass(frozen=True)
class TraceJob:
    """Times in hours since the first submission."""

    name: str
    submitted: float
    gpus: int
    hours: float


@dataclass(frozen=True)
class Forecast:
    """The estimates of one waiting job and its real start, in hours since the first submission."""

    submitted: float
    median: float
    high: float
    start: float


def read_trace(path: Path) -> list[TraceJob]:
    """Read a trace with the columns job, submitted_s, gpus and seconds, in the order of submission."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [
            TraceJob(row["job"], float(row["submitted_s"]) / HOUR, int(row["gpus"]), float(row["seconds"]) / HOUR)
            for row in csv.DictReader(file)
        ]
    return sorted(rows, key=lambda job: job.submitted)


@dataclass
class LiveReplay:
    """A live run of a trace. The first `past` jobs are its history: estimates are for later ones.

    Without `known`, a job is planned with the median length of the history. Then its real length is that median times a
    factor, whose law is that of the history.
    """

    jobs: Sequence[TraceJob]
    past: int
    nodes: int
    gpus: int
    method: str
    known: bool
    folder: Path
    arrivals: bool
    samples: int = 50
    seed: int = 0

    def forecasts(self, every: int = 1) -> Iterator[Forecast]:
        """Yield the forecast of each `every`-th job that waits after its arrival, when the run is over."""
        hours = np.array([job.hours for job in self.jobs[: self.past]])
        planned = float(np.median(hours))
        (self.folder / "factors.csv").write_text("factor\n" + "".join(f"{h / planned!r}\n" for h in hours.tolist()))
        stretch = "" if self.known else 'stretch empirical("factors.csv", column = "factor");'
        nodes = ", ".join(f"n{number}" for number in range(self.nodes))
        text = TEXT.format(nodes=nodes, gpus=self.gpus, stretch=stretch)
        loop = (
            gs.loads(text, base=self.folder).live("Cluster", online="Live", method=self.method, seed=self.seed)._loop
        )  # with its state
        asked: dict[str, tuple[float, float]] = {}
        ends: list[tuple[float, str]] = []
        started: dict[str, float] = {}
        codes: dict[str, int] = {}
        waited = 0

        def note_starts() -> None:
            for name, code in codes.items():
                start = float(loop.world.first_start[code])
                if name not in started and not np.isnan(start):
                    started[name] = start
                    heapq.heappush(ends, (start + lengths[name], name))

        lengths = {job.name: job.hours for job in self.jobs}
        for job in [*self.jobs, None]:
            while ends and (job is None or ends[0][0] <= job.submitted):
                at, name = heapq.heappop(ends)
                loop.on_event({"kind": "completion", "time": at, "job": name})
                note_starts()
            if job is None:
                break
            values = {"submitted": job.submitted, "needs": job.gpus, "exec_time": job.hours if self.known else planned}
            loop.on_event({"kind": "arrival", "time": job.submitted, "job": job.name, "values": values})
            codes[job.name] = len(loop.world.status) - 1
            note_starts()
            if len(codes) > self.past and loop.world.status[codes[job.name]] == WAITING:
                waited += 1
                if waited % every == 0:
                    starts = self.starts(loop, codes[job.name])
                    asked[job.name] = (_quantile(starts, 0.5), _quantile(starts, 0.9))
        submitted = {job.name: job.submitted for job in self.jobs}
        for name, (median, high) in asked.items():
            yield Forecast(submitted[name], median, high, started[name])

    def starts(self, loop: ExternalEventLoop, code: int) -> Floats:
        """Return the starts of a job as `estimate_live` draws them; a future ends when the job has started."""
        found: list[float] = []
        for number in range(self.samples if self.arrivals or not self.known else 1):
            seed = seed_of(self.seed, number)
            future = loop.simulated_from(loop.now, seed)
            if self.arrivals:
                add_arrivals(future, seed)
            while np.isnan(future.world.first_start[code]) and not future.step():
                pass
            found.append(float(future.world.first_start[code]))
        return np.array(found)


def _quantile(starts: Floats, share: float) -> float:
    return float(np.quantile(np.where(np.isnan(starts), np.inf, starts), share, method="higher"))


@dataclass(frozen=True)
class Calibration:
    """Shares of the starts that were at most the median and the 90 % quantile, and the mean waiting times in hours."""

    count: int
    median: float
    high: float
    waited: float
    expected: float

    def row(self) -> str:
        """The columns of the table from `asked` on. No share has a meaning where nobody waits."""
        if not self.count:
            return f"{0:6} nobody waits"
        return f"{self.count:6} {self.median:9.0%} {self.high:9.0%} {self.waited:7.1f} h {self.expected:8.1f} h"

    @staticmethod
    def of(forecasts: Sequence[Forecast]) -> Calibration:
        """Return the shares of forecasts. Equal times count as held: a start may be known exactly."""
        if not forecasts:
            return Calibration(0, 0.0, 0.0, 0.0, 0.0)
        start = np.array([one.start for one in forecasts])
        tolerance = 1e-6
        median, high = (np.array([getattr(one, name) for one in forecasts]) for name in ("median", "high"))
        came = np.array([one.submitted for one in forecasts])
        finite = np.isfinite(median)
        return Calibration(
            len(start),
            float(np.mean(start <= median + tolerance)),
            float(np.mean(start <= high + tolerance)),
            float(np.mean(start - came)),
            float(np.mean((median - came)[finite])),
        )


def timed(replay: LiveReplay, every: int) -> tuple[Calibration, float]:
    """Return the calibration of a replay and its CPU seconds."""
    began = time.process_time()
    return Calibration.of(list(replay.forecasts(every))), time.process_time() - began
