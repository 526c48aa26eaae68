"""`python -m benchmarks.reproduction`: stores results of campaigns beside the claims, writes the page of them."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import polars as pl

from benchmarks.reproduction.page import PAGE, grid_file, read_results, read_table, render
from benchmarks.reproduction.papers import ROOT, read_papers
from gpusched_dsl.campaigns.claims.claim_runs import factors_of
from gpusched_dsl.campaigns.claims.claims import Paper
from gpusched_dsl.cli import main as gsdsl


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproduction", description=__doc__)
    parser.add_argument("--stores", type=Path, metavar="DIR", help="folder with a store for each campaign, by its name")
    options = parser.parse_args()
    papers = read_papers()
    if options.stores is not None:
        for paper in papers:
            for campaign in paper.campaigns:
                if (options.stores / campaign).is_dir():
                    store_results(paper, campaign, options.stores / campaign)
    PAGE.write_text(render([(paper, read_results(paper)) for paper in papers]), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


def store_results(paper: Paper, campaign: str, store: Path) -> None:
    """Write the executed runs of a campaign as a table beside the claims, with the measures that the campaign names.

    Runs of the table that the store does not have stay in it, in the order of the grid.
    """
    with tempfile.TemporaryDirectory() as folder:
        exported = Path(folder) / "runs.csv"
        arguments = [
            "campaign",
            "export",
            str(paper.model_file),
            campaign,
            "--store",
            str(store),
            "--out",
            str(exported),
        ]
        if gsdsl([*arguments, "--quiet"]):
            raise SystemExit(f"`gsdsl campaign export` failed for {campaign}")
        grid = read_table(exported)
    target = paper.results_file(campaign)
    target.parent.mkdir(exist_ok=True)
    cells_of(grid).write_csv(grid_file(paper, campaign))
    # Times in ms and short keys: the tables stay small, and a key still tells whether a run belongs to its inputs.
    grid = grid.drop("objective", "bound", "gap", "online", "code", "diagnostic", strict=False)
    grid = grid.with_columns(pl.col("seconds").cast(pl.Float64).round(3), pl.col("key").str.slice(0, 12))
    table = grid.filter(pl.col("state") != "missing")
    if target.is_file():
        table = merged(table, read_table(target), grid)
    if not len(table):
        return
    table.write_csv(target)
    print(f"{target.relative_to(ROOT)}: {len(table)} runs")


def cells_of(grid: pl.DataFrame) -> pl.DataFrame:
    """Return the combinations of the factors of a campaign, with the number of `seeds` of each."""
    factors = factors_of(grid)
    seeds = pl.col("seed").n_unique().alias("seeds")
    return grid.group_by(factors, maintain_order=True).agg(seeds) if factors else grid.select(seeds)


def merged(new: pl.DataFrame, old: pl.DataFrame, grid: pl.DataFrame) -> pl.DataFrame:
    """Return the new runs and the old runs of other places in the grid, in its order."""
    place = [*factors_of(grid), "scenario", "method", "seed"]
    if set(place) - set(old.columns):
        return new
    old = old.select(name for name in new.columns if name in old.columns)
    types = {name: kind for name, kind in new.schema.items() if name in old.columns}
    kept = old.cast(types).join(new, on=place, how="anti", nulls_equal=True)
    rows = pl.concat([new, kept], how="diagonal")
    ordered = grid.select(place).join(rows, on=place, how="inner", nulls_equal=True, maintain_order="left")
    return ordered.select(new.columns)


if __name__ == "__main__":
    raise SystemExit(main())
