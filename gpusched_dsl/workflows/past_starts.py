"""Checks the estimated start of a job on the own past of a recorded run: what was said then, beside what happened.

The run is restored at saved states of its past. From each, the starts of waiting jobs are estimated with what was known
then, and corrected by what had happened to earlier such estimates (`online/rollouts/calibration.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.language.text.numbers import count_text, percent_text
from gpusched_dsl.online.checkpoints.restoring import loop_before
from gpusched_dsl.online.checkpoints.state_files import StateFiles
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.quarantine import split_quarantined
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.loops.external import ExternalEventLoop
from gpusched_dsl.online.rollouts.arriving import add_arrivals
from gpusched_dsl.online.rollouts.calibration import (
    SHARES,
    Calibration,
    PastForecast,
    calibrate,
    corrected_waits,
    drift_text,
)
from gpusched_dsl.online.simulation.world import DONE, WAITING, World
from gpusched_dsl.workflows.live import LiveParts

DRAWS: Final = 5  # futures of each time
MOST_JOBS: Final = 50  # of one time, those that came last
LEAST_PLANS: Final = 500  # that a check may simulate; else as many as the estimate that it checks
MOST_TIMES: Final = 20


@dataclass(frozen=True, eq=False)
class StartCheck:
    """How often estimated starts held in the past of a run, and the start of now, corrected by it.

    `corrected` are the quantiles `SHARES` in the clock of the run, infinite for "later"; None with too few past waits.
    `times` of the past were asked. `drift` says how recent lengths of jobs differ from earlier ones; None: they do not.
    """

    calibration: Calibration
    corrected: tuple[float, ...] | None
    times: int
    drift: str | None

    def lines(self, text: Callable[[float], str]) -> list[str]:
        """Return the check in words; `text` writes a time."""
        coverage, cases = self.calibration.coverage, self.calibration.cases
        if coverage is None or self.corrected is None:
            seen = "it has no saved states in which jobs waited"
            if self.times:
                seen = f"too few of the jobs that waited at {count_text(self.times, 'earlier time')} have started"
            found = [f"how often such estimates hold in this run cannot be measured: {seen}"]
        else:
            found = ["start, corrected by the past of this run: " + ", ".join(
                f"{percent_text(share)} by {text(time) if np.isfinite(time) else 'later'}"
                for share, time in zip(SHARES, self.corrected, strict=True)
            )]  # fmt: skip
            held = ", ".join(map(percent_text, coverage))
            found.append(f"such quantiles held in {held} of {count_text(cases, 'past wait')} of this run")
        return found if self.drift is None else [*found, self.drift]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; an infinite time is null."""
        times = None if self.corrected is None else [t if np.isfinite(t) else None for t in self.corrected]
        coverage = None if self.calibration.coverage is None else list(self.calibration.coverage)
        return {
            "quantiles": list(SHARES), "start": times, "coverage": coverage, "cases": self.calibration.cases,
            "times": self.times, "drift": self.drift,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Asked:
    """The quantiles (K, 3) of the waits of jobs at a time before plan `step`, in the clock of the run."""

    step: int
    time: float
    names: Sequence[str | int]
    quantiles: Floats


def check_starts(
    parts: LiveParts,
    journal: Journal,
    world: World,
    now: float,
    start: Floats,
    plans: int,
    *,
    arrivals: bool = True,
    stop: Callable[[], bool] = lambda: False,
) -> StartCheck:
    """Check an estimate of `start` (one value for each future, NaN: not in it) at the time `now`, by `plans` plans.

    `world` is that of the run now. Past estimates take at most as many plans, or `LEAST_PLANS`; they are fewer then.
    `stop` ends them. Raises DiagnosticError as planning and the journal do.
    """
    seconds = parts.clock.seconds
    assert seconds is not None
    asked = _ask_past(parts, journal, max(plans, LEAST_PLANS), arrivals, stop)
    gone = _withdrawn(journal)
    forecasts = []
    for one in asked:
        stays = np.array([name not in gone for name in one.names], dtype=np.bool_)
        starts = _first_starts(journal, parts, one)
        waits = np.array([starts.get(name, np.inf) - one.time for name in one.names])
        forecasts.append(PastForecast(one.time * seconds, waits[stays] * seconds, one.quantiles[stays] * seconds))
    found = calibrate(forecasts, now * seconds)
    ended = np.flatnonzero(world.status == DONE)
    ended = ended[np.argsort(world.end[ended], kind="stable")]
    drift = drift_text((world.end[ended] - world.first_start[ended]) * seconds)
    if found.coverage is None:
        return StartCheck(found, None, len(asked), drift)
    waits = np.where(np.isnan(start), np.inf, start - now) * seconds
    raw: Floats = np.quantile(waits, SHARES, method="higher")
    corrected = corrected_waits(raw[None, :], found.factors)[0] / seconds + now
    return StartCheck(found, tuple(corrected.tolist()), len(asked), drift)


def _ask_past(parts: LiveParts, journal: Journal, most: int, arrivals: bool, stop: Callable[[], bool]) -> list[_Asked]:
    """Estimate the starts of waiting jobs at saved states of the past, spread over the run, with `most` plans."""
    steps = StateFiles.of(journal.path).steps()
    made, times = 0, 1
    found: list[_Asked] = []
    for step in _spread(steps):
        if len(found) >= times or stop():
            break
        restored = loop_before(parts.make_loop, journal, step)
        loop = None if restored is None else restored[0]
        if not isinstance(loop, ExternalEventLoop):
            continue
        world = loop.world
        jobs = np.flatnonzero((world.status == WAITING) & np.isnan(world.first_start))[-MOST_JOBS:]
        if not len(jobs):
            continue
        quantiles, plans = _quantiles(loop, jobs, arrivals)
        found.append(_Asked(step, loop.now, loop.base.labels(loop.jobs_root, jobs), quantiles))
        made += plans
        times = min(MOST_TIMES, int(most * len(found) / max(made, 1)))
    return sorted(found, key=lambda one: one.step)


def _spread(steps: Sequence[int]) -> list[int]:
    """Return the steps in an order such that each first part is spread over all of them: halves, quarters, ..."""
    order = sorted(range(len(steps)), key=lambda at: int(f"{at:016b}"[::-1], 2))
    return [steps[at] for at in order]


def _quantiles(loop: ExternalEventLoop, jobs: Any, arrivals: bool) -> tuple[Floats, int]:
    """Return the quantiles (K, 3) of the waits of jobs from now, and the number of plans that were simulated."""
    bases: dict[int, Base] = {}
    starts, plans = [], 0
    for number in range(DRAWS):
        seed = int(np.random.SeedSequence([loop.config.seed, loop.step_count, number]).generate_state(1)[0])
        future: EventLoop = loop.simulated_from(loop.now, seed)
        if arrivals:
            add_arrivals(future, seed, bases)
        before = future.step_count
        while np.isnan(future.world.first_start[jobs]).any() and not future.step():
            pass
        plans += future.step_count - before
        starts.append(future.world.first_start[jobs])
    waits = np.where(np.isnan(starts), np.inf, np.array(starts) - loop.now)
    found: Floats = np.quantile(waits, SHARES, axis=0, method="higher").T
    return found, plans


def _withdrawn(journal: Journal) -> Collection[str | int]:
    """Return the jobs that were withdrawn at some time: they may not have started because of that."""
    events, quarantined = split_quarantined(journal.external())
    return {one.content["job"] for one in events if one.content["kind"] == "withdrawal" and one.id not in quarantined}


def _first_starts(journal: Journal, parts: LiveParts, asked: _Asked) -> Mapping[str | int, float]:
    """Return the times of the first plans after a time that run a job for the first time."""
    placement = parts.setup.placement
    at = placement.position("job")
    assert at is not None
    left, found = set(asked.names), dict[str | int, float]()
    for step in journal.steps(asked.step + 2):
        if not left:
            break
        columns = step.decision["plan"]["values"].get(placement.variable)
        if columns is None:
            continue
        began = {job for job, value in zip(columns[at], columns[-1], strict=True) if value > 0.5} & left
        found.update(dict.fromkeys(began, step.time))
        left -= began
    return found
