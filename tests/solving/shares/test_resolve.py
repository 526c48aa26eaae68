"""Re-solves share by share: from the earlier prices, with the same result as the ordinary way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gpusched_dsl as gs
from gpusched_dsl.solving.shares import choice

TEXT = """model Bought {
  set Jobs;
  set Types;
  param worth[Jobs];
  param price[Types];
  var buy[Types] integer >= 0 <= 9;
  var run[Jobs, Types] binary;
  maximize gain: sum[j in Jobs, t in Types] worth[j] * run[j, t] - sum[t in Types] price[t] * buy[t];
  constraint once[j in Jobs]: sum[t in Types] run[j, t] <= 1;
  constraint fits[t in Types]: sum[j in Jobs] run[j, t] <= 3 * buy[t];
}
scenario S for Bought {
  table Jobs: worth = a 3  b 5  c 2  d 7  e 4  f 6  g 1;
  table Types: price = small 6  large 8;
}
"""


def change(model: gs.Model, values: dict[str, Any]) -> None:
    for name, value in values.items():
        model.set(name, value)


def test_a_resolve_starts_from_the_earlier_prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bought.gsm"
    path.write_text(TEXT, encoding="utf-8")
    changed = {"a": 3, "b": 5, "c": 2, "d": 7, "e": 9, "h": 8}
    usual = gs.load(path)
    first = usual.solve("S").objective
    change(usual, {"Jobs": list(changed), "worth": changed})
    second = usual.resolve().objective

    monkeypatch.setattr(choice, "LEAST_JOBS", 5)
    model = gs.load(path)
    found = model.solve("S")
    assert found.solved.statistics["shares"] == 1
    assert found.solved.prices is not None
    assert found.objective == pytest.approx(first)
    change(model, {"Jobs": list(changed), "worth": changed})
    again = model.resolve()
    assert again.solved.statistics["shares"] == 1
    assert again.objective == pytest.approx(second)
    assert again.gap == pytest.approx(0, abs=1e-4)


def test_prices_of_other_rows_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "LEAST_JOBS", 5)
    path = tmp_path / "bought.gsm"
    path.write_text(TEXT, encoding="utf-8")
    model = gs.load(path)
    model.solve("S")
    prices = {"small": 6, "large": 8, "huge": 1}
    change(model, {"Types": list(prices), "price": prices})
    again = model.resolve()
    assert again.solved.statistics["shares"] == 1
    assert again.objective == pytest.approx(28 - 3)  # 7 jobs on three of the new ones
