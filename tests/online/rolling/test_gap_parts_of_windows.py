"""The parts of the gap of runs in windows: computed by hand, and above the bound for random windows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from net_roads import opened
from window_cases import drawn_window
from window_roads import setup_of_case, slot_loop

import gpusched_dsl as gs
from gpusched_dsl.online.bounds.gap_parts import GapParts
from gpusched_dsl.online.bounds.run_bound import relaxation_bound
from gpusched_dsl.online.data.real_values import with_real_values
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.reporting.runs.comparison import RunComparison
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.reporting.runs.seeds import SeedComparison
from gpusched_dsl.workflows.why_gap import gap_parts

# A slot holds one job. A window of one slot trains `a` at once, because later slots may cost 6.
TEXT = """
model Cheap {
  set Jobs;  set Nodes;  set Slots ordered;
  param arrives[Jobs];  param length[Jobs] integer;  param last[Jobs] integer;  param number[Slots] integer;
  PRICES
  param left[j in Jobs] integer default length[j];
  param after[j in Jobs] integer = max(0, last[j] - max[h in Slots] number[h]);
  var train[j in Jobs, n in Nodes, h in Slots where arrives[j] <= number[h] and number[h] <= last[j]] binary;
  var later[j in Jobs] integer >= 0 <= after[j];
  minimize cost in $ {
    energy: sum[j in Jobs, n in Nodes, h in Slots where (arrives[j] <= number[h] and number[h] <= last[j])]
      tariff[h] * train[j, n, h];
    left_work: sum[j in Jobs] 6[$] * later[j];
  }
  constraint all_done[j in Jobs]: later[j]
    + sum[n in Nodes, h in Slots where (arrives[j] <= number[h] and number[h] <= last[j])] train[j, n, h] == left[j];
  constraint alone[n in Nodes, h in Slots]:
    sum[j in Jobs where (arrives[j] <= number[h] and number[h] <= last[j])] train[j, n, h] <= 1;
  placement train[j, n, h] { job j;  node n;  slot h;  lasts 1[h]; }
}
online Ahead for Cheap {
  window h in Slots lookahead 1 commit 1;
  arrive j in Jobs at arrives[j];
  replan on every 1 slots;
  work length[j];  speed 1;
  carry left[j] = length[j] - round(done[j]);
  CARRY
  charge energy[n in Nodes] in $ =
    sum[j in Jobs, h in Slots where (arrives[j] <= number[h] and number[h] <= last[j])] actual[h] * train[j, n, h];
}
scenario S for Cheap {
  Nodes = { n0 };
  table Slots: number EXPECTED[$] actual[$] = 0 0 5 8  1 1 3 3  2 2 5 5  3 3 5 5  4 4 2 2  5 5 4 4;
  table Jobs: arrives length last = JOBS;
}
"""
BY_DEFAULT = TEXT.replace(
    "PRICES", "param tariff[Slots] in $;  param actual[h in Slots] in $ default tariff[h];"
).replace("EXPECTED", "tariff")
BY_CARRY = TEXT.replace(
    "PRICES",
    "param forecast[Slots] in $;  param actual[Slots] in $;  param tariff[h in Slots] in $ default forecast[h];",
).replace("EXPECTED", "forecast")
CARRIED = "carry tariff[h] = if number[h] <= committed then actual[h] else forecast[h];"


def run(folder: Path, text: str, jobs: str, method: str = "highs", **options: bool) -> RunResult:
    (folder / "cheap.gsm").write_text(text.replace("JOBS", jobs).replace("CARRY", ""), encoding="utf-8")
    return gs.load(folder / "cheap.gsm").run("S", "Ahead", method, why_gap=True, gap=0.0, **options)


@pytest.mark.parametrize("text", [BY_DEFAULT, BY_CARRY.replace("CARRY", CARRIED)], ids=["default", "carry"])
def test_each_part(tmp_path: Path, text: str) -> None:
    """
    The run trains `a` in slot 0 for 8, and `b` for 2. Long windows wait for slot 4, and then need slot 5 too: 2 + 4.
    Who knows that `b` comes, and what slot 0 costs, trains `a` in slot 1: 3 + 2, which is the bound.
    """
    result = run(tmp_path, text, "a 0 1 5  b 4 1 5", bound=True)
    parts = result.gap_parts
    assert parts is not None
    totals = (parts.total, parts.ahead, parts.informed, parts.bound)
    assert totals == pytest.approx((10, 6, 5, 5))
    assert parts.parts == pytest.approx({"myopia": 4, "forecast_error": 1, "undivided": 0})
    assert parts.methods == ("highs",)
    assert result.bound.how.endswith("at real prices")
    assert "saved by windows that end with the run" in str(result)


def test_all_compared_methods_have_parts(tmp_path: Path) -> None:
    """The bound is proved once; the parts of every method need it."""
    text = BY_DEFAULT.replace("JOBS", "a 0 1 5  b 4 1 5").replace("CARRY", "")
    (tmp_path / "m.gsm").write_text(text, encoding="utf-8")
    compared = gs.load(tmp_path / "m.gsm").run("S", "Ahead", ["highs", "scip"], bound=True, why_gap=True)
    assert isinstance(compared, RunComparison)
    for result in compared.results:
        parts = result.gap_parts
        assert parts is not None
        assert sum(parts.parts.values()) == pytest.approx(result.total - result.bound.value)
        assert not [w for w in result.warnings if w.code == "GSM7017"]
    assert [line.split(":")[0] for line in compared.footer()[1:]] == ["gap of highs", "gap of scip"]
    over_seeds = gs.load(tmp_path / "m.gsm").run("S", "Ahead", ["highs"], seeds=[1, 2], bound=True, why_gap=True)
    assert isinstance(over_seeds, SeedComparison)
    assert over_seeds.footer()[-1] == compared.footer()[1]  # nothing is drawn, so the means are those of one run


def test_the_parts_bring_the_bound_that_they_need(tmp_path: Path) -> None:
    without, with_bound = (run(tmp_path, BY_DEFAULT, "a 0 1 5", bound=bound) for bound in (False, True))
    assert without.gap_parts == with_bound.gap_parts is not None
    assert without.bound == with_bound.bound


def test_no_part_where_the_run_has_no_bound(tmp_path: Path) -> None:
    unfinished = run(tmp_path, BY_DEFAULT, "a 0 1 5  b 5 1 5  c 7 1 9", bound=True)
    [warning] = [each for each in unfinished.warnings if each.code == "GSM7017"]
    assert "jobs" in warning.message


def test_a_job_is_not_executed_before_it_arrives(tmp_path: Path) -> None:
    """Nothing in this model forbids early slots: the informed run plans them, and loses them."""
    text = BY_DEFAULT.replace("arrives[j] <= number[h] and ", "")
    parts = run(tmp_path, text, "b 3 1 5", bound=True).gap_parts
    assert parts is not None
    assert parts.informed == pytest.approx(2)  # slot 4; the cheapest early one would cost 3
    assert parts.total == pytest.approx(5)


@pytest.mark.slow
def test_random_windows_that_know_the_future_stay_above_the_bound() -> None:
    counts: Counter[str] = Counter()
    for seed in range(900):
        case = drawn_window(seed)
        charged = {"energy", "lateness", *(["booting"] if case.boots else []), *(["starting"] if case.starts else [])}
        if case.outages or case.ends or case.stretch or case.delays or case.charged or not charged <= set(case.charges):
            continue
        workspace = opened(case)
        loop, _ = slot_loop(setup_of_case(workspace, case), case)
        result = RunResult(loop.run(), RunInfo(case.method))
        base = with_real_values(workspace, RunConfig(), result.outcome.online, result.outcome.base)
        if case.forecast != case.actual and base is result.outcome.base:
            continue  # a bound at forecasts bounds nothing
        result = replace(result, given_bound=relaxation_bound(result.history, base))
        config = RunConfig(online="Block", method=case.method, seed=1, gap=0.0)
        parts = gap_parts(workspace, config, result, lambda: False)
        if not isinstance(parts, GapParts):
            continue
        counts["parts"] += 1
        counts["real"] += base is not result.outcome.base
        assert sum(parts.parts.values()) == pytest.approx(parts.total - parts.bound, abs=1e-9), seed
        assert parts.undivided >= -1e-6 * max(1.0, abs(parts.bound)), seed
    assert counts["parts"] >= 30, counts
    assert counts["real"] >= 1, counts
