"""A campaign as a page: figures, means, differences of methods at equal seeds, failures, and all runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import starmap

import polars as pl

from gpusched_dsl.campaigns.campaign_figures import first_figures
from gpusched_dsl.campaigns.claims.section import claims_sections
from gpusched_dsl.campaigns.results import CampaignResults
from gpusched_dsl.campaigns.tasks import FAILED
from gpusched_dsl.language.text.numbers import count_text, number_text, seconds_text
from gpusched_dsl.reporting.bootstrap import LEAST_DRAWS
from gpusched_dsl.reporting.pages.page import PageNote, PageSection, PageTable, cell, grid_table, render
from gpusched_dsl.reporting.paired_differences import PairedDifference, paired_differences

MOST_RUNS = 10_000  # rows of the table of all runs
MOST_DIFFERENCES = 2_000  # rows of the table of differences
WORDS = {
    "equal": "equal at every seed", "unclear": "cannot be told apart", "few": f"fewer than {LEAST_DRAWS} seeds",
    "unpaired": "no common seed",
}  # fmt: skip


def campaign_page(results: CampaignResults) -> str:
    """Return the HTML of a campaign: figures, means, differences of methods, all runs, and published claims.

    Claims are those in `paper.claims.toml` beside the file `paper.gsm`. Raises DiagnosticError (GSM5313) for them.
    """
    return render(results.title, [campaign_section(results), *claims_sections(results)])


def campaign_section(results: CampaignResults) -> PageSection:
    """Return the results of a campaign as a section."""
    figures, count = first_figures(results)
    summary = _summary(results)
    if len(figures) < count:
        summary.append(("figures", f"the first {len(figures)} of {count}; `--only` selects others"))
    notes = [*_failure_notes(results.table), *starmap(PageNote, results.shortfalls.items())]
    tables = [grid_table("Means", results.grid(), is_open=True), *_differences(results), _all_runs(results)]
    return PageSection("Results", summary, notes, figures, tables)


def _summary(results: CampaignResults) -> list[tuple[str, str]]:
    counts = ", ".join(f"{count} {state}" for state, count in results.counts.items())
    lines = [("runs", f"{len(results.rows)}: {counts}"), ("computing", seconds_text(results.spent))]
    seeds = results.table["seed"].n_unique()
    if seeds > 1:
        lines.append(("seeds", str(seeds)))
    return [*lines, ("methods", ", ".join(results.table["method"].unique(maintain_order=True)))]


def _failure_notes(table: pl.DataFrame) -> Iterator[PageNote]:
    """Yield a note for each kind of failure."""
    failed = table.filter(pl.col("state") == FAILED)
    for (code, message), rows in failed.group_by("code", "diagnostic", maintain_order=True):
        yield PageNote(str(code or ""), f"{count_text(len(rows), 'run')} failed: {message}")


# --- tables ----------------------------------------------------------------------------------------------------------


def _differences(results: CampaignResults) -> Iterator[PageTable]:
    """Yield the differences of every method from the first one, by cell and measure, if there are several methods."""
    methods = results.table["method"].unique(maintain_order=True).to_list()
    if len(methods) < 2:
        return
    columns, done = results.cells, results.finished
    cells = done.partition_by(columns, maintain_order=True) if columns and len(done) else [done]
    rows: list[list[str]] = []
    for measure in results.shown:
        for part in cells:
            rows += _cell_differences(part, columns, measure, methods[0], results.heading(measure))
    if not rows:
        return
    headings = [
        *map(results.heading, columns),
        "measure",
        "method",
        f"minus {methods[0]}",
        "95 % interval",
    ]
    title = f"Differences from {methods[0]} at equal seeds"
    if len(rows) > MOST_DIFFERENCES:
        title += f", the first {MOST_DIFFERENCES:,} of {len(rows):,}"
    numbers = frozenset(at for at, name in enumerate(columns) if results.table.schema[name].is_numeric())
    numbers |= {len(columns) + 2, len(columns) + 3}
    yield PageTable(title, [*headings, "verdict"], rows[:MOST_DIFFERENCES], numbers)


def _cell_differences(
    part: pl.DataFrame, columns: Sequence[str], measure: str, baseline: str, heading: str
) -> Iterator[list[str]]:
    """Yield a row for each method; repeats of a seed count as their mean."""
    values = part.group_by("method", "seed", maintain_order=True).agg(pl.col(measure).mean())
    if baseline not in values["method"].to_list():
        return
    found = paired_differences(values, value=measure, baseline=baseline)
    for pair in () if found is None else found.differences:
        shown = [cell(part[name][0]) for name in columns]
        low, high = ("", "") if pair.interval is None else map(_number, pair.interval)
        interval = f"{low} to {high}" if pair.interval is not None else ""
        yield [*shown, heading, pair.method, _number(pair.mean), interval, _verdict(pair)]


def _verdict(pair: PairedDifference) -> str:
    """Return the verdict in words; `better` is less, since the smaller value counted as better."""
    return {"better": "less", "worse": "more"}.get(pair.verdict) or WORDS[pair.verdict]


def _number(value: float | None) -> str:
    return "" if value is None else number_text(float(f"{value:.5g}"))


def _all_runs(results: CampaignResults) -> PageTable:
    table = results.table
    shown = [name for name in table.columns if name != "key" and not table[name].is_null().all()]
    rows = [[cell(value) for value in row] for row in table.head(MOST_RUNS).select(shown).rows()]
    numbers = frozenset(at for at, name in enumerate(shown) if table.schema[name].is_numeric())
    title = "All runs" if len(table) <= MOST_RUNS else f"Runs, the first {MOST_RUNS:,} of {len(table):,}"
    return PageTable(title, list(map(results.heading, shown)), rows, numbers)
