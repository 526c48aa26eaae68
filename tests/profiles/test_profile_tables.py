"""Profile tables: the read data, and errors by line and column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from profile_help import places, read

from gpusched_dsl.language.diagnostics.diagnostic import Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.profiles.profile import NO, UNKNOWN, YES, read_profile

HEADER = "job_id,gpu_type,exec_time_s\n"


def test_rows_that_fit_do_not_fit_or_are_open(tmp_path: Path) -> None:
    table = "job_id,gpu_type,source,fits,exec_time_s,power_w\na,A,measured,true,10,100\na,B,measured,false,,\n"
    table += "b,A,,,20,90\nb,B,measured,1,,\nb,C,predicted,true,5,5\n"
    profile, findings = read(tmp_path, table)
    assert profile is not None
    assert not findings
    assert profile.fits.tolist() == [YES, NO, YES, YES, UNKNOWN]
    assert np.array_equal(profile.targets["exec_time_s"], [10, np.nan, 20, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(profile.targets["power_w"], [100, np.nan, 90, np.nan, np.nan], equal_nan=True)
    assert profile.learnable_pairs("exec_time_s").tolist() == [True, False, True, False, False]
    assert profile.recomputed == 1


def test_a_time_of_zero_does_not_fit(tmp_path: Path) -> None:
    """GSM2306: never a short time, whatever `fits` says; told once with the first place."""
    table = "job_id,gpu_type,fits,exec_time_s,power_w\na,A,true,10,100\na,B,true,0,70\nb,A,,0,60\nb,B,false,0,50\n"
    profile, findings = read(tmp_path, table)
    assert profile is not None
    assert places(findings) == [("GSM2306", 3, "exec_time_s")]
    assert findings[0].severity is Severity.WARNING
    assert "2 rows" in findings[0].message
    assert profile.fits.tolist() == [YES, NO, NO, NO]
    for values in profile.targets.values():
        assert np.isnan(values[1:]).all()


@pytest.mark.parametrize(
    ("row", "line", "column"),
    [
        ("a,B,fast", 3, "exec_time_s"),
        ("a,B,-3", 3, "exec_time_s"),
        ("a,B,nan", 3, "exec_time_s"),
        ("a,B,inf", 3, "exec_time_s"),
        (",B,4", 3, "job_id"),
        ("a,,4", 3, "gpu_type"),
    ],
)
def test_cells_that_cannot_be_used(tmp_path: Path, row: str, line: int, column: str) -> None:
    profile, findings = read(tmp_path, HEADER + "a,A,10\n" + row + "\n")
    assert profile is None
    assert places(findings) == [("GSM2301", line, column)]


def test_all_that_is_wrong_is_told(tmp_path: Path) -> None:
    table = "job_id,gpu_type,source,fits,exec_time_s\na,A,measured,maybe,10\na,B,guessed,true,x\na,C,,2,5\n"
    profile, findings = read(tmp_path, table)
    assert profile is None
    assert places(findings) == [
        ("GSM2301", 3, "exec_time_s"), ("GSM2301", 3, "source"), ("GSM2301", 2, "fits"), ("GSM2301", 4, "fits"),
    ]  # fmt: skip


def test_pairs_stand_once(tmp_path: Path) -> None:
    profile, findings = read(tmp_path, HEADER + "a,A,10\nb,A,3\na,A,11\n")
    assert profile is None
    assert places(findings) == [("GSM2302", 4, "job_id")]
    assert findings[0].secondary[0].place.row == 2


def test_jobs_are_described_in_one_way(tmp_path: Path) -> None:
    """GSM2303, for jobs and for the memory of GPU models."""
    table = "job_id,gpu_type,exec_time_s,batch_size\na,A,10,8\na,B,11,16\nb,A,4,8\n"
    profile, findings = read(tmp_path, table)
    assert profile is None
    assert places(findings) == [("GSM2303", 3, "batch_size")]
    gpus = "gpu_id,gpu_type,memory_mb\n1,A,8000\n2,A,12000\n"
    profile, findings = read(tmp_path, HEADER + "a,A,10\n", gpus=gpus)
    assert profile is None
    assert places(findings) == [("GSM2303", 3, "memory_mb")]


def test_every_job_is_described(tmp_path: Path) -> None:
    profile, findings = read(tmp_path, HEADER + "a,A,10\nb,A,3\n", jobs="job_id,batch_size\na,8\n")
    assert profile is None
    assert [d.code for d in findings] == ["GSM2305"]
    assert "`b`" in findings[0].message


def test_a_table_of_jobs_adds_jobs_and_what_describes_them(tmp_path: Path) -> None:
    jobs = "job_id,arrival_s,dataset,batch_size,same\nnew,0,x,8,1\na,0,y,16,1\n"
    profile, findings = read(tmp_path, HEADER + "a,A,10\n", jobs=jobs)
    assert not findings
    assert profile is not None
    assert profile.jobs == ("new", "a")
    assert [f.name for f in profile.features] == ["dataset", "batch_size"]
    assert profile.features[0].labels == ("x", "y")
    assert profile.features[1].values.tolist() == [8, 16]


def test_missing_columns_and_files(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read(tmp_path, "job,gpu_type,exec_time_s\na,A,1\n")
    assert [d.code for d in caught.value.diagnostics] == ["GSM2011"]
    with pytest.raises(DiagnosticError) as caught:
        read_profile(tmp_path / "none.csv", Diagnostics())
    assert [d.code for d in caught.value.diagnostics] == ["GSM2001"]
    (tmp_path / "table.xlsx").write_text("x")
    with pytest.raises(DiagnosticError) as caught:
        read_profile(tmp_path / "table.xlsx", Diagnostics())
    assert [d.code for d in caught.value.diagnostics] == ["GSM2005"]


def test_parquet_reads_as_csv(tmp_path: Path) -> None:
    frame = pl.DataFrame({
        "job_id": ["a", "a", "b"], "gpu_type": ["A", "B", "A"], "fits": [True, False, True],
        "exec_time_s": [10.0, None, 3.0], "batch_size": [8, 8, 16],
    })  # fmt: skip
    frame.write_parquet(tmp_path / "table.parquet")
    frame.write_csv(tmp_path / "table.csv")
    found = Diagnostics()
    profiles = [read_profile(tmp_path / f"table.{kind}", found) for kind in ("csv", "parquet")]
    assert not list(found)
    one, other = profiles
    assert one is not None
    assert other is not None
    assert one.fits.tolist() == other.fits.tolist() == [YES, NO, YES]
    assert np.array_equal(one.targets["exec_time_s"], other.targets["exec_time_s"], equal_nan=True)
    assert one.features[0].values.tolist() == other.features[0].values.tolist()
