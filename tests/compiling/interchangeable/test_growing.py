"""Pools of patterns with generated patterns: the same optima as with all patterns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import capacity_cases
import pytest
import sharing_cases
from exactness import EXACT, Tally, built, check_same, check_solved, loaded

from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.interchangeable import patterns
from gpusched_dsl.compiling.interchangeable.assembling import AggregatedProblem
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving import pattern_generation
from gpusched_dsl.solving.built import solve_built
from gpusched_dsl.solving.pattern_generation import is_pooled, solve_pooled
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions, SolverProgress

MODELS = ("printed", "capacity", "zoned", "sharing")


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MOST_AT_ONCE", 0)
    monkeypatch.setattr(patterns, "JOINING", 2)
    monkeypatch.setattr(patterns, "LEAST_NAMED", 0)


def check_seeds(folder: Path, model: str, seeds: range) -> Tally:
    if model == "sharing":
        workspace = loaded(sharing_cases.write_cases(folder, seeds))
    elif model == "zoned":
        workspace = loaded(capacity_cases.write_zoned(folder, seeds))
    else:
        form = "CapacityPlanningPrinted" if model == "printed" else "CapacityPlanning"
        workspace = loaded(capacity_cases.write_cases(folder, seeds, form))
    tally, pooled = Tally(), 0
    for seed in seeds:
        own = {} if model == "printed" else capacity_cases.settings(seed)
        made = check_same(workspace, f"Seed{seed}", sharing_cases.settings(seed) if model == "sharing" else own, tally)
        pooled += made.aggregated is not None and is_pooled(made.aggregated)
    assert pooled >= 0.3 * len(seeds), (tally, pooled)
    return tally


@pytest.mark.quick(2)
@pytest.mark.parametrize("model", MODELS)
def test_pools_keep_the_optimum(tmp_path: Path, model: str) -> None:
    check_seeds(tmp_path, model, range(100, 107))


# --- how a solve can end ---------------------------------------------------------------------------------------------

HOSTEL = """model Hostel {
  set Hosts;
  set Guests;
  set Kinds;
  param wants[Guests];
  param size[Kinds];
  param worth[g in Guests, k in Kinds] = min(wants[g], size[k]) + 0.5;
  var used[Hosts] binary;
  var stays[Guests, Hosts, Kinds] binary;
  EXTRA
  let beds = sum[g in Guests, h in Hosts, k in Kinds] size[k] * stays[g, h, k];
  constraint once[g in Guests]: sum[h in Hosts, k in Kinds] stays[g, h, k] <= 1;
  constraint fits[h in Hosts]: sum[g in Guests, k in Kinds] size[k] * stays[g, h, k] <= 4 * used[h];
  ROWS
  SENSE: SIGN * (sum[g in Guests, h in Hosts, k in Kinds] worth[g, k] * stays[g, h, k]
    - 3 * sum[h in Hosts] used[h]) TERM;
}
scenario Small for Hostel {
  Hosts = 1..3;
  table Guests: wants = a 1 b 1 c 2 d 2 e 2 f 3 g 3 ;
  table Kinds: size = one 1 two 2 three 3 ;
}
"""
BEST = 6.5  # all 12 beds, with each of the 7 guests somewhere: 12 + 3.5 - 9


def hostel(folder: Path, *, sense: str = "maximize gain", sign: int = 1, rows: str = "", extra: str = "",
           term: str = "") -> Built:  # fmt: skip
    text = HOSTEL.replace("SENSE", sense).replace("SIGN", str(sign)).replace("ROWS", rows)
    path = folder / "hostel.gsm"
    path.write_text(text.replace("EXTRA", extra).replace("TERM", term), encoding="utf-8")
    made = built(loaded(path), "Small", {})
    assert made.aggregated is not None
    assert is_pooled(made.aggregated)
    return made


@pytest.mark.parametrize(("sense", "sign"), [("maximize gain", 1), ("minimize loss", -1)])
def test_both_senses(tmp_path: Path, sense: str, sign: int) -> None:
    made = hostel(tmp_path, sense=sense, sign=sign)
    assert check_solved(made, sense)
    solved, _ = solve_built(made, "highs", EXACT)
    assert solved.objective == pytest.approx(sign * BEST)


@pytest.mark.parametrize("backend", ["highs", "scip"])
def test_patterns_join_while_solving(tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = hostel(tmp_path)
    assert made.aggregated is not None
    few = set(names(made.aggregated))
    solved, _ = solve_built(made, backend, EXACT)
    assert solved.status == "optimal"
    assert solved.aggregated is not None
    joined = solve_pooled(made.aggregated, backend, EXACT)[0]
    assert set(names(joined)) - few
    monkeypatch.setattr(patterns, "MOST_AT_ONCE", 2000)
    every = hostel_whole(tmp_path)
    assert set(names(joined)) | few <= set(names(every))
    assert solve_problem(every.problem, "highs", EXACT).objective == pytest.approx(solved.objective)


def names(found: AggregatedProblem) -> list[tuple[float, ...]]:
    """The patterns of the only part, as columns of its rows."""
    (part,) = found.parts
    patterns_of = part.rows[0].own.toarray()[:, part.columns[0].size :]
    return [tuple(column) for column in patterns_of.T]


def hostel_whole(folder: Path) -> AggregatedProblem:
    made = built(loaded(folder / "hostel.gsm"), "Small", {})
    assert made.aggregated is not None
    assert not is_pooled(made.aggregated)
    return made.aggregated


INFEASIBLE = {
    "no relaxation either": "constraint more: beds >= 13;",
    "whole ones only": """constraint more: beds == 11;
  constraint no: sum[g in Guests, h in Hosts] (stays[g, h, "one"] + stays[g, h, "two"]) == 0;""",
}


@pytest.mark.parametrize("why", INFEASIBLE)
def test_infeasible(tmp_path: Path, why: str) -> None:
    made = hostel(tmp_path, rows=INFEASIBLE[why])
    assert not check_solved(made, why)
    solved, _ = solve_built(made, "highs", EXACT)
    assert (solved.status, solved.reason, solved.point) == ("infeasible", "", None)


@pytest.mark.slow
def test_few_patterns_allow_no_plan_but_all_do(tmp_path: Path) -> None:
    """The relaxation mixes patterns that no whole plan does: others must come, whatever their cost."""
    found = 0
    for most in range(6, 13):
        rows = f"constraint most: beds == {most};"
        found += check_solved(hostel(tmp_path, rows=rows), most)
    assert found > 4


def test_unbounded(tmp_path: Path) -> None:
    made = hostel(tmp_path, extra="var more >= 0;", term="+ more")
    solved, _ = solve_built(made, "highs", EXACT)
    assert solved.status in ("unbounded", "infeasible_or_unbounded")


def test_no_time(tmp_path: Path) -> None:
    solved, _ = solve_built(hostel(tmp_path), "highs", SolveOptions(time_limit=1e-6))
    assert (solved.status, solved.reason) == ("limit", "time")


@dataclass
class Stopping:
    """Asks to stop after it was asked `after` times whether to."""

    after: int
    asked: int = 0

    def progress(self, progress: SolverProgress) -> None: ...

    @property
    def stop_requested(self) -> bool:
        self.asked += 1
        return self.asked > self.after


def test_stopped_at_any_time(tmp_path: Path) -> None:
    """What is given back is a plan with a bound, or nothing; never a false proof."""
    made = hostel(tmp_path)
    ends = set()
    for after in (0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89):
        solved, _ = solve_built(made, "highs", EXACT, monitor=Stopping(after))
        ends.add((solved.status, solved.reason))
        if solved.point is not None:
            assert verify(made.problem, solved.point).feasible
            assert solved.objective is not None
            assert solved.objective <= BEST + 1e-9
        if solved.bound is not None:
            assert solved.bound >= BEST - 1e-6
        if solved.status == "optimal":
            assert solved.objective == pytest.approx(BEST)
        else:
            assert (solved.status, solved.reason) == ("limit", "interrupt"), after
    assert ("limit", "interrupt") in ends


@pytest.mark.quick(12)
@pytest.mark.parametrize("after", [*range(0, 40, 4), 1_000_000])
@pytest.mark.parametrize("heuristic", ["auto", "on"])
def test_local_search_shows_no_bound(tmp_path: Path, after: int, heuristic: str) -> None:
    """Wherever it ends: the relaxation over the patterns has a bound that nobody asked for."""
    made = hostel(tmp_path)
    options = SolveOptions(heuristic=heuristic, extra={"steps": 200})
    solved, _ = solve_built(made, "search", options, None, Stopping(after))
    assert [o.bound for o in solved.objectives] == [None]
    assert solved.status is (Status.LIMIT if solved.point is None else Status.FEASIBLE)
    assert solved.point is not None or after < 1_000


def test_a_start_is_taken_where_it_fits(tmp_path: Path) -> None:
    made = hostel(tmp_path)
    solved, _ = solve_built(made, "highs", EXACT)
    start = {"used": [((1,), 1.0)], "stays": [(("f", 1, "three"), 1.0), (("a", 1, "one"), 1.0)]}
    again, told = solve_built(made, "highs", EXACT, start)
    assert not told
    assert again.objective == solved.objective


def test_a_gap_is_kept(tmp_path: Path) -> None:
    solved, _ = solve_built(hostel(tmp_path), "highs", SolveOptions(gap=0.5))
    assert solved.status == "optimal"
    assert solved.gap is not None
    assert solved.gap <= 0.5
    assert solved.bound is not None
    assert solved.bound >= BEST - 1e-6


def check_gaps(folder: Path, model: str, seeds: range, monkeypatch: pytest.MonkeyPatch) -> int:
    """Compare plans and bounds at several gaps with the optimum; return how often columns were fixed for the gap."""
    sharing = model == "sharing"
    cases = sharing_cases if sharing else capacity_cases
    workspace = loaded(cases.write_cases(folder, seeds))
    fixed = []
    real = pattern_generation._SiftedRelaxation.fixed_by_reduced_cost

    def recording(relaxation: Any, problem: Problem, limit: float, point: Floats | None) -> Problem:
        found = real(relaxation, problem, limit, point)
        fixed.append(int((found.upper < problem.upper).sum() + (found.lower > problem.lower).sum()))
        assert point is None or ((found.lower - 1e-6 <= point) & (point <= found.upper + 1e-6)).all()
        return found

    monkeypatch.setattr(pattern_generation._SiftedRelaxation, "fixed_by_reduced_cost", recording)
    for seed in seeds:
        made = built(workspace, f"Seed{seed}", cases.settings(seed))
        if made.aggregated is None or not is_pooled(made.aggregated):
            continue
        best = solve_built(made, "highs", EXACT)[0]
        for gap in (0.001, 0.01, 0.05, 0.2):
            solved = solve_built(made, "highs", SolveOptions(gap=gap))[0]
            assert solved.status == best.status
            if best.objective is None:
                continue
            assert solved.objective is not None
            assert solved.bound is not None
            assert solved.point is not None
            assert verify(made.problem, solved.point).feasible
            off = 1e-6 * max(1.0, abs(best.objective))
            assert solved.bound - off <= best.objective <= solved.objective + off
            assert solved.objective - solved.bound <= gap * abs(solved.objective) + off
    return sum(count > 0 for count in fixed)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["capacity", "sharing"])
def test_bounds_are_valid_at_every_gap(tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_gaps(tmp_path, model, range(3000, 3150), monkeypatch) > 0


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1200, 50))
@pytest.mark.parametrize("model", MODELS)
def test_pools_keep_the_optimum_often(tmp_path: Path, model: str, start: int) -> None:
    check_seeds(tmp_path, model, range(start, start + 50))
