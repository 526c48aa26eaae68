"""Data with added slots equal the data that state these slots, with the values of the last one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpusched_dsl
from gpusched_dsl.ir.domains import decode
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.more_slots import KnownSlots, with_known, with_slots
from gpusched_dsl.online.data.updates import with_values

MODEL = """
model M {
  set Jobs;  set Nodes;  set Slots ordered;
  set Peak within Slots;
  set Open within Nodes cross Slots;
  param price[Slots];
  param load[Nodes, Slots];
  param share[Slots, Nodes];
  param best[Slots] within Nodes;
  param fee[Jobs, Slots] default 7;
  param rate[Nodes];
  random wind[Slots] ~ normal(mean = 1, deviation = 1);
  param cost[n in Nodes, h in Slots] = price[h] * load[n, h] + share[h, n] * rate[n];
  var run[Jobs, Nodes, Slots] binary;
  minimize z: sum[j in Jobs, n in Nodes, h in Slots] cost[n, h] * run[j, n, h];
  placement run[j, n, h] { job j; node n; slot h; lasts 1[h]; }
}
online W for M { window h in Slots lookahead 2 commit 1; arrive j in Jobs at 0; work 1; speed 1; }
"""


def scenario(prices: list[float]) -> str:
    count = len(prices)
    last = min(count, 4)
    slots = range(3, 3 + count)
    level = [min(k, last - 1) for k in range(count)]
    peak = ", ".join(str(h) for h, k in zip(slots, level, strict=True) if k in (1, last - 1))
    opened = ", ".join(f"(a, {h})" for h, k in zip(slots, level, strict=True) if k != 2)
    loads = "  ".join(f"a {h} {k + 1}  b {h} {k + 10}" for h, k in zip(slots, level, strict=True))
    shares = "  ".join(f"{h} b {k * 0.5}  {h} a {k * 0.25}" for h, k in zip(slots, level, strict=True))
    rows = "  ".join(f"{h} {p} {'ab'[k % 2]}" for h, p, k in zip(slots, prices, level, strict=True))
    fees = "  ".join(f"j {h} {k}" for h, k in zip(slots, level, strict=True) if k != 0)
    return f"""scenario S for M {{
  Jobs = {{ i, j }};  Nodes = {{ a, b }};  rate = [2, 3];
  table Slots: price best = {rows};
  Peak = {{ {peak} }};  Open = {{ {opened} }};
  table Nodes, Slots: load = {loads};
  table Slots, Nodes: share = {shares};
  table Jobs, Slots: fee = {fees};
}}
"""


def base_of(prices: list[float]) -> Base:
    return gpusched_dsl.loads(MODEL + scenario(prices)).live("S", online="W")._loop.base


def content(base: Base) -> dict[str, Any]:
    """All sets and parameters by labels."""
    store, found = base.store, {}
    for name in base.model.sets:
        domain = store.sets[name]
        found[name] = sorted(decode(domain.components, domain.columns()))
    for name in base.model.params:
        param = store.params[name]
        keys = decode(param.domain.components, param.domain.columns()) if param.domain.arity else [()]
        found[name] = dict(zip(keys, param.values.tolist(), strict=True))
    return found


def test_added_slots_repeat_the_last_one() -> None:
    base = base_of([4, 1, 2, 5])
    known = KnownSlots.of(base, "Slots", ())
    grown, after = with_slots(base, known, 7)
    assert content(grown) == content(base_of([4, 1, 2, 5, 5, 5, 5]))
    assert after.last_known(grown, np.arange(2, 4)) == {}
    assert after.last_known(grown, np.arange(3, 5)) == dict.fromkeys(("price", "load", "share", "best", "fee"), 6)
    again, _ = with_slots(grown, after, 5)
    assert again is grown


@pytest.mark.parametrize("in_steps", [False, True])
def test_values_of_later_slots_are_repeated_until_the_next_known_one(in_steps: bool) -> None:
    grown, known = with_slots(base_of([4, 1, 2, 5]), KnownSlots.of(base_of([4, 1, 2, 5]), "Slots", ()), 9)
    given = [(8, 20.0), (10, 30.0)]
    for part in [[pair] for pair in given] if in_steps else [given]:
        grown = with_values(grown, {"price": [((slot,), price) for slot, price in part]})
        grown, known = with_known(grown, known, {"price": {slot for slot, _ in part}})
    assert content(grown)["price"] == {
        (3,): 4,
        (4,): 1,
        (5,): 2,
        (6,): 5,
        (7,): 5,
        (8,): 20,
        (9,): 20,
        (10,): 30,
        (11,): 30,
    }
    assert content(grown)["cost"][("a", 11)] == 30 * 4 + 0.75 * 2
    assert known.last_known(grown, np.arange(0, 9)) == dict.fromkeys(("load", "share", "best", "fee"), 6) | {
        "price": 10
    }
    assert known.last_known(grown, np.arange(7, 8)).get("price") is None


def test_a_slot_that_no_event_may_name() -> None:
    with pytest.raises(DiagnosticError, match="GSM5207"):
        with_values(base_of([1, 2]), {"price": [((99,), 1.0)]})
