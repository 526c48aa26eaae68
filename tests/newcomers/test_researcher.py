"""Path (b): a researcher varies one constraint of a model, runs experiments side by side and writes them up."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import polars as pl
import pytest

import gpusched_dsl as gs
from gpusched_dsl.cli import main

STUDY = Path(__file__).with_name("researcher") / "study.gsm"


def experiment(scenario: str, seeds: list[int]) -> list[tuple[str, int, gs.Result]]:
    """Several results of one scenario; they come back from the other process pickled."""
    model = gs.load(STUDY)
    return [(scenario, seed, model.solve(scenario, settings={"seed": seed}, time_limit=60)) for seed in seeds]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [4, 25])
def test_experiments_side_by_side(seeds: int) -> None:
    halves = [list(range(1, seeds + 1, 2)), list(range(2, seeds + 1, 2))]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        parts = [pool.submit(experiment, name, half) for name in ("Free", "Limited") for half in halves]
        table = pl.DataFrame(
            [
                {"scenario": scenario, "seed": seed, "status": result.status, "total": result.objective}
                for part in parts
                for scenario, seed, result in part.result()
            ]
        )
    assert len(table) == 2 * seeds
    assert table["status"].unique().to_list() == ["optimal"]
    wide = table.pivot("scenario", index="seed", values="total")
    assert (wide["Limited"] >= wide["Free"] - 1e-6).all()
    assert wide["Free"].n_unique() > 0.75 * seeds  # the seeds give different instances


def test_duals_and_data_frames() -> None:
    result = gs.load(STUDY).solve("Limited", relax=True)
    assert isinstance(result["run"], pl.DataFrame)
    duals = result.duals("in_stock")
    assert len(duals) == len(result.table("price"))
    assert result["run"]["value"].min() > 0
    assert gs.load(STUDY).solve("Limited").objective >= result.objective - 1e-9


@pytest.mark.slow
def test_figures_and_formulas(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSDSL_PYTHON_KERNELS", "1")
    study = str(STUDY)
    methods = ("--methods", "highs,FIFO,Greedy", "--seeds", "1,2")
    assert (
        main(
            [
                "compare",
                study,
                "--scenario",
                "Free",
                *methods,
                "--csv",
                str(tmp_path / "t.csv"),
                "--figures",
                str(tmp_path),
            ]
        )
        == 0
    )
    assert "Greedy" in capsys.readouterr().out
    assert list(tmp_path.glob("*.svg"))
    assert len(pl.read_csv(tmp_path / "t.csv")) >= 3
    assert main(["export", study, "--to", "latex", "--model", "OneOfEach", "--out", str(tmp_path / "model.tex")]) == 0
    formulas = (tmp_path / "model.tex").read_text()
    assert "\\sum" in formulas
    assert "in\\_stock" in formulas
