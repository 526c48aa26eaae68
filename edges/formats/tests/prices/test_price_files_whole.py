"""Complete files of prices, if available: a year of clock changes, gaps and negative prices in each."""

from __future__ import annotations

import polars as pl
import pytest
from price_files import SHARED, fault, prices, read

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="whole price files are not here")
ALL_ZONES = SHARED / "nyiso" / "rt_lbmp_hourly_2018-05-28_2018-07-08_all_zones.csv"
EUROPE = SHARED / "dayahead_europe"


def test_a_week_in_june() -> None:
    table = read("nyiso", ALL_ZONES, zone="CENTRL", start="2018-06-01", slots=672)
    assert (table.frame.height, table.frame["time"][0]) == (672, "2018-06-01T04:00:00Z")
    rows = pl.read_csv(ALL_ZONES).filter(
        (pl.col("zone") == "CENTRL")
        & pl.col("hour_beginning_local").is_between(pl.lit("2018-06-01"), pl.lit("2018-06-08"))
    )
    assert prices(table)[::4] == rows["lbmp_usd_per_mwh"].to_list()
    assert (table.rows, sum(each.rows for each in table.filtered)) == (15120, 15120 - 1008)


def test_a_year_of_one_zone() -> None:
    table = read("nyiso", SHARED / "nyiso" / "rt_lbmp_hourly_2018_CENTRL.csv", slot=60.0)
    assert table.frame.height == 8760
    assert [each.rows for each in table.dropped] == [1]
    assert any("2018-11-04T06:00:00Z" in note for note in table.notes)


def test_half_a_year_of_quarter_hours() -> None:
    table = read("entsoe", EUROPE / "FR_15min_2025_01_06.csv")
    assert (table.rows, table.frame.height, table.dropped) == (17372, 17372, ())
    source = pl.read_csv(EUROPE / "FR_15min_2025_01_06.csv")["price_eur_per_mwh"]
    assert prices(table) == source.to_list()
    assert min(prices(table)) < 0


@pytest.mark.parametrize("country", ["france", "italy", "belgium", "spain", "germany"])
def test_countries(country: str) -> None:
    table = read("dayahead_countries", EUROPE / "six_countries_hourly_2022_01_06.csv", zone=country, slot=60.0)
    assert (table.frame.height, [each.rows for each in table.dropped]) == (4343, [1])


def test_a_country_with_days_missing() -> None:
    assert fault("dayahead_countries", EUROPE / "six_countries_hourly_2022_01_06.csv", zone="uk").code == "GSM2031"


@pytest.mark.parametrize("country", ["FR", "DE", "BE"])
def test_forecasts_of_a_year(country: str) -> None:
    table = read("epf", EUROPE / f"{country}_price_and_forecast_year1.csv", slot=60.0)
    assert table.frame.height == 8736
    assert table.frame.select(pl.all().null_count()).row(0) == (0,) * 6
    error = (table.frame["forecast_dnn"] - table.frame["price"]).abs().mean()
    assert error is not None
    assert 0 < error < 10
