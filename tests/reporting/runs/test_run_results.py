"""Results of runs from Python: tables, files, comparisons, pages of large runs, fast replays and runs in windows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from run_texts import THREE_JOBS, random_text, seconds_hidden

import gpusched_dsl as gs
from gpusched_dsl.reporting.pages import gantt
from gpusched_dsl.reporting.pages.charts import ChartAxis
from gpusched_dsl.reporting.pages.run_page import page, schedule_chart
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
    assert "J2: 4 to 5.2 h, 2 on B" in (tmp_path / "run.html").read_text(encoding="utf-8")


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
    with pytest.raises(ValueError, match="one run"):
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


# --- charts ----------------------------------------------------------------------------------------------------------


def test_use_is_spread_over_spans_of_time() -> None:
    rng = np.random.default_rng(3)
    start = rng.uniform(0, 10, 300)
    end = np.minimum(start + rng.exponential(1.0, 300), 10.0)
    row, amount = rng.integers(0, 4, 300), rng.uniform(0, 3, 300)
    found = gantt.amounts_by_span(row, start, end, amount, 4, 0.0, 10.0, 13)
    edges = np.linspace(0, 10, 14)
    expected = np.zeros((4, 13))
    for r, a, b, x in zip(row, start, end, amount, strict=True):
        for s in range(13):
            expected[r, s] += x * max(0.0, min(b, edges[s + 1]) - max(a, edges[s]))
    assert found == pytest.approx(expected)


def test_large_runs_are_drawn_in_shades(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(random_text(4, jobs=12, nodes=3), online="EveryEvent", method="Greedy")
    bars = schedule_chart(result)
    assert len(bars.bars) == result.schedule.height
    assert not bars.note
    for one, other in zip(bars.bars, bars.bars[1:], strict=False):
        apart = one.x + one.width <= other.x + 0.11 or other.x + other.width <= one.x + 0.11
        assert one.y != other.y or apart or one.width == 0.5
    monkeypatch.setattr(gantt, "MOST_BARS", 3)
    monkeypatch.setattr(gantt, "MOST_ROWS", 2)
    shades = schedule_chart(result)
    assert {row.y for row in shades.rows} == {24.0, 31.0}
    assert "2 nodes per row" in shades.note
    assert all(bar.colour in {f"s{n}" for n in range(1, 9)} for bar in shades.bars)
    assert all(bar.x >= 70 and bar.x + bar.width <= 940.2 for bar in shades.bars)
    assert "darker means" in page([result])


def test_ticks_are_round() -> None:
    for low, high in ((0, 1), (0, 6.2), (0, 1234), (0, 3e-5), (-4, 17)):
        ticks = ChartAxis(float(low), float(high), 0.0, 100.0).ticks()
        assert 3 <= len(ticks) <= 14
        assert all(-0.1 <= tick.at <= 100.1 for tick in ticks)
        steps = np.diff([float(tick.text.replace(",", "")) for tick in ticks])
        assert steps == pytest.approx(np.full(len(steps), steps[0]))
        assert f"{steps[0]:e}"[0] in "125"


def test_thinning_keeps_the_mean() -> None:
    rng = np.random.default_rng(0)
    steps = Steps(np.sort(rng.uniform(0, 50, 1000)), rng.uniform(0, 9, 1000))
    thin = steps.thin_out(40)
    assert len(thin.times) == 40
    assert thin.mean == pytest.approx(steps.mean)
    assert steps.thin_out(1000) is steps
