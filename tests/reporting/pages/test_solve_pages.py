"""Pages of solves and comparisons: schedules, idle nodes, legends, prices, tables that readers sort and filter."""

from __future__ import annotations

import html
import re
from pathlib import Path

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.reporting.pages import gantt as charts
from gpusched_dsl.reporting.pages.charts import x_axis
from gpusched_dsl.reporting.pages.gantt import Stays, gantt
from gpusched_dsl.reporting.pages.page import summary_fields
from gpusched_dsl.reporting.pages.solve_page import page

SLOTS = """
model Slots {
  set Jobs;  set Nodes;  set Hours ordered;
  param tariff[Hours] in $/kWh;
  param spot[Nodes, Hours] in $/h default 1[$/h];
  param weight[Hours] default 1;
  param step in min default 60[min];
  param length[Jobs] integer;
  var run[Jobs, Nodes, Hours] binary;
  minimize cost in $: sum[j in Jobs, n in Nodes, h in Hours] tariff[h] * 2[kW] * step * run[j, n, h];
  constraint long[j in Jobs]: sum[n in Nodes, h in Hours] run[j, n, h] == length[j];
  constraint off: sum[j in Jobs, n in Nodes, h in Hours where n == "<b>"] run[j, n, h] == 0;
  constraint one[n in Nodes, h in Hours]: sum[j in Jobs] run[j, n, h] <= 1;
  placement run[j, n, h] { job j; node n; slot h; lasts step; }
}
scenario Night for Slots {
  Nodes = { n1, "<b>" };
  table Jobs: length = b 2  none 0;
  table Hours: tariff[$/kWh] = 3 9  4 2  5 1;
}
"""
QUEUES = """
model Queue {
  set Jobs;  set Nodes;
  param lasts[Jobs] in h;  param due[Jobs] in h;
  param gpus[Nodes] integer default 4;
  var run[Jobs, Nodes] binary;
  maximize placed: sum[j in Jobs, n in Nodes] (if due[j] > 2[h] then 2 else 1) * run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint fit[n in Nodes]: sum[j in Jobs] 2 * run[j, n] <= gpus[n];
  constraint off["b"]: sum[j in Jobs, n in Nodes where n == "b"] run[j, n] == 0;
  placement run[j, n] { job j; node n; uses 2 of gpus[n]; lasts lasts[j]; due due[j]; }
}
scenario S for Queue {
  Nodes = { a, b };
  table Jobs: lasts[h] due[h] = x 2 3  y 5 3  z 1 1 ;
}
"""
QUEUE = QUEUES.replace('constraint off["b"]', "constraint off")


def seen(made: str) -> str:
    """What a reader sees, a line per text."""
    return html.unescape(re.sub(r"<[^>]*>", "\n", re.sub(r"<(style|script)\b.*?</\1>", "", made, flags=re.S)))


def test_bars_idle_nodes_and_late_jobs(tmp_path: Path) -> None:
    result = gs.loads(QUEUE).solve(gap=0.0, reasons=True)
    result.to_html(tmp_path / "page.html")
    made = (tmp_path / "page.html").read_text(encoding="utf-8")
    text = seen(made)
    assert "1 node is idle" in text
    assert "b: idle" in text
    assert "ends after its due date" in text
    assert "y: 0 to 5 h, uses 2, late" in text
    assert "2 of 3 jobs placed; 1 waits" in text
    assert "no room: `fit[a]` needs 2, 0 free" in text
    assert "http" not in re.sub(r"<title>.*?</title>", "", made.replace("http-equiv", ""))  # nothing is loaded


def test_slots_and_their_prices() -> None:
    made = gs.loads(SLOTS).solve(gap=0.0).html_text()
    text = seen(made)
    assert "b: 4 to 6 slot" in text  # two neighbouring slots are one bar
    assert "<b>: idle" in text
    assert "Price: tariff [$/kWh]" in text
    assert "Price: spot [$/h]" in text
    assert "weight" not in text  # no price
    assert "<b>" not in re.sub(r"<b>GSM\d+</b>", "", made)  # names are escaped
    assert made.count("<polyline") == 3


def test_a_comparison_has_all_methods(tmp_path: Path) -> None:
    found = gs.loads(QUEUE).compare(["highs", "scip"])
    found.to_html(tmp_path / "page.html")
    made = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert made.count("<section>") == 2
    assert made.count('class="good"') == 2  # both are best
    assert "Queue, scenario S, with scip" in seen(made)
    assert 'class="sortable"' in made


def test_results_without_a_placement_or_a_solution() -> None:
    plain = gs.loads("model M { var x >= 0 <= 3; maximize f: x; } scenario S for M { }").solve()
    assert "<svg" not in page([("highs", plain)])
    impossible = gs.loads(QUEUE.replace("<= gpus[n]", "<= -1")).solve()
    assert "infeasible" in seen(page([("highs", impossible)]))


def stays(count: int, nodes: int) -> Stays:
    numbers = np.arange(count)
    return Stays(
        row=numbers % max(1, nodes - 1), start=numbers / 10, end=numbers / 10 + 1, uses=np.ones(count), jobs=numbers,
        names=[f"j{n}" for n in numbers], kinds=[""] * count, late=np.zeros(count, dtype=np.bool_),
        rows=[f"n{n}" for n in range(nodes)], room=np.full(nodes, 2.0), axis=x_axis(0.0, count / 10 + 1), unit="h",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("count", "nodes", "shades"), [(20, 5, False), (20, 500, True), (charts.MOST_BARS + 1, 5, True)]
)
def test_large_schedules_are_shades(count: int, nodes: int, shades: bool) -> None:
    found = gantt(stays(count, nodes))
    assert found.shades == shades
    assert found.idle == max(1, nodes - min(count, nodes - 1))
    assert (found.note != "") == shades
    assert len(found.rows) == min(nodes, charts.MOST_ROWS)


def test_summaries_keep_the_order_of_terms() -> None:
    lines = ["status      optimal", "  rent      3 $", "mean wait   2 h", "", "advice"]
    assert summary_fields(lines) == [("status", "optimal"), ("\u2003rent", "3 $"), ("mean wait", "2 h")]
