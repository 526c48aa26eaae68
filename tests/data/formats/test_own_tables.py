"""Tables of one's own: columns by options, time zones, row filters, separators, Excel, and messages about them."""

from __future__ import annotations

import builtins
import datetime
import io
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from found_codes import raises_code
from trace_help import fault, first, read_text, reasons

import gpusched_dsl as gs
from gpusched_dsl.data.formats.moments import seconds_of, times_of

CSV = """Job ID;Team;Submit;GPU;Stunden;due
a;x;2024-03-31 01:30;2;1,5;2024-03-31 12:00
b;y;2024-03-31 02:30;2;1,5;2024-03-31 12:00
c;y;2024-03-31 03:30;two;1,5;2024-03-31 12:00
d;y;31.3.2024;2;1,5;2024-03-31 12:00
e;z;2024-03-31T03:30:00Z;4;0,25;
f;root;2024-03-31T03:40:00Z;4;0,25;
"""
OPTIONS: dict[str, Any] = {
    "job": "Job ID", "submitted": "Submit", "gpus": "GPU", "duration": "Stunden[h]", "deadline": "due",
    "separator": ";", "decimal": ",", "timezone": "Europe/Berlin",
}  # fmt: skip


def test_unusable_rows_with_times_that_are_not_requested_are_silent() -> None:
    """The time of each row is known here, so the order of the file does not matter."""
    rows = ["b,2024-03-02 10:00,x", "a,2024-03-01 08:00,60", "c,2024-02-01 08:00,-", "d,2024-03-01 09:00,y"]
    text = "job,submitted,duration\n" + "\n".join(rows) + "\n"
    table = read_text("jobs", text, **{"from": "2024-03-01", "until": "2024-03-02"})
    assert table.frame["job"].to_list() == ["a"]
    assert reasons(table.dropped) == {"duration is not a length of time": (1, 5)}
    assert sum(d.rows for d in table.filtered) == 2
    everything = read_text("jobs", text)
    assert sum(d.rows for d in everything.dropped) == 3


def test_jobs_by_a_mapping_of_columns() -> None:
    table = read_text("jobs", CSV, **OPTIONS, only='["!=", "Team", "root"]')
    assert reasons(table.dropped) == {
        "number of GPUs is not an integer": (1, 4), "submission time is not a time": (1, 5),
        "submission time does not exist in Europe/Berlin": (1, 3),
    }  # fmt: skip
    assert {d.text for d in table.dropped} == {"two", "31.3.2024", "2024-03-31 02:30"}
    assert reasons(table.filtered) == {"excluded by `only`": (1, 7)}
    # 0:30 UTC and 3:30 UTC; 12:00 of Berlin is 10:00 UTC, since clocks go forward that night
    assert first(table) == {
        "job": "a", "submitted": 0.0, "gpus": 2, "duration": 5400.0, "deadline": 9.5 * 3600, "Job ID": "a",
        "Team": "x", "Submit": "2024-03-31 01:30", "GPU": 2, "Stunden": "1.5", "due": "2024-03-31 12:00",
    }  # fmt: skip
    assert table.frame["submitted"].to_list() == [0.0, 3 * 3600.0]
    later = read_text("jobs", CSV, **OPTIONS, **{"from": "2024-03-31 05:35", "clock": "file"})
    assert later.frame["submitted"].to_list() == [4.0 * 3600 + 40 * 60]  # since midnight in Berlin, 23:00 UTC
    since = read_text("jobs", CSV, **OPTIONS, origin="2024-03-30T22:00Z", until="2024-03-31 05:35")
    assert since.frame["submitted"].to_list() == [2.5 * 3600, 5.5 * 3600]


def test_durations_from_starts_and_ends() -> None:
    text = "job,submitted,started,ended\n1,1000,1060,1090\n2,1100,1160,1160\n3,1100,,\n"
    table = read_text("jobs", text)
    assert table.frame.select("job", "submitted", "started", "ended", "duration").rows() == [(1, 0, 60, 90, 30)]
    assert reasons(table.dropped) == {"no duration": (2, 3)}


@pytest.mark.parametrize(("condition", "kept"), [
    ('["not", ["or", ["==", "s", "a"], [">", "n", 2]]]', [2, 4]), ('["in", "s", ["a", "b"]]', [1, 2]),
    ('["not in", "s", ["a", "b"]]', [3, 4]), ('["and", [">=", "n", 1], ["<", "n", 3]]', [1, 2]),
    ('["!=", "n", 1]', [2, 3, 4]), ('["==", "s", "b"]', [2]), ('["<=", "s", "a"]', [1]),
])  # fmt: skip
def test_conditions_on_rows(condition: str, kept: list[int]) -> None:
    table = read_text("table", "k,s,n\n1,a,1\n2,b,2\n3,c,3\n4,,x\n", only=condition)
    assert table.frame["k"].to_list() == kept


def test_any_table() -> None:
    text = "node|since|length|note|note\nn1|2024-01-01 06:00|1h 30min|a|b\nn2|2024-01-02|2-00:00:01|a|b\nn3|x|1|a|b\n"
    table = read_text("table", text, separator="pipe", times="since", durations="length")
    assert table.frame.to_dict(as_series=False) == {
        "node": ["n1", "n2"], "since": [6 * 3600.0, 86400.0], "length": [5400.0, 2 * 86400.0 + 1],
    }  # fmt: skip
    assert [(d.reason, d.column, d.text) for d in table.dropped] == [("since is not a time", "since", "x")]


def test_parquet(tmp_path: Path) -> None:
    import polars as pl

    start = datetime.datetime(2024, 3, 1, 12)
    pl.DataFrame({
        "job": ["a", "b"], "submitted": [start, start + datetime.timedelta(minutes=5)], "gpus": [1, 2],
        "tags": [["x"], ["y"]], "duration": [datetime.timedelta(hours=26)] * 2, "team": ["x", "y"],
    }).write_parquet(tmp_path / "jobs.parquet")  # fmt: skip
    text = """model M { set Jobs; set Teams; param team[Jobs] within Teams; param d[Jobs] in h; var x >= 0; minimize x;
        constraint c: x >= sum[j in Jobs] d[j] / 1[h]; }
        scenario S for M { data "jobs.parquet" as jobs {
          Jobs = job; Teams = distinct(team); team[job] = team; d[job] = duration; } }"""
    assert gs.loads(text, base=tmp_path).solve("S").objective == 52


def test_times_and_lengths_of_time() -> None:
    import polars as pl

    def moment(text: str, order: str = "auto", zone: str = "UTC") -> str:
        times = times_of(pl.Series("t", [text]), zone, order)
        return "wrong" if times.wrong[0] else str(pl.Series(times.micros).cast(pl.Datetime("us"))[0])

    assert moment("3/1/2024 12:05 PM", "mdy") == "2024-03-01 12:05:00"
    assert moment("3/1/2024 12:05:09 am", "dmy") == "2024-01-03 00:05:09"
    assert moment("2024-03-01T14:05:00.25+02:00", zone="Asia/Tokyo") == "2024-03-01 12:05:00.250000"
    assert moment("2024-03-01 14:05", zone="Asia/Tokyo") == "2024-03-01 05:05:00"
    assert moment("1709300000") == "2024-03-01 13:33:20"
    assert moment("noon") == "wrong"
    lengths = ["1-02:03:04", "27:04:05", "1h 30min", "PT1H30M", "90 s", "P1DT2H", "1.5", "0 days 02:03:04",
               "1 days 02:03:04.500000", "1 day, 2:03:04", "2 days", "0 days", None]  # fmt: skip
    found, wrong = seconds_of(pl.Series("d", lengths, dtype=pl.String))
    assert found[:-1].tolist() == [93784, 97445, 5400, 5400, 90, 93600, 1.5, 7384, 93784.5, 93784, 172800, 0]
    assert not wrong.any()
    unclear = pl.Series("d", ["12:30", "x", "PT", "nan", "-1 days +23:00:00"])  # hours or minutes?
    assert seconds_of(unclear)[1].all()
    assert seconds_of(unclear, 3600.0)[0][0] == 12.5 * 3600
    assert seconds_of(unclear, 60.0)[0][0] == 12.5 * 60
    assert seconds_of(unclear, 3600.0)[1].tolist() == [False, True, True, True, True]
    clocks = times_of(pl.Series("t", ["8:00:00", "1 days 02:00:00", None]), "UTC", "auto")
    assert (clocks.micros / 3.6e9).tolist() == [8, 26, 0]
    assert not clocks.dated


def test_what_is_wrong_with_options() -> None:
    wrong = fault("jobs", CSV, **(OPTIONS | {"duration": "Stunde[h]"}))
    assert (wrong.code, wrong.option, wrong.help) == ("GSM2011", ("duration", "Stunde"), "did you mean `Stunden`?")
    assert fault("jobs", CSV, **(OPTIONS | {"duration": "Stunden[kW]"})).code == "GSM1302"
    assert fault("jobs", CSV, **(OPTIONS | {"duration": "Stunden[hrs]"})).code == "GSM1519"
    assert fault("jobs", CSV, **(OPTIONS | {"separator": ";;"})).option == ("separator", ";;")
    assert fault("jobs", CSV, **(OPTIONS | {"timezone": "Berlin"})).code == "GSM2030"
    assert fault("jobs", CSV, **(OPTIONS | {"from": "soon"})).code == "GSM1519"
    assert fault("jobs", "a;b\n1;2\n", submitted="a").help == 'its cells seem to be separated by `;`: `separator = ";"`'
    assert fault("table", "a\n1\n", times="b").option == ("times", "b")
    assert fault("table", "a\n1\n", times="a", durations="a").option == ("durations", "a")
    nothing = fault("table", "a;b\n1,5;x\n", durations="b", separator=";")
    assert (nothing.code, nothing.notes) == ("GSM2018", ("1: b is not a length of time (first on line 2: `x`)",))
    assert read_text("table", "a;b\n1,5;x\n", durations="a", separator=";", decimal=",").frame["a"][0] == 1.5
    assert fault("jobs", "submitted\n03/04/2024\n05/04/2024\n05/05/2024\n").option == ("dates", "")


MODEL = """
model M { set Jobs; set Owners; param owner[Jobs] within Owners; param gpus[Jobs]; var x >= 0; minimize x; }
scenario S for M { data "jobs.csv" as jobs (%s) { Jobs = job; Owners = distinct(Team); owner[job] = Team; gpus[job] = GPU; } }
"""  # noqa: E501


def test_columns_of_the_file_in_a_model_and_places_of_faults(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("job,submitted,Team,GPU\na,1,x,2\nb,2,y,3\nc,3,x,\n")
    assert gs.loads(MODEL % "only = GPU >= 2", base=tmp_path).solve("S").status == "optimal"
    for options, text in (("only = GPUs >= 2", "GPUs"), ('job = "Job"', "Job"), ('gpus = "GPU[h]"', "h")):
        with pytest.raises(gs.DiagnosticError) as raised:
            gs.loads(MODEL % options, base=tmp_path).solve("S")
        [found] = raised.value.diagnostics
        assert found.primary.text == text  # type: ignore[union-attr]


# --- Excel -----------------------------------------------------------------------------------------------------------


def workbook(rows: Sequence[Sequence[Any]], sheets: Sequence[str] = ("June",), calendar: int = 1900) -> bytes:
    """A file with the same rows in all of its sheets; dates are those of the calendar of 1900."""
    space = "http://schemas.openxmlformats.org"
    main, office = f"{space}/spreadsheetml/2006/main", f"{space}/officeDocument/2006/relationships"

    def cell(value: Any) -> str:
        if value is None:
            return "<c/>"
        if isinstance(value, datetime.datetime):
            return f'<c s="1"><v>{(value - datetime.datetime(1899, 12, 30)).total_seconds() / 86400!r}</v></c>'
        if isinstance(value, datetime.time):
            return f'<c s="2"><v>{(value.hour * 60 + value.minute) / 1440!r}</v></c>'
        if isinstance(value, datetime.timedelta):
            return f'<c s="3"><v>{value.total_seconds() / 86400!r}</v></c>'
        if isinstance(value, (int, float)):
            return f"<c><v>{value}</v></c>"
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'

    data = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    numbers = range(1, len(sheets) + 1)
    kinds = "".join(
        f'<Override PartName="/xl/{part}.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        f'spreadsheetml.{kind}+xml"/>'
        for part, kind in (("workbook", "sheet.main"), ("styles", "styles"),
                           *((f"worksheets/sheet{n}", "worksheet") for n in numbers))
    )  # fmt: skip
    files = {
        "[Content_Types].xml": f'<Types xmlns="{space}/package/2006/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{kinds}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{space}/package/2006/relationships"><Relationship Id="r" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{space}/package/2006/relationships">'
        + "".join(f'<Relationship Id="r{n}" Type="{office}/worksheet" Target="worksheets/sheet{n}.xml"/>'
                  for n in numbers)
        + f'<Relationship Id="s" Type="{office}/styles" Target="styles.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}">'
        f'<workbookPr date1904="{int(calendar == 1904)}"/><sheets>'
        + "".join(f'<sheet name="{s}" sheetId="{n}" r:id="r{n}"/>' for n, s in zip(numbers, sheets, strict=True))
        + "</sheets></workbook>",
        "xl/styles.xml": f'<styleSheet xmlns="{main}"><numFmts><numFmt numFmtId="164" formatCode="[h]:mm:ss"/>'
        '</numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="22"/><xf numFmtId="20"/><xf numFmtId="164"/></cellXfs>'
        "</styleSheet>",
        **{f"xl/worksheets/sheet{n}.xml": f'<worksheet xmlns="{main}"><sheetData>{data}</sheetData></worksheet>'
           for n in numbers},
    }  # fmt: skip
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


ROWS = [
    ["a title"], ["id", "submit", "GPU", "hours"], ["a", datetime.datetime(2024, 3, 1, 12, 30, 15), 2, 1.5],
    [None, None], ["b", datetime.datetime(2024, 3, 1, 13, 30, 15), 3.0, 0.25], ["c", "later", 1, 1],
]  # fmt: skip


def test_excel() -> None:
    pytest.importorskip("fastexcel")
    options = {"job": "id", "submitted": "submit", "gpus": "GPU", "duration": "hours[h]", "header": 2}
    table = read_text("jobs", workbook(ROWS), **options)
    assert table.frame.select("job", "submitted", "gpus", "duration").rows() == [("a", 0, 2, 5400), ("b", 3600, 3, 900)]
    assert [(d.reason, d.first, d.text) for d in table.dropped] == [("submission time is not a time", 6, "later")]
    two = workbook(ROWS, ["May", "June"])
    assert read_text("jobs", two, **options, sheet="June").frame.height == 2
    assert fault("jobs", two, **options).code == "GSM2016"
    assert fault("jobs", two, **options, sheet="Jun").help == "did you mean `June`?"
    assert fault("jobs", b"PK\x03\x04" + b"x" * 100).code == "GSM2008"


@pytest.mark.parametrize("calendar", [1900, 1904])
def test_times_and_durations_of_excel(calendar: int) -> None:
    """Excel stores them like dates, as numbers of days: `2:30` is 0.104, an early morning in 1900."""
    pytest.importorskip("fastexcel")
    length = datetime.timedelta
    lengths: list[Any] = [datetime.time(2, 30), length(hours=30), length(days=61, seconds=7.25), 1.5, datetime.time(0),
                          length(days=400), "1 days 00:00:10", "1900-01-01 06:00:00"]  # fmt: skip
    days = [datetime.datetime(2024, 3, 1, 8, n) for n in range(len(lengths))]
    rows: list[Sequence[Any]] = [["submit", "hours"], *zip(days, lengths, strict=True)]
    book = workbook(rows, calendar=calendar)
    table = read_text("jobs", book, submitted="submit", duration="hours[h]")
    assert table.frame["duration"].to_list() == [9000, 108000, 61 * 86400 + 7.25, 5400, 400 * 86400, 86410]
    assert table.frame["submitted"].to_list() == [0, 60, 120, 180, 300, 360]
    assert reasons(table.dropped) == {
        "duration is not a length of time": (1, 9), "no duration": (1, 6)}  # fmt: skip
    clock = workbook([["submit", "due"], *((day.time(), length(hours=26)) for day in days)])
    table = read_text("table", clock, times="submit", durations="due")
    assert table.frame["submit"].to_list() == [8 * 3600 + n * 60 for n in range(len(days))]
    assert table.frame["due"].to_list() == [26 * 3600] * len(days)


@pytest.mark.parametrize("calendar", [1900, 1904])
def test_long_durations_of_excel(calendar: int) -> None:
    """Durations from 18,000 days on have the numbers of dates: their format says what they are."""
    pytest.importorskip("fastexcel")
    lengths = [datetime.timedelta(days=n) for n in (17_999, 18_000, 45_352, 3, 2_958_466, 50_000)]
    day = datetime.datetime(2024, 3, 1, 8)
    rows: list[Sequence[Any]] = [["a title"], ["submit", "hours"], *((day, each) for each in lengths[:3]), [None, None]]
    rows += [*((day, each) for each in lengths[3:]), ["a note", "of the end"]]
    table = read_text("jobs", workbook(rows, calendar=calendar), submitted="submit", duration="hours[h]", header=2)
    assert table.frame["duration"].to_list() == [each.total_seconds() for each in lengths]
    assert reasons(table.dropped) == {"submission time is not a time": (1, 10)}


@pytest.mark.parametrize("other", [datetime.datetime(2024, 3, 1), "x", 7.5])
def test_dates_and_long_durations_in_one_column_are_not_lengths(other: Any) -> None:
    pytest.importorskip("fastexcel")
    long, day = datetime.timedelta(days=20_000), datetime.datetime(2024, 3, 1)
    rows: list[Sequence[Any]] = [["submit", "hours"], *((day, each) for each in (long, other, long))]
    table = read_text("table", workbook([*rows, (day, 1.5)]), durations="hours")
    assert next((d.reason, d.first, d.text) for d in table.dropped) == (
        "hours is not a length of time", 2, "1954-10-03 00:00:00")  # fmt: skip


def test_excel_without_a_format(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    (tmp_path / "nodes.xlsx").write_bytes(workbook([["node", "gpus"], ["n1", 4], ["n2", 8]], ["May", "June"]))
    text = """
        model M { set Nodes; param gpus[Nodes]; var x >= 0; minimize x; constraint c: x >= sum[n in Nodes] gpus[n]; }
        scenario S for M { data "nodes.xlsx" table "June" { Nodes = node; gpus[node] = gpus; } }
    """
    assert gs.loads(text, base=tmp_path).solve("S").objective == 12
    with raises_code("GSM2016", "nodes.xlsx", "2", at='"nodes.xlsx"'):
        gs.loads(text.replace('table "June"', ""), base=tmp_path).solve("S")


def test_excel_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def refuse(name: str, *arguments: Any, **more: Any) -> Any:
        if name == "fastexcel":
            raise ImportError(name)
        return imported(name, *arguments, **more)

    monkeypatch.delitem(sys.modules, "fastexcel", raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    found = fault("table", workbook(ROWS))
    assert (found.code, found.help) == (
        "GSM2019", "`pip install '.[excel]'` in the folder of gsdsl, or export the sheet as CSV")  # fmt: skip
