"""Names of columns with invisible letters, such as the byte order mark that a spreadsheet keeps in a cell."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from file_help import code
from test_own_tables import workbook
from trace_help import fault

import gpusched_dsl as gs
from gpusched_dsl.profiles.sheets import read_sheet

NAMES = ["job", "submitted", "gpus", "duration"]
ROWS = [["a", 0, 2, 60], ["b", 5, 1, 30]]
HEADS = ["\ufeff", "\ufeff\ufeff", "\u200b", " \ufeff "]
MODEL = """model M { set Jobs; param gpus[Jobs]; var x >= 0; minimize x; constraint c: x >= sum[j in Jobs] gpus[j]; }
scenario S for M { data "%s" { Jobs = job; gpus[job] = gpus; } }"""

SUBSET = """scenario T extends S { gpus[a] = 1; gpus[b] = 0; }"""


def text(separator: str, mark: str) -> bytes:
    lines = [[mark + NAMES[0], *NAMES[1:]], *([str(cell) for cell in row] for row in ROWS)]
    return "\n".join(separator.join(line) for line in lines).encode()


def parquet(mark: str) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(ROWS, [mark + NAMES[0], *NAMES[1:]], orient="row").write_parquet(buffer)
    return buffer.getvalue()


FILES: dict[str, Callable[[str], bytes]] = {
    "a.csv": lambda mark: text(",", mark),
    "b.csv": lambda mark: text(",", mark).replace(f"{mark}job".encode(), f'"{mark}job"'.encode()),
    "a.tsv": lambda mark: text("\t", mark),
    "a.xlsx": lambda mark: workbook([[mark + NAMES[0], *NAMES[1:]], *ROWS]),
    "a.parquet": parquet,
}


@pytest.mark.parametrize("mark", HEADS)
@pytest.mark.parametrize("file", FILES)
def test_a_format_finds_the_column(file: str, mark: str, tmp_path: Path) -> None:
    """`job` may be left out: the rows would get numbers, and nobody would be told."""
    (tmp_path / file).write_bytes(FILES[file](mark))
    options = ' (separator = "tab")' if file.endswith(".tsv") else ""
    text = (MODEL % file).replace('" {', f'" as jobs{options} {{') + SUBSET
    assert gs.loads(text, base=tmp_path).solve("T").objective == 1


@pytest.mark.parametrize("mark", HEADS)
@pytest.mark.parametrize("file", [name for name in FILES if not name.endswith(".parquet")])
def test_a_data_statement_finds_the_column(file: str, mark: str, tmp_path: Path) -> None:
    (tmp_path / file).write_bytes(FILES[file](mark))
    assert gs.loads(MODEL % file, base=tmp_path).solve("S").objective == 3


@pytest.mark.parametrize("mark", HEADS)
def test_a_profile_finds_the_column(mark: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(text(",", mark))
    assert read_sheet(tmp_path / "a.csv", ["job"]).columns["job"].to_list() == ["a", "b"]


@pytest.mark.parametrize("twin", ["job", "job\u200b", "\ufeffjob"])
@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_two_columns_that_look_the_same_are_refused(twin: str, kind: str, tmp_path: Path) -> None:
    rows = [["job", "submitted", twin], ["a", 0, "x"]]
    data = workbook(rows) if kind == "xlsx" else "\n".join(",".join(map(str, row)) for row in rows).encode()
    assert fault("jobs", data).code == "GSM2012"
    assert fault("jobs", data, job="job").option == ("job", "job")
    (tmp_path / f"a.{kind}").write_bytes(data)
    assert code(tmp_path, f"a.{kind}") == "GSM2012"
