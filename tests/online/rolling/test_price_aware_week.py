"""The shipped week in rolling windows: its data equal the output of the scripts, and its runs lose nothing."""

from __future__ import annotations

import csv
from pathlib import Path

from benchmarks.data_scripts import MODELS, script
from benchmarks.price_aware.week import Week, write

HERE = MODELS / "price_aware" / "data" / "week"
BENCHMARK = MODELS.parent / "benchmarks" / "price_aware"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_data_are_what_the_scripts_make(tmp_path: Path) -> None:
    script(HERE / "convert_prices.py").main(tmp_path)
    for name in ("slots.csv", "two_days/slots.csv"):
        assert (tmp_path / name).read_bytes() == (HERE / name).read_bytes()
    write(tmp_path / "week", Week(real=True))
    two_days = Week(slack=2.5, jobs=15, nodes=2, slots=192, rate=2000, real=True)
    write(tmp_path / "two_days", two_days)
    for name in ("jobs", "load", "nodes", "training", "services", "serving", "types"):
        assert (tmp_path / "week" / f"{name}.csv").read_bytes() == (HERE / f"{name}.csv").read_bytes()
    for name in ("jobs", "load", "nodes", "training"):
        assert (tmp_path / "two_days" / f"{name}.csv").read_bytes() == (HERE / "two_days" / f"{name}.csv").read_bytes()


def test_prices_are_those_of_the_benchmark_and_a_day_before() -> None:
    prices = [float(row["usd_per_mwh"]) for row in rows(HERE / "prices.csv")]
    known = [float(row["usd_per_mwh"]) for row in rows(BENCHMARK / "nyiso_central.csv")]
    assert prices[24:] == known
    slots = rows(HERE / "slots.csv")
    assert [float(row["usd_per_mwh"]) for row in slots[::4]] == known
    assert [float(row["day_before_usd_per_mwh"]) for row in slots[::4]] == prices[:-24]
