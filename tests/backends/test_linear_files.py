"""LP and MPS files of problems with nonlinear terms: read back, they have the optimum of the problem itself."""

from __future__ import annotations

from pathlib import Path

import highspy
import numpy as np
import pytest
from brute import Unsupported, optimum
from drafts import Draft
from random_problems import random_problem
from small import small_problem

from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.steps import Note, ReformulatedProblem, Target
from gpusched_dsl.ir.distributions import Exponential
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends.files.linearise import comments, linear
from gsdsl_backends.files.lp_mps import write_lp, write_mps


def written(problem: Problem, path: Path) -> tuple[str, float]:
    """What HiGHS finds when it reads the file of a problem."""
    return read_back(linear(problem, path.suffix[1:]), path)


def read_back(reformulated: ReformulatedProblem, path: Path) -> tuple[str, float]:
    write = write_lp if path.suffix == ".lp" else write_mps
    write(reformulated.problem, path, comments=comments(reformulated))
    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(path)) != highspy.HighsStatus.kError  # it warns of bounds that cross
    highs.setOptionValue("presolve_rule_off", 4096)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_feasibility_tolerance", 1e-9)
    highs.run()
    return highs.modelStatusToString(highs.getModelStatus()).lower(), highs.getObjectiveValue()


def check(problem: Problem, path: Path) -> bool:
    """Whether there was an optimum to compare."""
    try:
        known, reformulated = optimum(problem), linear(problem, path.suffix[1:])
    except (Unsupported, DiagnosticError):  # too many points, or a term that no rows can say
        return False
    status, value = read_back(reformulated, path)
    if known.status == "infeasible":
        assert status in ("infeasible", "primal infeasible or unbounded")
        return False
    assert status == known.status == "optimal"
    assert value == pytest.approx(known.value, rel=1e-6, abs=1e-6)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_files_have_the_optimum_of_the_problem(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"problem.{ending}"
    problems = [small_problem(seed, results=2) for seed in range(25)]
    problems += [random_problem(np.random.default_rng(s), binaries=2, whole=1, blocks=2, rows=2) for s in range(25)]
    assert sum(check(problem, path) for problem in problems) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_many_files_have_the_optimum_of_the_problem(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"problem.{ending}"
    problems = [random_problem(np.random.default_rng(seed)) for seed in range(1000, 1300)]
    assert sum(check(problem, path) for problem in problems) >= 100


@pytest.mark.parametrize(("value", "reward", "best"), [(True, 5, 12), (True, 7, 13), (False, -5, 7), (False, -7, 6)])
@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_rows_under_a_condition(tmp_path: Path, ending: str, value: bool, reward: float, best: float) -> None:
    """The sum is 12, or 6 where the condition is met."""
    draft = Draft()
    (b,) = draft.columns("b")
    x = draft.columns("x", 3, 0.0, 4.0, integer=False)
    draft.rows("few", [(-np.inf, dict.fromkeys(x, 1.0), 6.0)], (b, value))
    draft.maximize({b: reward, **dict.fromkeys(x, 1.0)})
    assert written(draft.problem(), tmp_path / f"if.{ending}") == ("optimal", pytest.approx(best))


def test_what_was_reformulated_is_told(tmp_path: Path) -> None:
    draft = Draft()
    (b,) = draft.columns("b")
    (y,) = draft.columns("y", 1, 0.0, 40.0, integer=False)
    (product,) = draft.product("b * y", [[b, y]])
    (mean,) = draft.partial_expectation("E[min(W, y)] für ä", [y], [0], [Exponential(10.0)])
    draft.rows("limit", [(-np.inf, y, 20.0)], (b, True))
    draft.maximize({product: 0.1, mean: 1.0, y: -0.2})
    problem = draft.problem()
    path = tmp_path / "told.lp"
    status, found = written(problem, path)
    head = path.read_text(encoding="ascii").partition("maximize")[0].splitlines()
    assert all(line.startswith("\\ ") and len(line) < 120 for line in head)
    told = "\n".join(head)
    for words in ("- b * y: ", "- E[min(W, y)] f?r ?: ", "- limit: big M", "big-M 20", "error at most", "worse than"):
        assert words in told
    reformulated = reformulate(problem, Target("lp"))
    y_of = [np.linspace(0, most, 4001) for most in (40, 20)]
    best = max((0.1 * at * on + 10 * (1 - np.exp(-at / 10)) - 0.2 * at).max() for on, at in enumerate(y_of))
    assert status == "optimal"
    assert best - reformulated.bound_error - 1e-6 <= found <= best + 1e-6


def test_linear_problems_are_left_as_they_are() -> None:
    draft = Draft()
    (x,) = draft.columns("x")
    draft.maximize(x)
    problem = draft.problem()
    reformulated = linear(problem, "lp")
    assert reformulated.problem is problem
    assert comments(reformulated) == ()


def test_the_remedy_is_a_file_that_keeps_the_term() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0.0, 9.0, integer=False)
    draft.maximize(draft.product("x * y", [x])[0])
    with pytest.raises(DiagnosticError) as caught:
        linear(draft.problem(), "mps")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message[:25]) == ("GSM3201", "`mps` does not support `x")
    assert "JSON" in (diagnostic.help or "")


def test_missing_bounds_are_told_as_ever() -> None:
    draft = Draft()
    (b,) = draft.columns("b")
    (y,) = draft.columns("y", 1, 0.0, np.inf, integer=False)
    draft.maximize(draft.product("b * y", [[b, y]])[0])
    with pytest.raises(DiagnosticError) as caught:
        linear(draft.problem(), "lp")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "GSM3202"
    assert "state an upper bound" in (diagnostic.help or "")


def test_amounts_of_a_note() -> None:
    problem = Draft().problem()
    reformulated = reformulate(problem, Target("lp"))
    note = Note("p", "x" * 150, "rows", 1000, rows=3, columns=-2, big_m=(1.0, 2.5), error=0.01)
    object.__setattr__(reformulated, "notes", (note,))
    lines = comments(reformulated)
    assert lines[0].endswith(":")
    assert " ".join(line.strip() for line in lines[1:]).endswith(
        "rows (entries 1,000, rows +3, columns -2, big-M 1 to 2.5, error at most 0.01)"
    )
