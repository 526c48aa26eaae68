"""The results of a campaign: its runs with their stored records, as one tidy table, and as means for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import polars as pl

from gpusched_dsl.campaigns.plan import CampaignPlan, PlannedRun
from gpusched_dsl.campaigns.store import Store
from gpusched_dsl.campaigns.tasks import DONE, FAILED, UNFINISHED, Number, RunRecord
from gpusched_dsl.data.sources.writing import cannot_write, check_writable, output_path, replace_file
from gpusched_dsl.language.blocks.campaigns.constants import Quantity, Value, plain_text, plain_value
from gpusched_dsl.language.blocks.campaigns.factors import REPLICATION, SEED
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.numbers import count_text, number_text
from gpusched_dsl.language.units import DIMENSIONLESS, Unit, convertible
from gpusched_dsl.reporting.grid import Grid, GridColumn, unit_heading
from gpusched_dsl.reporting.report import write
from gpusched_dsl.reporting.trials import Trial, Trials

if TYPE_CHECKING:
    from gpusched_dsl.reporting.figures.figure import Figure

MISSING = "missing"
FORMATS = (".parquet", ".csv", ".json")
RESULTS = "results.parquet"
TEXTS = ("scenario", "online", "method", "state", "status", "code", "diagnostic", "key")
NUMBERS = ("objective", "bound", "gap")
USUAL = 4  # measures for people if the campaign does not choose them
DIGITS = 5
_RUNS, _DONE = "# runs", "# done"  # no names of factors or measures


@dataclass(frozen=True, eq=False)
class StoredTrial(Trial[RunRecord]):
    """A run of the grid. `result` is its record, None if it is missing."""

    planned: PlannedRun = field(kw_only=True)

    @property
    def title(self) -> str:
        """Return `Synthetic with highs, size 10, seed 1`."""
        return self.planned.run.title

    @property
    def state(self) -> str:
        """Return `done`, `failed` or `missing`."""
        return MISSING if self.result is None else self.result.state

    @property
    def status(self) -> str:
        """Return the status of the solve, or how the run ended; empty if it is missing."""
        return "" if self.result is None else self.result.status

    @property
    def failure(self) -> tuple[str, str] | None:
        """Return the code and the message of the first error of a failed run."""
        return None if self.result is None else self.result.failure

    @property
    def remark(self) -> str:
        """Return why the run failed."""
        return " ".join(self.failure or ())


@dataclass(frozen=True, eq=False)
class CampaignResults(Trials[StoredTrial]):
    """The stored results of a campaign, a row per run in the order of the grid. `to_json` writes all of them.

    `interrupted`: `stop` ended the campaign. `executed` is the number of runs of this call, which took `seconds`.
    """

    writers: ClassVar[dict[str, str]] = {
        **Trials.writers,
        "bars": "gpusched_dsl.campaigns.campaign_figures:campaign_figures",
        "html": "gpusched_dsl.campaigns.campaign_page:campaign_page",
        "json": "gpusched_dsl.campaigns.campaign_document:campaign_document",
    }

    plan: CampaignPlan = field(kw_only=True)
    folder: Path | None = None
    executed: int = 0
    seconds: float = 0.0
    warnings: tuple[Diagnostic, ...] = ()

    @classmethod
    def of(cls, plan: CampaignPlan, records: Mapping[str, RunRecord], **others: Any) -> CampaignResults:
        """Return the results of a plan from records by key."""
        rows = (StoredTrial(r.run.label, records.get(r.key), (), r.run.seed, planned=r) for r in plan.runs)
        return cls(tuple(rows), plan=plan, **others)

    @classmethod
    def read(cls, plan: CampaignPlan, folder: Path) -> CampaignResults:
        """Return the results in a store; raise DiagnosticError (GSM5301) if there is none."""
        store = Store(folder, plan.name, read_only=True)
        records = store.read_all(run.key for run in plan.runs)
        return cls.of(plan, records, folder=folder, warnings=tuple(store.warnings))

    @cached_property
    def records(self) -> dict[str, RunRecord]:
        """Return the records of the runs that are not missing, by key."""
        return {row.planned.key: row.result for row in self.rows if row.result is not None}

    # --- the table ---------------------------------------------------------------------------------------------------

    @cached_property
    def table(self) -> pl.DataFrame:
        """Return a row per run with the measures of the campaign (all if it has no `measure`).

        Columns: the factors, `scenario`, `online`, `method`, `seed`, `state` (`done`, `failed`, `missing`), `status`,
        `objective`, `bound`, `gap`, the measures, `seconds`, `code`, `diagnostic` of the first error, `key`. Values of
        factors are in the unit of the first one (`units`).
        """
        return self._table(self.measures)

    @cached_property
    def all(self) -> pl.DataFrame:
        """Return the same table with all measures."""
        return self._table(self._all_measures)

    def _table(self, measures: Iterable[str]) -> pl.DataFrame:
        rows, runs = self.rows, [row.planned.run for row in self.rows]
        columns: dict[str, list[Any]] = {name: self.factor_values(name) for name in self.factors if name != SEED}
        columns["scenario"] = [run.scenario for run in runs]
        if any(run.online is not None for run in runs):
            columns["online"] = [run.online for run in runs]
        columns["method"] = [row.method for row in rows]
        columns[SEED] = [row.seed for row in rows]
        columns["state"] = [row.state for row in rows]
        columns["status"] = [row.status or None for row in rows]
        for name in (*NUMBERS, *measures):
            if name not in columns:
                columns[name] = self._numbers(name)
        columns["seconds"] = [None if row.result is None else row.result.seconds for row in rows]
        failures = [row.failure or (None, None) for row in rows]
        columns["code"], columns["diagnostic"] = [code for code, _ in failures], [text for _, text in failures]
        columns["key"] = [row.planned.key for row in rows]
        numbers = {*NUMBERS, "seconds", *self.plan.campaign.measures, *self._all_measures}.difference(TEXTS)
        types = {**dict.fromkeys(TEXTS, pl.String), **dict.fromkeys(numbers, pl.Float64)}
        return pl.DataFrame(columns, schema_overrides={name: types[name] for name in columns if name in types})

    def _numbers(self, name: str) -> list[float | None]:
        """Return the objectives, bounds, gaps, or values of a measure."""
        records = (row.result for row in self.rows)
        if name in NUMBERS:
            values: Iterable[Number] = (None if each is None else getattr(each, name) for each in records)
        else:
            values = (None if each is None else each.metrics.get(name) for each in records)
        return [None if value is None else float(value) for value in values]

    @property
    def factors(self) -> list[str]:
        """Return the names that vary."""
        return self.plan.factors

    def factor_values(self, factor: str) -> list[Any]:
        """Return the values of a factor by run: texts, or numbers in the unit of `units`."""
        return _column(self._values(factor))

    def _values(self, factor: str) -> list[Value]:
        return [row.planned.run.factors[factor] for row in self.rows]

    @property
    def measures(self) -> list[str]:
        """Return the measures of the `measure` statements, or all that the records have."""
        return list(self.plan.campaign.measures or self._all_measures)

    @cached_property
    def _all_measures(self) -> list[str]:
        found: dict[str, None] = {}
        for record in self.records.values():
            found.update(dict.fromkeys(record.metrics))
        return list(found)

    @cached_property
    def units(self) -> dict[str, str]:
        """Return the units of the columns that have one."""
        found: dict[str, str] = {}
        for record in self.records.values():
            found |= record.units
            if record.unit:
                found |= {"objective": record.unit, "bound": record.unit}
        factors = {name: _common_unit(self._values(name)) for name in self.factors}
        own = {name: unit.text for name, unit in factors.items() if unit is not None and unit != DIMENSIONLESS}
        return {**found, "seconds": "s", **own}

    def heading(self, name: str) -> str:
        """Return a column with its unit."""
        return unit_heading(name, self.units.get(name, ""))

    def export(self, path: str | Path, *, to: str | None = None, all: bool = False) -> Path:
        """Write the table as Parquet, CSV or JSON, by the extension of the path; raise DiagnosticError (GSM6008).

        `to` is the name of a format of an installed package, as of other reports.
        """
        if to is not None:
            return super().export(path, to=to)
        target = output_path(path)
        write_results(self.all if all else self.table, target)
        return target

    # --- for people --------------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Return the name of the campaign, with its description."""
        doc = self.plan.campaign.doc
        return self.plan.name if doc is None else f"{self.plan.name}: {doc}"

    @cached_property
    def finished(self) -> pl.DataFrame:
        """Return the rows whose measures can be compared."""
        return self.table.filter(is_finished())

    @property
    def cells(self) -> list[str]:
        """Return the columns that tell the cells of a campaign apart, in which methods are compared."""
        varying = [n for n in ("scenario", "online") if n in self.table.columns and self.table[n].n_unique() > 1]
        return [*(name for name in self.factors if name not in (SEED, REPLICATION)), *varying]

    @property
    def shown(self) -> list[str]:
        """Return the measures for people: those of the campaign, or the objective and the first others."""
        schema = self.table.schema  # a factor hides a measure
        names = [n for n in self.measures if n not in self.factors and schema.get(n) == pl.Float64]
        return names if self.plan.campaign.measures else ["objective", *names[:USUAL]]

    def grid(self) -> Grid:
        """Return a row for each combination of factors, scenario and method, with the means of the measures.

        Runs that ended before their jobs are not in the means; `shortfalls` names them.
        """
        names, keys = list(dict.fromkeys([*self.shown, "seconds"])), [*self.cells, "method"]
        rows = self.table.group_by(keys, maintain_order=True).agg(
            pl.len().alias(_RUNS),
            is_finished().sum().alias(_DONE),
            *(pl.col(name).filter(is_finished()).mean() for name in names),
        )
        counts = [f"{done}" if done == runs else f"{done} of {runs}" for done, runs in rows[_DONE, _RUNS].iter_rows()]

        def column(name: str, *, right: bool, optional: int = 0) -> GridColumn:
            return GridColumn(self.heading(name), list(map(_text, rows[name])), right=right, optional=optional)

        return Grid(
            (
                *(column(name, right=rows.schema[name].is_numeric()) for name in keys),
                GridColumn("runs", counts, right=True),
                *(column(name, right=True, optional=number) for number, name in enumerate(names)),
            )
        )

    def footer(self) -> list[str]:
        """Return a line for each kind of failure, and for each status without a result to compare."""
        return [*self.failures, *(f"  {text}" for text in self.shortfalls.values())]

    @property
    def failures(self) -> list[str]:
        """Return a line for each kind of failure: how often, its code and message, and one of its runs."""
        failed = (row for row in self.rows if row.state == FAILED)
        found = _titles_by((row.failure or ("", "failed"), row) for row in failed)
        return [
            f"  {count_text(len(titles), 'run')} failed: {code} {message} ({titles[0]})"
            for (code, message), titles in sorted(found.items(), key=lambda item: -len(item[1]))
        ]

    @property
    def shortfalls(self) -> dict[str, str]:
        """Return how many runs have a status without a result to compare, what it means, and the first of them."""
        found = _titles_by((row.result.shortfall, row) for row in self.rows if row.result and row.result.shortfall)
        return {
            status: f"{count_text(len(titles), 'run')} with status `{status}`{_MEANINGS.get(status, '')} ({titles[0]})"
            for status, titles in found.items()
        }

    @property
    def counts(self) -> dict[str, int]:
        """Return the numbers of runs that are done, failed and missing, without zeros."""
        states = [row.state for row in self.rows]
        return {state: states.count(state) for state in (DONE, FAILED, MISSING) if state in states}

    @property
    def spent(self) -> float:
        """Return the seconds of all stored runs."""
        return sum(record.seconds for record in self.records.values())

    def figures(self) -> dict[str, Sequence[Figure]]:
        """Return the measures of the runs that are done: over a numeric factor, or as bars by method."""
        return {"": write(self, "bars")}


def is_finished() -> pl.Expr:
    """Return the rows whose measures can be compared: of runs that are done and did not end before their jobs."""
    return (pl.col("state") == DONE) & ~pl.col("status").cast(pl.String).is_in(UNFINISHED).fill_null(False)


def write_results(table: pl.DataFrame, path: Path) -> None:
    """Write a table as Parquet, CSV or JSON, by the extension of the path; raises DiagnosticError (GSM6008)."""
    if path.suffix not in FORMATS:
        message = f"`{path}` does not end in {', '.join(FORMATS)}"
        raise DiagnosticError([Diagnostic("GSM6008", message, help="choose one of these formats")])
    check_writable(path)
    try:
        with replace_file(path) as beside:
            if path.suffix == ".parquet":
                table.write_parquet(beside)
            elif path.suffix == ".csv":
                from gpusched_dsl.reporting.csv_files import csv_text

                beside.write_text(csv_text(table), encoding="utf-8", newline="")
            else:
                table.write_json(beside)
    except OSError as failure:
        raise DiagnosticError([cannot_write(path, failure)]) from failure


def _column(values: Sequence[Value]) -> list[Any]:
    """Return the values of a factor as a column: quantities in the unit of the first one."""
    unit = _common_unit(values)
    if unit is None:
        kinds = {type(plain_value(value)) for value in values}
        return [plain_value(value) if len(kinds) == 1 else plain_text(plain_value(value)) for value in values]
    numbers = [value.number_in(unit) for value in values if isinstance(value, Quantity)]
    whole = all(number.denominator == 1 for number in numbers)
    return [int(number) if whole else float(number) for number in numbers]


def _common_unit(values: Sequence[Value]) -> Unit | None:
    """Return the unit of the first of several quantities; None if there is another value or another dimension."""
    first = values[0] if values else None
    if not isinstance(first, Quantity):
        return None
    fits = all(isinstance(value, Quantity) and convertible(value.unit, first.unit) for value in values)
    return first.unit if fits else None


K = TypeVar("K")


def _titles_by(rows: Iterable[tuple[K, StoredTrial]]) -> dict[K, list[str]]:
    """Return the titles of rows by their kind."""
    found: dict[K, list[str]] = {}
    for kind, row in rows:
        found.setdefault(kind, []).append(row.title)
    return found


def _text(value: object) -> str:
    if value is None:
        return "-"
    return number_text(float(f"{value:.{DIGITS}g}")) if isinstance(value, float) else plain_text(value)


_MEANINGS = {
    "stuck": ": jobs wait and no event follows, so the means are without them",
    "events": ": ended by `most_events`, so the means are without them",
    "broken": ": plans violate the model",
    "limit": ": no solution before the limit",
}
