"""Pickled results equal the originals after reading, also in another process."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import gpusched_dsl as gs
from gsdsl_clusters.inspecting import starts

TEXT = """
model M {
  set Jobs;
  param gain[Jobs] default 7;
  var run[j in Jobs] binary;
  var share[j in Jobs] >= 0 <= 1;
  maximize total: sum[j in Jobs] gain[j] * (run[j] + 0.5 * share[j]);
  constraint few: sum[j in Jobs] run[j] <= 1;
  constraint least: sum[j in Jobs] share[j] >= LEAST;
}
scenario S for M { table Jobs: gain = a .25 b .5 c 1; }
"""
RECORDS = Path(__file__).parents[2] / "edges" / "clusters" / "tests" / "inspecting" / "records" / "week.txt"
REPLAY = """
import "gsdsl:trace_replay/tests/queues.gsm";
scenario Pool for TraceReplay {
  Nodes = { p, q };
  gpus["p"] = 4; gpus["q"] = 2;
  table Jobs: submitted[h] needs exec_time[h] = a 0 3 5   b 1 2 1   c 2 1 4   d 2 4 3;
}
"""


def model(least: float = 1) -> gs.Model:
    return gs.loads(TEXT.replace("LEAST", f"{least}"))


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("backend", ["highs", "scip"])
def test_solve(backend: str) -> None:
    with model() as made:
        result = made.solve(backend=backend)
        read = again(result)
        assert result.objective == pytest.approx(1.875)
        assert read.to_dict() == result.to_dict()
        assert read["run"].equals(result["run"])
        assert read.table("share", zeros=True).equals(result.table("share", zeros=True))
        assert (read.status, read.gap, read.terms) == (result.status, result.gap, result.terms)
        assert read.solved.session is None
        # The result that is here can still be changed and solved again.
        made.set("gain", {"a": 5.0, "b": 0.5, "c": 1.0})
        assert made.resolve().objective == pytest.approx(5 + 0.5 * 6.5)


def test_conic() -> None:
    text = "model C { var x >= 0; minimize f: exp(x) - 2 * x; } scenario S for C { }"
    result = gs.loads(text).solve(backend="cvxpy")
    assert again(result).to_dict() == result.to_dict()


def test_nothing_found() -> None:
    result = model(least=4).solve()
    assert result.status == "infeasible"
    assert again(result).to_dict() == result.to_dict()


def test_explanation() -> None:
    explanation = model(least=4).explain()
    assert again(explanation).to_dict() == explanation.to_dict()


@pytest.mark.parametrize("file", ["capacity_planning/scenarios/figure1.gsm", "cluster/scenarios/shared_cluster.gsm"])
def test_explanations_of_interchangeable_elements(file: str) -> None:
    explanation = gs.load(f"models/{file}").explain(why=False)
    assert explanation.aggregation.aggregated is not None
    read = again(explanation)
    assert read.to_dict() == explanation.to_dict()
    assert read.lines() == explanation.lines()


def test_a_prompt_shows_reports_in_one_line() -> None:
    """Not the arrays of their problems."""
    with gs.load("models/capacity_planning/scenarios/figure1.gsm") as made:
        result = made.solve("Figure1", alternatives=2, options_of="j1", time_limit=60)
        shown: list[Any] = [result, result.alternatives, result.job_options, result.problem, result.solved]
        shown += [made.explain("Figure1", why=False), made.compare(["highs"], "Figure1"), made]
    made = gs.loads(REPLAY)
    shown += [made.run("Pool", method="FIFO"), made.estimate("d", method="FIFO"), made.why("d", 2.0, method="FIFO")]
    for value in shown:
        assert len(repr(value).splitlines()) == 1, type(value)
        assert len(repr(value)) < 300


def test_a_start_from_a_stored_result() -> None:
    result = again(model().solve())
    assert model().solve(warm_start=result).objective == pytest.approx(1.875)


def test_comparison() -> None:
    comparison = gs.load("models/capacity_planning/scenarios/three_jobs.gsm").compare(["highs", "FIFO"])
    read = again(comparison)
    assert read.to_dict() == comparison.to_dict()
    assert read.table.equals(comparison.table)


def test_flexibility() -> None:
    found = gs.loads(
        """
        model Day { set Jobs; set Slots ordered; param tariff[Slots] in $/MWh; param needs[Jobs] integer;
          var run[Jobs, Slots] binary;
          let power[h in Slots] in W = 100[W] + 200[W] * sum[j in Jobs] run[j, h];
          minimize cost in $: sum[h in Slots] tariff[h] * 1[h] * power[h];
          constraint done[j in Jobs]: sum[h in Slots] run[j, h] == needs[j];
          placement run[j, h] { job j; slot h; lasts 1[h]; } }
        scenario S for Day { table Jobs: needs = a 2; table Slots: tariff[$/MWh] = 1 10  2 20  3 30; }
        """
    ).flexibility("1", gap=0, steps=1)
    read = again(found)
    assert found.guaranteed == pytest.approx(0.2)  # kW: the job moves from slot 1 to slot 3
    assert read.to_dict() == found.to_dict()
    assert read.table.equals(found.table)


def test_runs() -> None:
    made = gs.load("models/trace_replay/scenarios/philly_sample.gsm")
    result = made.run("PhillyNodes", method="FIFO")
    read = again(result)
    assert isinstance(result, type(read))
    assert read.metrics == result.metrics
    assert read.jobs.equals(result.jobs)
    compared = made.run("PhillyNodes", method=["FIFO", "SJF"])
    assert again(compared).to_dict() == compared.to_dict()
    seeds = made.run("PhillyNodes", method=["FIFO", "SJF"], seeds=[1, 2])
    assert again(seeds).to_dict() == seeds.to_dict()


def test_inspections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "MOST_DRAWS", 5)  # more futures take longer, and give results of the same kind
    header, *rows = RECORDS.read_text(encoding="utf-8").splitlines()
    records = tmp_path / "last.txt"
    records.write_text("\n".join([header, *rows[-110:]]) + "\n", encoding="utf-8")
    found = gs.inspect(records)
    assert found.starts.table.height > 50
    assert again(found).to_dict() == found.to_dict()
    assert again(found).html_text() == found.html_text()


def test_every_kind_of_report_is_pickled_here() -> None:
    """A new public class of reports needs a test of this file; other tests may have loaded further classes."""
    from gpusched_dsl.reporting.report import Report

    for name in gs.__all__:  # they are imported at first use
        getattr(gs, name)

    def below(kind: type) -> set[str]:
        return {name for each in kind.__subclasses__() for name in {each.__name__} | below(each)}

    tested = {"Comparison", "DecisionExplanation", "Estimate", "Explanation", "Result", "RunComparison", "RunResult"}
    tested |= {"Flexibility", "SeedComparison", "ClusterInspection"}
    assert below(Report) & set(gs.__all__) == tested


def test_what_a_run_computes_later() -> None:
    """Tables and metrics that nobody looked at before a result was stored are computed after reading."""
    result = again(gs.loads(REPLAY).run("Pool", method="FIFO"))
    expected = gs.loads(REPLAY).run("Pool", method="FIFO")
    assert result.metrics["rho_max"] == expected.metrics["rho_max"]
    assert result.schedule.equals(expected.schedule)
    assert result.attributes == expected.attributes
    assert again(gs.loads(REPLAY).policies())[0].policy.name


def test_findings() -> None:
    with pytest.raises(gs.DiagnosticError) as caught:
        gs.loads("model M { set Jobs; param w[Job]; var x; minimize x; }").check()
    read = again(caught.value)
    assert str(read) == str(caught.value)
    assert read.diagnostics[0].edits[0].text == "Jobs"


def solved(least: float) -> Any:
    return model(least).solve()


def test_from_other_processes() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        results = list(pool.map(solved, (1.0, 2.0)))
    assert [result.objective for result in results] == pytest.approx([1.875, 1.875])
    assert results[0]["run"].equals(model().solve()["run"])


def test_estimates_and_reasons() -> None:
    made, job = gs.loads(REPLAY), "d"
    estimate = made.estimate(job, method="FIFO")
    assert again(estimate).to_dict() == estimate.to_dict()
    assert again(estimate).lines() == estimate.lines()
    reason = made.why(job, 2.0, method="FIFO")
    assert again(reason).to_dict() == reason.to_dict()
