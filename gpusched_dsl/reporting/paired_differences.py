"""Differences of methods at equal seeds, and whether the runs can tell the methods apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.text.numbers import column_texts, count_text
from gpusched_dsl.reporting.bootstrap import LEAST_DRAWS, Interval, mean_interval
from gpusched_dsl.reporting.grid import BAD, GOOD, Grid, GridColumn, plain, unit_heading

if TYPE_CHECKING:
    import polars as pl

# `better`, `worse`: more than by chance; `equal`: at every seed; `unclear`: the interval contains 0; `few`: fewer than
# `LEAST_DRAWS` seeds; `unpaired`: no seed at which both methods have a value.
Verdict = Literal["better", "worse", "equal", "unclear", "few", "unpaired"]
PAIRED = ("mean", "difference", "difference_low", "difference_high", "verdict")  # columns that a table of runs repeats
UNDECIDED = ("unclear", "few", "unpaired")


@dataclass(frozen=True, slots=True)
class MethodMean:
    """The mean of a method over its seeds; `interval` is None for few seeds, the mean itself without draws."""

    method: str
    seeds: int
    mean: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Value of `method` minus value of `baseline`, at each of `seeds` seeds at which both have a value.

    `mean` is the mean difference, with its confidence interval (None for few seeds; the difference itself if both
    methods are deterministic, with `seeds` 1). `better`, `worse` and `equal` count the seeds.
    """

    method: str
    baseline: str
    seeds: int
    mean: float | None
    interval: Interval | None
    better: int
    worse: int
    equal: int
    verdict: Verdict

    @property
    def is_undecided(self) -> bool:
        """Whether the runs cannot tell the two methods apart."""
        return self.verdict in UNDECIDED


@dataclass(frozen=True, eq=False)
class PairedDifferences:
    """The means of all methods, and the differences of each to `baseline`, in the order of the table.

    `sentences()` states whether the runs can tell the best method from the others, `table` has a row per method, `grid`
    is for terminals and pages.
    """

    baseline: str
    means: tuple[MethodMean, ...]
    differences: tuple[PairedDifference, ...]
    minimise: bool = True

    def __getitem__(self, method: str) -> PairedDifference:
        """Return the difference of a method to the baseline; raise KeyError for others."""
        for difference in self.differences:
            if difference.method == method:
                return difference
        raise KeyError(method)

    @property
    def has_intervals(self) -> bool:
        """Whether any difference has enough seeds."""
        return any(d.interval is not None for d in self.differences)

    def mean_of(self, method: str) -> MethodMean:
        return next(mean for mean in self.means if mean.method == method)

    @cached_property
    def table(self) -> pl.DataFrame:
        """A row per method: its mean, and the difference to the baseline, which has no difference itself."""
        import polars as pl

        numbers = ("mean", "mean_low", "mean_high", "difference", "difference_low", "difference_high")
        counts = ("seeds", "paired_seeds", "better", "worse", "equal")
        types = {"method": pl.String, "baseline": pl.String, **dict.fromkeys(numbers, pl.Float64)}
        types |= {**dict.fromkeys(counts, pl.Int64), "verdict": pl.String}
        return pl.DataFrame([self.record(mean.method) for mean in self.means], schema=types)

    def record(self, method: str) -> dict[str, Any]:
        """Return the row of a method, as in `table`."""
        mean = self.mean_of(method)
        low, high = mean.interval or (None, None)
        row = {"method": method, "baseline": self.baseline, "seeds": mean.seeds, "mean": mean.mean}
        row |= {"mean_low": low, "mean_high": high}
        if method == self.baseline:
            names = ("difference", "difference_low", "difference_high", "paired_seeds", "better", "worse", "equal")
            return row | dict.fromkeys((*names, "verdict"))
        pair = self[method]
        low, high = pair.interval or (None, None)
        row |= {"difference": pair.mean, "difference_low": low, "difference_high": high, "paired_seeds": pair.seeds}
        return row | {"better": pair.better, "worse": pair.worse, "equal": pair.equal, "verdict": pair.verdict}

    def to_dict(self) -> dict[str, Any]:
        """Return the baseline, and the rows of `table`."""
        return {
            "baseline": self.baseline,
            "methods": [
                {key: value for key, value in self.record(mean.method).items() if key != "baseline"}
                for mean in self.means
            ],
        }

    def grid(self, unit: str = "", name: str = "mean") -> Grid:
        """Return a row per method: the mean (unless its `name` is empty), the difference, its interval, and seeds."""
        pairs = [None if mean.method == self.baseline else self[mean.method] for mean in self.means]
        marks = tuple(_mark(pair) for pair in pairs)
        numbers = [value for pair in pairs for value in _numbers(pair)]
        texts = column_texts(numbers)
        differences = ["" if pair is None else _signed_text(texts[3 * at]) for at, pair in enumerate(pairs)]
        low, high = ([("" if p is None else texts[3 * at + i]) for at, p in enumerate(pairs)] for i in (1, 2))
        intervals = [f"{a} to {b}" if a not in ("", "-") else a for a, b in zip(low, high, strict=True)]
        wins = ["" if p is None else f"{p.better} of {p.seeds}" if p.seeds else "-" for p in pairs]
        means = column_texts([mean.mean for mean in self.means], digits=6)
        shown = [GridColumn(unit_heading(name, unit), means, right=True, optional=2)] if name else []
        return Grid(
            (
                GridColumn("method", [mean.method for mean in self.means], marks=marks),
                *shown,
                GridColumn(unit_heading(f"minus {self.baseline}", unit), differences, right=True),
                GridColumn("95 % interval", intervals, right=True),
                GridColumn("better at seeds", wins, right=True, optional=1),
            )
        )

    def __str__(self) -> str:
        return "\n".join([plain(self.grid()), *self.sentences()])

    def sentences(self) -> list[str]:
        """Return whether the runs can tell the methods from the baseline, in plain English."""
        by = {
            verdict: [d for d in self.differences if d.verdict == verdict]
            for verdict in ("few", "unclear", "equal", "unpaired")
        }
        lines = []
        if few := by["few"]:
            seeds = count_text(max(d.seeds for d in few), "seed")
            are = "is" if seeds.startswith("1 ") else "are"
            lines.append(
                f"{seeds} {are} too few to tell {_names(few)} from {self.baseline}: at least {LEAST_DRAWS} are needed"
            )
        if unclear := by["unclear"]:
            is_one = len(unclear) == 1
            intervals = "the interval of its difference contains" if is_one else "the intervals of differences contain"
            lines.append(f"the runs cannot tell {_names(unclear)} from {self.baseline}: {intervals} 0")
        if equal := by["equal"]:
            lines.append(f"{_names(equal)}: equal to {self.baseline} at every seed")
        if unpaired := by["unpaired"]:
            lines.append(f"{_names(unpaired)}: no seed at which {self.baseline} has a value too")
        if not lines and self.differences:
            others = "the other method" if len(self.differences) == 1 else "every other method"
            lines.append(f"{self.baseline} differs from {others} by more than chance")
        return lines


def paired_differences(
    table: pl.DataFrame, *, value: str = "value", minimise: bool = True, baseline: str | None = None
) -> PairedDifferences | None:
    """Compare methods at equal seeds; None for fewer than two methods with values.

    `table` has a row per run: `method` (text), `seed` (integer; null for a deterministic method, whose one value
    counts at every seed), and `value` (number; null or not finite without a valid result). Runs of one seed have equal
    random quantities in all methods, so their differences vary less than the values. `baseline` is the method with the
    best mean if None; methods with a value at every seed come first. Intervals have a confidence of 95 % each
    (`bootstrap.mean_interval`), not all together: of twenty differences one misses on average. Raises ValueError for a
    repeated seed of a method, for a method with and without seeds, and for an unknown baseline.
    """
    if not isinstance(value, str) or not isinstance(minimise, bool):
        raise ValueError("`value` is the name of a column, and `minimise` True or False")
    columns = table.columns if hasattr(table, "get_column") else ()
    lacking = [name for name in ("method", "seed", value) if name not in columns]
    if lacking:
        raise ValueError(f"a table with the columns `method`, `seed` and `{value}` is needed: {lacking[0]} is missing")
    values = {str(name): _values(table, name, value) for name in table["method"].unique(maintain_order=True)}
    known = {name: of for name, of in values.items() if of}
    if len(known) < 2:
        return None
    if baseline is None:
        baseline = _best(known, minimise)
    elif not isinstance(baseline, str) or baseline not in values:
        raise ValueError(f"no method `{baseline}`: the methods are {', '.join(values)}")
    return PairedDifferences(
        baseline,
        tuple(_mean(name, of) for name, of in values.items()),
        tuple(_difference(name, baseline, values, minimise) for name in values if name != baseline),
        minimise,
    )


Values = dict[int | None, float]  # by seed


def _values(table: pl.DataFrame, method: str, value: str) -> Values:
    """Return the finite values of a method by seed."""
    rows = table.filter(table["method"] == method)
    seeds = rows["seed"].to_list()
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"method `{method}` has several rows of one seed")
    if None in seeds and len(seeds) > 1:
        raise ValueError(f"method `{method}` has rows with and without a seed")
    return {
        seed: float(number)
        for seed, number in zip(seeds, rows[value].to_list(), strict=True)
        if number is not None and np.isfinite(number)
    }


def _best(known: dict[str, Values], minimise: bool) -> str:
    """Return the method with the best mean, among those with values at the most seeds."""
    seeds = {seed for of in known.values() for seed in of if seed is not None}
    counts = {name: len(seeds) if None in of else len(of) for name, of in known.items()}
    complete = {name: of for name, of in known.items() if counts[name] == max(counts.values())}
    sign = 1.0 if minimise else -1.0
    return min(complete, key=lambda name: sign * float(np.mean(list(complete[name].values()))))


def _mean(method: str, values: Values) -> MethodMean:
    draws = np.array(list(values.values()))
    if not len(draws):
        return MethodMean(method, 0, None, None)
    mean = float(draws.mean())
    interval = Interval(mean, mean) if None in values else mean_interval(draws)
    return MethodMean(method, len(draws), mean, interval)


def _difference(method: str, baseline: str, values: dict[str, Values], minimise: bool) -> PairedDifference:
    own, other = _pairs(values[method], values[baseline])
    count = len(own)
    if not count:
        return PairedDifference(method, baseline, 0, None, None, 0, 0, 0, "unpaired")
    differences = own - other
    same = np.abs(differences) <= ROUNDING * np.maximum(1.0, np.maximum(np.abs(own), np.abs(other)))
    differences[same] = 0.0
    mean = float(differences.mean())
    is_exact = None in values[method] and None in values[baseline]
    interval = Interval(mean, mean) if is_exact else mean_interval(differences)
    signs = differences if minimise else -differences
    counts = int((signs < 0).sum()), int((signs > 0).sum()), int(same.sum())
    verdict = _verdict(interval, counts, minimise)
    return PairedDifference(method, baseline, count, mean, interval, *counts, verdict)


def _pairs(first: Values, second: Values) -> tuple[Floats, Floats]:
    """Return the values of both at each common seed; the value of a deterministic method counts at every seed."""
    if None in first:
        seeds: list[int | None] = list(second)
        return np.array([first[None]] * len(seeds)), np.array([second[seed] for seed in seeds])
    seeds = [seed for seed in first if seed in second or None in second]
    return np.array([first[s] for s in seeds]), np.array([second[None if None in second else s] for s in seeds])


def _verdict(interval: Interval | None, counts: tuple[int, int, int], minimise: bool) -> Verdict:
    better, worse, _ = counts
    if not better and not worse:
        return "equal"
    if interval is None:
        return "few"
    if 0.0 in interval:
        return "unclear"
    return "better" if (interval.high < 0) == minimise else "worse"


def _numbers(pair: PairedDifference | None) -> Sequence[float | None]:
    """The mean difference and its interval."""
    return (None, None, None) if pair is None else (pair.mean, *(pair.interval or (None, None)))


def _signed_text(text: str) -> str:
    return text if text.startswith("-") or not text.strip("0.") else f"+{text}"


def _mark(pair: PairedDifference | None) -> str:
    return "" if pair is None or pair.verdict not in ("better", "worse") else GOOD if pair.verdict == "better" else BAD


def _names(pairs: Sequence[PairedDifference]) -> str:
    names = [pair.method for pair in pairs]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
