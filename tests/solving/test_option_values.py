"""Options of the wrong kind are findings with advice, never tracebacks; numbers of NumPy are numbers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.solving.option_checks import plain_number
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

TEXT = """
model A { param most; var x integer >= 0 <= 9; maximize gain: x; constraint c: 2 * x <= most; }
scenario S for A { most = 7; }
"""
NOT_NUMBERS: list[Any] = ["5", None, float("nan"), float("inf"), -1, True, [1], 1 + 2j, 10**400]


def found(call: Any, *arguments: Any, **options: Any) -> gs.Diagnostic:
    with pytest.raises(gs.DiagnosticError) as caught:
        call(*arguments, **options)
    [finding] = caught.value.diagnostics
    assert finding.code == "GSM4011"
    return finding


@pytest.fixture(scope="module")
def model() -> gs.Model:
    return gs.loads(TEXT)


@pytest.mark.quick(10)
@pytest.mark.parametrize("wrong", NOT_NUMBERS, ids=lambda value: repr(value)[:9])
@pytest.mark.parametrize("option", ["time_limit", "gap", "threads", "seed"])
def test_a_solve_refuses_what_is_no_such_number(option: str, wrong: Any, model: gs.Model) -> None:
    if wrong is None and option in ("time_limit", "threads"):
        assert model.solve(**{option: None}).objective == 3
        return
    if wrong == 10**400 and option == "seed":
        wrong = 2**31
    assert option.replace("_", " ") in found(model.solve, **{option: wrong}).message
    problem = model.ground()
    assert option.replace("_", " ") in found(solve_problem, problem, "highs", SolveOptions(**{option: wrong})).message


@pytest.mark.parametrize(
    ("option", "text", "number"),
    [("time_limit", "5", "5"), ("time_limit", "5m", "300"), ("time_limit", "90s", "90"),
     ("time_limit", "1.5 h", "5400"), ("gap", "1%", "0.01"), ("gap", ".05", "0.05"),
     ("threads", "2", "2"), ("seed", "7", "7")],
)  # fmt: skip
def test_the_number_that_a_text_means_is_advised(option: str, text: str, number: str, model: gs.Model) -> None:
    help = found(model.solve, **{option: text}).help
    assert help == f"write `{option}={number}`"
    advised = {option: int(number) if number.isdigit() else float(number)}
    assert model.solve(**advised).objective == 3


@pytest.mark.parametrize(("option", "text"), [("time_limit", "soon"), ("threads", "1%"), ("gap", "5m"), ("seed", "-1")])
def test_texts_without_a_meaning_get_no_advice(option: str, text: str, model: gs.Model) -> None:
    assert found(model.solve, **{option: text}).help is None


@pytest.mark.parametrize(
    "options",
    [{"backend": 3}, {"judge": None}, {"monitor": object()}, {"settings": "most=3"}, {"solver_options": ["a"]},
     {"bound": "yes"}, {"scenario": 1}],
    ids=lambda options: next(iter(options)),
)  # fmt: skip
def test_other_kinds_are_refused(options: dict[str, Any], model: gs.Model) -> None:
    found(model.solve, **options)


@pytest.mark.parametrize(
    ("call", "options"),
    [("resolve", {"time_limit": "5"}), ("resolve", {"monitor": 1}), ("explain", {"time_limit": "5"}),
     ("compare", {"methods": ["highs"], "gap": "1%"}), ("compare", {"methods": ["highs"], "seeds": ("a",)}),
     ("run", {"time_limit": "5"}), ("run", {"gap": None}), ("run", {"stop": True}), ("run", {"threads": 0}),
     ("estimate", {"job": "j", "samples": 0}), ("estimate", {"job": "j", "samples": "10"}),
     ("estimate", {"job": "j", "at": float("nan")}), ("why", {"job": "j", "at": None}),
     ("why", {"job": "j", "at": 1.0, "time_limit": -1}), ("live", {"time_limit": "1s"}), ("live", {"seed": 0.5})],
)  # fmt: skip
def test_every_call_checks_its_options(call: str, options: dict[str, Any], model: gs.Model) -> None:
    model.solve()
    found(getattr(model, call), **options)


def test_numbers_of_numpy_are_numbers(model: gs.Model) -> None:
    result = model.solve(
        time_limit=np.int64(60), gap=np.float32(0.0), threads=np.int32(1), seed=np.uint8(3),
        settings={"most": np.float64(5.0)},
    )  # fmt: skip
    assert result.objective == 2
    assert json.dumps(result.to_dict())
    options = result.solved.options
    assert [type(v) for v in (options.time_limit, options.gap, options.threads, options.seed)] == [int, float, int, int]


def test_what_is_no_number_stays_as_it_is() -> None:
    assert plain_number(None) is None
    assert plain_number(True) is True
    assert type(plain_number(np.float64(2.5))) is float
