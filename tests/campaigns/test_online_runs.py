"""Campaigns of runs over time: the results are those of single runs, and equal seeds meet equal quantities."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign_files import plan_of, run_in

import gpusched_dsl as gs
from gpusched_dsl.campaigns.results import results_table

TEXT = """
import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";
campaign Rules for CapacityPlanning {
  vary fine in { 1[$/h], 2[$/h] };
  vary seed in 3..4;
  weight[J1] = fine;
  node_rule = at_most;
  run ThreeJobs online EveryArrivalAndCompletion with FIFO, EDF;
  measure total, jct_mean, jobs_late, cost_tardiness;
}
"""


def test_results_are_those_of_single_runs(tmp_path: Path) -> None:
    path = tmp_path / "rules.gsm"
    path.write_text(TEXT)
    plan = plan_of(path).only({"seed": ["4"]})
    done = run_in(tmp_path / "store", plan)
    table = results_table(plan, done.records)
    assert table["diagnostic"].to_list() == [None] * 4
    assert table.select("fine", "online", "method", "seed", "state", "status").rows() == [
        (fine, "EveryArrivalAndCompletion", method, 4, "done", "finished")
        for fine in (1, 2)
        for method in ("FIFO", "EDF")
    ]
    model = gs.load(path)
    for fine, method, total, mean in table.select("fine", "method", "total", "jct_mean").iter_rows():
        settings = {"weight[J1]": f"{fine}[$/h]", "node_rule": "at_most"}
        single = model.run("ThreeJobs", "EveryArrivalAndCompletion", method, seed=4, settings=settings)
        assert (total, mean) == (pytest.approx(single.total), pytest.approx(single.metrics["jct_mean"]))
    assert next(iter(done.records.values())).units["jct_mean"] == "h"
