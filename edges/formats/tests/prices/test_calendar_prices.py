"""Prices in a scenario with a calendar: slot 0 is time 0, and another time is a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusched_dsl as gs

TEXT = """
model M {
  set Slots ordered = 0..1;
  param tariff[Slots] in $/MWh;
  var x >= 1;
  minimize cost in $/MWh: x * sum[h in Slots] (1 + 99 * h) * tariff[h];
}
scenario S for M {
  CALENDAR
  data "prices.csv" as prices (slot = 60, slots = 2 FROM) { tariff[slot] = price[$/MWh]; }
}
scenario Later extends S { calendar from "2026-10-05 04:00" in "Europe/Berlin"; }
"""
BERLIN = 'calendar from "2026-10-05 03:00" in "Europe/Berlin";'  # 1:00 in UTC
HOURS = {"2026-10-05T00:00Z": 1, "2026-10-05T01:00Z": 2, "2026-10-05T02:00Z": 4, "2026-10-05T03:00Z": 8}


def model(folder: Path, calendar: str, stated: str = "") -> gs.Model:
    rows = "".join(f"{time},{price}\n" for time, price in HOURS.items())
    (folder / "prices.csv").write_text("time,price\n" + rows, encoding="utf-8")
    text = TEXT.replace("CALENDAR", calendar).replace("FROM", f', from = "{stated}"' if stated else "")
    (folder / "m.gsm").write_text(text, encoding="utf-8")
    return gs.load(folder / "m.gsm")


@pytest.mark.parametrize(
    ("calendar", "stated", "scenario", "first", "warned"),
    [("", "", "S", 1, False),
     (BERLIN, "", "S", 2, False),
     (BERLIN, "", "Later", 4, False),
     (BERLIN, "2026-10-05 01:00", "S", 2, False),  # on the clock of the file, UTC
     (BERLIN, "2026-10-05 03:00+02:00", "S", 2, False),
     (BERLIN, "2026-10-05 02:00", "S", 4, True),
     ("", "2026-10-05 02:00", "S", 4, False)],
)  # fmt: skip
def test_slot_0_is_the_start_of_the_calendar(
    tmp_path: Path, calendar: str, stated: str, scenario: str, first: int, warned: bool
) -> None:
    found = model(tmp_path, calendar, stated).solve(scenario)
    assert found.objective == pytest.approx(first + 100 * 2 * first)
    told = [d for d in found.warnings if d.code == "GSM1695"]
    assert bool(told) is warned
    if warned:
        assert "begins at Mon 2026-10-05 04:00, the calendar at Mon 2026-10-05 03:00" in told[0].message


def test_prices_of_another_day_are_refused(tmp_path: Path) -> None:
    with pytest.raises(gs.DiagnosticError) as refused:
        model(tmp_path, 'calendar from "2026-11-05" in "Europe/Berlin";').solve("S")
    assert [d.code for d in refused.value.diagnostics] == ["GSM2031"]
