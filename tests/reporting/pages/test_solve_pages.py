"""Pages of solves and comparisons: schedules, idle nodes, legends, prices, tables that readers sort and filter."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from page_reader import bars_of, figures_of, idle_nodes, page_parts, seen

import gpusched_dsl as gs
from gpusched_dsl.reporting.figures import solve_figures
from gpusched_dsl.reporting.pages import page as pages
from gpusched_dsl.reporting.pages.page import PageSection, PageTable, render, summary_fields
from gpusched_dsl.reporting.pages.solve_page import result_page

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


def test_bars_idle_nodes_and_late_jobs(tmp_path: Path) -> None:
    result = gs.loads(QUEUE).solve(gap=0.0, reasons=True)
    result.to_html(tmp_path / "page.html")
    made = (tmp_path / "page.html").read_text(encoding="utf-8")
    text = seen(made)
    (schedule,) = figures_of(made, "schedule")
    assert schedule["idle"] == "1 node is idle"
    assert idle_nodes(schedule) == ["b"]
    assert bars_of(schedule) == [("x", "a", 0, 2, 2, False), ("y", "a", 0, 5, 2, True)]
    assert (schedule["axis"]["unit"], schedule["capacity"][0]) == ("h", 4)
    assert schedule["jobs"]["due"] == [None, 3]
    assert "2 of 3 jobs placed; 1 waits" in text
    assert "excluded: needs 2 GPUs, and b has room for it (`off` needs 1, 0 at most)" in text
    loaded = LoadedFiles()
    loaded.feed(made)
    assert loaded.found == []
    assert "default-src 'none'" in html.unescape(made)  # the browser would refuse it, too


def test_slots_and_their_prices() -> None:
    made = gs.loads(SLOTS).solve(gap=0.0).html_text()
    text = seen(made)
    (schedule,) = figures_of(made, "schedule")
    assert [(job, start, end) for job, _, start, end, *_ in bars_of(schedule)] == [("b", 4, 6)]  # one bar for both
    assert schedule["axis"] == {"low": 3, "high": 6, "unit": "slot", "slots": True}
    assert idle_nodes(schedule) == ["<b>"]
    assert "Price: tariff [$/kWh]" in text
    assert "Price: spot [$/h]" in text
    assert "weight" not in text  # no price
    assert [price["name"] for price in schedule["prices"]] == ["tariff", "spot, n1", "spot, <b>"]
    assert "<b>" not in re.sub(r"<b>GSM\d+</b>", "", without_scripts(made))  # names are escaped
    curves = [curve for f in figures_of(made, "curves") if f["title"].startswith("Price") for curve in f["curves"]]
    assert len(curves) == 3


def test_a_comparison_has_all_methods(tmp_path: Path) -> None:
    found = gs.loads(QUEUE).compare(["highs", "scip"])
    found.to_html(tmp_path / "page.html")
    made = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert made.count("<section>") == 2
    assert made.count('class="good"') == 2  # both are best
    assert "Queue, scenario S, with scip" in seen(made)
    assert 'class="sortable methods"' in made
    objective, *terms = page_parts(made)[0]["figures"]
    assert (objective["kind"], objective["methods"], objective["mean"]) == ("bars", ["highs", "scip"], [4, 4])
    assert terms == []


def test_results_without_a_placement_or_a_solution() -> None:
    plain = gs.loads("model M { var x >= 0 <= 3; maximize f: x; } scenario S for M { }").solve()
    assert "<figure" not in result_page(plain)
    assert len(result_page(plain)) < 100_000  # without charts there is no charting library
    impossible = gs.loads(QUEUE.replace("<= gpus[n]", "<= -1")).solve()
    assert "infeasible" in seen(result_page(impossible))


def test_schedules_with_too_many_bars_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    result = gs.loads(QUEUE).solve(gap=0.0)
    assert [f.kind for f in solve_figures.solve_figures(result)] == ["schedule", "heat map", "curves"]
    assert [f.kind for f in solve_figures.solve_figures(result, most_stays=1)] == ["heat map", "curves"]


def test_long_tables_are_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "FIRST_ROWS", 3)
    table = PageTable("Numbers", ["<n>"], [[f"<{n}>"] for n in range(5)], frozenset({0}))
    made = render("T", [PageSection("T", [], tables=[table])])
    assert page_parts(made)[0]["tables"] == [{"rows": [["<0>"], ["<1>"], ["<2>"], ["<3>"], ["<4>"]]}]
    assert made.count('<td class="number">') == 3
    short = render("T", [PageSection("T", [], tables=[PageTable("N", ["n"], [["1"]])])])
    assert page_parts(short)[0]["tables"] == [None]


HOSTILE = "</script><img src=x onerror=alert(1)><!--<script>"


def test_names_cannot_become_markup() -> None:
    text = QUEUE.replace("table Jobs: lasts[h] due[h] = x 2 3", f'table Jobs: lasts[h] due[h] = "{HOSTILE}" 2 3')
    assert HOSTILE in text
    result = gs.loads(text.replace("{ a, b }", f'{{ a, "{HOSTILE}" }}').replace('"b"', f'"{HOSTILE}"'))
    made = result.solve(gap=0.0).html_text()
    tags = LoadedFiles()
    tags.feed(made)
    assert tags.found == []
    assert tags.tags.count("script") == 3
    assert "img" not in tags.tags
    (schedule,) = figures_of(made, "schedule")
    assert HOSTILE in schedule["jobs"]["names"]
    assert HOSTILE in schedule["nodes"]
    assert HOSTILE in seen(made)  # in the table of the placement


def without_scripts(made: str) -> str:
    return re.sub(r"<(style|script)\b.*?</\1>", "", made, flags=re.S)


class LoadedFiles(HTMLParser):
    """The tags of a page, and what it would load from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        own = dict(attrs)
        self.found += [str(own[name]) for name in ("src", "srcset", "data") if name in own]
        self.found += [str(own["href"]) for _ in "x" if "href" in own and not str(own["href"]).startswith("#")]


def test_summaries_keep_the_order_of_terms() -> None:
    lines = ["status      optimal", "  rent      3 $", "mean wait   2 h", "", "advice"]
    assert summary_fields(lines) == [("status", "optimal"), ("\u2003rent", "3 $"), ("mean wait", "2 h")]
