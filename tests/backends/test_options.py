"""Options of the solvers themselves."""

from __future__ import annotations

import pytest
from building import at_most, many_knapsacks, maximize, problem

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions
from gsdsl_backends.registry import backend_names

KNAPSACK = problem(maximize(6, 10, 12), columns=3, rows=[at_most(5, 1, 2, 3)], upper=1, integer=True)


def findings(name: str, **extra: bool | int | float | str) -> tuple[Diagnostic, ...]:
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(KNAPSACK, name, SolveOptions(extra=extra))
    return caught.value.diagnostics


def test_unknown_option_of_highs() -> None:
    (finding,) = findings("highs", presolv="off")
    assert finding.code == "GSM4004"
    assert finding.help is not None
    assert "`presolve`" in finding.help


def test_unknown_parameter_of_scip() -> None:
    (finding,) = findings("scip", **{"limits/node": 1})
    assert finding.code == "GSM4004"
    assert finding.help is not None
    assert "`limits/nodes`" in finding.help


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("highs", "presolve", "perhaps"),
        ("highs", "threads", 2.5),
        ("highs", "threads", "many"),
        ("highs", "mip_rel_gap", -1.0),
        ("highs", "output_flag", "loudly"),
        ("scip", "limits/nodes", "many"),
        ("scip", "limits/nodes", 2.5),
        ("scip", "limits/gap", -1.0),
        ("scip", "limits/gap", "small"),
        ("scip", "misc/catchctrlc", "perhaps"),
    ],
)
def test_wrong_values(name: str, option: str, value: float | str) -> None:
    (finding,) = findings(name, **{option: value})
    assert finding.code == "GSM4005"
    assert f"`{option}`" in finding.message


def test_all_wrong_options_are_told_at_once() -> None:
    assert [f.code for f in findings("highs", nonsense=1, presolve="perhaps")] == ["GSM4004", "GSM4005"]


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("highs", {"presolve": False, "mip_detect_symmetry": 0, "threads": 1.0, "mip_rel_gap": "0.1"}),
        ("scip", {"presolving/maxrounds": 0.0, "misc/usevartable": 1, "limits/gap": 0}),
    ],
)
def test_values_are_taken_in_the_type_of_the_option(name: str, extra: dict[str, bool | int | float | str]) -> None:
    assert solve_problem(KNAPSACK, name, SolveOptions(extra=extra)).objective == 22


@pytest.mark.slow
@pytest.mark.parametrize(("name", "option"), [("highs", "mip_max_nodes"), ("scip", "limits/totalnodes")])
def test_node_limits(name: str, option: str) -> None:
    solved = solve_problem(many_knapsacks(), name, SolveOptions(gap=0.0, time_limit=60, extra={option: 1}))
    assert (solved.status, solved.reason) == ("limit", "nodes")
    assert solved.point is not None


def test_options_of_one_solve_are_forgotten_by_the_next() -> None:
    for name in backend_names():
        option = {"highs": "mip_max_nodes", "scip": "limits/totalnodes"}.get(name)
        if option is None:
            continue
        solved = solve_problem(many_knapsacks(40, 4), name, SolveOptions(gap=0.0, extra={option: 0}))
        assert solved.session is not None
        assert solved.session.solve(SolveOptions(gap=0.2)).status == "optimal"


@pytest.mark.parametrize(("name", "extra"), [("highs", {"output_flag": True}), ("scip", {"display/verblevel": 4})])
def test_solvers_speak_when_asked(
    name: str, extra: dict[str, bool | int | float | str], capfd: pytest.CaptureFixture[str]
) -> None:
    solve_problem(many_knapsacks(30, 3), name, SolveOptions(time_limit=5.0, extra=extra))
    assert capfd.readouterr().out
