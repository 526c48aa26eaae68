"""`start from`: a solve starts from the solution under other choices of options, where that is one of this model."""

from __future__ import annotations

import numpy as np
import pytest
from asking_texts import read
from msgspec import structs

from gpusched_dsl.compiling.build import Built, check_solvable
from gpusched_dsl.compiling.selection import SelectedScenario
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.primal import start as primal_start
from gpusched_dsl.solving.starts import point_from
from gpusched_dsl.workflows import start_from_options as module
from gpusched_dsl.workflows.listener import Listener
from gpusched_dsl.workflows.method import SolverMethod
from gpusched_dsl.workflows.solve import SolveConfig, SolvedScenario, solve_scenario
from gpusched_dsl.workflows.start_from_options import start_from_options
from gsdsl_backends.protocol import SolveOptions

# Four jobs, one at a time. Hard: `a` and `b` run in slot 1 or not at all, so one is rejected; soft: nobody is.
TEXT = """
model Rejecting {
  option mode in { hard, soft } default hard start from hard "soft: late at a price";
  option unit_price in { yes, no } default yes;
  set Slots = 1..4; set Jobs; param due[Jobs] integer; param strict integer default 0;
  when mode == hard {
    set Windows = { (j, s) : j in Jobs, s in Slots where s <= due[j] };
  } else {
    set Windows = { (j, s) : j in Jobs, s in Slots };
    var late[Jobs] >= 0;
    constraint lateness[j in Jobs]: late[j] >= sum[s in Slots] max(0, s - due[j]) * run[j, s];
  }
  when mode == hard { check: strict == 0 "strict data have no hard form"; }
  var run[j in Jobs, s in Slots where (j, s) in Windows] binary;
  var rejects[Jobs] binary;
  minimize rejected: sum[j in Jobs] rejects[j];
  then minimize work: sum[(j, s) in Windows] s * run[j, s];
  constraint one[s in Slots]: sum[j in Jobs] run[j, s] <= 1;
  constraint done[j in Jobs]: sum[s in Slots] run[j, s] + rejects[j] == 1;
}
scenario Hard for Rejecting { table Jobs: due = a 1  b 1  c 2  d 3; }
scenario Soft extends Hard { mode = soft; }
scenario Strict extends Soft { strict = 1; }
"""


class Steps(Listener):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def begin(self, doing: str) -> None:
        self.heard.append(doing)


def selected(name: str) -> SelectedScenario:
    workspace = read(TEXT)
    scenario, warnings = check_solvable(workspace, name)
    return SelectedScenario(workspace=workspace, scenario=scenario, warnings=warnings)


def solved(name: str, steps: Steps | None = None, warm_start: object = None, **options: object) -> SolvedScenario:
    chosen = structs.replace(SolveOptions(gap=0.0), **options)  # type: ignore[arg-type]
    config = SolveConfig(scenario=selected(name), method=SolverMethod("highs"), options=chosen, warm_start=warm_start)
    return solve_scenario(config, listener=steps)


def values(found: SolvedScenario) -> list[float | None]:
    return [objective.value for objective in found.result.objectives]


def test_the_start_is_the_optimum_of_the_hard_model_in_all_columns() -> None:
    built = selected("Soft").build()
    assert built.scenario.model.start_options == {"mode": "hard"}
    start, interrupted = start_from_options(built, SolverMethod("highs"), SolveOptions(gap=0.0), None)
    assert not interrupted
    assert start.entries is not None
    point, warnings = point_from(built.problem, start.entries)
    assert warnings == []
    late, run, rejects = (next(f for f in built.problem.variables if f.name == n) for n in ("late", "run", "rejects"))
    assert np.isnan(point[late.slice]).all()  # no column of the hard model
    assert np.isnan(point[run.slice].reshape(4, 4)[:, 3]).all()  # nor is slot 4
    assert np.isfinite(point[run.slice].reshape(4, 4)[:, :3]).all()
    assert np.isfinite(point[rejects.slice]).all()
    point = np.nan_to_num(point)
    assert verify(built.problem, point).feasible
    assert [o.value(point) for o in built.problem.objectives] == [1.0, 6.0]


@pytest.mark.parametrize(
    ("name", "options", "heard"),
    [
        ("Soft", {"heuristic": "on"}, ["mode = hard for a start", ""]),
        ("Soft", {"heuristic": "off"}, []),
        ("Soft", {}, []),  # small
        ("Hard", {"heuristic": "on"}, []),
        ("Strict", {"heuristic": "on"}, ["mode = hard for a start", ""]),
    ],
)
def test_when_a_solve_starts_from_other_choices(name: str, options: dict[str, object], heard: list[str]) -> None:
    steps = Steps()
    found = solved(name, steps, **options)
    assert steps.heard == heard
    assert found.result.status is Status.OPTIMAL
    assert values(found) == ([1.0, 6.0] if name == "Hard" else [0.0, 10.0])
    assert [w.code for w in found.result.warnings] == []


def test_large_problems_start_from_other_choices_and_given_starts_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primal_start, "LARGE_NONZEROS", 1)
    monkeypatch.setattr(primal_start, "LARGE_INTEGERS", 1)
    steps = Steps()
    assert values(solved("Soft", steps)) == [0.0, 10.0]
    assert steps.heard == ["mode = hard for a start", ""]
    steps = Steps()
    assert values(solved("Soft", steps, warm_start={"rejects": {("a",): 1}})) == [0.0, 10.0]
    assert steps.heard == []


def test_ctrl_c_during_the_start_returns_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    started = start_from_options

    def interrupted(*given: object) -> object:
        return started(*given)[0], True  # type: ignore[arg-type]

    monkeypatch.setattr("gpusched_dsl.workflows.solve.start_from_options", interrupted)
    found = solved("Soft", heuristic="on")
    assert (found.result.status, found.result.reason) == (Status.LIMIT, "interrupt")
    assert values(found) == [1.0, 6.0]


def test_the_start_takes_its_share_of_the_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float | None] = []

    class Timed(SolverMethod):
        def solve(self, built: Built, options: SolveOptions, *rest: object) -> object:  # type: ignore[override]
            from gpusched_dsl.ir.deadline import active_deadline

            clock = active_deadline()
            asked.append(None if clock is None else clock.remaining_seconds)
            return super().solve(built, options, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "is_large", lambda problem: True)
    config = SolveConfig(scenario=selected("Soft"), method=Timed("highs"), options=SolveOptions(time_limit=80.0))
    assert solve_scenario(config).result.status is Status.OPTIMAL
    first, second = asked
    assert first is not None
    assert second is not None
    assert first <= 40.0 < second
