"""NYISO files: the worked example, off-schedule stamps, gaps, duplicates, days on which the clocks change."""

from __future__ import annotations

import io
import zipfile
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from price_files import SAMPLES, fault, prices, read, real_time

EASTERN = ZoneInfo("America/New_York")


def five_minutes(first: str, count: int, missing: tuple[int, ...] = ()) -> list[tuple[str, float]]:
    """Stamps from `first` on, 5 min apart, with prices 1, 2, ..."""
    begin = datetime.strptime(first, "%m/%d/%Y %H:%M:%S")
    stamps = [begin + k * timedelta(minutes=5) for k in range(count)]
    return [(f"{s:%m/%d/%Y %H:%M:%S}", k + 1.0) for k, s in enumerate(stamps) if k not in missing]


def test_worked_example() -> None:
    table = read("nyiso", real_time([("00:05:00", 20), ("00:07:30", 50), ("00:10:00", 30), ("00:15:00", 10)]))
    assert prices(table) == [pytest.approx((5 * 20 + 2.5 * 50 + 2.5 * 30 + 5 * 10) / 15, abs=1e-6)] == [23.333333]
    assert table.frame["time"].to_list() == ["2018-06-01T04:00:00Z"]


def test_a_whole_day_of_real_time_prices() -> None:
    table = read("nyiso", real_time(five_minutes("06/01/2018 00:05:00", 288)), start="2018-06-01", slots=96)
    assert prices(table) == [3.0 * h + 2 for h in range(96)]
    assert table.dropped == ()


def test_rows_in_any_order_and_negative_prices() -> None:
    rows = [("00:15:00", -30.0), ("00:05:00", -10.0), ("00:10:00", -20.0)]
    assert prices(read("nyiso", real_time(rows))) == [-20.0]


def test_a_missing_row_belongs_to_the_next_interval() -> None:
    """An interval of 10 min is within what off-schedule stamps may leave."""
    table = read("nyiso", real_time([("00:05:00", 30), ("00:15:00", 60)]))
    assert prices(table) == [50.0]
    assert not [note for note in table.notes if "filled" in note]


def test_a_longer_interval_is_filled_with_the_price_before() -> None:
    table = read("nyiso", real_time([("00:05:00", 30), ("00:30:00", 60)]))
    assert prices(table) == [30.0, 40.0]  # the second: 10 min at 30 and the 5 min before the stamp at 60
    assert "a gap of 20 min at 2018-06-01T04:05:00Z, filled with the previous price" in table.notes


def test_gaps_beyond_the_largest_are_refused() -> None:
    rows = [("00:05:00", 30.0), ("01:10:00", 60.0), ("01:15:00", 60.0)]
    found = fault("nyiso", real_time(rows), "20180601realtime_zone.csv")
    assert (found.code, found.cell and found.cell.row) == ("GSM2031", 2)
    assert "65 min after 2018-06-01T04:05:00Z" in found.message
    assert prices(read("nyiso", real_time(rows), "20180601realtime_zone.csv", max_gap=65.0)) == [30, 30, 30, 30, 50]
    assert prices(read("nyiso", real_time([rows[0], ("01:05:00", 9.0)]), "a_realtime_zone.csv")) == [30, 30, 30, 30]


def test_gaps_outside_the_slots_do_not_matter() -> None:
    rows = [*five_minutes("06/01/2018 00:05:00", 6), *five_minutes("06/01/2018 05:05:00", 6)]
    assert prices(read("nyiso", real_time(rows), start="2018-06-01 05:00", slots=2)) == [2.0, 5.0]
    assert fault("nyiso", real_time(rows)).code == "GSM2031"


def test_rows_outside_the_slots_are_not_reported() -> None:
    early = five_minutes("06/01/2018 00:05:00", 6)
    rows = [*early, early[0], (early[1][0], 99.0), *five_minutes("06/01/2018 05:05:00", 6)]
    assert [each.rows for each in read("nyiso", real_time(rows), max_gap=600.0).dropped] == [1, 1]
    table = read("nyiso", real_time(rows), start="2018-06-01 05:00", slots=2)
    assert (prices(table), table.dropped) == ([2.0, 5.0], ())


def test_the_last_price_goes_on_to_the_end_of_the_last_slot() -> None:
    rows = five_minutes("06/01/2018 00:05:00", 2)
    table = read("nyiso", real_time(rows), slots=1)
    assert prices(table) == [pytest.approx((1 + 2 + 2) / 3, abs=1e-6)]
    assert any("extended by 5 min" in note for note in table.notes)
    assert fault("nyiso", real_time(rows), slots=8).code == "GSM2031"
    assert fault("nyiso", real_time(rows), start="2018-05-31 23:45", slots=1).code == "GSM2031"


def test_duplicates() -> None:
    rows = [("00:05:00", 20.0), ("00:05:00", 20.0), ("00:10:00", 1.0), ("00:10:00", 30.0), ("00:15:00", 10.0)]
    table = read("nyiso", real_time(rows))
    assert prices(table) == [20.0]
    assert {(each.reason, each.rows, each.first) for each in table.dropped} == {
        ("repeated row", 1, 2),
        ("a later row has the same time", 1, 4),
    }


def test_zones_and_numbers() -> None:
    one, other = real_time([("00:15:00", 1.0)]), real_time([("00:15:00", 2.0)], zone="N.Y.C.", ptid=61761)
    text = one + other.partition("\n")[2]
    name = "20180601realtime_zone.csv"
    assert prices(read("nyiso", text, name, zone="n.y.c.", slots=1, start="2018-06-01 00:10", max_gap=10.0)) == [2.0]
    assert prices(read("nyiso", text, name, ptid=61754, start="2018-06-01 00:10", slots=1)) == [1.0]
    assert fault("nyiso", text, name).code == "GSM2032"
    assert fault("nyiso", text, name, ptid=7).code == "GSM2032"
    table = read("nyiso", text, name, zone="CENTRL", start="2018-06-01 00:10", slots=1)
    assert (table.rows, [each.rows for each in table.filtered]) == (2, [1])


def test_day_ahead_prices_start_the_hour() -> None:
    text = "Time Stamp,Name,PTID,LBMP ($/MWHr)\n06/01/2018 00:00,CENTRL,61754,10\n06/01/2018 01:00,CENTRL,61754,20\n"
    assert prices(read("nyiso", text, "20180601damlbmp_zone.csv")) == [10.0] * 4 + [20.0] * 4
    assert prices(read("nyiso", text, "20180601rtlbmp_zone.csv", slot=60.0)) == [10.0, 20.0]
    ended = read("nyiso", text, "20180601rtlbmp_zone.csv", slot=60.0, stamps="end", interval=60.0)
    assert ended.frame["time"].to_list() == ["2018-06-01T03:00:00Z", "2018-06-01T04:00:00Z"]


def test_hourly_cut() -> None:
    table = read("nyiso", SAMPLES / "nyiso_june_2018.csv", zone="CENTRL", start="2018-06-01", slots=192)
    assert prices(table)[:5] == [18.5892] * 4 + [18.0083]
    assert min(prices(table)) == -110.6125
    assert table.frame["slot"].to_list() == list(range(192))


def test_files_of_single_days_are_numbered_from_one_start() -> None:
    later = read("nyiso", real_time(five_minutes("06/02/2018 00:05:00", 288)), start="2018-06-01")
    assert later.frame["slot"].to_list() == list(range(96, 192))
    assert later.frame["time"][0] == "2018-06-02T04:00:00Z"
    half = read("nyiso", real_time(five_minutes("06/01/2018 00:10:00", 5)), start="2018-06-01")
    assert (half.frame["slot"].to_list(), prices(half)) == ([1], [4.0])


def test_what_is_out_of_reach() -> None:
    rows = real_time(five_minutes("06/01/2018 00:05:00", 12))
    assert fault("nyiso", rows, slots=10**12).code == "GSM2031"
    assert fault("nyiso", rows, slot=1e300).code == "GSM2031"
    assert fault("nyiso", rows, slot=1e-6).code == "GSM2031"
    assert fault("nyiso", rows.replace(",3.0,", ",1e99,")).code == "GSM2104"


def test_archives() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("20180602realtime_zone.csv", real_time(five_minutes("06/02/2018 00:05:00", 288)))
        archive.writestr("20180601realtime_zone.csv", real_time(five_minutes("06/01/2018 00:05:00", 288)))
        archive.writestr("readme.txt", "no prices")
    table = read("nyiso", packed.getvalue(), "201806.zip", start="2018-06-01", slots=192)
    assert prices(table) == [3.0 * h + 2 for h in range(96)] * 2
    assert fault("nyiso", packed.getvalue()[:200], "201806.zip").code == "GSM2008"


@pytest.mark.quick(6)
@pytest.mark.parametrize("step", [5, 15, 60])
@pytest.mark.parametrize(("day", "hours"), [("2018-03-11", 23), ("2018-11-04", 25), ("2018-06-01", 24)])
def test_days_of_23_and_25_hours(day: str, hours: int, step: int) -> None:
    """The clock of every row is made from its moment; slots must come back as whole quarters of those moments."""
    begin = datetime.fromisoformat(day).replace(tzinfo=EASTERN).astimezone(UTC)
    at_end = step < 60
    moments = [begin + timedelta(minutes=step * (k + at_end)) for k in range(hours * 60 // step)]
    clock = "%m/%d/%Y %H:%M:%S" if at_end else "%m/%d/%Y %H:%M"
    rows = [(f"{m.astimezone(EASTERN):{clock}}", float(k)) for k, m in enumerate(moments)]
    file = "realtime_zone.csv" if at_end else "damlbmp_zone.csv"
    table = read("nyiso", real_time(rows), file, start=day, slots=hours * 4, interval=float(step))
    per_slot = max(15 // step, 1)
    means = [float(np.mean(range(k * per_slot, (k + 1) * per_slot))) for k in range(hours * 60 // step // per_slot)]
    expected = np.repeat(means, max(step // 15, 1))
    assert prices(table) == [round(value, 6) for value in expected.tolist()]
    starts = [datetime.fromisoformat(time) for time in table.frame["time"].to_list()]
    assert starts[0] == begin
    assert {b - a for a, b in pairwise(starts)} == {timedelta(minutes=15)}
    assert table.dropped == ()


def test_a_repeated_hour_that_stands_there_once() -> None:
    """Days of 24 rows: the second pass has no price of its own, and the hour in spring does not exist."""
    autumn = "hour_beginning_local,lbmp_usd_per_mwh\n" + "".join(f"2018-11-04 {h:02}:00:00,{h}\n" for h in range(24))
    table = read("nyiso", autumn, slot=60.0)
    assert prices(table) == [0, 1, 1, *range(2, 24)]
    spring = autumn.replace("2018-11-04", "2018-03-11")
    table = read("nyiso", spring, slot=60.0)
    assert prices(table) == [0, 1, *range(3, 24)]
    assert [(each.rows, each.first) for each in table.dropped] == [(1, 4)]


def test_the_interval_before_the_clocks_go_forward() -> None:
    """Its end may be called 2:00, which is the moment of 3:00 by the new clock."""
    stamps = [f"03/11/2018 01:{m:02}:00" for m in range(5, 60, 5)]
    for last in ("02:00:00", "03:00:00"):
        rows = [(stamp, 1.0) for stamp in stamps] + [(f"03/11/2018 {last}", 7.0)]
        table = read("nyiso", real_time(rows))
        assert (prices(table), table.dropped) == ([1, 1, 1, 3], ())
    table = read("nyiso", real_time([*rows, ("03/11/2018 02:05:00", 9.0)]))
    assert [each.rows for each in table.dropped] == [1]


def test_cells_that_are_none() -> None:
    found = fault("nyiso", real_time([("00:05:00", 1.0)]).replace(",1.0,", ",much,"))
    assert (found.code, found.cell and found.cell.text) == ("GSM2104", "much")
    found = fault("nyiso", real_time([("25:05:00", 1.0)]))
    assert (found.code, found.cell and found.cell.row) == ("GSM2030", 2)
    assert fault("nyiso", "a,b\n1,2\n").code == "GSM2011"
    assert fault("nyiso", "").code == "GSM2010"
    assert fault("nyiso", real_time([("00:05:00", 1.0)]), timezone="Mars/Base").code == "GSM2030"
    assert fault("nyiso", real_time([("00:05:00", 1.0)]), start="tomorrow").code == "GSM2030"
    assert fault("nyiso", real_time([("00:05:00", 1.0)]), start="2018-03-11 02:30").code == "GSM2030"


def test_a_number_without_its_column_leaves_the_choice_of_a_zone() -> None:
    """Prices of several zones are never mixed."""
    text = "time,zone,lbmp\n" + "".join(f"2018-06-01 0{h}:00,{z},{h}\n" for h in range(3) for z in ("CENTRL", "N.Y.C."))
    found = fault("nyiso", text, ptid=61754)
    assert (found.code, found.notes) == ("GSM2032", ("its places are `CENTRL`, `N.Y.C.`",))
    assert prices(read("nyiso", text, ptid=61754, zone="N.Y.C.", slot=60.0)) == [0, 1, 2]


@pytest.mark.parametrize("options", [{}, {"zone": "CENTRL"}, {"ptid": 61754}])
def test_a_file_without_rows(options: dict[str, str | int]) -> None:
    found = fault("nyiso", real_time([]), **options)
    assert (found.code, found.message) == ("GSM2031", "data file `prices.csv` has no prices")
