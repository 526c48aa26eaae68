"""Every argument of every public function with values of every wrong kind: no error of Python's own comes out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import gpusched_dsl as gs
from gpusched_dsl.cli.starters import events

TEXT = """
model Pack {
  set Items; param worth[Items] >= 0; param room;
  var take[i in Items] integer >= 0 <= 3;
  maximize gain: sum[i in Items] worth[i] * take[i];
  constraint fits: sum[i in Items] take[i] <= room;
}
scenario Small for Pack { Items = { a, b }; worth = 2; room = 4; }
campaign C { vary r in { 1, 2 }; solve Small with highs (room = r); }
"""
WRONG = [None, 3, -1, 1.5, True, "x", b"x", [], ["x"], [1], {}, {"x": 1}, {1: 2}, object(), lambda: None, float("nan"),
         10**400, np.array([1]), 1j, ("a",), {"a"}, Path("nowhere"), int, pl.Series([1])]  # fmt: skip
FUNCTIONS = ["load", "loads", "compile", "problem_to_json", "problem_from_json", "solve", "read_settings",
             "paired_differences", "inspect"]  # fmt: skip
METHODS = sorted(name for name in dir(gs.Model) if not name.startswith("_") and callable(getattr(gs.Model, name)))
RUNS = ("run", "estimate", "why", "live")
LONG = ("why_gap", "bound")  # True is right for these, and then a run takes seconds more
RESULT_METHODS = ["value", "table", "duals", "reduced_costs", "to_json", "to_csv", "save"]
FAST = {"method": "EarliestDeadline"}
SEEDS = pl.DataFrame({"method": [*"aabb"], "seed": [1, 2, 1, 2], "value": [1.0, 2.0, 2.0, 3.0]})


@cache
def model() -> gs.Model:
    return gs.loads(TEXT)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> gs.Model:
    """The template that `gsdsl new` makes, with an online block."""
    folder = tmp_path_factory.mktemp("cluster")
    for name, content in events.FILES.items():
        (folder / name.format(name="cluster")).write_text(content.format(name="cluster"), encoding="utf-8")
    return gs.load(next(folder.glob("*.gsm")))


def given(name: str, folder: Path) -> dict[str, Any]:
    """What a call needs."""
    problem = model().ground()
    return {
        "load": {"path": folder / "no.gsm"}, "loads": {"text": TEXT}, "compile": {"text": TEXT},
        "problem_to_json": {"problem": problem}, "problem_from_json": {"text": gs.problem_to_json(problem)},
        "solve": {"problem": problem}, "read_settings": {"path": folder / "no.csv"},
        "paired_differences": {"table": SEEDS}, "inspect": {"source": folder / "no.txt"},
        "Model.set": {"name": "room", "value": 4}, "Model.export": {"path": folder / "x.lp"},
        "Model.compare": {"methods": ["highs"]}, "Model.estimate": {"job": "bert", "samples": 2, **FAST},
        "Model.why": {"job": "bert", "at": 1, **FAST},
        "Model.run": FAST, "Model.live": FAST,
        "Model.flexibility": {"event": "1..2"},
    }.get(name, {})  # fmt: skip


def cases(call: Callable[..., Any], needed: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for parameter in inspect.signature(call).parameters.values():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        for value in WRONG:
            called = parameter.name in ("stop", "tell") and callable(value)
            if not called and not (parameter.name in LONG and value is True):
                yield {**needed, parameter.name: value}


def try_all(call: Callable[..., Any], arguments: Iterator[dict[str, Any]]) -> None:
    refused, wrong = 0, []
    for each in arguments:
        try:
            call(**each)
        except (gs.DiagnosticError, KeyError, ValueError) as error:
            refused += 1
            if "object has no attribute" in str(error) or "unhashable" in str(error):
                wrong.append((each, error))
        except Exception as error:
            wrong.append((each, error))
    shown = [f"{list(each)[-1]}={list(each.values())[-1]!r:.60}: {error!r:.120}" for each, error in wrong]
    assert not wrong, "\n".join(shown[:10])
    assert refused


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of the values are paths, to which results are written."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, tmp_path: Path) -> None:
    call = getattr(gs, name)
    try_all(call, cases(call, given(name, tmp_path)))


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("close", "reset", *RUNS)])
def test_methods_of_models(name: str, tmp_path: Path) -> None:
    model().reset()
    call = getattr(model(), name)
    if inspect.signature(call).parameters:
        try_all(call, cases(call, given(f"Model.{name}", tmp_path)))
    model().reset()


@pytest.mark.parametrize("name", RUNS)
def test_runs_over_time(name: str, cluster: gs.Model, tmp_path: Path) -> None:
    call = getattr(cluster, name)
    try_all(call, cases(call, given(f"Model.{name}", tmp_path)))


def test_events(cluster: gs.Model) -> None:
    loop = cluster.live(method="EarliestDeadline")
    try_all(loop.on_event, cases(loop.on_event, {}))
    event = {"kind": "arrival", "time": 0, "job": "bert"}
    fields = ({**event, name: value} for name in (*event, "id", "values", "more") for value in WRONG)
    try_all(loop.on_event, ({"event": each} for each in fields))


@pytest.mark.parametrize("name", RESULT_METHODS)
def test_methods_of_results(name: str) -> None:
    result = model().solve()
    call = getattr(result, name)
    wrong: list[tuple[object, Exception]] = []
    for value in WRONG:
        try:
            call(value)
        except (gs.DiagnosticError, KeyError, ValueError):
            continue
        except Exception as error:
            wrong.append((value, error))
    assert not wrong
