"""`ord(s)` counts the elements of an ordered set from 1, in the order of the set that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from every_way import solve_every_way

from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import workspace_from_text

MODEL = """
model O {{
  set Slots ordered; set Peak within Slots; set Own within Slots ordered; set U; set Odd = 3..9 by 2;
  set D = {{ 5, 1 }};
  set Of[U] within Slots;
  param p[{index}] = {value};
  var x >= 0; minimize cost: x; constraint c: x >= 1;
}}
scenario S for O {{
  Slots = {{ h3, h1, h9, h2 }}; Peak = {{ h2, h3 }}; Own = {{ h2, h3 }}; U = {{ u }}; Of[u] = {{ h9 }};
}}
"""


def values(index: str, value: str) -> list[float]:
    found = Diagnostics()
    workspace = workspace_from_text(MODEL.format(index=index, value=value), "test", found)
    scenario = check_scenario(workspace, "S", {}, found)
    found.raise_if_errors()
    assert scenario is not None
    return [float(v) for v in build_instance(scenario, folder=Path()).store.params["p"].values]


@pytest.mark.parametrize(
    ("index", "value", "expected"),
    [
        ("h in Slots", "ord(h)", [1, 2, 3, 4]),
        ("h in Peak", "ord(h)", [4, 1]),
        ("h in Peak", "ord(h, Peak)", [2, 1]),
        ("h in Own", "ord(h)", [1, 2]),
        ("h in Own", "ord(h, Slots)", [4, 1]),
        ("t in Odd", "ord(t)", [1, 2, 3, 4]),
        ("t in 2..4", "ord(t) + ord(t + 2, 2..9)", [4, 6, 8]),
        ("d in D", "ord(d)", [1, 2]),
        ("h in Slots where h < last(Slots)", "ord(next(h)) - ord(h) + ord(first(Slots))", [2, 2, 2]),
        ("h in Slots", 'ord("h9", Slots) * (if ord(h) <= 2 then .5 else -.5)', [1.5, 1.5, -1.5, -1.5]),
        ("u in U", "card(Of[u]) + 10 * card(Slots) - card({ h in Slots where ord(h) > 1 })", [38]),
        ("u in U", "sum[h in Of[u]] ord(h) + ord(first(Peak)) + ord(last(Own))", [6]),
    ],
)
def test_positions(index: str, value: str, expected: list[float]) -> None:
    assert values(index, value) == expected


@pytest.mark.parametrize(
    ("index", "value", "code", "at"),
    [
        ("u in U", "ord(u)", "GSM1209", "u"),
        ("h in Slots", "ord(h, U)", "GSM1209", "U"),
        ("t in 1..3", "ord(2 * t)", "GSM1212", "2 * t"),
        ("h in Slots", "ord(1.5, Odd)", "GSM1203", "1.5"),
        ("h in Slots", "ord(h, Odd)", "GSM1203", "h"),
        ("h in Slots", "ord()", "GSM1212", "ord()"),
        ("u in U", "ord(first(Of[u]), Of[u])", "GSM1212", "Of[u]"),
        ("h in Slots", "ord(prev(h))", "GSM3002", "prev(h)"),
        ("h in Slots", "ord(h, Peak)", "GSM3002", "h"),
        ("t in 1..3", "ord(t, Odd)", "GSM3002", "t"),
        ("h in Slots", "card(Slots, Peak)", "GSM1212", "card(Slots, Peak)"),
    ],
)
def test_faults(index: str, value: str, code: str, at: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        values(index, value)
    [found] = caught.value.diagnostics
    assert isinstance(found.primary, Span)
    assert (found.code, found.primary.text) == (code, at)


def test_positions_in_rows(tmp_path: Path) -> None:
    """Beside interchangeable nodes, blocks, units and conditions on decisions."""
    text = """model M {
      set Slots ordered; set Nodes identical; set Hours = 4..7;
      param size[h in Slots] in h = 1[h] * ord(h);
      var on[Nodes, Slots] binary; var x[Hours] >= 0 <= 1;
      let late[h in Slots] = sum[n in Nodes] ord(h) * on[n, h];
      minimize total in h {
        waiting: sum[n in Nodes, h in Slots] size[h] * on[n, h];
        gain: -1[h] * sum[h in Hours] x[h] / ord(h);
      }
      constraint odd[h in Hours where ord(h) > 2]: x[h] <= 1 / ord(h);
      constraint work[n in Nodes]: sum[h in Slots where ord(h) >= card(Slots) - 1] on[n, h] >= 1;
      constraint few: late[last(Slots)] <= 0 or late["a"] >= ord(last(Slots));
      decompose by Nodes;
    } scenario S for M { Slots = { b, a, c }; Nodes = 1..3; }"""
    solve_every_way(text, 6 - (1 + 1 / 2 + 1 / 9 + 1 / 16), tmp_path)
