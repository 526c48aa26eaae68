"""`div` and `mod`: of data as Python's `//` and `%`, of decisions the optimum of enumeration."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from drafts import Draft
from every_way import solve_every_way

import gpusched_dsl as gs
from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.ir.definitions import IntegerQuotient
from gpusched_dsl.ir.json.codec import from_json, to_json
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import workspace_from_text


def test_data() -> None:
    """As Python has them, in units, with `div` and `mod` as names beside them."""
    text = """model M { set H = -9..9; set Slots ordered; param mod[H] integer = h_; param k[H] integer >= 1;
      param div[h in H] = h div k[h]; param rest[h in H] = 10 * (h mod k[h] * 2) + mod[h] mod 3; param h_ = 7;
      param long integer in min; param days in min = long mod 60[min]; param hours = long div 60[min];
      param shift[s in Slots] = (ord(s) - 2) mod 3; var x >= 0; minimize x; }
      scenario S for M { k[h in H] = 1 + h mod 4; long = 130[min]; Slots = { a, b, c }; }"""
    found = Diagnostics()
    scenario = check_scenario(workspace_from_text(text.replace("= h_;", "= 7;"), "test", found), "S", {}, found)
    found.raise_if_errors()
    assert scenario is not None
    params = build_instance(scenario, folder=Path()).store.params
    expected = [(h // (1 + h % 4), 10 * (h % (1 + h % 4)) * 2 + 1) for h in range(-9, 10)]
    assert list(zip(params["div"].values, params["rest"].values, strict=True)) == expected
    assert (params["days"].values, params["hours"].values, list(params["shift"].values)) == (10, 2, [2, 0, 1])


def test_every_way(tmp_path: Path) -> None:
    """Beside interchangeable nodes, blocks, products, conditions, and other quotients."""
    text = """model M {
      set Nodes identical; set K = 1..3;
      var n[Nodes, K] integer >= 0 <= 7; var on[Nodes] binary; var far integer >= -99 <= 99; var wide integer;
      let racks[m in Nodes] = sum[k in K] n[m, k];
      minimize total: sum[m in Nodes] (racks[m] div 4 - 3 * on[m] * (racks[m] mod 4)) + far mod 5 + wide div 3;
      constraint most[m in Nodes]: racks[m] <= 9;
      constraint odd[m in Nodes, k in K where k mod 2 == 1]: n[m, k] mod 2 == 1;
      constraint cheap[m in Nodes]: racks[m] mod 4 == 3 => on[m] == 1 and n[m, 2] >= 2;
      constraint away: far div 10 <= -2 and far mod 10 >= 7 and wide >= 8;
      decompose by Nodes;
    } scenario S for M { Nodes = { a, b }; }"""
    values = (
        n1 + n2 + n3
        for n1, n3 in itertools.product(range(1, 8, 2), repeat=2)
        for n2 in range(8)
        if n1 + n2 + n3 <= 9 and ((n1 + n2 + n3) % 4 != 3 or n2 >= 2)
    )
    solve_every_way(text, 2 * min(s // 4 - 3 * (s % 4) for s in values) + 2 + 2, tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_random_models_have_the_optimum_of_enumeration(seed: int) -> None:
    draw = random.Random(seed)
    a, b, c = (draw.randint(-3, 3) for _ in range(3))
    k, m = draw.randint(2, 5), draw.randint(2, 4)
    text = f"""model M {{ var x integer >= -6 <= 5; var y integer >= -2 <= 7; var z >= 0 <= 3;
      minimize total: {a} * x + {b} * (x div {k}) + {c} * ((x - 2 * y) mod {m}) + z * (y mod 2) + 2 * abs(z - 1);
      constraint c: (x + y) div {k} != {a} or x mod {m} < y mod {k};
      constraint d: x * x + y mod {k} >= 3; }}"""
    costs = [
        a * x + b * (x // k) + c * ((x - 2 * y) % m) + z * (y % 2) + 2 * abs(z - 1)
        for x, y, z in itertools.product(range(-6, 6), range(-2, 8), (0, 1, 3))
        if ((x + y) // k != a or x % m < y % k) and x * x + y % k >= 3
    ]
    for backend in ("highs", "scip"):
        assert gs.loads(text).solve(backend=backend).objective == pytest.approx(min(costs))


def test_definitions() -> None:
    """Images, choices and the form in problem files."""
    draft = Draft()
    x, y = draft.columns("x", 2, -7, 9)
    entries = [[{x: 1, y: 2}], [{x: 3, None: -1}]]
    for remainder in (False, True):
        draft.define("q", IntegerQuotient, entries, divisors=np.array([4.0, 5.0]), remainder=remainder)
    draft.minimize(x)
    problem = from_json(to_json(draft.problem()))
    quotients, remainders = problem.definitions
    point = np.array([5.0, -7.0, 0, 0, 0, 0])
    assert [d.values(point).tolist() for d in (quotients, remainders)] == [[-3, 2], [3, 4]]
    low, high = np.array([-5.0, 6.0]), np.array([3.0, 9.0])
    assert [[v.tolist() for v in d.image(low, high)] for d in (quotients, remainders)] == [
        [[-2, 1], [0, 1]], [[0, 1], [3, 4]],
    ]  # fmt: skip
    endless = quotients.image(np.full(2, -np.inf), np.full(2, np.inf))
    assert np.isinf(endless).all()


@pytest.mark.parametrize(
    ("expression", "code", "at"),
    [
        ("x mod y", "GSM1211", "y"),
        ("z mod 2", "GSM1207", "z"),
        ("x div 1.5", "GSM1207", "1.5"),
        ("x mod 0", "GSM3003", "0"),
        ("x div n", "GSM3003", "n"),
        ("n div n", "GSM3003", "n"),
        ("t mod 60", "GSM1303", "60"),
    ],
)
def test_what_has_no_integer_quotient_is_refused(expression: str, code: str, at: str) -> None:
    text = f"""model M {{ var x integer; var y integer; var z; param n integer = -2; param t integer in min = 90[min];
      minimize total: x * 0 + 0 * ({expression}) / 1; }}"""
    with pytest.raises(DiagnosticError) as caught:
        gs.loads(text).ground()
    first = caught.value.diagnostics[0]
    assert isinstance(first.primary, Span)
    assert (first.code, first.primary.text) == (code, at)
