"""`explain` of large scenarios: solved share by share of the jobs, or the line that stands against it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusched_dsl.cli import main
from gpusched_dsl.solving.shares import choice

MODEL = """model Bought {{
  set Jobs;
  set Types;
  var run[Jobs, Types] binary;
  var buy[Types] integer >= 0 <= 9;
  minimize cost: sum[t in Types] 3 * buy[t] - sum[j in Jobs, t in Types] run[j, t];
  constraint once[j in Jobs]: sum[t in Types] run[j, t] <= 1;
  constraint fits[t in Types]: sum[j in Jobs] run[j, t] <= 2 * buy[t];
  {row}
}}
scenario S for Bought {{ Jobs = {{ {jobs} }};  Types = {{ small, large }}; }}
"""


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "LEAST_JOBS", 6)


def explained(folder: Path, capsys: pytest.CaptureFixture[str], *options: str, jobs: int = 8, row: str = "") -> str:
    path = folder / "bought.gsm"
    path.write_text(MODEL.format(jobs=", ".join(f"j{k}" for k in range(jobs)), row=row), encoding="utf-8")
    code = main(["explain", str(path), *options])
    printed = capsys.readouterr()
    assert code == (2 if options else 0)
    return printed.err if options else printed.out


def test_what_jobs_have_in_common_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = explained(tmp_path, capsys, row='constraint quota: sum[j in Jobs] run[j, "small"] >= 1;').splitlines()
    assert lines[1].startswith("solved share by share of 8 elements of Jobs")
    assert lines[2].split() == ["3", "rows", "of", "fits,", "quota", "for", "all", "jobs", "together"]
    assert not any("columns" in line for line in lines)  # nothing was grounded


def test_the_row_that_breaks_the_form_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = 'constraint pairs[i in Jobs, j in Jobs where i != j]: run[i, "small"] + run[j, "small"] <= 1;'
    text = explained(tmp_path, capsys, row=row).replace(f"{tmp_path}/", "")
    assert "not solved share by share of 8 elements of Jobs (bought.gsm, line 9)" in text.replace(
        str(tmp_path) + "/", ""
    )
    assert "columns" in text  # the ordinary explanation follows


def test_few_jobs_are_not_spoken_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "share" not in explained(tmp_path, capsys, jobs=5)


def test_there_is_no_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "GSM6002" in explained(tmp_path, capsys, "--json", str(tmp_path / "out.json"))
