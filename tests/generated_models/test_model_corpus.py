"""Models that were once solved wrongly: the answer of every way to solve them is the one of enumeration."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from configurations import BACKENDS, SWITCHES
from judged_refusals import REFUSALS
from model_corpus import Case, cases

import gpusched_dsl as gs
from gpusched_dsl.compiling.passes.names import AGGREGATION, EVERY
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.reporting.result import Result

CASES = cases()
QUICK: list[dict[str, object]] = [
    {},
    {"without": [AGGREGATION]},
    {"backend": "scip"},
    {"backend": "cvxpy"},
    {"decompose": "on", "without": [EVERY]},
]


def options() -> Iterator[dict[str, object]]:
    """Every switch by itself and in pairs, the heuristic and decomposition, with every backend."""
    for backend in dict.fromkeys(BACKENDS):
        yield {"backend": backend}
        yield {"backend": backend, "without": [EVERY]}
        yield {"backend": backend, "heuristic": "on"}
        yield {"backend": backend, "decompose": "on"}
        for at, switch in enumerate(SWITCHES):
            yield {"backend": backend, "without": [switch]}
            yield from ({"backend": backend, "without": [switch, other]} for other in SWITCHES[:at])


def check(case: Case, chosen: dict[str, object]) -> None:
    with gs.load(case.path) as model:
        result, codes = solved(model, chosen)
        if result is None:
            assert codes <= REFUSALS
            assert codes != {"GSM4013"} or chosen.get("decompose") == "on"
            assert "GSM4003" not in codes or chosen.get("backend") in ("cvxpy", "highs")
            assert "GSM3203" not in codes or chosen.get("backend") == "cvxpy"
            return
        assert result.status == case.status, chosen
        if case.status != "optimal":
            return
        assert [o.value for o in result.objectives] == pytest.approx(case.objectives, rel=1e-5, abs=1e-5), chosen
        given = {v.name: dict(_values(result.table(v.name).rows())) for v in result.problem.variables}
        again = model.solve("S", gap=0.0, warm_start=result, **chosen)  # type: ignore[arg-type]
        zeros = {name: {key: 1.0 - min(1.0, value) for key, value in values.items()} for name, values in given.items()}
        other = model.solve("S", gap=0.0, warm_start=zeros, **chosen)  # type: ignore[arg-type]
        for one in (again, other, model.resolve()):
            assert one.status == "optimal", chosen
            assert [o.value for o in one.objectives] == pytest.approx(case.objectives, rel=1e-5, abs=1e-5), chosen


def solved(model: gs.Model, chosen: dict[str, object]) -> tuple[Result | None, set[str]]:
    """The result, or the codes of what was refused."""
    try:
        return model.solve("S", gap=0.0, **chosen), set()  # type: ignore[arg-type]
    except DiagnosticError as error:
        return None, {d.code for d in error.diagnostics}


def _values(rows: list[tuple[object, ...]]) -> Iterator[tuple[object, float]]:
    for *key, value in rows:
        assert isinstance(value, float)
        yield (key[0] if len(key) == 1 else tuple(key)), value


@pytest.mark.quick(6)
@pytest.mark.parametrize("case", CASES, ids=[c.path.stem for c in CASES])
def test_models_of_the_corpus(case: Case) -> None:
    for chosen in QUICK:
        check(case, chosen)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=[c.path.stem for c in CASES])
def test_models_of_the_corpus_in_every_way(case: Case) -> None:
    for chosen in options():
        check(case, chosen)


@pytest.mark.slow
def test_the_generator_runs_for_a_time(tmp_path: Path) -> None:
    """The entry for long runs: it counts, and names what is wrong."""
    command = [
        sys.executable, "-m", "tests.generated_models", "--minutes", "0.01", "--batch", "2", "--ways", "1", "--folder",
        str(tmp_path),
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).resolve().parents[2]
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "models; what is wrong is in" in done.stdout
