"""The figures of a campaign: each measure by method, over the numeric factor with the most values, or as bars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from gpusched_dsl.campaigns.results import CampaignResults
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.language.blocks.campaigns.constants import plain_text
from gpusched_dsl.language.text.numbers import count_text, number_text
from gpusched_dsl.reporting.bootstrap import CONFIDENCE, LEAST_DRAWS
from gpusched_dsl.reporting.figures.bars import BarsFigure, comparison_bars
from gpusched_dsl.reporting.figures.figure import Figure
from gpusched_dsl.reporting.figures.lines_figure import FactorLine, LinesFigure
from gpusched_dsl.reporting.grid import unit_heading

LEAST_VALUES = 3  # of a factor for lines
MOST_BARS = 30  # of one figure
MOST_FIGURES = 24


def campaign_figures(results: CampaignResults) -> list[Figure]:
    """Return the figures of the runs that are finished, at most `MOST_FIGURES`."""
    return first_figures(results)[0]


def first_figures(results: CampaignResults) -> tuple[list[Figure], int]:
    """Return the same, and how many there would be."""
    done, units = results.finished, results.units
    columns = [name for name in results.cells if done[name].n_unique() > 1]
    over = line_factor(done, columns)
    others = [name for name in columns if name != over and not _follows(done, name, over)]
    found: list[Figure] = []
    count = 0
    for measure in results.shown:
        rows = _per_seed(done.filter(pl.col(measure).is_finite()), measure, results.cells)
        cells = _cells(rows, others, units)
        if not cells:
            continue
        wide = sum(part["method"].n_unique() for _, part in cells) > MOST_BARS
        drawn = [("", cells)] if over is None and not wide else [(title, [("", part)]) for title, part in cells]
        for title, parts in drawn:
            count += 1
            if len(found) == MOST_FIGURES:
                continue
            name = measure.replace("_", " ").capitalize()
            heading = f"{name}: {title}" if title else name
            if over is None:
                found += _bars(parts, measure, heading, units.get(measure, ""))
            else:
                found.append(_lines(parts[0][1], measure, over, heading, units))
    return found, count


def _per_seed(rows: pl.DataFrame, measure: str, cells: Sequence[str]) -> pl.DataFrame:
    """Return the means over repeats of a seed, which are no further draws; with one seed the repeats themselves."""
    if rows["seed"].n_unique() < 2:
        return rows
    return rows.group_by(*cells, "method", "seed", maintain_order=True).agg(pl.col(measure).mean())


def line_factor(done: pl.DataFrame, columns: Sequence[str]) -> str | None:
    """Return the numeric factor with the most values, if it has enough for a line."""
    counts = {name: done[name].n_unique() for name in columns if done.schema[name].is_numeric()}
    best = max(counts, key=lambda name: counts[name], default=None)
    return best if best is not None and counts[best] >= LEAST_VALUES else None


def _follows(done: pl.DataFrame, name: str, over: str | None) -> bool:
    """Whether a factor has one value at each value of the factor of the lines, as `vary (nodes, jobs)` does."""
    return over is not None and done.group_by(over).agg(pl.col(name).n_unique())[name].max() == 1


def _cells(rows: pl.DataFrame, others: Sequence[str], units: Mapping[str, str]) -> list[tuple[str, pl.DataFrame]]:
    """Return the rows of each combination of some factors, with its title: `mix K80, share off`."""
    if not others or not len(rows):
        return [("", rows)] if len(rows) else []
    parts = rows.partition_by(list(others), maintain_order=True)
    return [(", ".join(_value_text(name, part[name][0], units) for name in others), part) for part in parts]


def _value_text(name: str, value: object, units: Mapping[str, str]) -> str:
    text = number_text(value) if isinstance(value, float) else plain_text(value)
    return " ".join(filter(None, (name, text, units.get(name, ""))))


def _bars(cells: Sequence[tuple[str, pl.DataFrame]], measure: str, heading: str, unit: str) -> Iterator[BarsFigure]:
    """Yield one figure with a bar for each method of each cell."""
    rows = pl.concat(
        part.select(
            method=pl.format("{}: {}", pl.lit(title), "method") if title else pl.col("method"),
            metric=pl.lit(heading),
            value=pl.col(measure),
            seed=pl.col("seed"),
        )
        for title, part in cells
    )
    yield from comparison_bars(rows, titles={heading: heading}, units={heading: unit})


def _lines(rows: pl.DataFrame, measure: str, over: str, heading: str, units: Mapping[str, str]) -> LinesFigure:
    lines: list[tuple[str, Floats, list[Floats]]] = []
    counts: set[int] = set()
    for (method,), own in rows.sort(over).group_by("method", maintain_order=True):
        parts = own.partition_by(over, maintain_order=True)
        draws = [part[measure].to_numpy() for part in parts]
        counts.update(map(len, draws))
        x = np.array([float(part[over][0]) for part in parts])
        lines.append((str(method), x, draws))
    order = {method: at for at, method in enumerate(rows["method"].unique(maintain_order=True))}
    unit = units.get(measure, "")
    return LinesFigure(
        title=unit_heading(heading, unit),
        note=_note(counts),
        factor=unit_heading(over, units.get(over, "")),
        unit=unit,
        lines=[FactorLine.of(*line) for line in sorted(lines, key=lambda line: order[line[0]])],
    )


def _note(counts: set[int]) -> str:
    """`means over 10 seeds; lines are 95 % bootstrap intervals of the mean`, or nothing for single runs."""
    few, most = min(counts, default=1), max(counts, default=1)
    if most == 1:
        return ""
    runs = count_text(few, "run") if few == most else f"{few} to {most} runs"
    if most >= LEAST_DRAWS:
        return f"means over {runs}; vertical lines are {100 * CONFIDENCE:g} % bootstrap intervals of the mean"
    return f"means over {runs}; intervals need {LEAST_DRAWS}"
