"""Estimates the start, end and cost of a job and the probability that it is late, from many runs from one time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.numbers import count_text, percent_text, short, with_unit
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.clock_time import RunClock
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.branching import Loop, fork, is_drawn, run_until
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.loops.external_slots import AnyExternalLoop
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.loops.slots import SlotLoop
from gpusched_dsl.online.open import open_run
from gpusched_dsl.online.planners.policy import PolicyPlanner
from gpusched_dsl.online.planners.portfolio import PortfolioPlanner
from gpusched_dsl.online.planners.protocol import Planner
from gpusched_dsl.online.planners.stateless import StatelessPlanner
from gpusched_dsl.online.rollouts.arriving import add_arrivals
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.simulation.world import DONE, GONE, STATES
from gpusched_dsl.reporting.grid import Grid, GridColumn, plain
from gpusched_dsl.reporting.report import Report
from gpusched_dsl.workflows.past_starts import StartCheck
from gpusched_dsl.workflows.start_alternatives import SAMPLES as CHANGE_SAMPLES
from gpusched_dsl.workflows.start_alternatives import StartAlternatives, find_alternatives
from gpusched_dsl.workflows.start_changes import Values

SAMPLES = 100
QUANTILES = (0.1, 0.5, 0.9)
TIMES = ("start", "end")  # dates, if there is a calendar
LATE = ROUNDING  # of a time: a job is late from here on
SCHEMA_VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Report):
    """The outcomes of a job. Arrays have one entry for each run, NaN if the job does not get that far.

    Times are counted from the start of the run, in `unit`; `cost` is the job's share of all charges, in `money`,
    `tardiness` its tardiness. `state` is that of the job at the time `at`, `due` is infinite without a due time.
    `alternatives` would start it earlier, if they were asked for and it waits.
    """

    title: str
    job: str
    at: float
    state: str
    submitted: float
    due: float
    clock: RunClock
    money: str
    start: Floats
    end: Floats
    cost: Floats
    tardiness: Floats
    drawn: bool
    plans: int
    alternatives: StartAlternatives | None = None
    check: StartCheck | None = None  # of the start of a waiting job, on the past of a recorded run

    @property
    def unit(self) -> str:
        """The unit of times, "" for none."""
        return self.clock.name

    @property
    def samples(self) -> int:
        return len(self.end)

    @cached_property
    def late(self) -> float | None:
        """Return the share of runs in which the job is late or does not end; None without a due time."""
        if not np.isfinite(self.due):
            return None
        return float(np.mean(np.isnan(self.end) | (self.tardiness > 0)))

    @property
    def unfinished(self) -> int:
        """Return the number of runs that end before the job."""
        return int(np.isnan(self.end).sum())

    def quantile(self, name: str, share: float) -> float | None:
        """Return a quantile of `start`, `end`, `cost` or `tardiness` over the runs with a value; None without any."""
        values = getattr(self, name)[~np.isnan(getattr(self, name))]
        return float(np.quantile(values, share)) if len(values) else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the document of `gsdsl estimate --json`."""
        quantities: dict[str, dict[str, Any]] = {}
        for name in ("start", "end", "cost", "tardiness"):
            values = getattr(self, name)
            quantities[name] = {
                "mean": _mean(values),
                "quantiles": {f"{share:g}": self.quantile(name, share) for share in QUANTILES},
                "values": [None if np.isnan(value) else value for value in values.tolist()],
            }
            if name in TIMES and self.clock.dates is not None:
                dates = {f"{share:g}": self._date(name, share) for share in QUANTILES}
                quantities[name]["dates"] = dates
        return {
            "schema_version": SCHEMA_VERSION,
            "job": self.job,
            "at": self.at,
            "at_date": self.clock.iso(self.at),
            "state": self.state,
            "submitted": self.submitted if np.isfinite(self.submitted) else None,
            "due": self.due if np.isfinite(self.due) else None,
            "unit": self.clock.name,
            "money": self.money,
            "samples": self.samples,
            "unfinished": self.unfinished,
            "late": self.late,
            **quantities,
            "check": None if self.check is None else self.check.to_dict(),
            "alternatives": None if self.alternatives is None else self.alternatives.to_dict(),
        }

    def csv_text(self) -> str:
        """Return the values of all runs as CSV, one line per run, empty where the job did not get that far."""
        rows = zip(self.start, self.end, self.cost, self.tardiness, strict=True)
        lines = [",".join("" if np.isnan(value) else repr(float(value)) for value in row) for row in rows]
        return "\n".join(["start,end,cost,tardiness", *lines]) + "\n"

    def lines(self) -> list[str]:
        """Return the output of `gsdsl estimate`."""
        when = f"submitted at {self.clock.text(self.submitted)}"
        if np.isfinite(self.due):
            when += f", due at {self.clock.text(self.due)}"
        lines = [self.title, "", f"{self.job} at {self.clock.text(self.at)}: {self.state}, {when}"]
        if self.samples == 1:
            lines.append("no random quantities: this is the result" if not self.drawn else "one run from this time")
        else:
            lines.append(f"{count_text(self.samples, 'run')} from this time")
        lines += ["", *(plain(self._grid()).rstrip("\n").split("\n") if self.samples > 1 else self._values()), ""]
        if self.unfinished:
            lines.append(f"it does not end in {percent_text(self.unfinished / self.samples)} of the runs")
        if self.late is not None:
            share = f"late in {percent_text(self.late)} of the runs"
            lines.append(share if self.samples > 1 else _IN_TIME[self.late > 0])
        if self.check is not None:
            lines += self.check.lines(self.clock.text)
        return lines if self.alternatives is None else [*lines, "", *self.alternatives.lines()]

    @property
    def _names(self) -> list[tuple[str, str]]:
        """Return the names of the reported quantities, each with its unit."""
        unit = self.clock.name
        times = [(name, "" if self.clock.dates is not None else unit) for name in TIMES]
        names = [*times, ("cost", self.money)]
        return [*names, ("tardiness", unit)] if np.isfinite(self.due) else names

    def _text(self, name: str, value: float | None) -> str:
        """Return a value for readers: times that are not durations as dates, if there is a calendar."""
        if name in TIMES and value is not None and self.clock.dates is not None:
            return self.clock.text(value)
        return short(value)

    def _date(self, name: str, share: float) -> str | None:
        value = self.quantile(name, share)
        return None if value is None else self.clock.iso(value)

    def _values(self) -> list[str]:
        """Return the values of the only run."""
        width = max(len(name) for name, _ in self._names)
        return [
            f"  {name:<{width}}  {with_unit(self._text(name, self.quantile(name, 0.5)), unit)}"
            for name, unit in self._names
        ]

    def _grid(self) -> Grid:
        names = self._names
        columns = [GridColumn("", [name for name, _ in names])]
        for share in QUANTILES:
            texts = [self._text(name, self.quantile(name, share)) for name, _ in names]
            columns.append(GridColumn("median" if share == 0.5 else f"{share:.0%}", texts, right=True))
        means = [self._text(name, _mean(getattr(self, name))) for name, _ in names]
        columns.append(GridColumn("mean", means, right=True))
        return Grid((*columns, GridColumn("", [unit for _, unit in names])))


_IN_TIME = {False: "in time", True: "late"}


def _mean(values: Floats) -> float | None:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else None


def estimate(
    workspace: Workspace,
    job: str | int,
    config: RunConfig,
    *,
    at: float | str | None = None,
    samples: int = SAMPLES,
    changes: Sequence[Values] | None = None,
    stop: Callable[[], bool] | None = None,
    tell: Callable[[int], None] | None = None,
) -> Estimate:
    """Run up to the time `at` (None: the submission of the job), then `samples` times from there.

    The runs have the same method; quantities unknown at that time are drawn again in each. Without random quantities
    one run is enough. `changes`, also empty ones, ask for alternatives of a waiting job: these values of its
    parameters, and all that `candidates` lists. `stop` ends the runs after one of them, `tell` receives their number.
    Raises DiagnosticError: GSM6021 for an unknown job, GSM6022 if it is not in any plan then; and the errors of
    `open_run` and planning.
    """
    loop = open_run(workspace, config)
    code = job_code(loop.setup, job)
    when = float(loop.world.arrival[code]) if at is None else loop.run_clock.read(at)
    _run_to_time(loop, code, str(job), when)

    def branch(seed: int, last: bool) -> Loop:
        return loop if last else fork(loop, seed)

    found = None if changes is None else _alternatives(loop, code, branch, samples, changes, stop)
    return replace(_estimate_from(loop, code, str(job), when, branch, samples, stop, tell), alternatives=found)


def estimate_live(
    loop: AnyExternalLoop,
    job: str | int,
    *,
    at: float | None = None,
    samples: int = SAMPLES,
    changes: Sequence[Values] | None = None,
    arrivals: bool = False,
    stop: Callable[[], bool] | None = None,
) -> Estimate:
    """Simulate `samples` continuations of a live run from the time `at` (None: that of its last event).

    The run itself does not change. With `arrivals`, copies of past jobs arrive at the rate of the past; otherwise, and
    in runs of a block with a window, no further jobs arrive. `changes` as in `estimate`. Raises DiagnosticError:
    GSM6021 for an unknown job, GSM6022 if it has ended; and the errors of planning.
    """
    code = job_of_live(loop, job)
    arrivals = arrivals and isinstance(loop, EventLoop)
    when = loop.now if at is None else max(at, loop.now)
    status = int(loop.world.status[code])
    if status in (DONE, GONE):
        ended = loop.run_clock.text(float(loop.world.end[code]))
        raise no_plan_error(f"`{job}` is {STATES[status]} since {ended}", "choose a job that has not ended")

    bases: dict[int, Base] = {}

    def branch(seed: int, last: bool) -> Loop:
        other = loop.simulated_from(when, seed)
        if arrivals and isinstance(other, EventLoop):
            add_arrivals(other, seed, bases)
        return other

    found = None if changes is None else _alternatives(loop, code, branch, samples, changes, stop, arrivals)
    return replace(
        _estimate_from(loop, code, str(job), when, branch, samples, stop, None, arrivals), alternatives=found
    )


def _alternatives(
    loop: Loop,
    code: int,
    branch: Callable[[int, bool], Loop],
    samples: int,
    changes: Sequence[Values],
    stop: Callable[[], bool] | None,
    arrivals: bool = False,
) -> StartAlternatives | None:
    """Return what would start the job earlier, in at most `CHANGE_SAMPLES` futures; None for loops of slots."""
    if not isinstance(loop, EventLoop):
        return None
    count = min(max(1, samples), CHANGE_SAMPLES) if is_drawn(loop) or _draws(loop) or arrivals else 1
    seeds = [seed_of(loop.config.seed, number) for number in range(count)]

    known = loop.world.present() if arrivals else None

    def future(seed: int) -> EventLoop:
        found = branch(seed, False)
        assert isinstance(found, EventLoop)
        return found

    return find_alternatives(loop, code, [partial(future, seed) for seed in seeds], changes, stop, known)


def job_of_live(loop: AnyExternalLoop, job: str | int) -> int:
    """Return the code of a job of a live run by its label; raise DiagnosticError (GSM6021)."""
    labels = [str(label) for label in loop.base.store.universes[loop.jobs_root].labels]
    if str(job) in labels:
        return labels.index(str(job))
    if job in loop.forgotten:
        raise no_plan_error(f"`{job}` has ended", "choose a job that has not ended")
    help = did_you_mean(str(job), labels) or "name a job that has arrived"
    raise DiagnosticError([Diagnostic("GSM6021", f"unknown job `{job}`", help=help)])


def _estimate_from(
    loop: Loop,
    code: int,
    job: str,
    when: float,
    branch: Callable[[int, bool], Loop],
    samples: int,
    stop: Callable[[], bool] | None,
    tell: Callable[[int], None] | None,
    arrivals: bool = False,
) -> Estimate:
    """Run branches of a run to the end of a job. `branch` makes one by its seed, the only one of all if it is told."""
    state, drawn = STATES[int(loop.world.status[code])], is_drawn(loop) or arrivals
    run_count = max(1, samples) if drawn or _draws(loop) else 1
    ends: list[_End] = []
    for number in range(run_count):
        if ends and stop is not None and stop():
            break
        ends.append(_run_job_to_end(branch(seed_of(loop.config.seed, number), run_count == 1), code))
        if tell is not None:
            tell(len(ends))
    money = loop.outcome("").money
    return Estimate(
        title=title_of(loop),
        job=job,
        at=when,
        state=state,
        submitted=float(loop.world.arrival[code]),
        due=min(end.due for end in ends),
        clock=loop.run_clock,
        money="" if money == "1" else money,
        start=np.array([end.start for end in ends]),
        end=np.array([end.end for end in ends]),
        cost=np.array([end.cost for end in ends]),
        tardiness=np.array([end.tardiness for end in ends]),
        drawn=drawn,
        plans=sum(end.plans for end in ends),
    )


def title_of(loop: SimulationLoop) -> str:
    """Return a title with the run and its method."""
    name = loop.base.instance.scenario.name
    scenario = f", scenario {name}" if name else ""
    return f"{loop.online.base.name}, online block {loop.online.name}{scenario}, with {loop.config.method}"


def job_code(setup: RunSetup, job: str | int) -> int:
    """Return the code of a job by its label; raise DiagnosticError (GSM6021)."""
    labels = [str(label) for label in setup.base.store.universes[setup.jobs_root].labels] if setup.jobs_root else []
    if str(job) in labels:
        return labels.index(str(job))
    help = did_you_mean(str(job), labels) or f"jobs are elements of `{setup.jobs_root}`"
    raise DiagnosticError([Diagnostic("GSM6021", f"unknown job `{job}`", help=help)])


def no_plan_error(message: str, help: str) -> DiagnosticError:
    return DiagnosticError([Diagnostic("GSM6022", message, help=help)])


def _draws(loop: Loop) -> bool:
    """Whether the method itself is randomised: by draws of a policy, or by futures with the seed of the run."""
    planner = loop.planner.planner if isinstance(loop.planner, StatelessPlanner) else loop.planner
    planners: Sequence[Planner] = (planner,)
    if isinstance(planner, PortfolioPlanner):
        futures = planner.portfolio.futures
        if futures is not None and futures.seed is None:
            return True
        planners = planner.members
    return any(isinstance(planner, PolicyPlanner) and bool(planner.policy.draws) for planner in planners)


def seed_of(seed: int, number: int) -> int:
    """Return the seed of a future by its number, and the seed of the run."""
    return int(np.random.SeedSequence([seed, number, 0xE57]).generate_state(1)[0])


def _run_to_time(loop: Loop, code: int, name: str, when: float) -> None:
    """Run to a time at which the end of the job is open; raises DiagnosticError (GSM6022) if there is none."""
    if not np.isfinite(when):
        raise no_plan_error(f"`{name}` never arrives", "choose a job that arrives in the scenario")
    if ended := run_until(loop, when):
        raise no_plan_error(f"the run is over before {loop.run_clock.text(when)}: {ended}", "choose an earlier time")
    status = loop.world.status[code]
    if status in (DONE, GONE):
        last = loop.run_clock.text(float(loop.world.end[code]))
        raise no_plan_error(f"`{name}` is {STATES[int(status)]} at {last}", "choose an earlier time")


@dataclass(frozen=True, slots=True)
class _End:
    """The outcome of the job in a run, and the number of `plans`."""

    start: float
    end: float
    cost: float
    tardiness: float
    due: float
    plans: int


def _run_job_to_end(loop: Loop, code: int) -> _End:
    """Continue until the job is done, or no event follows."""
    world, before = loop.world, len(loop.steps)
    while world.status[code] not in (DONE, GONE):
        if loop.step():
            break
    if isinstance(loop, SlotLoop):
        loop.settle()  # slots are charged when the next plan is due
    due, plans = float(world.due[code]), len(loop.steps) - before
    if world.status[code] != DONE:
        return _End(float(world.first_start[code]), np.nan, np.nan, np.nan, due, plans)
    end, quantities = float(world.end[code]), loop.outcome("").quantities
    cost = sum((float(amounts[code]) for term, amounts in world.ledger.jobs.items() if term not in quantities), 0.0)
    late = max(0.0, end - due) if np.isfinite(due) else 0.0
    late = 0.0 if late <= LATE * max(1.0, abs(end)) else late
    return _End(float(world.first_start[code]), end, cost, late, due, plans)
