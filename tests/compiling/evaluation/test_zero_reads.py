"""A variable over a set of tuples reads 0 at other tuples of its elements, as one with a `where` condition does."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from every_way import solve_every_way

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span

ROWS = """
  maximize total: sum[i in I, j in J] gain[i, j] * x[i, j] - sum[i in I where ord(i) == 1] 2 * z[i, 1];
  constraint out[i in I]: count[j in J] (x[i, j] >= 1) <= 2;
  constraint into[j in J]: sum[i in I] x[i, j] + z[first(I), 2] <= 3;
  constraint some[i in I]: (z[i, 1] else 1) + sum[j in J] x[i, j] >= 1;
"""
SPARSE = (
    """model M {
  set I ordered; set J; set E within I cross J; param gain[I, J];
  VARIABLES
"""
    + ROWS
    + "} scenario S for M { DATA }"
)
FORMS = {
    "where": "var x[i in I, j in J where (i, j) in E] integer >= 0 <= 2;"
    "var z[i in I, k in 1..2 where i > first(I)] binary;",
    "named": "set Z = { (i, k) : i in I, k in 1..2 where i > first(I) }; var x[E] integer >= 0 <= 2; var z[Z] binary;",
    "literal": "var x[(i, j) in { (i, j) : (i, j) in E }] integer >= 0 <= 2;"
    "var z[{ (i, k) : i in I, k in 1..2 where i > first(I) }] binary;",
    "operation": "var x[(I cross J) inter E] integer >= 0 <= 2; var z[(I diff { first(I) }) cross 1..2] binary;",
    "indexed": "set At[i in I] = { j in J where (i, j) in E };"
    "set K[i in I] within 1..2 = { k in 1..2 where ord(i) > 1 };"
    "var x[i in I, j in At[i]] integer >= 0 <= 2; var z[i in I, K[i]] binary;",
}  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_forms_have_the_same_optimum(seed: int) -> None:
    draw = random.Random(seed)
    pairs = [(i, j) for i in "abc" for j in "pq"]
    some = draw.sample(pairs, 4)
    data = "I = { a, b, c }; J = { p, q }; E = {" + ", ".join(f"({i}, {j})" for i, j in some) + "};"
    data += "table I, J: gain = " + " ".join(f"{i} {j} {draw.randint(1, 5)}" for i, j in pairs) + ";"
    found = {}
    for name, variables in FORMS.items():
        result = gs.loads(SPARSE.replace("VARIABLES", variables).replace("DATA", data)).solve()
        # Beside the `where` condition `else` has no effect; outside of a set of tuples it gives its value.
        found[name] = (result.status.value, result.objective)
    assert len({value for name, value in found.items() if name != "where"}) == 1, found
    where = SPARSE.replace("VARIABLES", FORMS["where"]).replace("DATA", data)
    where = where.replace("(z[i, 1] else 1)", "(if ord(i) == 1 then 1 else z[i, 1])")
    result = gs.loads(where).solve()
    assert (result.status.value, result.objective) == found["named"]


def test_every_way(tmp_path: Path) -> None:
    """Interchangeable nodes, blocks, products, a dependent index after the tuples, a `where` beside them."""
    text = """model M {
      set Jobs; set Nodes identical; set Runnable within Jobs cross 1..3; param need[Jobs];
      var run[Runnable, Nodes] binary;
      var extra[(j, g) in Runnable, k in 1..g where need[j] > 1] >= 0 <= 1;
      let used[j in Jobs, n in Nodes] = sum[g in 1..3] g * run[j, g, n];
      minimize total: sum[(j, g) in Runnable, n in Nodes] g * run[j, g, n] - sum[j in Jobs, k in 1..2] extra[j, 2, k];
      constraint once[j in Jobs]: sum[g in 1..3, n in Nodes] run[j, g, n] == 1;
      constraint room[n in Nodes]: sum[j in Jobs] used[j, n] <= 3;
      constraint tied[n in Nodes]: run["a", 2, n] * run["c", 3, n] + extra["b", 2, 1] <= 1;
      decompose by Nodes;
    }
    scenario S for M { Jobs = { a, b, c }; Nodes = { m, n };
      Runnable = { (a, 1), (a, 3), (b, 2), (c, 3), (c, 2) }; need = 1; need[b] = 2; }
    """
    solve_every_way(text, 1 + 2 + 2 - 2, tmp_path)


@pytest.mark.parametrize(
    ("read", "at"),
    [
        ("y[m]", "y[m]"),  # no tuples
        ("x[first(I), n + 1]", "x[first(I), n + 1]"),  # beyond the range of the second component
        ("sum[i in I] x[i, 0]", "x[i, 0]"),
        ("sum[i in I] w[i, 1, m - 1]", "w[i, 1, m - 1]"),  # a single index beside tuples
        ("sum[i in I where i != n] x[next(i), 1]", "x[next(i), 1]"),  # no element
        ("v[first(I), 1, m - 2]", "v[first(I), 1, m - 2]"),  # beside a tuple of the set, another index
    ],
)
def test_other_subscripts_are_refused(read: str, at: str) -> None:
    text = f"""model M {{
      set I ordered; param n integer = 3; param m integer = 4; set E within I cross 1..n;
      var x[E] >= 0; var y[1..n] >= 0; var w[E, 1..2] >= 0; var v[(i, k) in E, q in 1..k] >= 0;
      minimize total: {read};
    }} scenario S for M {{ I = {{ 1, 2 }}; E = {{ (1, 1), (2, 3) }}; }}"""
    with pytest.raises(DiagnosticError) as caught:
        gs.loads(text).ground()
    [error] = caught.value.diagnostics
    assert error.code == "GSM3002"
    assert isinstance(error.primary, Span)
    assert error.primary.text == at


def test_expectations_of_tests_read_zero(tmp_path: Path) -> None:
    text = """model M { set I; set E within I cross I; var x[E] >= 1; minimize total: sum[(i, j) in E] x[i, j]; }
    scenario S for M { I = { a, b }; E = { (a, b) }; }
    test T { solve S; expect x["b", "a"] == 0; expect x["a", "b"] == 1; expect (x["b", "a"] else 7) == 7; }"""
    (tmp_path / "test.gsm").write_text(text)
    assert main(["test", str(tmp_path / "test.gsm")]) == 0
