"""Every format of text reads other separators and the decimal comma, and says so where a file has them."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import polars as pl
import pytest
from trace_help import SAMPLES, fault

import gpusched_dsl as gs
from gpusched_dsl.data.formats.registry import reader, shipped
from gpusched_dsl.data.formats.separators import TEXT_OPTIONS, content_of, numbers_of, with_points
from gpusched_dsl.data.formats.shape import FormatTable, Setting
from gpusched_dsl.data.sources.delimited import read_delimited
from gpusched_dsl.data.sources.files import FileLimits

PRICES = SAMPLES.parents[1] / "prices" / "samples"
TIMES: dict[str, Setting] = {"time": "mtu_local", "price": "price_eur_per_mwh"}
CASES: dict[str, tuple[Path, dict[str, Setting]]] = {
    **{file.stem: (file, {}) for file in sorted(SAMPLES.glob("*.csv"))},
    "chronus_values": (SAMPLES / "chronus.csv", {}),
    "cloud_prices": (PRICES / "cloud_offers.csv", {}),
    "dayahead_countries": (PRICES / "six_countries_march_2022.csv", {"zone": "france"}),
    "entsoe": (PRICES / "fr_march_2025.csv", {}),
    "epf": (PRICES / "fr_forecasts_october_2015.csv", {}),
    "jobs": (SAMPLES / "helios.csv", {"submitted": "submit_time_s", "duration": "duration_s"}),
    "nyiso": (PRICES / "nyiso_june_2018.csv", {"zone": "CENTRL"}),
    "prices": (PRICES / "fr_forecasts_october_2015.csv", {"time": "datetime_local", "forecast": "forecast_dnn"}),
    "table": (PRICES / "fr_forecasts_october_2015.csv", {}),
}


def read(name: str, text: str, **options: Setting) -> FormatTable:
    found = reader(name)
    settings = {option.name: option.default for option in found.options if option.default is not None} | options
    return found.read(content_of(found, "file", text.encode(), settings, FileLimits()), settings)


def european(text: str, separator: str, thousands: bool) -> str:
    """The same table as programs with a European setting write it."""

    def cell(content: str) -> str:
        if not re.fullmatch(r"-?\d+\.\d+", content):
            return content
        before, after = content.split(".")
        if thousands:
            before = re.sub(r"(?<=\d)(?=(\d{3})+$)", ".", before)
        return f"{before},{after}"

    buffer = io.StringIO()
    out = csv.writer(buffer, delimiter=separator, lineterminator="\n")
    out.writerows([cell(content) for content in row] for row in csv.reader(text.splitlines()))
    return buffer.getvalue()


def test_which_formats_have_the_options() -> None:
    """Slurm, the Standard Workload Format and Kubernetes define their texts themselves."""
    others = {name for name in shipped(False) if not set(TEXT_OPTIONS) <= set(reader(name).options)}
    assert others == {"sacct", "swf", "kubernetes", "philly_attempts"}
    assert set(CASES) == set(shipped(False)) - others


@pytest.mark.quick(24)
@pytest.mark.parametrize(("separator", "stated"), [(";", ";"), ("|", "pipe"), ("\t", "tab")])
@pytest.mark.parametrize("name", CASES)
def test_other_separators_and_the_decimal_comma(name: str, separator: str, stated: str) -> None:
    file, options = CASES[name]
    text = file.read_text(encoding="utf-8")
    known = read(name, text, **options)
    for thousands in (False, True):
        other = european(text, separator, thousands)
        assert other != text or name == "gpuspb_nodes"  # it has one column
        found = read(name, other, **options, separator=stated, decimal=",")
        assert (found.rows, found.dropped, found.filtered) == (known.rows, known.dropped, known.filtered)
        for column in known.frame.columns:
            one, two = known.frame[column], found.frame[column]
            assert one.equals(two) or one.cast(pl.Float64).equals(two.cast(pl.Float64)), column


@pytest.mark.parametrize("name", sorted(CASES.keys() - {"table", "gpuspb_nodes"}))  # these need no column, or have one
def test_advice_for_other_separators(name: str) -> None:
    file, options = CASES[name]
    found = fault(name, european(file.read_text(encoding="utf-8"), ";", thousands=False), **options)
    assert found.code == {"dayahead_countries": "GSM2032", "jobs": "GSM2013"}.get(name, "GSM2011")
    assert 'its cells seem to be separated by `;`: `separator = ";"' in (found.help or "")
    decimal = bool(re.search(r"[,\n]-?\d+\.\d+[,\n]", file.read_text(encoding="utf-8")))
    assert ('decimal = ","' in (found.help or "")) == decimal


def test_advice_without_a_format(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Ort;Land, Stadt;Preis\nx;y;1,5\n", encoding="utf-8")
    text = 'model M { set I; var x; minimize x; } scenario S for M { data "a.csv" { I = Preis; } }'
    with pytest.raises(gs.DiagnosticError) as raised:
        gs.loads(text, base=tmp_path).ground("S")
    assert 'as table (separator = ";")' in (raised.value.diagnostics[0].help or "")


def test_advice_for_the_decimal_sign() -> None:
    text = "time;price\n2024-03-01 00:00;12,5\n2024-03-01 01:00;13,5\n"
    assert fault("prices", text, separator=";").help == 'if `,` is its decimal sign, state the option `decimal = ","`'
    points = text.replace(",", ".")
    assert fault("prices", points, separator=";", decimal=",").code == "GSM2104"
    assert fault("prices", text.replace("12,5", "soon"), separator=";", decimal=",").help is None


def test_numbers_with_a_comma() -> None:
    cells = {"1,5": 1.5, "-,5": -0.5, "7": 7, "1.234": 1234, "1.234.567,25": 1234567.25, " +2,5e3 ": 2500,
             "1234,5": 1234.5, "12.5": None, "1.2345": None, "1,234.5": None, "1,2,3": None, "x": None, "": None,
             ",": None}  # fmt: skip
    column = pl.Series(list(cells), dtype=pl.String)
    assert numbers_of(column.str.strip_chars(), ",").to_list() == list(cells.values())
    labels = pl.Series(["1,5", "10.0.0.1", "v1.2", "a,b", None], dtype=pl.String)
    assert with_points(labels, ",").to_list() == ["1.5", "10.0.0.1", "v1.2", "a,b", None]
    assert with_points(labels, ".").equals(labels)


def test_a_price_file_of_a_european_exchange(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(
        "Datum von;Datum bis;Deutschland/Luxemburg [€/MWh]\n01.03.2024 00:00;01.03.2024 01:00;1.066,21\n"
        "01.03.2024 01:00;01.03.2024 02:00;-3,5\n", encoding="utf-8"
    )  # fmt: skip
    text = """
        model M { set T; param p[T] in EUR/MWh; var x >= 0; minimize z: sum[t in T] x; }
        scenario S for M {
            data "p.csv" as prices (time = "Datum von", price = "Deutschland/Luxemburg [€/MWh]", separator = ";",
                                    decimal = ",", slot = 1[h], slots = 2, timezone = "Europe/Berlin") {
                T = slot; p[slot] = price[EUR/MWh];
            }
        }
    """
    problem = gs.loads(text, base=tmp_path).ground("S")
    assert problem is not None
    table = read("prices", (tmp_path / "p.csv").read_text(), time="Datum von", separator=";", decimal=",",
                      price="Deutschland/Luxemburg [€/MWh]", slot=60.0)  # fmt: skip
    assert table.frame["price"].to_list() == [1066.21, -3.5]


def test_a_header_beyond_the_limit_of_a_cell() -> None:
    for name in ("prices", "helios", "table"):
        assert fault(name, "a" * 200_000 + ",b\n1,2\n").code in ("GSM2008", "GSM2011")
    assert read_delimited(b"a,b\n1,2\n", "f", ["a"], ",", FileLimits()).rows == 1
