"""Small models and files that cost much: each ends soon, with a solution or a diagnostic that names the cause."""

from __future__ import annotations

import io
import os
import sqlite3
import sys
import time
import zipfile
from pathlib import Path

import polars as pl
import pytest
from found_codes import message_values

import gpusched_dsl as gs
from gpusched_dsl.campaigns.lockfile import LOCKFILE, read_lock
from gpusched_dsl.campaigns.store import Store
from gpusched_dsl.data.sources.files import DataFile, FileLimits, Unreadable
from gpusched_dsl.data.sources.sqlite import read_sqlite
from gpusched_dsl.data.sources.tables import read_columns
from gpusched_dsl.ir.deadline import StoppedEarly, limit
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.starts import entries_of_file
from gsdsl_clusters.drivers.toml_reader import read_toml

ENDLESS = "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS i FROM n"


def code_of(error: pytest.ExceptionInfo[DiagnosticError]) -> str:
    return error.value.diagnostics[0].code


def database(folder: Path, statement: str) -> DataFile:
    path = folder / "a.sqlite"
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    return DataFile(path, "a.sqlite")


PRODUCT = """model M {{ set A = 1..{0}; var x[A] integer >= 0 <= 2; maximize c: prod[i in A] x[i];
  constraint k: sum[i in A] x[i] <= {0} + 1; }}"""


def test_a_product_of_many_integers_is_grounded_within_the_time_limit() -> None:
    """The parts of the product are as many as its factors: with a doubling for each, 30 factors have 2^30 parts."""
    began = time.perf_counter()
    result = gs.loads(PRODUCT.format(30)).solve(time_limit=1)
    assert time.perf_counter() - began < 15
    assert result.problem.columns < 200


def test_the_product_of_integers_is_right() -> None:
    assert gs.loads(PRODUCT.format(6)).solve().objective == pytest.approx(2)


def test_a_chain_of_lets_is_refused() -> None:
    chain = "".join(f"let l{i + 1} = l{i} + 1; " for i in range(800))
    with pytest.raises(DiagnosticError) as error:
        gs.loads(f"model M {{ var x <= 1; let l0 = x; {chain} maximize c: l800; }}").solve()
    assert code_of(error) == "GSM1004"


@pytest.mark.parametrize("objective", ["5e-324 * x", "1e-320 * x", "1e-310 * x"])
def test_costs_that_are_nearly_zero(objective: str) -> None:
    result = gs.loads(f"model M {{ var x >= 1e-320 <= 3; maximize c: {objective}; }}").solve()
    assert str(result.status) in ("optimal", "limit")


@pytest.mark.parametrize("end", ["time", "interrupt"])
def test_an_endless_view_ends_with_the_deadline(tmp_path: Path, end: str) -> None:
    file = database(tmp_path, ENDLESS)
    began = time.perf_counter()
    seconds, stop = (0.3, None) if end == "time" else (None, lambda: time.perf_counter() > began + 0.3)
    with limit(seconds, stop), pytest.raises(StoppedEarly) as stopped:
        read_sqlite(file, "v", ["i"], FileLimits())
    assert stopped.value.reason == end
    assert time.perf_counter() - began < 5


def test_a_value_of_a_database_has_a_largest_length(tmp_path: Path) -> None:
    file = database(tmp_path, "CREATE VIEW v AS SELECT zeroblob(900000000) AS i")
    with pytest.raises(Unreadable) as refused:
        read_sqlite(file, "v", ["i"], FileLimits())
    assert refused.value.faults[0].code == "GSM2007"
    assert message_values(refused.value.faults[0].message) == ("a.sqlite", "1")


def test_rows_of_a_database_count_with_the_memory_that_python_takes(tmp_path: Path) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i FROM n"
    file = database(tmp_path, f"CREATE TABLE v AS {numbers}")
    assert read_sqlite(file, "v", ["i"], FileLimits(decoded_bytes=104 * 20_000)).rows == 20_000
    with pytest.raises(Unreadable) as refused:
        read_sqlite(file, "v", ["i"], FileLimits(decoded_bytes=104 * 20_000 - 1))
    assert refused.value.faults[0].code == "GSM2007"


def test_a_very_long_name_of_a_column(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k," + "v" * 200_000 + "\na,1\n")
    with pytest.raises(Unreadable) as refused:
        read_columns(tmp_path, "a.csv", None, ["k"])
    assert refused.value.faults[0].code == "GSM2008"


def test_deeply_nested_toml(tmp_path: Path) -> None:
    path = tmp_path / "cluster.toml"
    path.write_text("x = " + "[" * 3000 + "]" * 3000)
    with pytest.raises(DiagnosticError) as error:
        read_toml(path)
    assert code_of(error) == "GSM5401"


def test_a_deeply_nested_lock_file(tmp_path: Path) -> None:
    with Store(tmp_path / "store", "C") as store:
        (store.folder / LOCKFILE).write_text("[" * 100_000)
        with pytest.raises(DiagnosticError) as error:
            read_lock(store)
    assert code_of(error) == "GSM5307"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_warm_start_is_a_plain_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(DiagnosticError) as error:
            entries_of_file(path)
        assert code_of(error) == "GSM6009"


def sheet_with(cell: str) -> bytes:
    """An Excel file of a kilobyte with a table `k`, `v` at A1 and one more cell."""
    row = int("".join(c for c in cell if c.isdigit()))
    rows = (
        '<row r="1"><c r="A1" t="inlineStr"><is><t>k</t></is></c><c r="B1" t="inlineStr"><is><t>v</t></is></c></row>'
        '<row r="2"><c r="A2" t="inlineStr"><is><t>a</t></is></c><c r="B2"><v>1</v></c></row>'
        f'<row r="{row}"><c r="{cell}"><v>1</v></c></row>'
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    book = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
    sheet = "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType='
        f'"application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{book}"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{sheet}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="s" sheetId="1" '
        'r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>',
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, '<?xml version="1.0"?>' + text)
    return buffer.getvalue()


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of the other process is limited on Linux only")
def test_a_stray_cell_of_an_excel_file(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    (tmp_path / "a.xlsx").write_bytes(sheet_with("XFD1048576"))
    assert (tmp_path / "a.xlsx").stat().st_size < 3_000
    with pytest.raises(Unreadable) as refused:
        read_columns(tmp_path, "a.xlsx", None, ["k"])
    assert refused.value.faults[0].code == "GSM2008"
    (tmp_path / "a.xlsx").write_bytes(sheet_with("C3"))
    assert read_columns(tmp_path, "a.xlsx", None, ["k"]).rows == 2
    (tmp_path / "a.xlsx").write_bytes(sheet_with("Z1000"))
    with pytest.raises(Unreadable) as refused:
        read_columns(tmp_path, "a.xlsx", None, ["k"], FileLimits(decoded_bytes=1_000_000))
    assert refused.value.faults[0].code == "GSM2007"


def test_the_memory_limit_covers_the_reading_of_text_and_parquet(tmp_path: Path) -> None:
    rows = 20_000
    (tmp_path / "a.csv").write_text("k,v\n" + "".join(f"{i},{i}\n" for i in range(rows)))
    pl.DataFrame({"k": pl.repeat(1, rows, eager=True)}).write_parquet(tmp_path / "a.parquet")
    for name, needed in (("a.csv", 1_600_000), ("a.parquet", 64 * rows)):
        assert read_columns(tmp_path, name, None, ["k"], FileLimits.within(needed, allow_outside=False)).rows == rows
        with pytest.raises(Unreadable) as refused:
            read_columns(tmp_path, name, None, ["k"], FileLimits.within(needed // 2, allow_outside=False))
        assert refused.value.faults[0].code == "GSM2007"


def test_the_memory_limit_of_a_model_reaches_its_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k,v\n" + "".join(f"{i},{i}\n" for i in range(40_000)))
    model = "model M { set K; param v[K]; var x >= 0; minimize c: x; }"
    text = model + ' scenario S for M { data "a.csv" { K = k; v[k] = v; } }'
    with pytest.raises(DiagnosticError) as error:
        gs.loads(text, base=tmp_path, memory=1 << 20).solve()
    assert code_of(error) == "GSM2007"


@pytest.mark.slow
def test_a_csv_file_of_275_mb_is_refused_before_its_cells_are_read(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    with (tmp_path / "a.csv").open("w") as file:
        file.write("k,v\n")
        file.writelines("1234567,12\n" * 1_000_000 for _ in range(25))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Unreadable) as refused:
        read_columns(tmp_path, "a.csv", None, ["k", "v"], FileLimits.within(1 << 30, allow_outside=False))
    assert refused.value.faults[0].code == "GSM2007"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # KiB: the text alone has 269,000
