"""Campaigns of runs over time: the results are those of single runs, and equal seeds meet equal quantities."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign_files import plan_of, run_in

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

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
    table = done.table
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


@pytest.mark.parametrize(
    ("method", "refused", "help"),
    [
        ("FIFO (time_limt = 3[s])", "time_limt", "did you mean `time_limit`?"),
        ("FIFO (mip_rel_gap = 0.1)", "mip_rel_gap", "a policy has the options `fallback`, `seed`"),
        ("Ahead (nonsense = 3)", "nonsense", "a policy has the options"),
        ("FIFO (time_limit = 3[s])", "", ""),
        ("highs (mip_rel_gap = 0.1)", "", ""),
        ("AheadOfSolver (mip_rel_gap = 0.1)", "", ""),
        ("FIFO (mip_rel_gap = 0.1, fallback = highs)", "", ""),
    ],
)
def test_options_that_nothing_reads_are_refused(tmp_path: Path, method: str, refused: str, help: str) -> None:
    path = tmp_path / "options.gsm"
    path.write_text(
        'import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";\n'
        "policy Ahead for CapacityPlanning { portfolio FIFO, EDF; }\n"
        "policy AheadOfSolver for CapacityPlanning { portfolio FIFO, highs; }\n"
        f"campaign C {{ run ThreeJobs online EveryArrivalAndCompletion with {method}; }}\n"
    )
    if not refused:
        assert len(plan_of(path).runs) == 1
        return
    with pytest.raises(DiagnosticError) as caught:
        plan_of(path)
    (error,) = caught.value.diagnostics
    assert (error.code, error.primary.text, help in str(error.help)) == ("GSM4004", refused, True)  # type: ignore[union-attr]


def test_costs_and_charges_of_runs_are_measures(tmp_path: Path) -> None:
    text = """
import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";
online Charged extends EveryArrivalAndCompletion {
  on migration costs 1[$];
  charge energy_of_jobs in kW = sum[j in Jobs, n in Nodes, (v, g) in Configs where (j, v, g) in Runnable]
    2[kW] * run[j, n, v, g];
}
campaign C {
  run ThreeJobs online Charged with FIFO;
  measure cost_execution, cost_tardiness, cost_migration, energy_of_jobs, jct_mean;
}
"""
    path = tmp_path / "charges.gsm"
    path.write_text(text)
    assert len(plan_of(path).runs) == 1
    for wrong, help in (("cost_anything", "measures are"), ("cost_tardines", "did you mean `cost_tardiness`?")):
        path.write_text(text.replace("cost_tardiness", wrong))
        with pytest.raises(DiagnosticError) as caught:
            plan_of(path)
        (error,) = caught.value.diagnostics
        assert (error.code, error.primary.text) == ("GSM1665", wrong)  # type: ignore[union-attr]
        assert help in str(error.help)
        assert str(error.help).count("`build_seconds`") <= 1


def test_an_option_for_one_of_several_methods(tmp_path: Path) -> None:
    text = """
import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";
campaign C {
  vary planner in { FIFO, highs };
  run ThreeJobs online EveryArrivalAndCompletion with planner (mip_rel_gap = 0.1);
}
"""
    path = tmp_path / "factor.gsm"
    path.write_text(text)
    done = run_in(tmp_path / "store", plan_of(path))
    assert [record.state for record in done.records.values()] == ["done", "done"]
    path.write_text(text.replace("FIFO, highs", "FIFO, EDF"))
    with pytest.raises(DiagnosticError, match="GSM4004"):
        plan_of(path)
