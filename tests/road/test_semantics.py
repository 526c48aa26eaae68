"""Edge cases of expressions: beyond the ends of ordered sets, guards, empty and very wide sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.reporting.result import Result

Solve = Callable[..., Result]
Refused = Callable[..., list[Diagnostic]]
Values = Callable[..., dict[Any, Any]]

FIVE = "H = 1..5;"


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("where h <= k <= h + m", {1: 3, 2: 3, 3: 3, 4: 2, 5: 1}),
        ("where k <= h + m and not (k < h)", {1: 3, 2: 3, 3: 3, 4: 2, 5: 1}),
        ("where not (k > h + m) and k >= h", {1: 3, 2: 3, 3: 3, 4: 2, 5: 1}),
        ("where h - m <= k <= h", {1: 1, 2: 2, 3: 3, 4: 3, 5: 3}),
        ("where h - m < k < h + m", {1: 2, 2: 3, 3: 3, 4: 3, 5: 2}),
        ("where k == h + m", {1: 1, 2: 1, 3: 1, 4: 0, 5: 0}),
        ("where k != h + m", {1: 4, 2: 4, 3: 4, 4: 5, 5: 5}),
        ("where prev(k) >= 2 and next(k) <= 4 and h >= 1", dict.fromkeys(range(1, 6), 1)),
        ("where prev(k) <= h", {1: 2, 2: 3, 3: 4, 4: 5, 5: 5}),
        ("where (k + m) - m == h", dict.fromkeys(range(1, 6), 1)),
    ],
)
def test_windows_reach_over_the_ends_of_an_ordered_set(window: str, expected: dict[int, int], values: Values) -> None:
    body = f"set H ordered; param m integer default 2; param n[h in H] = count[k in H {window}];"
    assert values("n", body, FIVE) == expected


def test_elements_that_do_not_exist_are_refused(refused: Refused) -> None:
    for body in (
        "set H ordered; set P = { (h, next(h)) : h in H };",
        "set H ordered; param n[h in H] = count[k in { next(l) : l in H where l >= h }];",
    ):
        (error,) = refused(body, FIVE)
        assert error.code == "GSM3002"
        assert "does not exist for" in error.message
    (error,) = refused("set H ordered; param after[h in H] within H = next(h);", FIVE)
    assert (error.code, error.message) == ("GSM2112", "`after[5]` is no element, not in `H`")


def test_computed_elements_must_be_in_their_set(refused: Refused) -> None:
    body = "set J; set K within J; param p[j in J] within K = j; param q[j in J] within K default j;"
    errors = refused(body, 'J = { a, b, c }; K = { a }; q["b"] = "a";')
    assert [(e.code, e.message) for e in errors] == [
        ("GSM2112", '2 values of `p` are not in `K`; for instance `p["b"]` is `"b"`'),
        ("GSM2112", '`q["c"]` is `"c"`, not in `K`'),
    ]


def test_computed_sets_must_lie_within(refused: Refused, values: Values) -> None:
    body = """
      set J; set S within J; param d[J] default 0;
      set K within S = { j in J where d[j] > 0 };
      set P within S cross 1..2;
      param n = count(K) + count(P);
    """
    data = "J = { a, b, c }; S = { a, c };"
    assert values("n", body, data + 'd["a"] = 1; P = S cross { 2 };') == {(): 3}
    errors = refused(body, data + "d = 1; P = J cross 1..3;")
    assert [(e.code, e.message) for e in errors] == [
        ("GSM2112", '`"b"` of `K` is not in `S`'),
        ("GSM2112", '5 elements of `P` are not in `S cross 1..2`, such as `("a", 3)`'),
    ]


def test_values_from_python_stand_for_what_a_scenario_computes() -> None:
    model = gs.loads("""
      model M { set J; set K within J; var x[K] >= 1; minimize o: sum[k in K] x[k]; }
      scenario S for M { J = { a, b, c }; K = J diff { "a" }; }
    """)
    assert model.solve().objective == 2
    model.set("K", ["a"])
    assert model.resolve().objective == 1
    model.set("K", ["a", "d"])
    with pytest.raises(DiagnosticError, match="GSM2103"):
        model.resolve()


def test_defaults_of_binary_parameters_are_0_or_1(refused: Refused, values: Values) -> None:
    assert [(e.code, e.message) for e in refused("param b[1..3] binary default 7;", "b[2] = 0;")] == [
        ("GSM2114", "2 values of `b` are neither 0 nor 1; for instance `b[1]` is 7")
    ]
    assert values("b", "param b[1..3] binary default 1;", "b[2] = 0;") == {1: 1, 2: 0, 3: 1}


@pytest.mark.parametrize(
    "condition",
    [
        "d[j] > 0 and 10 / d[j] > 2",
        "not (d[j] <= 0 or 10 / d[j] <= 2)",
        "not (d[j] > 0 => 10 / d[j] <= 2)",
        "any[k in J where k == j] (d[k] > 0 and 10 / d[k] > 2)",
    ],
)
def test_a_condition_guards_what_follows_it(condition: str, values: Values) -> None:
    body = f"""
      set J; param d[J];
      param n[j in J] = if {condition} then 1 else 0;
      param m = count[j in J where {condition}];
    """
    data = "table J: d = a 0  b 1  c 100;"
    assert values("n", body, data) == {"a": 0, "b": 1, "c": 0}
    assert values("m", body, data) == {(): 1}


@pytest.mark.parametrize(
    "indices",
    [
        "j in J, k in K where k <= 0 and 1 / d[j] > 0",  # one condition excludes what the next has no value for
        "j in J, k in K where k > 5 and d[j] == 1 / z[k]",
        "k in K, j in J where k > 5 and d[j] <= 1 / z[k]",
        "k in K, l in K where k > 5 and l <= round(1 / z[k])",
        "k in K, l in 1..9 where k > 5 and l <= 1 / z[k]",
        "k in K, l in 1..9 where k > 5 and (round(1 / z[k]), l) in { (1, 2) }",
        "j in J, l in None where min[k in None] d[k] > d[j]",  # nothing to choose from, and nothing to iterate over
    ],
)
def test_conditions_have_a_value_where_all_before_them_hold(indices: str, values: Values, refused: Refused) -> None:
    body = "set J; set K ordered; set None within J; param d[J]; param z[K]; param n = count[{}];"
    data = "table J: d = a 0  b 1;  table K: z = 1 0  2 1;  None = {};"
    assert values("n", body.format(indices), data) == {(): 0}
    later = indices.replace("k <= 0 and ", "").replace("k > 5 and ", "")
    if later != indices:
        assert [e.code for e in refused(body.format(later), data)] == ["GSM3003"]


def test_integers_are_compared_with_the_labels_of_elements(values: Values) -> None:
    body = "set H ordered; set Clock = 0..23; param n[h in H] = count[k in Clock where 5 <= k <= h];"
    assert values("n", body, "H = { 4, 10, 30 };") == {4: 0, 10: 6, 30: 19}
    body = "set H ordered; param n[h in H] = count[k in 0..23 where 5 <= k <= h];"
    assert values("n", body, "H = { 4, 10, 30 };") == {4: 0, 10: 6, 30: 19}
    body = "set H ordered; set Clock = 0..23; param n[k in Clock] = count[h in H where h <= k];"
    assert values("n", body, "H = { 4, 10, 30 };") == {k: (k >= 4) + (k >= 10) for k in range(24)}


def test_constant_subscripts_outside_matter_only_where_there_is_a_row(solve: Solve, refused: Refused) -> None:
    body = """
      set J; set P within J cross J; param e[P]; var x[P] >= 0; var y >= 0;
      constraint c[j in J where {}]: x["a", "b"] + e["b", "a"] * y >= 1;
    """
    data = "J = { a, b }; P = { (a, a) }; e = 1;"
    assert solve(body.format("false"), data, "minimize o: y;").problem.rows == 0
    assert [e.code for e in refused(body.format("true"), data, "minimize o: y;")] == ["GSM3002"]


def test_conditions_on_data_choose_rows_with_and_without_indices(solve: Solve) -> None:
    body = """
      param b; param c[1..3]; var y >= 0; var z[1..3] >= 0;
      constraint one: b > 0 => y >= 3;
      constraint other: if b > 0 then y >= 2 else y >= 7;
      constraint each[i in 1..3]: if c[i] > 1 then z[i] >= 4 and z[i] <= 9 else z[i] >= 1;
    """
    goal = "minimize all_: y + sum[i in 1..3] z[i];"
    data = "b = {}; c = 1; c[2] = 5;"
    assert solve(body, data.replace("{}", "1"), goal).objective == pytest.approx(3 + 1 + 4 + 1)
    assert solve(body, data.replace("{}", "0"), goal).objective == pytest.approx(7 + 1 + 4 + 1)


def test_steps_of_ranges_are_positive(refused: Refused, values: Values) -> None:
    body = "param n[1..2] integer; param q[i in 1..2] = sum[k in 1..9 by n[i]] k;"
    assert values("q", body, "n = 2; n[1] = 4;") == {1: 1 + 5 + 9, 2: 25}
    assert [e.code for e in refused(body, "n = 2; n[1] = 0;")] == ["GSM3007"]
    assert [e.code for e in refused(body, "n = 2; n[1] = -1;")] == ["GSM3007"]


def test_bounds_far_beyond_a_range_clip_nothing(values: Values) -> None:
    body = "param n; param q = count[k in 1..5 where k <= n]; param r = count[k in 1..5 where k >= -n];"
    for name in ("q", "r"):
        assert values(name, body, "n = 1e300;") == {(): 5}


def test_index_tuples_of_huge_integers(values: Values) -> None:
    body = """
      set U = { (a * 1000000000, b * 1000000000, c * 1000000000) : a in 1..2, b in 1..2, c in 1..2 };
      param v[(a, b, c) in U] = a / 1000000000 + c / 500000000;
      param hit = v[2000000000, 1000000000, 1000000000];
      param turned = sum[(a, b, c) in U where (c, b, a) in U] v[c, b, a];
      param missed binary = if (1000000000, 1000000000, 1000000001) in U then 1 else 0;
    """
    expected: dict[str, Any] = {"hit": 4, "turned": 8 * 4.5, "missed": 0}
    for name, value in expected.items():
        assert values(name, body) == {(): value}


def test_a_family_without_columns_reads_zero(solve: Solve) -> None:
    body = "set J; var a >= 1; var y[j in J where false] >= 5; let t[j in J] = a + y[j];"
    result = solve(body, "J = { u, v };", "minimize o: a;")
    assert result.table("t", zeros=True).rows() == [("u", 1.0), ("v", 1.0)]


def test_a_column_that_a_row_reaches_in_several_ways_is_there_once(solve: Solve) -> None:
    """Shifts by data, elements read from parameters and lets of lets can meet in one column."""
    body = """
      set H ordered; param d[H] integer; param to[H] within H;
      var x[H] >= 0 <= 10; var y[H, H] >= 0;
      let own[a in H, b in H] = y[a, b];
      let all_of[a in H] = sum[b in H] own[b, a];
      constraint shifted: sum[h in H] (x[h - d[h]] else 0) <= 7;
      constraint read: sum[h in H] x[to[h]] + sum[h in H] x[h] <= 7;
      constraint two: sum[h in H, k in H] (y[h - d[k], k] else 0) <= 1;
      constraint lets: sum[h in H] own[to[h], h] + sum[h in H] own[h, h] + sum[h in H] all_of[to[h]] <= 2;
    """
    data = "table H: d to = 1 0 2  2 1 2  3 2 1;"
    problem = solve(body, data, "maximize all_x: sum[h in H] x[h];").problem
    dense = [[0.0] * problem.columns for _ in range(problem.rows)]
    matrix = problem.matrix
    for row in range(problem.rows):
        entries = range(matrix.starts[row], matrix.starts[row + 1])
        assert len({int(matrix.columns[e]) for e in entries}) == len(entries)
        for entry in entries:
            dense[row][matrix.columns[entry]] = float(matrix.values[entry])
    # columns: x[1..3], then y[1, 1..3], y[2, 1..3], y[3, 1..3]
    assert dense == [
        [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [2, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0],
        [0, 0, 0, 2, 2, 1, 2, 4, 0, 1, 2, 1],
    ]
