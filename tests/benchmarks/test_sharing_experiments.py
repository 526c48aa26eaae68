"""The experiments of GPU sharing in a reduced form: four nodes, one seed, all methods, with and without sharing."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import gpusched_dsl as gs
from benchmarks.reproduction.page import read_table
from benchmarks.reproduction.papers import MODELS
from gpusched_dsl.campaigns.claims.claim_runs import factors_of

CAMPAIGNS = MODELS / "gpu_sharing" / "campaigns"
REDUCED = {"Figures4And5": 36, "Figure6": 12}


@pytest.mark.slow
@pytest.mark.parametrize("name", REDUCED)
def test_a_reduced_form_of_the_experiments_repeats_the_stored_results(name: str, tmp_path: Path) -> None:
    campaign = gs.load(CAMPAIGNS / "filippini_2024.gsm").campaign(name)
    done = campaign.run(tmp_path / "store", only={"nodes": ["4"], "seed": ["1"]}, workers=2)
    runs = done.table
    assert len(runs) == REDUCED[name]
    assert runs["diagnostic"].null_count() == len(runs)
    place = [*factors_of(runs), "scenario", "method", "seed"]
    stored = read_table(CAMPAIGNS / "results" / f"{name}.csv").filter(pl.col("nodes") == 4, pl.col("seed") == 1)
    both = stored.join(runs, on=place, how="inner")
    assert len(both) == len(stored) > 0
    for measure in ("total", "cost_execution", "cost_tardiness", "jobs_late"):
        assert both[f"{measure}_right"].to_list() == pytest.approx(both[measure].to_list(), rel=1e-6)
