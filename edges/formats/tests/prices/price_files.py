"""Price files for tests, read by their formats with options as a text would state them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusched_dsl.data.formats.registry import reader
from gpusched_dsl.data.formats.separators import content_of
from gpusched_dsl.data.formats.shape import FormatTable, Setting
from gpusched_dsl.data.sources.files import Fault, FileLimits, Unreadable

SAMPLES = Path(__file__).parent / "samples"
SHARED = Path(__file__).resolve().parents[5] / "shared" / "data"


def read(name: str, data: Path | str | bytes, file: str = "prices.csv", **options: Setting) -> FormatTable:
    """`start` stands for the option `from`."""
    known = reader(name)
    if "start" in options:
        options["from"] = options.pop("start")
    settings = {option.name: option.default for option in known.options if option.default is not None}
    assert options.keys() <= {option.name for option in known.options}
    if isinstance(data, Path):
        file, data = data.name, data.read_bytes()
    raw = content_of(known, file, data.encode() if isinstance(data, str) else data, settings | options, FileLimits())
    table = known.read(raw, settings | options)
    assert set(table.frame.columns) <= {column.name for column in known.columns}
    assert table.lines is not None
    assert len(table.lines) == table.frame.height
    return table


def fault(name: str, data: Path | str | bytes, file: str = "prices.csv", **options: Setting) -> Fault:
    with pytest.raises(Unreadable) as caught:
        read(name, data, file, **options)
    [found] = caught.value.faults
    return found


def prices(table: FormatTable) -> list[float]:
    return [round(price, 6) for price in table.frame["price"].to_list()]


def real_time(rows: list[tuple[str, float]], day: str = "06/01/2018", zone: str = "CENTRL", ptid: int = 61754) -> str:
    """Rows of a real-time file with the quotes and headers of the publisher."""
    head = (
        '"Time Stamp","Name","PTID","LBMP ($/MWHr)","Marginal Cost Losses ($/MWHr)","Marginal Cost Congestion ($/MWH"\n'
    )
    lines = [f'"{day if len(time) < 12 else ""}{" " if len(time) < 12 else ""}{time}","{zone}",{ptid},{price},0,0\n'
             for time, price in rows]  # fmt: skip
    return head + "".join(lines)
