"""`gsdsl trace`: its output, files and errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from found_codes import shows
from json_schemas import complaints
from trace_help import SAMPLES

from gpusched_dsl.cli import main

SCHEMAS = Path(__file__).parents[3] / "docs" / "schema"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["trace", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_what_is_in_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, str(SAMPLES / "chronus.csv"), "--as", "chronus", "--first", "4")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert code == 0
    assert "rows 6 read, 4 kept" in lines
    assert "unusable 1: no GPUs (first on line 7: `0`)" in lines
    assert "excluded by options 1: after the requested number of rows (first on line 5)" in lines
    # 832 to 14341 minutes are 13509 minutes, 9.38 days; 4 jobs in 225.15 hours.
    assert "submitted 0 s to 9.38 d, 0.01777 per hour" in lines
    assert "GPUs: jobs 1: 4" in lines
    # 98, 747, 26 and 30 minutes on one GPU.
    assert f"GPU hours {(98 + 747 + 26 + 30) / 60:.6g}" in lines
    assert any(line.startswith("duration ") and line.endswith("maximum 12.4 h") for line in lines)
    assert any(line.startswith("deadlines 3 jobs") for line in lines)
    assert "kind strict, best" in lines


def test_options_are_those_of_the_format(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(SAMPLES / "helios.csv")
    code, out, _ = run(
        capsys, file, "--as", "helios", "--status", "COMPLETED", "--after", "10[h]", "--most-gpus", "8", "--csv", "-",
        "--option", "clock=file",
    )  # fmt: skip
    assert code == 0
    assert out.splitlines() == [
        "job,submitted,gpus,nodes,duration,status,vc,user",
        "766001,53223.0,2,1,224.0,COMPLETED,vcvGl,uJjMX",
    ]


def table_of(arguments: list[str], file: Path, capsys: pytest.CaptureFixture[str]) -> pl.DataFrame:
    assert main(["trace", str(file), *arguments, "--csv", "-"]) == 0, capsys.readouterr().err
    return pl.read_csv(capsys.readouterr().out.encode())


@pytest.mark.parametrize("column", ["gCO₂eq/kWh", "Größe", "tiefe\\gruppe", 'in "Zoll"', "数", "GPUs (je Knoten)"])
def test_texts_of_options_have_any_letters(column: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "jobs.csv"
    pl.DataFrame({"submitted": ["2024-03-01 08:00"], "duration": [60], column: [3]}).write_csv(file)
    assert table_of(["--as", "jobs", "--option", f"gpus={column}"], file, capsys)["gpus"].to_list() == [3]


@pytest.mark.parametrize(
    ("arguments", "jobs"),
    [
        (["--vc", "Müller"], ["a", "c"]),
        (["--vc", "Müller|Schmidt", "--status", "OK"], ["a", "b"]),
        (["--vc", "Müller", "--option", "only=Dauer > 100"], ["c"]),
        (["--status", "OK", "--option", "only=Dauer > 100 or Dauer < 61"], ["a"]),
    ],
)
def test_rows_of_own_tables_by_virtual_cluster_and_status(
    arguments: list[str], jobs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--option vc=` names the column, `--vc` the values that are kept."""
    file = tmp_path / "jobs.csv"
    rows = {"job": ["a", "b", "c"], "submitted": [f"2024-03-01 {n:02}:00" for n in (8, 9, 10)], "Dauer": [60, 80, 120],
            "Gruppe": ["Müller", "Schmidt", "Müller"], "status": ["OK", "OK", "no"]}  # fmt: skip
    pl.DataFrame(rows).write_csv(file)
    common = ["--as", "jobs", "--option", "duration=Dauer", "--option", "vc=Gruppe"]
    assert table_of([*common, *arguments], file, capsys)["job"].to_list() == jobs


VALUES = [";", "|", ",", "#", "{", ")", ") { } } model M { }", '"', '"x', 'x"', 'a"b"c', "\\", 'x\\"', "\\q", "'", "2;",
          "2, first = 3", "2 # x", "x y", "1 2", "=", "==", "/*", "–", "数", "\r", "\x07", "0x1F", "1e999", "5[kW]",
          "5[", "é\u200b"]  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
def test_no_value_of_an_option_breaks_the_statement(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Messages are about the option and its value, not about brackets of a text that nobody wrote."""
    file = str(SAMPLES / "helios.csv")
    for name, option in (("helios", "first"), ("helios", "least_duration"), ("helios", "clock"), ("helios", "frst"),
                         ("helios", "separator"), ("table", "only")):  # fmt: skip
        code, _, err = run(capsys, file, "--as", name, "--option", f"{option}={value}")
        if not value.strip():
            assert (code, "GSM6002" in err) == (2, True)
        elif option == "separator":
            assert code == (0 if value == "," else 1), err
            assert "GSM1519" in err or "GSM2011" in err or code == 0
        else:
            assert (code, "GSM1519" in err or "GSM1302" in err or "GSM1303" in err) == (1, True), (option, err)
        assert "GSM10" not in err, err


@pytest.mark.parametrize("value", [value for value in VALUES if value.strip()])
def test_texts_of_options_arrive_as_they_are(value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text("submitted,duration,vc\n1,60,a\n", encoding="utf-8")
    code, out, err = run(capsys, str(file), "--as", "jobs", "--option", f"gpus={value}", "--json", "-")
    assert (code, out) == (1, "")
    shown = {"\x07": "�", "é\u200b": "é�", "5[kW]": "5"}.get(value, value)  # letters that terminals hide; a unit
    assert f"has no column `{shown}`, needed for `gpus`" in err, err


def test_the_summary_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads((SCHEMAS / "trace.schema.json").read_text(encoding="utf-8"))
    file = str(SAMPLES / "chronus.csv")
    code, out, _ = run(capsys, file, "--as", "chronus", "--first", "4", "--json", "-")
    found = json.loads(out)
    assert code == 0
    assert list(complaints(found, schema)) == []
    assert list(complaints({**found, "as": 4}, schema)) != []
    assert (found["rows_read"], found["rows"], found["options"]) == (6, 4, {"first": 4})
    assert "Infinity" not in out
    text = (SAMPLES / "chronus.csv").read_text(encoding="utf-8").replace(",", ";")
    (tmp_path / "own.csv").write_text(text, encoding="utf-8")
    for separator in ('separator=";"', "separator=;", "separator=semicolon"):
        assert run(capsys, str(tmp_path / "own.csv"), "--as", "table", "--option", separator)[0] == 0
    assert found["jobs"]["gpus"] == [{"gpus": 1, "jobs": 4}]
    assert found["jobs"]["duration"]["max"] == 747 * 60
    assert found["jobs"]["gpu_hours"] == pytest.approx((98 + 747 + 26 + 30) / 60)
    columns = {column["name"]: column for column in found["columns"]}
    assert columns["gpus"] == {
        "name": "gpus", "unit": "", "empty": 0, "type": "number", "min": 1, "max": 1, "mean": 1,
    }  # fmt: skip
    assert {value["value"] for value in columns["kind"]["values"]} == {"strict", "best"}
    prices = tmp_path / "prices.json"
    assert run(capsys, str(SAMPLES / "helios.csv"), "--as", "helios", "--csv", "-", "--json", str(prices))[0] == 0
    assert json.loads(prices.read_text(encoding="utf-8"))["as"] == "helios"
    code, _, err = run(capsys, file, "--as", "chronus", "--json", "-", "--csv", "-")
    assert (code, shows(err, "GSM6002", "--json -", "--csv -")) == (2, True)
    assert run(capsys, "--formats", "--json", "-")[0] == 2


def test_tables_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, other = tmp_path / "a.csv", tmp_path / "a.parquet"
    code, out, _ = run(
        capsys, str(SAMPLES / "gavel.csv"), "--as", "gavel", "--csv", str(table), "--parquet", str(other)
    )
    assert code == 0
    assert f"wrote {table}: 5 rows" in out
    assert pl.read_parquet(other).equals(pl.read_csv(table))
    assert run(capsys, str(SAMPLES / "gavel.csv"), "--as", "gavel", "--csv", str(tmp_path / "no" / "a.csv"))[0] == 1


@pytest.mark.parametrize(
    ("arguments", "code", "found"),
    [
        ([], 2, "GSM6002"),
        (["x.csv"], 2, "GSM6002"),
        (["--as", "philly"], 2, "GSM6002"),
        (["x.csv", "--as", "phily"], 1, "GSM1518"),
        (["x.csv", "--as", "philly"], 1, "GSM2001"),
        (["{samples}/gavel.csv", "--as", "philly"], 1, "GSM2011"),
        (["{samples}/philly.csv", "--as", "philly", "--first", "2.5"], 1, "GSM1519"),
        (["{samples}/philly.csv", "--as", "philly", "--first", "2) {"], 1, "GSM1519"),
        (["{samples}/philly.csv", "--as", "philly", "--status", "x", "--vc", 'a"b'], 1, "GSM2018"),
        (["{samples}/philly.csv", "--as", "philly", "--option", "mode"], 2, "GSM6002"),
        (["{samples}/philly.csv", "--as", "philly", "--option", "a b=2"], 2, "GSM6002"),
        (["{samples}/philly.csv", "--as", "philly", "--option", "frst=2"], 1, "GSM1519"),
        (["{samples}/philly.csv", "--as", "philly", "--vc", "6214"], 1, "GSM2018"),
        (["{samples}", "--as", "philly"], 1, "GSM2004"),
        (["--formats", "phily"], 1, "GSM1518"),
    ],
)
def test_what_is_refused(arguments: list[str], code: int, found: str, capsys: pytest.CaptureFixture[str]) -> None:
    result, out, err = run(capsys, *(each.replace("{samples}", str(SAMPLES)) for each in arguments))
    assert result == code
    assert out == ""
    assert found in err
    assert "Traceback" not in err


def test_findings_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "x.csv", "--as", "philly", "--diagnostics", "json")
    assert code == 1
    assert [each["code"] for each in json.loads(err)] == ["GSM2001"]


def test_formats_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--formats")
    assert code == 0
    listed = {line.split()[0] for line in out.splitlines() if line.startswith("  ")}
    assert {"philly", "openb_pods", "pai", "elasticflow", "chronus", "gavel", "shockwave", "sia", "swf"} <= listed
    code, out, _ = run(capsys, "--formats", "openb_pods")
    assert code == 0
    assert "duration[s]" in out
    assert "least_gpus" in out


def test_every_format_can_be_told(capsys: pytest.CaptureFixture[str]) -> None:
    from gpusched_dsl.language.scenarios.formats import names

    for name in (*names(False), *names(True)):
        code, out, _ = run(capsys, "--formats", name)
        assert code == 0
        assert out.startswith(f"{name}: ")


PROBE = """
import sys
from gpusched_dsl.language.scenarios.formats import describe_format, names
for generated in (False, True):
    for name in names(generated):
        describe_format(name, generated)
print(*sorted(name for name in sys.modules if "." not in name))
"""


def test_descriptions_load_no_library_of_tables(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=tmp_path, capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert not set(done.stdout.split()) & {"polars", "scipy", "highspy", "numba", "pandas"}


PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "data_formats.md").read_text(encoding="utf-8")


def test_the_page_describes_every_format() -> None:
    from gpusched_dsl.language.scenarios.formats import names

    for name in (*names(False), *names(True)):
        assert f"`{name}`" in PAGE, name
