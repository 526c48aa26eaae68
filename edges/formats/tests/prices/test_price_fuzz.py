"""Damaged price files are read or refused with a finding, never with a traceback."""

from __future__ import annotations

import random

import pytest
from price_files import SAMPLES

from gpusched_dsl.data.formats.registry import reader
from gpusched_dsl.data.formats.shape import Raw, Setting
from gpusched_dsl.data.sources.files import Unreadable

CASES: list[tuple[str, str, dict[str, Setting]]] = [
    ("nyiso", "nyiso_june_2018.csv", {"zone": "CENTRL"}),
    ("entsoe", "fr_march_2025.csv", {}),
    ("dayahead_countries", "six_countries_march_2022.csv", {"zone": "france"}),
    ("epf", "fr_forecasts_october_2015.csv", {}),
    ("prices", "fr_forecasts_october_2015.csv", {"time": "datetime_local", "forecast": "forecast_dnn"}),
    ("cloud_prices", "cloud_offers.csv", {}),
]
CELLS = ["", "-", "n/e", "9999999", "1e400", "nan", "inf", "-1", "-0", "1e-300", "1e308", "x", "é", "(CET)", " - ", "Z"]
CELLS += ["2018-02-30", "0000-00-00", "99/99/9999", "24:00", "0001-01-01", "9999-12-31 23:59", "2018-03-11 02:30"]
CELLS += ["2018-06-01 00:00+99:99", "2022/03/27", "02:00 - 03:00", "30/03/2025 02:00:00 - 30/03/2025 02:15:00"]
PIECES = ['"', ",", "\n", "\x00", "\t", ";", "\r", "\ufeff"]


def damaged(text: str, rng: random.Random) -> str:
    for _ in range(rng.randint(1, 5)):
        lines = text.split("\n")
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        kind = rng.random()
        if kind < 0.6:
            cells = lines[at].split(",")
            cells[rng.randrange(len(cells))] = rng.choice(CELLS)
            lines[at] = ",".join(cells)
        elif kind < 0.75:
            lines[at], lines[other] = lines[other], lines[at]
        elif kind < 0.85:
            lines[other:other] = [lines[at]] * rng.randint(1, 3)
        elif kind < 0.95:
            del lines[at : at + rng.randint(1, 20)]
        else:
            place = rng.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:place] + rng.choice(PIECES) + lines[at][place:]
        text = "\n".join(lines)
    return text


def some_settings(name: str, given: dict[str, Setting], rng: random.Random) -> dict[str, Setting]:
    settings = {option.name: option.default for option in reader(name).options if option.default is not None} | given
    choices: dict[str, list[Setting]] = {
        "from": ["", "2018-06-01", "2025-03-30", "2022-03-27 05:00", "0001-01-01", "9999-12-31", "x"],
        "slots": [0, 0, 1, 96, 10**6],
        "slot": [15.0, 15.0, 0.01, 7.0, 60.0, 1e9],
        "max_gap": [60.0, 0.0, 1e6, 1e12],
        "stamps": ["start", "end"],
        "timezone": ["Europe/Brussels", "America/New_York", "Nowhere"],
    }
    for key, values in choices.items():
        if key in settings and rng.random() < 0.3:
            settings[key] = rng.choice(values)
    return settings


def run(seed: int, rounds: int) -> None:
    rng = random.Random(seed)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(rounds):
        name, file, given = rng.choice(CASES)
        text = damaged((SAMPLES / file).read_text(encoding="utf-8"), rng)
        try:
            table = reader(name).read(Raw(file, text.encode()), some_settings(name, given, rng))
        except Unreadable:
            outcomes["refused"] += 1
            continue
        assert table.lines is not None
        assert len(table.lines) == table.frame.height
        assert not table.frame["price"].is_nan().any()
        outcomes["read"] += 1
    assert min(outcomes.values()) > rounds / 20, outcomes


def test_damaged_files() -> None:
    run(1, 80)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_damaged_files(seed: int) -> None:
    run(seed, 200)
