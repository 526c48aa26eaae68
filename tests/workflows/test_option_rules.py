"""All pairs of options through the command line, Python and a notebook: the same refusals, else the same request."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.cli import solve as solve_command
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.options.table import by_name
from gpusched_dsl.workflows import run as runs
from gpusched_dsl.workflows import solve as solves
from gpusched_dsl.workflows.solve import SolveConfig
from gsdsl_notebook.magics import Magics

TEXT = """
import "gsdsl:capacity_planning/online.gsm";
scenario S for CapacityPlanning {
  Nodes = { n1 };
  Jobs = { J1, J2 };
  Types = { A };
  period = 1[h];
  table Types: gpus price[$/h] family =  A 1 0.5 k;
  table Jobs: submitted[h] deadline[h] weight[$/h] = J1 0 6 1  J2 1 3 2;
  Runnable = { (j, v, g) : j in Jobs, (v, g) in Configs };
  exec_time["J1","A",1] = 4[h]; exec_time["J2","A",1] = 2[h];
}
"""
Option = tuple[list[str], dict[str, Any]]  # on the command line, and in Python
SOLVING: Mapping[str, Option] = {
    "alternatives": (["--alternatives", "2"], {"alternatives": 2}),
    "within": (["--within", "0"], {"within": 0.0}),
    "distinct_by": (["--distinct-by", "run"], {"distinct_by": ["run"]}),
    "options_of": (["--options-of", "J1"], {"options_of": "J1"}),
    "relax": (["--relax"], {"relax": True}),
    "bound": (["--bound"], {"bound": True}),
    "duals": (["--duals"], {"duals": True}),
    "judge": (["--judge", "scip"], {"judge": "scip"}),
    "warm_start": (["--warm-start", "FIFO"], {"warm_start": "FIFO"}),
    "heuristic": (["--heuristic", "on"], {"heuristic": "on"}),
    "decompose": (["--decompose", "off"], {"decompose": "off"}),
    "without": (["--without", "all"], {"without": ["all"]}),
    "seed": (["--seed", "3"], {"seed": 3}),
    "threads": (["--threads", "1"], {"threads": 1}),
    "gap": (["--gap", "0"], {"gap": 0.0}),
    "time_limit": (["--time-limit", "20"], {"time_limit": 20.0}),
    "engine": (["--engine", "inline"], {"engine": "inline"}),
    "workers": (["--workers", "1"], {"workers": 1}),
    "second_opinion": (["--no-second-opinion"], {"second_opinion": False}),
    "reasons": (["--no-reasons"], {"reasons": False}),
    "solver_options": (["--solver-option", "presolve=on"], {"solver_options": {"presolve": "on"}}),
}
RUNNING: Mapping[str, Option] = {
    "methods": (["--methods", "FIFO,Greedy"], {"method": ["FIFO", "Greedy"]}),
    "seeds": (["--seeds", "1,2"], {"seeds": [1, 2]}),
    "seed": (["--seed", "3"], {"seed": 3}),
    "journal": (["--journal", "absent.db"], {"journal": "absent.db"}),
    "replay": (["--replay"], {"replay": True}),
    "bound": (["--bound"], {"bound": True}),
    "why_gap": (["--why-gap"], {"why_gap": True}),
    "verify": (["--verify", "none"], {"verify": "none"}),
    "fallback": (["--fallback", "FIFO"], {"fallback": "FIFO"}),
    "controllers": (["--controllers", "2"], {"controllers": 2}),
    "time_limit": (["--time-limit", "20"], {"time_limit": 20.0}),
    "gap": (["--gap", "0"], {"gap": 0.0}),
    "threads": (["--threads", "1"], {"threads": 1}),
    "without": (["--without", "all"], {"without": ["all"]}),
    "solver_options": (["--solver-option", "presolve=on"], {"solver_options": {"presolve": "on"}}),
}
CHECKING: Mapping[str, Option] = {
    "deep": (["--deep"], {"deep": True}),
    "method": (["--method", "scip"], {"method": "scip"}),
}
Door = Callable[[list[str], dict[str, Any]], object]
REACHED = "GSM9999"


class Reached(DiagnosticError):
    """The options were accepted: the work that they ask for is `asked`."""

    def __init__(self, *asked: object) -> None:
        super().__init__([Diagnostic(REACHED, "reached")])
        self.asked = asked


def asked_solve(config: SolveConfig, **others: object) -> None:
    start = None if config.warm_start is None else str(config.warm_start)
    method: Any = config.method
    raise Reached(
        config.options, config.bound, config.duals, config.alternatives, config.options_of, start, method.name,
        method.judge_name, getattr(method, "relax", False),
    )  # fmt: skip


def asked_run(*arguments: Any, **others: object) -> None:
    """`run_method(workspace, config)`, `run_methods(workspace, methods, config)`, and `run_seeds` also with seeds."""
    _, *methods, config = arguments[:3]
    seeds = list(arguments[3]) if len(arguments) > 3 else None
    fields = ("seed", "journal", "replay", "bound", "why_gap", "verify", "fallback", "controllers", "time_limit", "gap")
    values = [str(getattr(config, name)) for name in (*fields, "threads", "without")]
    raise Reached(*values, [list(m) for m in methods] or config.method, seeds)


@pytest.fixture
def doors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What the command line, Python and a notebook make of options: the code of the refusal, or what they ask for."""
    reached: list[tuple[object, ...]] = []

    def recording(work: Callable[..., None]) -> Callable[..., None]:
        def record(*arguments: Any, **others: Any) -> None:
            try:
                work(*arguments, **others)
            except Reached as end:
                reached.append(end.asked)
                raise

        return record

    for module, name, work in (
        (solves, "solve_scenario", asked_solve), (solve_command, "solve_scenario", asked_solve),
        (runs, "run_method", asked_run), (runs, "run_methods", asked_run), (runs, "run_seeds", asked_run),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, recording(work))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "m.gsm"
    file.write_text(TEXT)
    model = gs.load(file)
    line = Magics({"model": model}).line

    def outcome(codes: list[str]) -> object:
        return reached.pop() if codes[:1] == [REACHED] else codes[:1]

    def by_command(verb: str, method: str, flags: list[str]) -> object:
        chosen = [] if not method or "--methods" in flags else ["--method", method]
        code = main([verb, "m.gsm", *chosen, *flags])
        errors = re.findall(r"error\[(GSM\d+)\]", capsys.readouterr().err)
        assert bool(code) == bool(errors)
        return outcome(errors)

    def called(call: Callable[[], object]) -> object:
        try:
            call()
        except DiagnosticError as error:
            return outcome([d.code for d in error.diagnostics])
        return []

    def by_python(verb: str, method: str, options: dict[str, Any]) -> object:
        chosen = {"method": method} if method else {}
        return called(lambda: getattr(model, verb)(**(chosen | options)))

    def by_notebook(verb: str, method: str, flags: list[str]) -> object:
        chosen = "" if not method or "--methods" in flags else f" --method {method}"
        return called(lambda: line(f"{verb} model{chosen} {' '.join(flags)}"))

    return {"command": by_command, "python": by_python, "notebook": by_notebook}


def pairs(options: Mapping[str, Option]) -> list[tuple[str, ...]]:
    return [*((name,) for name in options), *combinations(options, 2)]


def test_the_tables_are_complete() -> None:
    for verb, options in (("solve", SOLVING), ("run", RUNNING), ("check", CHECKING)):
        several = {"methods"} if verb == "run" else set()
        own = by_name(verb, "notebook").keys() & by_name(verb, "python").keys() | several
        chosen = {"strict"} if verb == "check" else {"scenario", "online", "method"}
        assert options.keys() == own - chosen


@pytest.mark.parametrize(
    ("verb", "method", "options", "refused"),
    [
        ("solve", "highs", SOLVING, 60),
        pytest.param("solve", "FIFO", SOLVING, 95, marks=pytest.mark.slow),
        ("run", "FIFO", RUNNING, 17),
        ("check", "", CHECKING, 1),
    ],
)
def test_all_doors_take_and_refuse_the_same(
    verb: str, method: str, options: Mapping[str, Option], refused: int, doors: dict[str, Any]
) -> None:
    refusals = 0
    for names in pairs(options):
        flags = [flag for name in names for flag in options[name][0]]
        values = {key: value for name in names for key, value in options[name][1].items()}
        found = doors["command"](verb, method, flags)
        assert found == doors["python"](verb, method, values), names
        assert found == doors["notebook"](verb, method, flags), names
        refusals += found == ["GSM6002"]
    assert refusals == refused


def test_all_that_is_wrong_is_said_at_once(doors: dict[str, Any]) -> None:
    with pytest.raises(DiagnosticError) as caught:
        gs.loads(TEXT).solve(within=0.1, distinct_by=["run"], bound=True)
    assert [d.message for d in caught.value.diagnostics] == [
        "`within` is only for `alternatives`",
        "`distinct_by` is only for `alternatives`",
        "`bound` is only for policies and local search: `highs` proves a bound itself",
    ]


@pytest.mark.parametrize(
    ("method", "refused"),
    [
        ("highs(bound = true)", 1),
        ("highs(bound = false)", 0),
        ("FIFO(bound = true)", 0),
        ("m(bound = true)", 0),  # one of its values reads the option
        ("s(bound = true)", 1),
        ("search(bound = true)", 0),
    ],
)
def test_a_campaign_refuses_a_bound_of_a_solver(method: str, refused: int) -> None:
    factors = "vary m in { FIFO, highs }; vary s in { scip, highs };"
    campaign = f"campaign C for CapacityPlanning {{ {factors} solve S with {method}; }}"
    found = gs.loads(TEXT + campaign).check(strict=False)
    own = [d for d in found if d.severity is Severity.ERROR]
    assert [d.code for d in own] == ["GSM6002"] * refused
    assert all("`bound` is only for policies" in d.message for d in own)
