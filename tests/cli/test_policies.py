"""Policies on the command line: plans, bounds, starts, lists and descriptions."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from found_codes import shows

Run = Callable[..., object]
BEST = 0.92875  # of the scenario, proved by both solvers in models/capacity_planning/scenarios/figure1.gsm


def solved(gsdsl: Run, path: Path, *arguments: object) -> dict:
    done = gsdsl("solve", path, *arguments, "--json", "-")
    assert done.code == 0, done.err
    return json.loads(done.out)


# --- solving ---------------------------------------------------------------------------------------------------------


def test_the_report_of_a_plan(gsdsl: Run, rented: Callable[..., Path]) -> None:
    done = gsdsl("solve", rented(), "--backend", "Greedy")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "CapacityPlanning, scenario Small, with Greedy, completed by highs"
    assert "status       feasible: verified by the model, nothing is proved" in lines
    assert "gap" not in done.out
    assert "bound" not in done.out
    assert "placement: 3 jobs on " in done.out


def test_a_plan_is_priced_by_the_model(gsdsl: Run, rented: Callable[..., Path]) -> None:
    found = solved(gsdsl, rented(), "--backend", "Greedy")
    assert found["status"] == "feasible"
    assert found["backend"] == "Greedy"
    assert (found["bound"], found["gap"]) == (None, None)
    assert found["objective"] == pytest.approx(sum(found["terms"].values()))
    assert found["objective"] >= BEST - 1e-9
    assert found["statistics"]["price"] == pytest.approx(found["objective"])
    assert {"numba", "HiGHS"} <= set(found["versions"])
    runs = {entry["index"][0] for entry in found["variables"]["run"]}
    assert runs == {"j1", "j2", "j3"}


def test_both_judges_say_the_same(gsdsl: Run, rented: Callable[..., Path]) -> None:
    by_highs = solved(gsdsl, rented(), "--backend", "EDF")
    by_scip = solved(gsdsl, rented(), "--backend", "EDF", "--judge", "scip")
    assert "SCIP" in by_scip["versions"]
    assert by_highs["objective"] == pytest.approx(by_scip["objective"])
    assert by_highs["variables"]["run"] == by_scip["variables"]["run"]


def test_a_seed_gives_the_same_plan_again(gsdsl: Run, rented: Callable[..., Path]) -> None:
    path = rented()
    first, again = (solved(gsdsl, path, "--backend", "Drawn", "--seed", 3) for _ in range(2))
    assert first["variables"] == again["variables"]
    assert first["statistics"]["iterations"] == 20
    assert first["objective"] <= solved(gsdsl, path, "--backend", "Greedy")["objective"] + 1e-9


def test_a_bound_stands_beside_the_cost(gsdsl: Run, rented: Callable[..., Path]) -> None:
    path = rented()
    plain = solved(gsdsl, path, "--backend", "FIFO")
    found = solved(gsdsl, path, "--backend", "FIFO", "--bound", "--gap", 0)
    assert found["objective"] == plain["objective"]
    assert found["variables"] == plain["variables"]
    assert found["bound"] == pytest.approx(BEST)
    assert found["gap"] == pytest.approx((found["objective"] - BEST) / found["objective"])
    assert found["status"] == "feasible"


def test_no_bound_no_gap(gsdsl: Run, rented: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from msgspec import structs

    from gpusched_dsl.workflows import solve_by_policy as planning

    real = planning.solve_built

    def unproved(*arguments: object) -> object:
        proved, told = real(*arguments)  # type: ignore[arg-type]
        return replace(proved, objectives=tuple(structs.replace(o, bound=None) for o in proved.objectives)), told

    monkeypatch.setattr(planning, "solve_built", unproved)
    done = gsdsl("solve", rented(), "--backend", "FIFO", "--bound")
    assert done.code == 0
    assert "gap" not in done.out
    assert "highs proved no bound in " in done.err


def test_a_bound_needs_a_policy(gsdsl: Run, rented: Callable[..., Path]) -> None:
    done = gsdsl("solve", rented(), "--bound")
    assert done.code == 2
    assert shows(done.err, "GSM6002", "--bound")


def test_a_plan_that_breaks_rows(
    gsdsl: Run, rented: Callable[..., Path], without_stock: tuple[str, ...], tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    done = gsdsl("solve", rented(), "--backend", "Lazy", *without_stock, "--json", out)
    assert done.code == 3
    assert "status  broken: the plan of the policy violates constraints of the model" in done.out
    assert "Allow more time" not in done.out
    assert "The warning names what the plan violates" in done.out
    assert shows(done.err, "GSM4015", "Lazy", severity="warning")
    assert "enough_run" in done.err
    found = json.loads(out.read_text())
    assert (found["status"], found["has_point"], found["objective"]) == ("broken", False, None)
    assert [w["code"] for w in found["warnings"]] == ["GSM4015"]


def test_jobs_that_a_policy_leaves_out_run_where_the_model_demands_them(
    gsdsl: Run, rented: Callable[..., Path]
) -> None:
    found = solved(gsdsl, rented(), "--backend", "Lazy", "--set", "node_rule=force")
    assert (found["status"], found["warnings"]) == ("feasible", [])
    assert len(found["placement"]) == 3
    assert solved(gsdsl, rented(), "--backend", "Lazy", "--set", "node_rule=paper")["placement"] == []


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("Elsewhere", "GSM4016", "`Elsewhere` is a policy for another model"),
        ("Gredy", "GSM4001", "did you mean `Greedy`?"),
        ("FIFO,highs", "GSM4001", "compare several methods with `--methods FIFO,highs`"),
        ("highss", "GSM4001", "did you mean `highs`?"),
        ("nothing_like_it", "GSM4001", "the policies for `CapacityPlanning` are `Lazy`"),
    ],
)
def test_names_that_are_none(gsdsl: Run, rented: Callable[..., Path], name: str, code: str, words: str) -> None:
    done = gsdsl("solve", rented(), "--backend", name)
    assert done.code == 1
    assert f"error[{code}]" in done.err
    assert words in done.err


def test_a_compiled_problem_has_no_model_for_a_policy(gsdsl: Run, rented: Callable[..., Path], tmp_path: Path) -> None:
    problem = tmp_path / "problem.json"
    assert gsdsl("export", rented(), "--to", "json", "--out", problem).code == 0
    done = gsdsl("solve", problem, "--backend", "Greedy")
    assert done.code == 1
    assert shows(done.err, "GSM6016", "Greedy", ".gsm")
    assert gsdsl("solve", problem, "--backend", "Gredy").code == 1


def test_the_library_needs_no_import(gsdsl: Run, tmp_path: Path) -> None:
    path = tmp_path / "own.gsm"
    path.write_text(
        'import "gsdsl:capacity_planning/scenarios/figure1.gsm";\n'
        "scenario Own extends Figure1 { node_rule = at_most; }\n"
    )
    assert solved(gsdsl, path, "--backend", "Greedy")["status"] == "feasible"


# --- starts and limits -----------------------------------------------------------------------------------------------


def test_a_policy_gives_a_start(
    gsdsl: Run, rented: Callable[..., Path], without_stock: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpusched_dsl.solving import aggregated as folding

    path, starts = rented(), []
    real = folding.solve_problem

    def solve(problem: object, backend: object, options: object, start: object, monitor: object) -> object:
        starts.append(start)
        return real(problem, backend, options, start, monitor)  # type: ignore[arg-type]

    monkeypatch.setattr(folding, "solve_problem", solve)
    found = solved(gsdsl, path, "--warm-start", "Greedy", "--gap", 0)
    assert found["objective"] == pytest.approx(BEST)
    assert len(starts) == 1
    assert starts[0] is not None
    done = gsdsl("solve", path, "--warm-start", "Lazy", *without_stock)
    assert done.code == 3
    assert all(start is None for start in starts[1:])  # a plan that breaks rows starts nothing


def test_a_start_that_is_no_policy_is_a_file(gsdsl: Run, rented: Callable[..., Path]) -> None:
    done = gsdsl("solve", rented(), "--warm-start", "Gredy")
    assert done.code == 1
    assert shows(done.err, "GSM6009", "Gredy")


@pytest.mark.slow
def test_running_jobs_stay(gsdsl: Run, rented: Callable[..., Path], tmp_path: Path) -> None:
    """FIFO alone puts each job on a node of its own; what runs already keeps its place beside others."""
    path, out = rented(), tmp_path / "best.json"
    best = solved(gsdsl, path, "--gap", 0)
    out.write_text(json.dumps(best))
    alone = solved(gsdsl, path, "--backend", "FIFO")
    kept = solved(gsdsl, path, "--backend", "FIFO", "--warm-start", out)
    assert kept["variables"]["run"] == best["variables"]["run"]
    assert kept["objective"] == pytest.approx(BEST)
    assert alone["objective"] > BEST + 0.01


def test_a_policy_that_keeps_nothing_says_so(gsdsl: Run, rented: Callable[..., Path], tmp_path: Path) -> None:
    path, out = rented(), tmp_path / "best.json"
    gsdsl("solve", path, "--json", out)
    done = gsdsl("solve", path, "--backend", "Greedy", "--warm-start", out)
    assert done.code == 0
    assert shows(done.err, "GSM6009", "Greedy", severity="warning")


@pytest.mark.slow
def test_the_time_limit_ends_with_the_best_plan(gsdsl: Run, rented: Callable[..., Path]) -> None:
    """The limit counts from the call: what reading, building and compiling take of it is not the policy's."""
    path, began = rented(), time.monotonic()
    solved(gsdsl, path, "--backend", "Endless", "--time-limit", 0.01)  # a first plan is always made
    limit = 1.0 + 3 * (time.monotonic() - began)  # so that there is time for more, on busy machines too
    began = time.monotonic()
    found = solved(gsdsl, path, "--backend", "Endless", "--time-limit", limit)
    assert limit <= time.monotonic() - began < limit + 60
    assert 0 < found["solve_seconds"] <= time.monotonic() - began
    assert (found["status"], found["reason"]) == ("feasible", "time")
    assert found["has_point"]
    assert found["statistics"]["iterations"] > 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_keeps_the_best_plan(rented: Callable[..., Path], tmp_path: Path, child: Callable[..., Any]) -> None:
    """Kernels as plain Python: then nothing has to be compiled before the first plan."""
    process = child(
        [sys.executable, "-m", "gpusched_dsl", "solve", rented(), "--backend", "Endless", "--json", "out.json"],
        cwd=tmp_path, env={**os.environ, "GSDSL_PYTHON_KERNELS": "1"},
    )  # fmt: skip
    assert "with Endless, completed by highs" in process.stdout.readline()
    time.sleep(4)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "feasible: verified by the model, nothing is proved; stopped by Ctrl-C" in out
    assert "stopping with the best solution so far" in err
    found = json.loads((tmp_path / "out.json").read_text())
    assert (found["status"], found["reason"]) == ("feasible", "interrupt")
    assert found["objective"] == pytest.approx(sum(found["terms"].values()))


def test_how_far_a_policy_is(capsys: pytest.CaptureFixture[str]) -> None:
    from gpusched_dsl.cli.progress import ProgressMonitor
    from gsdsl_backends.protocol import SolverProgress

    watch = ProgressMonitor(print)
    watch.begin("Greedy for a start")
    assert re.fullmatch(r"Greedy for a start   \d\.\d\d s", watch.line())
    watch.progress(SolverProgress(1.0, 12.5, None, iterations=1200))
    assert re.fullmatch(r"Greedy for a start   best 12\.5   1,200 plans   \d\.\d\d s", watch.line())
    watch.begin("")
    assert watch.line().startswith("solving   ")


def test_compiling_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    from gpusched_dsl.cli.kernels import report_compiling
    from gpusched_dsl.cli.output import Output

    report_compiling(4.2, Output())
    assert capsys.readouterr().err == "compiled the heuristic kernels in 4.20 s; later runs load them from the cache\n"
    report_compiling(0.2, Output())
    report_compiling(0.0, Output())
    assert capsys.readouterr().err == ""


COMPILED = """
import time
from gpusched_dsl.policies.compile_clock import CompileClock
import numba

def add(a, b):
    return a + b

kernel = numba.njit(add)
with CompileClock() as first:
    began = time.perf_counter()
    kernel(1, 2)
    took = time.perf_counter() - began
with CompileClock() as again:
    kernel(3, 4)
assert 0 < first.seconds <= took, (first.seconds, took)
assert again.seconds == 0.0
kernel(1.0, 2.0)
assert again.seconds == 0.0  # what comes after is not counted
"""


@pytest.mark.slow
def test_only_compiling_counts(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", COMPILED], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- telling ---------------------------------------------------------------------------------------------------------


def test_policies_of_a_file(gsdsl: Run, rented: Callable[..., Path]) -> None:
    done = gsdsl("policies", rented())
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert "for CapacityPlanning" in lines
    assert "for Machines" in lines
    assert "  Lazy: runs nothing" in lines
    at = lines.index("  Lazy: runs nothing")
    assert lines[at + 1].endswith("rented.gsm, extends Greedy")
    assert "    place postpone;" in lines[at:]
    assert any(line.startswith("    gsdsl:capacity_planning/policies.gsm") for line in lines)
    assert "    repetitions = 20: number of plans" in lines
    only = gsdsl("policies", rented(), "--model", "Machines").out.splitlines()
    assert [line for line in only if line.startswith("for ")] == ["for Machines"]


def test_policies_of_the_library_by_model(gsdsl: Run) -> None:
    found = json.loads(gsdsl("policies", "--model", "CapacityPlanning", "--json", "-").out)["policies"]
    assert {"FIFO", "EDF", "PS", "Greedy", "RandomisedGreedy", "LocalSearch", "Hierarchical"} <= {
        p["name"] for p in found
    }
    assert {p["model"] for p in found} == {"CapacityPlanning"}
    assert all(p["in_library"] and p["doc"] and p["lines"] for p in found)
    assert len({(p["model"], p["name"]) for p in found}) == len(found)
    wrong = gsdsl("policies", "--model", "CapacityPlaning")
    assert wrong.code == 1
    assert "error[GSM6018]" in wrong.err
    assert "did you mean `CapacityPlanning`?" in wrong.err


def test_rules_and_moves(gsdsl: Run, tmp_path: Path) -> None:
    done = gsdsl("policies", "--rules", "--json", tmp_path / "rules.json")
    assert done.code == 0
    assert re.search(r"^best_fit +on the node in use", done.out, re.MULTILINE)
    rules = json.loads((tmp_path / "rules.json").read_text())["rules"]
    assert {"place", "finish", "keep", "improve"} == {rule["verb"] for rule in rules}
    (move,) = [rule for rule in rules if rule["text"] == "double_gpus"]
    assert move["parameters"][0].startswith("length: ")
    assert not move["added"]


def test_a_policy_in_words(gsdsl: Run, rented: Callable[..., Path], tmp_path: Path) -> None:
    done = gsdsl("explain", rented(), "--policy", "Drawn", "--json", tmp_path / "words.json")
    assert done.code == 0, done.err
    assert done.out.startswith("Drawn for CapacityPlanning: a few draws\n\n1. ")
    assert "(from Greedy)" in done.out
    assert "   repetitions = 20: number of plans" in done.out
    found = json.loads((tmp_path / "words.json").read_text())
    assert (found["policy"], found["model"]) == ("Drawn", "CapacityPlanning")
    assert "\n".join(found["words"]) in done.out
    assert gsdsl("explain", rented(), "--policy", "Elsewhere").out.startswith("Elsewhere for Machines\n")
    library = gsdsl("explain", "--policy", "Greedy", "--model", "CapacityPlanning")
    assert library.code == 0
    assert library.out.startswith("Greedy for CapacityPlanning: ")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--policy", "LocalSerch"], "GSM4016", "did you mean `LocalSearch`"),
        (["--policy", "Greedy"], "GSM4016", "is a policy for several models: `CapacityPlanning`"),
        (
            ["--policy", "Greedy", "--model", "PriceAware"],
            "GSM4016",
            "unknown policy `Greedy` for the model `PriceAware`",
        ),
        ([], "GSM6002", "the file to explain is missing"),
        (["rented.gsm", "--backend", "Greedy"], "GSM6002", "`--policy Greedy` describes it"),
        (["rented.gsm", "--policy", "Elsewhere", "--scenario", "Small"], "GSM4016", "for another model"),
    ],
)
def test_what_cannot_be_told(
    gsdsl: Run,
    rented: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: str,
    words: str,
) -> None:
    monkeypatch.chdir(rented().parent)
    done = gsdsl("explain", *arguments)
    assert done.code == (2 if code == "GSM6002" else 1)
    assert f"error[{code}]" in done.err
    assert words in done.err
