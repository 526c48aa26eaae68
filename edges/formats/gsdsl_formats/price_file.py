"""Kinds of price files as data: their columns, series, clocks, and the options of `prices` that a kind fixes."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from gpusched_dsl.language.scenarios.formats import Setting

FIRST_COLUMN = ""  # instead of a pattern: the first column, whatever its name


class SeriesColumn(Struct, frozen=True):
    """A column, if the file has it, that names the series of each row; an option chooses one.

    `what` names the series in messages. A number that is chosen in a `unique` column leaves no choice to later columns.
    """

    label: str
    option: str = "zone"
    what: str = "places"
    unique: bool = False


class PriceFile(Struct, frozen=True):
    """How a kind of file states times and prices.

    `columns` and `optional` have regular expressions of names (complete, any case). `named` columns are those that
    options of these names state instead. The columns `date` and `hour` (`00:00 - 01:00`) replace `time`. In a `wide`
    file, every series is a column, chosen by the option `zone`; the other columns are in `columns`.
    With `ranges`, times are `start - end`, both marked (CET) or (CEST) where clocks change.
    `clocks` are time zones by a text in the header, in order, if the option `timezone` states none. `stamps` are values
    of the option `stamps` by a pattern in the name of the file, if the option is `auto`; without one, times end
    intervals where they are less than an hour apart. Where they end intervals, `end_interval` (min) is the default of
    `interval`. `fixed` are options of `prices` that a file of this kind determines.
    """

    columns: Mapping[str, str] = {}
    optional: Mapping[str, str] = {}
    named: tuple[str, ...] = ()
    wide: bool = False
    series: tuple[SeriesColumn, ...] = ()
    ranges: bool = False
    clocks: Mapping[str, str] = {}
    stamps: Mapping[str, str] = {}
    end_interval: int = 0
    fixed: Mapping[str, Setting] = {}


NYISO = PriceFile(
    {"time": r"time ?stamp|time|hour_beginning_local", "price": r"lbmp\b.*|lbmp_usd_per_mwh"},
    {"zone": r"name|zone", "ptid": r"ptid"},
    series=(SeriesColumn("ptid", "ptid", unique=True), SeriesColumn("zone")),
    # Real-time files have rows about every 5 min, off-schedule ones between them; their stamps end intervals. Day-ahead
    # and integrated prices have a row an hour, whose stamps start it.
    stamps={"damlbmp|rtlbmp": "start", "realtime": "end"},
    end_interval=5,
    fixed={"dates": "mdy"},
)
ENTSOE = PriceFile(
    {"time": r"mtu.*", "price": r"(day-ahead )?price.*"},
    {"zone": r"area.*|bidding zone", "sequence": r"sequence"},
    series=(SeriesColumn("sequence", "sequence", "sequences"), SeriesColumn("zone")),
    ranges=True,
    clocks={"(utc)": "UTC", "": "Europe/Brussels"},
    fixed={"dates": "dmy"},
)
COUNTRIES = PriceFile({"date": "date", "hour": "hour"}, wide=True, fixed={"dates": "dmy", "interval": 60.0})
# Every day has 24 rows: the missing hour of a clock change was interpolated and is skipped by the reader, the repeated
# hour was averaged and counts for both.
EPF = PriceFile(
    {"time": FIRST_COLUMN, "price": "price|real price"},
    {
        "forecast_lear56": r"forecast_lear56|lear 56",
        "forecast_lear": r"forecast_lear|lear ensemble",
        "forecast_dnn": r"forecast_dnn|dnn ensemble",
    },
    fixed={"interval": 60.0},
)
ANY = PriceFile(named=("time", "price", "forecast", "series"), series=(SeriesColumn("series"),))
