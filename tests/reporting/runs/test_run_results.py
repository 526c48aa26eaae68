"""Results of runs from Python: tables, files, comparisons, pages of large runs, fast replays and runs in windows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from found_codes import raises_code
from online_texts import machines
from page_reader import bars_of, figures_of
from run_texts import THREE_JOBS, random_text, seconds_hidden

import gpusched_dsl as gs
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.reporting.figures.bars import BarsFigure
from gpusched_dsl.reporting.figures.curves_figure import CurvesFigure
from gpusched_dsl.reporting.figures.heat_map import HeatMap
from gpusched_dsl.reporting.figures.run_figures import run_figures
from gpusched_dsl.reporting.figures.schedule_figure import ScheduleFigure
from gpusched_dsl.reporting.runs.comparison import RunComparison
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.reporting.runs.series import Steps

REPLAY = """
import "gsdsl:trace_replay/tests/queues.gsm";
scenario Pool for TraceReplay {
  Nodes = { p, q };
  gpus["p"] = 4; gpus["q"] = 2;
  table Jobs:  submitted[h]  needs  exec_time[h] =
    a 0 3 5   b 1 2 1   c 2 1 4   d 2 4 3   e 9 1 1.5;
}
"""
WINDOWS = """
import "gsdsl:price_aware/tests/rolling.gsm";
online EverySlot for PriceAwareRolling extends HourByHour {
  window h in Slots lookahead 6 commit 1;
  replan on every 1 slots;
}
scenario ValleysRolling extends ValleysAtOnce { horizon = 6; }
"""


def run(text: str, *given: object, **more: object) -> RunResult:
    result = gs.loads(text).run(*given, **more)  # type: ignore[arg-type]
    assert isinstance(result, RunResult)
    return result


def test_from_python(tmp_path: Path) -> None:
    model = gs.loads(THREE_JOBS)
    result = model.run(online="EveryEvent", method="FIFO", settings={"period": "30[min]"}, seed=2)
    assert isinstance(result, RunResult)
    assert (result.ended, result.method, result.run_info.fallback) == ("finished", "FIFO", "Greedy")
    assert result.metrics["plans"] > 7
    assert result.jobs.filter(pl.col("job") == "J2")["tardiness"].item() == pytest.approx(1.8)
    assert result.steps["why"].to_list()[0] == ["arrival"]
    assert result.run_info.options["seed"] == 2
    assert result.versions["gsdsl"] == gs.__version__
    assert "7.3 $" in str(result)
    assert repr(result) == "<RunResult EveryEvent, FIFO: finished, 7.3 $>"
    result.save(tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["total"] == pytest.approx(7.3)
    result.to_html(tmp_path / "run.html")
    (schedule,) = figures_of((tmp_path / "run.html").read_text(encoding="utf-8"), "schedule")
    assert ("J2", "n1", 4, 5.2, 2, True) in bars_of(schedule)
    assert schedule["types"][schedule["stays"]["type"][1]] == "B"


def test_values_that_were_set_hold(tmp_path: Path) -> None:
    model = gs.loads(THREE_JOBS)
    before = model.run(online="EveryEvent", method="FIFO")
    model.set("price", {"A": 5.0, "B": 10.0})
    model.set("weight", {"J1": 10.0, "J2": 20.0, "J3": 40.0})
    after = model.run(online="EveryEvent", method="FIFO")
    assert isinstance(before, RunResult)
    assert isinstance(after, RunResult)
    assert after.costs == pytest.approx({name: 10 * cost for name, cost in before.costs.items()})
    assert after.bound.value == pytest.approx(10 * before.bound.value)
    with pytest.raises(ValueError, match="`price`, `weight` was set"):
        model.run(online="EveryEvent", method="FIFO", journal=tmp_path / "j.db")
    model.reset()
    again = model.run(online="EveryEvent", method="FIFO")
    assert isinstance(again, RunResult)
    assert again.total == before.total


def test_several_methods() -> None:
    model = gs.loads(random_text(5))
    found = model.run(online="EveryEvent", method=["FIFO", "Greedy", "FIFO"])
    assert isinstance(found, RunComparison)
    assert [row.method for row in found.rows] == ["FIFO", "Greedy"]
    assert found["Greedy"].total == min(found["Greedy"].total, found["FIFO"].total) == found.best
    assert found.bound is not None
    assert found.bound.value is not None
    table = found.table
    assert table["total"].to_list() == [found["FIFO"].total, found["Greedy"].total]
    assert table["cost_execution"].to_list() == [r.costs["execution"] for r in found.results]
    assert table["best"].to_list() == [False, True]
    assert table["gap"].to_list() == [pytest.approx(1 - found.bound.value / r.total) for r in found.results]
    assert str(found).count("*") == 1
    with pytest.raises(KeyError):
        found["EDF"]
    with raises_code("GSM6002", "journal", "methods"):
        model.run(online="EveryEvent", method=["FIFO", "Greedy"], journal="x.db")


@pytest.mark.slow
def test_the_same_run_gives_the_same_result() -> None:
    one, two = (run(random_text(9), online="NoisyTimes", method="LocalSearch", seed=5) for _ in range(2))
    assert seconds_hidden(one.metrics) == seconds_hidden(two.metrics)
    assert one.schedule.equals(two.schedule)
    other = run(random_text(9), online="NoisyTimes", method="LocalSearch", seed=6)
    assert not one.schedule.equals(other.schedule)


def test_fast_replays_report_the_same_as_runs_event_by_event(tmp_path: Path) -> None:
    """With a journal every plan is made; without, FIFO is replayed."""
    whole = run(REPLAY, "Pool", method="FIFO")
    single = run(REPLAY, "Pool", method="FIFO", journal=tmp_path / "j.db")
    assert "instants" in whole.outcome.extra
    assert whole.metrics["plans"] == 0
    assert single.metrics["plans"] > 0
    assert whole.jobs.equals(single.jobs)
    assert whole.schedule.equals(single.schedule)
    told = [n for n in whole.metrics if "plan" not in n and "seconds" not in n and n not in ("boots", "fallback_share")]
    assert {n: whole.metrics[n] for n in told} == pytest.approx({n: single.metrics[n] for n in told})
    assert whole.metrics["cluster_utilisation"] == pytest.approx(
        whole.metrics["gpu_hours"] / (6 * whole.metrics["makespan"])
    )
    assert whole.metrics["boots"] is None
    assert "fast replay" in str(whole)
    assert "of the cluster" in str(whole)


def test_runs_in_windows() -> None:
    result = run(WINDOWS, "ValleysRolling", "EverySlot", bound=True)
    assert result.ended == "horizon"
    assert result.metrics["energy"] == pytest.approx(1.2)
    assert result.quantities["drawn"] == pytest.approx(1.2)
    assert "drawn" not in result.costs
    assert result.total == pytest.approx(sum(result.costs.values()))
    assert [(r["start"], r["end"]) for r in result.schedule.to_dicts()] == [(1, 2), (3, 4), (5, 6)]  # the valleys
    assert result.metrics["waiting_sum"] == pytest.approx(3)
    assert result.bound.value == pytest.approx(result.total)  # cheap slots all: the relaxation is no cheaper
    assert result.metrics["utilisation"] is None  # nodes are counted
    both = gs.loads(WINDOWS).run("ValleysRolling", "EverySlot", ["highs", "scip"], bound=True)
    assert isinstance(both, RunComparison)
    assert both["scip"].bound is both["highs"].bound
    assert both.bound is not None
    assert both.bound.value == result.bound.value
    heard: list[object] = []  # of the beginning, and of each plan
    cut = run(WINDOWS, "ValleysRolling", "EverySlot", bound=True, tell=heard.append, stop=lambda: len(heard) > 3)
    assert (cut.ended, cut.bound.value) == ("interrupt", None)
    unasked = run(WINDOWS, "ValleysRolling", "EverySlot")
    assert unasked.bound.value is None
    assert "slot by slot" in unasked.bound.how


# --- figures ---------------------------------------------------------------------------------------------------------


def test_the_figures_of_a_run() -> None:
    result = run(random_text(4, jobs=12, nodes=3), online="EveryEvent", method="Greedy")
    kinds = [figure.title.split(" [")[0] for figure in result.figures()]
    assert kinds == ["Schedule", "Utilisation of nodes", "Cost so far", "Jobs waiting", "Load: GPUs in use"]
    schedule, heat, cost, *_ = result.figures()
    assert isinstance(schedule, ScheduleFigure)
    assert len(schedule.stays) == result.schedule.height
    bars = bars_of(schedule.document())
    assert [(job, node, uses) for job, node, _, _, uses, _ in bars] == result.schedule.select(
        "job", "node", "gpus"
    ).rows()
    assert [start for _, _, start, *_ in bars] == pytest.approx(result.schedule["start"].to_list())
    late = {row["job"] for row in result.jobs.iter_rows(named=True) if (row["tardiness"] or 0) > 0}
    assert {job for job, *_, is_late in bars if is_late} == late
    assert isinstance(heat, HeatMap)
    hours = result.outcome.world.now / heat.shares.shape[1]
    used = (heat.shares * schedule.capacity[:, None])[~np.isnan(schedule.capacity)].sum() * hours
    assert used == pytest.approx(result.metrics["gpu_hours"])
    assert isinstance(cost, CurvesFigure)
    ends = {curve.label: curve.values[-1] for curve in cost.curves}
    charged = {name: value for name, value in result.costs.items() if value}
    assert ends == pytest.approx(charged if len(charged) == 1 else {**charged, "total": result.total})


def test_runs_of_many_bars_have_their_utilisation_only() -> None:
    result = run(THREE_JOBS, online="EveryEvent", method="FIFO")
    assert [f.kind for f in run_figures(result, most_stays=3)][:2] == ["schedule", "heat map"]
    heat = run_figures(result, most_stays=2)[0]
    assert (heat.kind, heat.note) == ("heat map", "3 stretches of jobs are too many for a schedule")


def test_power_is_the_change_of_energy() -> None:
    result = run(WINDOWS, "ValleysRolling", "EverySlot")
    (power,) = (f for f in result.figures() if f.title == "Power [kW]")
    assert isinstance(power, CurvesFigure)
    (curve,) = power.curves
    energy = (curve.values[:-1] * np.diff(curve.times)).sum() * result.history.hours
    assert energy == pytest.approx(result.metrics["energy"])
    assert set(np.round(curve.values[:-1], 9)) == {0.0, 0.4}  # only in the valleys
    assert any(f.title.startswith("Price: ") for f in result.figures())


def test_comparisons_have_bars_and_the_figures_of_each_method(tmp_path: Path) -> None:
    both = gs.loads(THREE_JOBS).run(online="EveryEvent", method=["FIFO", "Greedy"])
    assert isinstance(both, RunComparison)
    figures = both.figures()
    assert list(figures) == ["comparison", "FIFO", "Greedy"]
    total = figures["comparison"][0]
    assert isinstance(total, BarsFigure)
    assert (total.title, list(total.methods)) == ("Total cost [$]", ["FIFO", "Greedy"])
    assert total.means == pytest.approx([both["FIFO"].total, both["Greedy"].total])
    late = next(f for f in figures["comparison"] if f.title == "Share of late jobs [%]")
    assert isinstance(late, BarsFigure)
    assert late.means[0] == pytest.approx(100 / 3)


def test_thinning_keeps_the_mean() -> None:
    rng = np.random.default_rng(0)
    steps = Steps(np.sort(rng.uniform(0, 50, 1000)), rng.uniform(0, 9, 1000))
    thin = steps.thin_out(40)
    assert len(thin.times) == 40
    assert thin.mean == pytest.approx(steps.mean)
    assert steps.thin_out(1000) is steps


def test_unfinished_jobs_count_until_the_end_of_the_run(tmp_path: Path) -> None:
    """Two nodes, a job of one hour and one of 100 h, which is stopped at 5 h: 6 of 10 node-hours."""
    text = machines(2, [(0.0, 1.0), (0.0, 100.0)]).replace("weight[j]; }", "weight[j]; uses 1 of 1; }")
    text += "online Hourly for Machines extends Events { replan on arrival, completion, every 1[h]; }"
    (tmp_path / "run.gsm").write_text(text)
    loops: list[SimulationLoop] = []
    result = gs.load(tmp_path / "run.gsm").run(
        online="Hourly", method="SRPT", tell=loops.append, stop=lambda: bool(loops) and loops[-1].world.now >= 5
    )
    assert result.ended == "interrupt"
    assert result.metrics["makespan"] == pytest.approx(1.0)
    assert result.metrics["cluster_utilisation"] == pytest.approx(0.6)
