"""Figures as data: places of bars, compact numbers, file names, utilisation, bars of methods with intervals."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched_dsl.reporting.bootstrap import LEAST_DRAWS
from gpusched_dsl.reporting.figures import heat_map
from gpusched_dsl.reporting.figures.bars import comparison_bars
from gpusched_dsl.reporting.figures.curves_figure import CurvesFigure
from gpusched_dsl.reporting.figures.figure import compact, file_names, time_axis
from gpusched_dsl.reporting.figures.heat_map import amounts_by_span, utilisation
from gpusched_dsl.reporting.figures.schedule_figure import Stays, lanes_of


def stays_of(rows: list[tuple[int, float, float, float]]) -> Stays:
    """Rows of node, start, length and GPUs."""
    node, start, length, uses = (np.array(column) for column in zip(*sorted(rows, key=lambda r: r[1]), strict=True))
    count = len(node)
    none = np.zeros(count, dtype=np.bool_)
    return Stays(node.astype(np.int64), np.arange(count), start, start + length, uses, np.full(count, -1), none)


ROWS = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(0, 12).map(float), st.integers(1, 6).map(float), st.sampled_from([1.0, 2.0, 4.0])
    ),
    min_size=1,
    max_size=25,
)


@given(ROWS)
def test_bars_of_a_node_never_overlap(rows: list[tuple[int, float, float, float]]) -> None:
    stays = stays_of(rows)
    top, height = lanes_of(stays, np.array([4.0, 8.0, np.nan]))
    assert (top >= 0).all()
    assert (top + height <= 1 + 1e-9).all()
    for a in range(len(stays)):
        for b in range(a):
            together = min(stays.end[a], stays.end[b]) > max(stays.start[a], stays.start[b])
            if stays.node[a] == stays.node[b] and together:
                assert min(top[a] + height[a], top[b] + height[b]) <= max(top[a], top[b]) + 1e-9


def test_bars_are_as_high_as_their_share_and_use_free_places() -> None:
    stays = stays_of([(0, 0.0, 4.0, 4.0), (0, 0.0, 2.0, 2.0), (0, 2.0, 2.0, 2.0), (0, 3.0, 1.0, 2.0)])
    top, height = lanes_of(stays, np.array([8.0]))
    assert height.tolist() == [0.5, 0.25, 0.25, 0.25]
    assert top.tolist() == [0.0, 0.5, 0.5, 0.75]  # the third takes the place of the second


def test_compact_numbers() -> None:
    assert json.dumps(compact(np.array([1.0, 2.5, np.nan, np.inf, 1 / 3]))) == "[1, 2.5, null, null, 0.3333333]"
    assert compact(np.array([1e9 + 0.123456, 3.0])) == [1000000000, 3]
    assert compact(np.array([2e-7, -0.0])) == [2e-7, 0]
    assert compact(np.zeros(0)) == []


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5))
def test_compact_numbers_are_close(values: list[float]) -> None:
    found = compact(np.array(values))
    largest = max(abs(v) for v in values)
    assert found == pytest.approx(values, abs=1e-7 * largest + 1e-300)


def test_file_names_are_distinct_and_plain() -> None:
    axis = time_axis(0.0, 1.0, "h")
    titles = ["Cost so far [$]", "Price: spot [$/h]", "Price: tariff [$/kWh]", "../../étc (x)", "<>"]
    figures = [CurvesFigure(title=title, axis=axis, unit="", curves=[]) for title in titles]
    assert file_names(figures) == ["cost-so-far-1", "price-1", "price-2", "tc-1", "figure-1"]


def test_use_is_spread_over_spans_of_time() -> None:
    rng = np.random.default_rng(3)
    start = rng.uniform(0, 10, 300)
    end = np.minimum(start + rng.exponential(1.0, 300), 10.0)
    row, amount = rng.integers(0, 4, 300), rng.uniform(0, 3, 300)
    found = amounts_by_span(row, start, end, amount, 4, 0.0, 10.0, 13)
    edges = np.linspace(0, 10, 14)
    expected = np.zeros((4, 13))
    for r, a, b, x in zip(row, start, end, amount, strict=True):
        for s in range(13):
            expected[r, s] += x * max(0.0, min(b, edges[s + 1]) - max(a, edges[s]))
    assert found == pytest.approx(expected)


def test_utilisation_of_groups_of_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    stays = stays_of([(0, 0.0, 10.0, 2.0), (1, 0.0, 5.0, 4.0)])
    axis = time_axis(0.0, 10.0, "slot", slots=True)
    found = utilisation(stays, ["a", "b", "c"], np.array([4.0, 4.0, 2.0]), axis)
    assert found.shares == pytest.approx(np.array([[0.5] * 10, [1.0] * 5 + [0.0] * 5, [0.0] * 10]))
    assert (list(found.rows), found.note) == (["a", "b", "c"], "")
    monkeypatch.setattr(heat_map, "MOST_ROWS", 2)
    merged = utilisation(stays, ["a", "b", "c"], np.array([4.0, 4.0, 2.0]), axis)
    assert list(merged.rows) == ["a to b", "c"]
    assert merged.shares[0] == pytest.approx([6 / 8] * 5 + [2 / 8] * 5)
    assert merged.note == "a row has up to 2 nodes"


def test_bars_from_a_tidy_table() -> None:
    rng = np.random.default_rng(1)
    draws = rng.normal(10.0, 1.0, 12)
    rows = [("B", seed, "cost", v) for seed, v in enumerate(draws.tolist())]
    rows += [("A", 0, "cost", 4.0), ("A", 1, "cost", 6.0), ("A", 2, "cost", None), ("A", 0, "late_share", 0.5)]
    table = pl.DataFrame(rows, schema=["method", "seed", "metric", "value"], orient="row")
    cost, late = comparison_bars(table, titles={"cost": "Total cost"}, units={"cost": "$"})
    assert (cost.title, late.title) == ("Total cost [$]", "Late share")
    assert list(cost.methods) == ["B", "A"]
    assert cost.means == pytest.approx([draws.mean(), 5.0])
    assert cost.low[0] < draws.mean() < cost.high[0]
    t_interval = 2.201 * draws.std(ddof=1) / np.sqrt(12)  # Student, 11 degrees of freedom
    assert cost.high[0] - cost.low[0] == pytest.approx(2 * t_interval, rel=0.2)
    assert np.isnan([cost.low[1], cost.high[1]]).all()  # two seeds tell too little
    assert "2 to 12 seeds" in cost.note
    assert late.note == ""
    assert f"need {LEAST_DRAWS} seeds" in comparison_bars(table.filter(pl.col("method") == "A"))[0].note
    assert comparison_bars(table.head(0)) == []
