"""Alternative solutions and the options of a job, as tables, text and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.language.text.numbers import count_text, number_text, percent_text, with_unit
from gpusched_dsl.reporting.grid import Grid, GridColumn

if TYPE_CHECKING:
    from gpusched_dsl.ir.arrays import Ints
    from gpusched_dsl.ir.problem import Family
    from gpusched_dsl.ir.solver_result import Status
    from gpusched_dsl.reporting.placement import Placement
    from gpusched_dsl.solving.solution import ObjectiveResult, Solution
    from gpusched_dsl.solving.variants.alternatives import JobOption
    from gpusched_dsl.solving.variants.same import InterchangeableSet

MOST_SHOWN = 12  # differences of one solution on the terminal; files have all


class SolutionResult(Protocol):
    """What is read of the `Result` of each solution."""

    @property
    def solved(self) -> Solution: ...

    @property
    def status(self) -> Status: ...

    @property
    def objective(self) -> float | None: ...

    @property
    def objectives(self) -> tuple[ObjectiveResult, ...]: ...

    @property
    def placed(self) -> Placement | None: ...


@dataclass(frozen=True, eq=False, repr=False)
class Alternatives:
    """Distinct solutions from the best on, all within a share of its first objective.

    `results` have the solutions; elements of `interchangeable` sets are named so that few values differ from the first.
    `differ` is in how many values of `distinct_by`. `complete`: it is proved that there are no others; otherwise
    `reason` is `count` (there may be more), `time`, `interrupt` or another reason of a solver.
    """

    results: tuple[SolutionResult, ...]
    differ: tuple[int, ...]
    within: float
    distinct_by: tuple[str, ...]
    families: tuple[Family, ...]
    interchangeable: tuple[InterchangeableSet, ...]
    complete: bool
    reason: str

    @property
    def table(self) -> pl.DataFrame:
        """Return a row for each solution: `rank`, `objective`, `change`, `relative_change`, `differs`."""
        rows = [
            {
                "rank": n,
                "objective": r.objective,
                "change": c,
                "relative_change": _share(c, self.results[0]),
                "differs": d,
            }
            for n, (r, c, d) in enumerate(zip(self.results, self._changes, self.differ, strict=True), start=1)
        ]
        schema = {"rank": pl.Int64, "objective": pl.Float64, "change": pl.Float64, "relative_change": pl.Float64}
        return pl.DataFrame(rows, schema={**schema, "differs": pl.Int64})

    @property
    def differences(self) -> pl.DataFrame:
        """Return the values that differ from the first solution: `rank`, `variable`, `entry`, `first`, `value`."""
        rows = [
            {"rank": rank, "variable": family.name, "entry": entry, "first": first, "value": value}
            for rank in range(2, len(self.results) + 1)
            for family, entry, first, value in self._differences_of(rank)
        ]
        schema = {"rank": pl.Int64, "variable": pl.String, "entry": pl.String, "first": pl.Float64, "value": pl.Float64}
        return pl.DataFrame(rows, schema=schema)

    @property
    def _changes(self) -> list[float | None]:
        first = self.results[0].objective
        return [None if first is None or r.objective is None else r.objective - first for r in self.results]

    def _differences_of(self, rank: int) -> Iterator[tuple[Family, str, float, float]]:
        first, other = self.results[0].solved.point, self.results[rank - 1].solved.point
        assert first is not None
        assert other is not None
        for family in self.families:
            before, after = np.rint(first[family.slice]), np.rint(other[family.slice])
            changed: Ints = np.flatnonzero(before != after)
            for at in changed.tolist():
                yield family, entry_name(family, family.slice.start + at), float(before[at]), float(after[at])

    def _is_choice(self, family: Family) -> bool:
        """Whether the values of a family are binaries for elements, so that their names tell its values."""
        problem = self.results[0].solved.problem
        low, high = problem.lower[family.slice].min(initial=0.0), problem.upper[family.slice].max(initial=1.0)
        return bool(family.domain.components) and low >= 0 and high <= 1

    def lines(self) -> list[str]:
        """Return the differences of each solution from the first as text, and whether there may be others."""
        lines = []
        for rank in range(2, len(self.results) + 1):
            parts = list(self._differences_of(rank))
            chosen = [self._is_choice(family) for family, *_ in parts]
            gone = [e for is_choice, (_, e, first, _) in zip(chosen, parts, strict=True) if is_choice and first == 1]
            new = [e for is_choice, (_, e, first, _) in zip(chosen, parts, strict=True) if is_choice and first == 0]
            other = [
                f"{e} {f:g} -> {v:g}" for is_choice, (_, e, f, v) in zip(chosen, parts, strict=True) if not is_choice
            ]
            texts = [f"{'; '.join(_list_entries(gone))} -> {'; '.join(_list_entries(new))}"] if gone or new else []
            lines.append(f"  {rank}: " + "; ".join([*texts, *_list_entries(other)]))
        return [*lines, self.note]

    def __repr__(self) -> str:
        return f"<Alternatives: {self.note}>"

    @property
    def note(self) -> str:
        """What is known about other solutions."""
        count, share = count_text(len(self.results), "solution"), percent_text(self.within)
        if self.complete:
            return f"{count} within {share} of the best: there are no others"
        if self.reason == "count":
            return f"{count} within {share} of the best; there may be more"
        return f"{count} within {share} of the best; the search ended early: {self.reason}"

    def grid(self) -> Grid:
        """Return the table for the terminal."""
        unit = _unit(self.results[0])
        table = self.table
        return Grid(
            (
                GridColumn("rank", [str(n) for n in table["rank"].to_list()], right=True),
                GridColumn("objective", [_value(v, unit) for v in table["objective"].to_list()], right=True),
                GridColumn("change", [_signed_text(v, unit) for v in table["change"].to_list()], right=True),
                GridColumn("relative", [_percent(v) for v in table["relative_change"].to_list()], right=True),
                GridColumn("values that differ", [str(n) for n in table["differs"].to_list()], right=True),
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, `alternatives` of the JSON document."""
        changes = {
            rank: [
                {"variable": f.name, "entry": entry, "first": first, "value": value}
                for f, entry, first, value in (self._differences_of(rank) if rank > 1 else ())
            ]
            for rank in range(1, len(self.results) + 1)
        }
        return {
            "within": self.within,
            "complete": self.complete,
            "reason": self.reason,
            "distinct_by": list(self.distinct_by),
            "interchangeable": [
                {"set": i.name, "elements": len(i.of), "classes": i.classes} for i in self.interchangeable
            ],
            "solutions": [
                {
                    **row,
                    "objectives": [o.value for o in result.objectives],
                    "status": result.status.value,
                    "differences": changes[row["rank"]],
                    "placement": [] if result.placed is None else result.placed.records(),
                }
                for row, result in zip(self.table.to_dicts(), self.results, strict=True)
            ],
        }


@dataclass(frozen=True, eq=False, repr=False)
class Options:
    """The options of a job, the best first. `results` has the solution of each, None where there is none."""

    job: str
    options: tuple[JobOption, ...]
    results: tuple[SolutionResult | None, ...]
    best: SolutionResult
    complete: bool
    left_out: int

    @property
    def table(self) -> pl.DataFrame:
        """Return a row for each option: `option`, `status`, `objective`, `change`, `moved`, `alike`, `is_best`.

        `change` of the first objective, `moved` the number of other values that differ from the best solution, `alike`
        the number of elements that differ in the names of interchangeable elements only.
        """
        rows = [
            {
                "option": option.entry,
                "status": option.status.value,
                "objective": value,
                "change": None if value is None or self.best.objective is None else value - self.best.objective,
                "moved": None if result is None else option.moved,
                "alike": option.alike,
                "is_best": option.is_best,
            }
            for option, result, value in zip(self.options, self.results, self._values, strict=True)
        ]
        return pl.DataFrame(
            rows,
            schema={
                "option": pl.String, "status": pl.String, "objective": pl.Float64, "change": pl.Float64,
                "moved": pl.Int64, "alike": pl.Int64, "is_best": pl.Boolean,
            },
        )  # fmt: skip

    @property
    def _values(self) -> list[float | None]:
        return [None if result is None else result.objective for result in self.results]

    def __repr__(self) -> str:
        return f"<Options: {len(self.options)}, {self.note}>"

    @property
    def note(self) -> str:
        if self.complete:
            return f"all options of {self.job}"
        if self.left_out:
            return f"options of {self.job}; {count_text(self.left_out, 'more was', 'more were')} not examined"
        return f"options of {self.job}; the search ended early"

    def grid(self) -> Grid:
        """Return the table for the terminal."""
        unit, table = _unit(self.best), self.table
        names = [_option_text(option) for option in self.options]
        return Grid(
            (
                GridColumn("option", names, wraps=True),
                GridColumn("objective", [_value(v, unit) for v in table["objective"].to_list()], right=True),
                GridColumn("change", [_signed_text(v, unit) for v in table["change"].to_list()], right=True),
                GridColumn(
                    "other values that differ",
                    ["" if n is None else str(n) for n in table["moved"].to_list()],
                    right=True,
                ),
                GridColumn("status", table["status"].to_list()),
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, `job_options` of the JSON document."""
        return {"job": self.job, "complete": self.complete, "left_out": self.left_out, "options": self.table.to_dicts()}


def _option_text(option: JobOption) -> str:
    alike = f" (and {option.alike - 1} alike)" if option.alike > 1 else ""
    return f"{option.entry}{alike}{' (as in the solution)' if option.is_best else ''}"


def _list_entries(entries: list[str]) -> list[str]:
    if len(entries) <= MOST_SHOWN:
        return entries
    return [*entries[:MOST_SHOWN], f"{len(entries) - MOST_SHOWN} more"]


def _unit(result: SolutionResult) -> str:
    unit = result.objectives[0].unit if result.objectives else ""
    return "" if unit == "1" else unit


def _share(change: float | None, best: SolutionResult) -> float | None:
    if change is None or not best.objective:
        return None if change else change
    return change / abs(best.objective)


def _value(value: float | None, unit: str) -> str:
    return "" if value is None else with_unit(number_text(value), unit)


def _signed_text(value: float | None, unit: str) -> str:
    return "" if value is None else ("+" if value > 0 else "") + with_unit(number_text(value), unit)


def _percent(value: float | None) -> str:
    return "" if value is None else percent_text(value)
