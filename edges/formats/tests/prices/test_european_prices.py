"""ENTSO-E, tables of countries, the epftoolbox and files of any kind, on days on which the clocks change too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from price_files import SAMPLES, fault, prices, read

PARIS = ZoneInfo("Europe/Paris")


def units(day: str, hours: int, minutes: int, marked: bool) -> str:
    """Market time units of a day as the platform writes them, priced 0, 1, ..."""
    begin = datetime.fromisoformat(day).replace(tzinfo=PARIS).astimezone(UTC)

    def shown(moment: datetime) -> str:
        local = moment.astimezone(PARIS)
        other = local.replace(fold=1 - local.fold).utcoffset() != local.utcoffset()
        return f"{local:%d/%m/%Y %H:%M:%S}" + (f" ({local.tzname()})" if marked and other else "")

    lines = []
    for k in range(hours * 60 // minutes):
        moment = begin + timedelta(minutes=k * minutes)
        lines.append(f"{shown(moment)} - {shown(moment + timedelta(minutes=minutes))},{k}\n")
    return "MTU (CET/CEST),Day-ahead Price (EUR/MWh)\n" + "".join(lines)


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize(
    ("minutes", "day", "hours"), [(15, "2025-10-26", 25), (60, "2024-10-27", 25), (30, "2024-03-31", 23)]
)
def test_units_of_days_on_which_clocks_change(minutes: int, day: str, hours: int, marked: bool) -> None:
    table = read("entsoe", units(day, hours, minutes, marked), slot=float(minutes))
    assert prices(table) == list(range(hours * 60 // minutes))
    assert table.dropped == ()


def test_a_day_of_23_hours_as_published() -> None:
    table = read("entsoe", SAMPLES / "fr_march_2025.csv", start="2025-03-30", slots=92)
    assert table.frame["time"][[0, 7, 8, 91]].to_list() == [
        "2025-03-29T23:00:00Z",
        "2025-03-30T00:45:00Z",
        "2025-03-30T01:00:00Z",
        "2025-03-30T21:45:00Z",
    ]
    assert prices(table)[:10] == [46.01] * 4 + [15.85] * 4 + [5.07] * 2
    assert read("entsoe", SAMPLES / "fr_march_2025.csv").dropped == ()


def test_areas_and_sequences() -> None:
    rows = [("A", "Without Sequence", 1), ("A", "Sequence 1", 2), ("B", "Without Sequence", 3)]
    text = "MTU (UTC),Area,Sequence,Day-ahead Price (EUR/MWh)\n" + "".join(
        f"01/06/2025 00:00:00 - 01/06/2025 01:00:00,{area},{sequence},{price}\n" for area, sequence, price in rows
    )
    table = read("entsoe", text, zone="a")
    assert (prices(table), table.frame["time"][0]) == ([1.0] * 4, "2025-06-01T00:00:00Z")
    assert [each.rows for each in table.filtered] == [2]
    assert fault("entsoe", text).code == "GSM2032"
    turned = text.replace("01/06/2025 00:00:00 - 01/06/2025 01:00:00", "01/06/2025 01:00:00 - 01/06/2025 00:00:00")
    assert fault("entsoe", turned, zone="A").code == "GSM2030"
    german = text.replace("Without Sequence", "Sequence Sequence 1")
    missing = fault("entsoe", german, zone="A")
    assert (missing.code, missing.notes) == ("GSM2032", ("its sequences are `Sequence Sequence 1`, `Sequence 1`",))
    assert "`sequence`" in str(missing.help)
    assert prices(read("entsoe", german, zone="A", sequence="Sequence Sequence 1")) == [1.0] * 4


@pytest.mark.parametrize("extra", ["none", "empty", "priced"])
@pytest.mark.parametrize(
    ("zone", "day", "minutes"),
    [("Europe/Brussels", "2025-03-30", 15), ("Europe/Brussels", "2025-03-30", 60),
     ("America/New_York", "2025-03-09", 30), ("Australia/Lord_Howe", "2025-10-05", 30),
     ("Australia/Lord_Howe", "2025-10-05", 15)],
)  # fmt: skip
def test_intervals_that_end_in_the_time_that_the_clocks_leave_out(
    zone: str, day: str, minutes: int, extra: str
) -> None:
    """Some files have `01:00 - 02:00` before the clocks go forward, and some have rows for the missing hour, too."""
    clock, step, midnight = ZoneInfo(zone), timedelta(minutes=minutes), datetime.fromisoformat(day)
    rows, expected = [], []
    for number in range(24 * 60 // minutes):
        start = midnight + number * step
        inside = start + step / 2
        exists = inside.replace(tzinfo=clock).astimezone(UTC).astimezone(clock).replace(tzinfo=None) == inside
        if exists:
            expected.append(float(number))
        if exists or extra != "none":
            price = number if exists or extra == "priced" else ""
            rows.append(f"{start:%d/%m/%Y %H:%M:%S} - {start + step:%d/%m/%Y %H:%M:%S},{price}")
    table = read("entsoe", "MTU,Day-ahead Price (EUR/MWh)\n" + "\n".join(rows), timezone=zone, slot=float(minutes))
    assert table.frame["price"].to_list() == expected
    missing = len(rows) - len(expected)
    assert missing == (0 if extra == "none" else (30 if zone == "Australia/Lord_Howe" else 60) // minutes)
    assert [each.rows for each in table.dropped] == [missing] * bool(missing)


def test_tables_of_countries() -> None:
    file = SAMPLES / "six_countries_march_2022.csv"
    table = read("dayahead_countries", file, zone="France", slot=60.0)
    assert table.frame.height == 24 + 23 + 24
    assert [(each.reason, each.rows) for each in table.dropped] == [("no price", 1)]
    assert prices(table)[24:28] == [235.0, 221.93, 214.02, 212.0]
    assert not table.notes, "the clocks left the empty hour out, so nothing is missing"
    assert "did you mean `france`" in str(fault("dayahead_countries", file, zone="franc").help)


def test_forecasts() -> None:
    table = read("epf", SAMPLES / "fr_forecasts_october_2015.csv", slot=60.0)
    assert table.frame.height == 24 + 25 + 24
    day = table.frame.slice(24 + 1, 4)
    assert day["price"].to_list() == [38.0, 25.045, 25.045, 25.84]
    assert day["forecast_dnn"].to_list() == [28.9631, 25.7885, 25.7885, 22.3347]
    assert any("gap of 60 min" in note for note in table.notes)
    renamed = (
        (SAMPLES / "fr_forecasts_october_2015.csv")
        .read_text()
        .replace(
            "datetime_local,price,forecast_lear56,forecast_lear,forecast_dnn", ",Real price,LEAR 56,LEAR Ensemble,DNN 1"
        )
    )
    assert read("epf", renamed, slot=60.0).frame.columns == [
        "time", "slot", "price", "forecast_lear56", "forecast_lear",
    ]  # fmt: skip


def test_any_file() -> None:
    text = "at;no,EUR,tomorrow,node\n" + "".join(f"2024-01-01T0{h}:00:00+01:00,{h},{h + 10},x\n" for h in range(4))
    text = text.replace("at;no", "at")
    table = read("prices", text, time="at", price="EUR", forecast="tomorrow", slot=60.0)
    assert table.frame.select("time", "price", "forecast").rows() == [
        ("2023-12-31T23:00:00Z", 0.0, 10.0),
        ("2024-01-01T00:00:00Z", 1.0, 11.0),
        ("2024-01-01T01:00:00Z", 2.0, 12.0),
        ("2024-01-01T02:00:00Z", 3.0, 13.0),
    ]
    ended = read("prices", text, time="at", price="EUR", stamps="end", slot=60.0)
    assert ended.frame["time"][0] == "2023-12-31T22:00:00Z"
    wrong = fault("prices", text, time="when", price="EUR")
    assert (wrong.code, wrong.option) == ("GSM2011", ("time", "when"))
    assert fault("prices", text, time="at").help == "name the column of the price by its option: `prices (price = ...)`"
    assert fault("prices", text, time="at", price="EUR", forecast="tomorow").help == "did you mean `tomorrow`?"
    assert prices(read("prices", text, time="at", price="EUR", series="node", slot=120.0)) == [0.5, 2.5]
    numbered = read("prices", text, time="at", price="EUR", slot=60.0, start="2024-01-01T00:00Z")
    assert numbered.frame["slot"].to_list() == [0, 1, 2]


@pytest.mark.parametrize("minutes", [5, 15, 30, 60])
def test_the_length_of_intervals_is_inferred(minutes: int) -> None:
    begin = datetime(2024, 1, 1)
    stamps = [begin + timedelta(minutes=k * minutes) for k in range(240 // minutes)]
    text = "time,price\n" + "".join(f"{s},{k}\n" for k, s in enumerate(stamps))
    table = read("prices", text, slot=60.0)
    per = 60 // minutes
    assert prices(table) == [round(per * h + (per - 1) / 2, 6) for h in range(4)]


def test_a_length_that_cannot_be_inferred() -> None:
    text = "time,price\n2024-01-01 00:00,1\n2024-01-01 00:07,2\n2024-01-01 00:14,3\n"
    assert fault("prices", text).help == "state the option `interval`"
    assert prices(read("prices", text, interval=7.0, slot=7.0, start="2024-01-01")) == [1, 2, 3]


def test_which_number_is_the_month() -> None:
    days = "time,price\n" + "".join(f"{d:02}/06/2018 {h:02}:00,1\n" for d in (1, 2, 3) for h in range(24))
    assert read("prices", days).frame["time"][0] == "2018-06-01T00:00:00Z"
    turned = "time,price\n" + "".join(f"06/{d:02}/2018 {h:02}:00,1\n" for d in (1, 2, 3) for h in range(24))
    assert read("prices", turned).frame["time"][0] == "2018-06-01T00:00:00Z"
    assert read("prices", turned, dates="mdy").frame["time"][-1] == "2018-06-03T23:45:00Z"
    both = "time,price\n01/02/2018 00:00,1\n01/03/2018 07:00,2\n02/03/2018 00:00,2\n"
    assert "order of day and month" in fault("prices", both).message


def test_a_forecast_that_is_empty_in_places() -> None:
    text = "time,price,f\n2024-01-01 00:00,1,5\n2024-01-01 01:00,2,\n"
    table = read("prices", text, forecast="f", slot=60.0)
    assert table.frame["forecast"].to_list() == [5.0, None]
    assert isinstance(table.frame, pl.DataFrame)
