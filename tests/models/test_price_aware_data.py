"""The data of the price-aware day equal the output of their script, and follow their rules."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmarks.data_scripts import MODELS, script

FOLDER = MODELS / "price_aware" / "data" / "day"


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_files_are_what_the_script_makes(tmp_path: Path) -> None:
    script(FOLDER / "generate_instance.py").main(tmp_path)
    made = sorted(path.name for path in tmp_path.iterdir())
    assert sorted([*made, "prices.csv"]) == sorted(path.name for path in FOLDER.glob("*.csv"))
    for name in made:
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), name


def test_size_of_the_day() -> None:
    assert [len(rows(name)) for name in ("nodes.csv", "slots.csv", "jobs.csv", "services.csv")] == [20, 96, 30, 3]


def test_prices_of_an_hour_hold_in_its_quarters() -> None:
    hourly = [float(row["usd_per_mwh"]) for row in rows("prices.csv")]
    slots = [float(row["usd_per_mwh"]) for row in rows("slots.csv")]
    assert slots == [price for price in hourly for _ in range(4)]
    assert sum(price < 0 for price in hourly) == 2


def test_derived_values() -> None:
    """Those of the table of values to check the generator by."""
    generator = script(FOLDER / "generate_instance.py")
    assert [generator.minutes_per_epoch(0, kind) for kind in range(4)] == pytest.approx([35.0, 30.0, 12.5, 20.0])
    assert [generator.minutes_per_epoch(2, kind) for kind in range(4)] == pytest.approx([19.6, 16.8, 7.0, 11.2])
    served = [generator.requests_served_per_minute(0, kind) for kind in range(4)]
    assert served == pytest.approx([774.2, 872.7, 1920.0, 1714.3], abs=0.05)


def test_every_job_can_be_done_in_time_on_the_fastest_type() -> None:
    generator = script(FOLDER / "generate_instance.py")
    for job in generator.draw_jobs():
        fastest = min(generator.slots_needed(job.model, kind, job.epochs) for kind in range(4))
        assert 0 <= job.arrives <= job.due < generator.SLOTS
        assert fastest <= job.due - job.arrives + 1


def test_mean_load() -> None:
    mean = sum(float(row["requests_per_min"]) for row in rows("load.csv")) / 96
    assert mean == pytest.approx(12_500, rel=0.02)
