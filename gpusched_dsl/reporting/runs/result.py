"""The result of a run over time: metrics, costs, bound and tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from gpusched_dsl.ir.contradiction import contradiction
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.online.bounds.gap_parts import GapParts
from gpusched_dsl.online.bounds.single_job import RunBound
from gpusched_dsl.online.clock_time import RunClock
from gpusched_dsl.online.history import RunHistory, costs_of
from gpusched_dsl.online.progress import CostSamples
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.reporting.report import IllustratedReport, Report
from gpusched_dsl.reporting.runs.metrics import Number, metrics_of, quantities_of, unit_of
from gpusched_dsl.version import __version__

if TYPE_CHECKING:
    import polars as pl

COMPLETE = ("finished", "horizon")  # ends of runs with totals that are compared with a bound


@dataclass(frozen=True, eq=False)
class RunResult(IllustratedReport):
    """The result of a run. Times are in `unit`, the unit of the run's clock, money in `money`.

    `bound` is a proved lower bound of `total` if the charges allow one (otherwise `bound.value` is None, and
    `bound.how` is the reason). `completion_bound` is one of the mean completion time, None if it was not asked for.
    """

    writers = Report.writers | {
        "json": "gpusched_dsl.reporting.runs.document:run_document",
        "text": "gpusched_dsl.reporting.runs.summary:run_lines",
        "csv": "gpusched_dsl.reporting.runs.document:run_tables",
        "figures": "gpusched_dsl.reporting.figures.run_figures:run_figures",
        "html": "gpusched_dsl.reporting.pages.run_page:run_page",
        "notebook": "gpusched_dsl.reporting.pages.fragment:run_fragment",
    }

    outcome: RunOutcome
    run_info: RunInfo
    samples: CostSamples = field(default_factory=CostSamples)
    given_bound: RunBound | None = None
    completion_bound: RunBound | None = None  # of `jct_mean`, if it was asked for
    gap_parts: GapParts | None = None  # if they were asked for

    # --- outcome -----------------------------------------------------------------------------------------------------

    @property
    def ended(self) -> str:
        """`finished`, `horizon`, `interrupt`, `error`, `stuck` or `events`."""
        return self.outcome.ended

    @property
    def is_broken(self) -> bool:
        """Whether plans that violate the model took effect: other methods may cost more for obeying it."""
        broken = self.outcome.broken
        return broken is not None and broken.plans > broken.refused

    @property
    def event_by_event(self) -> tuple[str, ...]:
        """Return why every plan was computed, each the end of `because`; empty for a fast replay."""
        return self.outcome.event_by_event

    @property
    def method(self) -> str:
        return self.run_info.method

    @property
    def total(self) -> float:
        """Return the sum of all charges in money."""
        return self.outcome.total

    @property
    def unit(self) -> str:
        """Return the unit of times; `""` if the model has none."""
        return "" if self.outcome.unit == "1" else self.outcome.unit

    @property
    def clock(self) -> RunClock:
        """Return the clock of times: with dates, if the scenario has a calendar."""
        return self.outcome.clock

    @property
    def money(self) -> str:
        return "" if self.outcome.money == "1" else self.outcome.money

    @cached_property
    def history(self) -> RunHistory:
        """Return the arrays of the tables."""
        return RunHistory(self.outcome)

    @cached_property
    def costs(self) -> dict[str, float]:
        """Money by term: `execution`, `tardiness`, changes by their names, charges that the block states."""
        return costs_of(self.history)

    @cached_property
    def quantities(self) -> dict[str, float]:
        """Return charges that are not money, each in its own unit (`outcome.quantities`)."""
        return quantities_of(self.history)

    @cached_property
    def metrics(self) -> dict[str, Number]:
        """Return all metrics by name (`docs/reference/running.md` defines them), None for undefined ones."""
        return metrics_of(self.history, self.method)

    def unit_of(self, metric: str) -> str:
        """Return the unit of a metric, `""` for shares and counts; raise KeyError for another name."""
        return unit_of(self.history, metric)

    @property
    def is_charged(self) -> bool:
        """Whether the run is charged anything."""
        return bool(self.total or any(self.costs.values()))

    @cached_property
    def bound(self) -> RunBound:
        """Return a lower bound of `total` over all methods, or the reason why there is none."""
        from gpusched_dsl.online.bounds.run_bound import job_by_job_bound

        return self.given_bound or job_by_job_bound(self.history)

    @property
    def gap(self) -> float | None:
        """(total - bound) / total; None without a bound."""
        return self.bound.gap(self.total)

    @property
    def contradiction(self) -> Diagnostic | None:
        """Return the diagnostic GSM9002 if the total of a finished run is below the bound; else None.

        Where nothing is charged, no bound is computed for it.
        """
        if self.given_bound is None and not self.is_charged:
            return None
        bound = self.bound
        if self.ended not in COMPLETE or self.is_broken or bound.value is None or not bound.is_refuted_by(self.total):
            return None
        return contradiction(f"the total of {self.method}", self.total, bound.value, self.money, bound.how)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        found = self.contradiction
        return (*self.run_info.warnings, *self.outcome.warnings, *(() if found is None else (found,)))

    @cached_property
    def versions(self) -> dict[str, str]:
        import platform

        return {"gsdsl": __version__, "python": platform.python_version()}

    # --- groups of jobs ----------------------------------------------------------------------------------------------

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """Return the attributes of jobs: parameters over jobs whose values are elements, such as `owner`."""
        from gpusched_dsl.reporting.runs.groups import attributes_of

        return attributes_of(self.history)

    def by(self, attribute: str) -> pl.DataFrame:
        """Return a row per value of an attribute: its jobs, times, slowdowns, fairness, GPU hours and cost.

        Raises KeyError for a name that is not in `attributes`.
        """
        from gpusched_dsl.reporting.runs.groups import group_table

        return group_table(self.history, attribute)

    def fairness_by(self, attribute: str) -> dict[str, float | None]:
        """Return Jain's index over the values of an attribute, of their GPU hours and mean bounded slowdowns."""
        from gpusched_dsl.reporting.runs.groups import group_fairness

        return group_fairness(self.by(attribute))

    # --- tables ------------------------------------------------------------------------------------------------------

    @cached_property
    def jobs(self) -> pl.DataFrame:
        """A row per job that arrived: arrival, start, end, due, tardiness, cost, node, GPUs, changes."""
        from gpusched_dsl.reporting.runs.tables import jobs_table

        return jobs_table(self.history)

    @cached_property
    def schedule(self) -> pl.DataFrame:
        """A row per stretch of a job on a node: `job`, `node`, `node_type`, `gpus`, `start`, `end`."""
        from gpusched_dsl.reporting.runs.tables import schedule_table

        return schedule_table(self.history)

    @cached_property
    def steps(self) -> pl.DataFrame:
        """Return a row per plan: its time and reason, its method, its changes, and its computing time."""
        from gpusched_dsl.reporting.runs.tables import steps_table

        return steps_table(self.outcome.steps, self.clock)

    @cached_property
    def node_types(self) -> pl.DataFrame:
        """A row per type of node: GPUs of a node, hours of GPUs and nodes, utilisation."""
        from gpusched_dsl.reporting.runs.tables import node_types_table

        return node_types_table(self.history)

    def __repr__(self) -> str:
        from gpusched_dsl.language.text.numbers import number_text, with_unit

        total = with_unit(number_text(self.total), self.money)
        return f"<RunResult {self.outcome.online.name}, {self.method}: {self.ended}, {total}>"
