"""Files of prices: electricity of New York, of Europe, of benchmarks, and of any file with times."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpusched_dsl.data.formats.separators import TEXT_OPTIONS
from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Option, Raw, Setting
from gsdsl_formats.price_file import ANY, COUNTRIES, ENTSOE, EPF, NYISO, PriceFile

_SLOTS = (
    Option(
        "from",
        'first slot, on the clock of the file: "2018-06-01 00:00"',
        "",
        starts=True,
        shown="the start of the scenario's calendar, else the first time of the file",
    ),
    Option("slots", "number of slots; 0: all complete slots", 0, least=0, shown="all slots of the file"),
    Option("slot", "length of a slot", 15.0, unit="min", least=0.001),
    Option("max_gap", "longest gap that is filled with the previous price", 60.0, unit="min", least=0),
)
_TIMEZONE = "time zone of the times"
_INTERVAL = Option(
    "interval", "length of the interval of a price", 0.0, unit="min", least=0, shown="derived from the times"
)


def _columns(unit: str, forecasts: Mapping[str, str] | None = None) -> tuple[FormatColumn, ...]:
    return (
        FormatColumn("time", "start of the slot in UTC"),
        FormatColumn("slot", "number of the slot, 0 at `from`"),
        FormatColumn("price", "time-weighted mean price of electricity in the slot", unit),
        *(FormatColumn(name, meaning, unit) for name, meaning in (forecasts or {}).items()),
    )


def _prices(file: PriceFile) -> Callable[[Raw | None, Mapping[str, Setting]], FormatTable]:
    def read(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
        from gsdsl_formats.price_reader import read_prices

        assert raw is not None
        return read_prices(file, raw, settings)

    return read


FORMATS: Mapping[str, Format] = {
    "nyiso": Format(
        "nyiso",
        "Locational prices of the New York Independent System Operator: real-time, day-ahead or hourly.",
        _columns("$/MWh"),
        _prices(NYISO),
        (
            Option("zone", "zone or generator, the column Name", "", shown="the only one"),
            Option("ptid", "number of the zone or generator, the column PTID; 0: any", 0, least=0, shown="any"),
            *_SLOTS,
            Option(
                "stamps",
                "whether times start or end intervals",
                "auto",
                choices=("auto", "start", "end"),
                shown="end in real-time files, else start",
            ),
            Option("timezone", _TIMEZONE, "America/New_York"),
            _INTERVAL,
            *TEXT_OPTIONS,
        ),
        "mis.nyiso.com: realtime, damlbmp and rtlbmp files, or zip archives of them; public",
    ),
    "entsoe": Format(
        "entsoe",
        "Day-ahead prices of the European transparency platform, one market time unit per row.",
        _columns("EUR/MWh"),
        _prices(ENTSOE),
        (
            Option("zone", "bidding zone, the column Area", "", shown="the only one"),
            Option("sequence", "rows with another text in the column Sequence are skipped", "Without Sequence"),
            *_SLOTS,
            Option("timezone", _TIMEZONE, "", shown="Europe/Brussels, or UTC if the header states it"),
            *TEXT_OPTIONS,
        ),
        "transparency.entsoe.eu, export of day-ahead prices as CSV",
    ),
    "dayahead_countries": Format(
        "dayahead_countries",
        "Hourly day-ahead prices of several countries: columns date, hour (`00:00 - 01:00`) and one for each country.",
        _columns("EUR/MWh"),
        _prices(COUNTRIES),
        (
            Option("zone", "column of the country", kind=str),
            *_SLOTS,
            Option("timezone", _TIMEZONE, "Europe/Brussels"),
            *TEXT_OPTIONS,
        ),
        "github.com/uthman399/Electricity-Day-Ahead-Prices (MIT)",
    ),
    "epf": Format(
        "epf",
        "Hourly prices with published forecasts of the epftoolbox; every day has 24 rows.",
        _columns(
            "EUR/MWh",
            {
                "forecast_lear56": "forecast by LEAR on 56 days",
                "forecast_lear": "forecast by an ensemble of LEAR",
                "forecast_dnn": "forecast by an ensemble of neural networks",
            },
        ),
        _prices(EPF),
        (*_SLOTS, Option("timezone", _TIMEZONE, "Europe/Brussels"), *TEXT_OPTIONS),
        "github.com/jeslago/epftoolbox (Apache-2.0); Lago et al., Applied Energy 293, 2021",
    ),
    "prices": Format(
        "prices",
        "Any file with a column of times and one of prices, and perhaps one of forecasts.",
        _columns("", {"forecast": "time-weighted mean of the forecast in the slot"}),
        _prices(ANY),
        (
            Option("time", "column of the times", "time"),
            Option("price", "column of the prices", "price"),
            Option("forecast", "column of the forecasts", "", shown="none"),
            Option("series", "column that names the series", "", shown="none"),
            Option("zone", "chosen series, if there are several", "", shown="the only one"),
            *_SLOTS,
            Option("timezone", _TIMEZONE + " without an offset", "UTC"),
            Option("stamps", "whether times start or end intervals", "start", choices=("start", "end")),
            _INTERVAL,
            Option(
                "dates",
                "order of day and month if the year is last",
                "auto",
                choices=("auto", "mdy", "dmy"),
                shown="derived from the dates",
            ),
            *TEXT_OPTIONS,
        ),
    ),
}
