"""`gsdsl profile` from outside: tables in, tables out, errors."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest
from profile_help import planted

from gpusched_dsl.cli import main
from gpusched_dsl.options.table import by_name
from gpusched_dsl.profiles.learners import AUTO, LEARNERS

FIT = ["--learner", "linear"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(planted(12, drop=0.3, seed=2), encoding="utf-8")
    return path


def test_the_learners_offered_are_those_there_are() -> None:
    assert (AUTO, *LEARNERS) == by_name("profile")["learner"].kind.choices


def test_a_profile_is_fitted_and_written(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, report = table.with_name("out.csv"), table.with_name("report.json")
    assert main(["profile", "fit", str(table), "--out", str(out), "--json", str(report), *FIT]) == 0
    told = capsys.readouterr().out
    assert "new jobs" in told
    assert "the mean" in told
    frame = pl.read_csv(out)
    assert frame.columns == ["job_id", "gpu_type", "source", "fits", "exec_time_s", "power_w"]
    assert frame.height == 36
    document = json.loads(report.read_text(encoding="utf-8"))
    assert document["predictors"][0]["target"] == "exec_time_s"
    assert document["predicted_pairs"] == (frame["source"] == "predicted").sum()
    assert document["predictors"][0]["new_jobs"]["mape"] < 1e-3


def test_parquet_holds_the_same(table: Path) -> None:
    names = [table.with_name(f"out.{kind}") for kind in ("csv", "parquet")]
    for name in names:
        assert main(["--quiet", "profile", "fit", str(table), "--out", str(name), *FIT]) == 0
    assert pl.read_csv(names[0]).equals(pl.read_parquet(names[1]))


def test_what_is_written_can_be_solved_with(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table is what a scenario of the allocation model reads."""
    assert main(["profile", "fit", str(table), "--out", str(table.with_name("fitted.csv")), *FIT]) == 0
    text = """import "gsdsl:allocation/model.gsm";
    scenario S for Allocation {
      Types = { A, B, C };
      table GPUs: gpu_type = a A  b B  c C;
      data "fitted.csv" {
        Jobs = distinct(job_id);
        Profiled = (job_id, gpu_type);
        fits[job_id, gpu_type] = fits;
        exec_time[job_id, gpu_type] = exec_time_s[s];
      }
    }
    """
    file = table.with_name("main.gsm")
    file.write_text(text, encoding="utf-8")
    capsys.readouterr()
    assert main(["solve", str(file)]) == 0
    assert "12 jobs on" in capsys.readouterr().out


def test_a_broken_table_is_told_with_its_place(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = table.read_text(encoding="utf-8").splitlines()
    lines[4] = lines[4].replace(lines[4].split(",")[2], "soon")
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    out = table.with_name("out.csv")
    assert main(["profile", "fit", str(table), "--out", str(out)]) == 1
    assert f"{table}:5, column exec_time_s" in capsys.readouterr().err
    assert not out.exists()


def test_a_name_without_a_kind_is_refused(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "fit", str(table), "--out", str(table.with_name("out.xls"))]) == 1
    assert "GSM6008" in capsys.readouterr().err


def test_without_the_package(table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """GSM2307 says what to install; summing up samples needs nothing of it."""
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert main(["profile", "fit", str(table)]) == 1
    told = capsys.readouterr().err
    assert "GSM2307" in told
    assert "pip install '.[predict]'" in told
    samples = table.with_name("samples.csv")
    samples.write_text("job_id,gpu_type,gpu_util\na,A,10\na,A,90\n", encoding="utf-8")
    assert main(["profile", "summarise", str(samples)]) == 0


@pytest.mark.parametrize("rows", ["", "a,A,\n"])
def test_no_samples_are_no_defect(tmp_path: Path, rows: str, capsys: pytest.CaptureFixture[str]) -> None:
    samples = tmp_path / "samples.csv"
    samples.write_text("job_id,gpu_type,gpu_util\n" + rows, encoding="utf-8")
    assert main(["profile", "summarise", str(samples)]) == (0 if rows else 1)
    told = capsys.readouterr()
    assert ("GSM2304" in told.err) == (not rows)
    assert "GSM9999" not in told.err


def test_numbers_at_the_ends_of_what_there_is(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors beyond all numbers are told, not met: no warning of NumPy, and no infinity in JSON."""
    table.write_text(
        "job_id,gpu_type,exec_time_s,epochs\n1,A,1e308,0\n2,A,1e-308,3\n3,B,5,1\n4,B,6,2\n5,A,,4\n", encoding="utf-8"
    )
    assert main(["profile", "fit", str(table), "--json", "-", *FIT]) == 0
    told = capsys.readouterr()
    assert not told.err
    assert json.loads(told.out, parse_constant=pytest.fail)["predictors"][0]["new_jobs"]["mape"] is None


def test_samples_become_a_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples, gpus = tmp_path / "samples.csv", tmp_path / "gpus.csv"
    samples.write_text(
        "job_id,gpu_type,gpu_util,gpu_mem\na,A,95,7500\na,A,85,7000\na,A,5,100\nb,A,40,\nb,A,20,500\n",
        encoding="utf-8",
    )
    gpus.write_text("gpu_type,memory_mb\nA,8000\n", encoding="utf-8")
    assert main(["profile", "summarise", str(samples), "--gpus", str(gpus), "--out", "-"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split(",")[2:] == [
        "gpu_util_burst", "gpu_util_idle", "gpu_util_peak", "gpu_mem_burst", "gpu_mem_idle", "gpu_mem_peak",
    ]  # fmt: skip
    assert [float(v) for v in lines[1].split(",")[2:]] == [90, 5, 95, 7250, 100, 7500]
    assert [float(v) for v in lines[2].split(",")[2:]] == [40, 20, 0, 500, 500, 0]
