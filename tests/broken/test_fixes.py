"""Typical mistakes of new users and their meaning: the proposed edits give exactly that meaning, or there are none."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from gpusched_dsl.language.checking import check_workspace
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, apply_edits
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.formatting.formatter import format_text
from gpusched_dsl.language.parsing.parser import parse
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.source import Source
from gpusched_dsl.language.workspace import workspace_from_text

MODEL = """model M {{
  set I;
  set Links within I cross I;
  param a[I] default 1;
  param n integer default 3;
  var x[I] >= 0;
  var b binary;
  var d binary;
  {statement}
}}
"""
ROUNDS = 4

# What is written, and what is meant.
MEANT = {
    "AMPL": {
        "var z{I}, >= 0, integer;": "var z[I] >= 0 integer;",
        "param m > 0, integer;": "param m > 0 integer;",
        "param q[I], integer;": "param q[I] integer;",
        "param m, k;": "param m; param k;",
        "set R = setof{(i, j) in Links} i;": "set R = { i : (i, j) in Links };",
        "param m = iif(n > 2, 1, 2);": "param m = (if n > 2 then 1 else 2);",
        "set R{I} within I;": "set R[I] within I;",
        "var z, binary;": "var z binary;",
        "display x, b;": "",
        "solve;": "",
        "end;": "",
        "set R = 1:10;": "set R = 1..10;",
        "let m == 3;": "let m = 3;",
        "let y[i in I]: 2 * x[i];": "let y[i in I] = 2 * x[i];",
        "k{i in I: a[i] > 1}: x[i] <= 1;": "constraint k[i in I where a[i] > 1]: x[i] <= 1;",
        "param m = if n > 2 then 1 else 2 endif;": "param m = if n > 2 then 1 else 2;",
        "maximise: b;": "maximize b;",
        "set R = {(i, j) in Links: a[i] > 1};": "set R = {(i, j) in Links where a[i] > 1};",
        "param m := 3;": "param m = 3;",
        "param m{I};": "param m[I];",
        "s.t. k: sum{i in I} x[i] <= 1;": "constraint k: sum[i in I] x[i] <= 1;",
        "subject to k: b <= 1;": "constraint k: b <= 1;",
        "subject to k{i in I}: x[i] <= 1;": "constraint k[i in I]: x[i] <= 1;",
        "constraint k: sum{i in I: a[i] > 1} x[i] <= 1;": "constraint k: sum[i in I where a[i] > 1] x[i] <= 1;",
        "constraint k: sum[(i, i) in Links] x[i] <= 1;": (
            "constraint k: sum[(i, i2) in Links where i2 == i] x[i] <= 1;"
        ),
        "constraint k: sum[(i, i) in Links where a[i] > 1 or a[i] < 0] x[i] <= 1;": (
            "constraint k: sum[(i, i2) in Links where i2 == i and (a[i] > 1 or a[i] < 0)] x[i] <= 1;"
        ),
        "minimize cost = b;": "minimize cost: b;",
        "constraint k: b ==> d;": "constraint k: b => d;",
        "constraint k: b && !d;": "constraint k: b and not d;",
        "check: n <> 4;": "check: n != 4;",
        "check: len(I) >= 1;": "check: count(I) >= 1;",
        "/* all of it */": "# all of it",
        "var z >= 0, <= 5;": "var z >= 0 <= 5;",
    },
    "MiniZinc": {
        "var 0..10: z;": "var z integer >= 0 <= 10;",
        "var 0..n: z;": "var z integer >= 0 <= n;",
        "var 0.5..2.5: z;": "var z >= 0.5 <= 2.5;",
        "var bool: z;": "var z binary;",
        "var float: z;": "var z;",
        "array[I] of var 0..10: z;": "var z[I] integer >= 0 <= 10;",
        "array[I] of var bool: z;": "var z[I] binary;",
        "array[I] of int: q;": "param q[I] integer;",
        "int: m = 3;": "param m integer = 3;",
        "set of int: R = 1..5;": "set R = 1..5;",
        "constraint k: forall{i in I} (x[i] <= 1);": "constraint k: all[i in I] (x[i] <= 1);",
        "solve satisfy;": "",
        "constraint k: b /\\ d;": "constraint k: b and d;",
        "constraint k: b \\/ d;": "constraint k: b or d;",
        "constraint k: b <-> d;": "constraint k: b <=> d;",
        "constraint k: b -> d;": "constraint k: b => d;",
        "constraint k: sum(i in I)(x[i]) <= 1;": "constraint k: sum[i in I] (x[i]) <= 1;",
        "constraint k: forall(i in I)(x[i] <= 1);": "constraint k: all[i in I] (x[i] <= 1);",
        "constraint k: exists[i in I] x[i] >= 1;": "constraint k: any[i in I] x[i] >= 1;",
        "set R = {1..5};": "set R = 1..5;",
        "% all of it": "# all of it",
        "solve minimize b;": "minimize b;",
        "var z bool;": "var z binary;",
        "var z int;": "var z integer;",
        "var z float;": "var z;",
        "set R = I union {i in I | a[i] > 1};": "set R = I union {i in I where a[i] > 1};",
    },
    "JuMP and Python": {
        "constraint k: x[i] <= 1 for i in I;": "constraint k[i in I]: x[i] <= 1;",
        "constraint k: x[i] <= x[j] for all (i, j) in Links;": "constraint k[(i, j) in Links]: x[i] <= x[j];",
        "constraint k: x[i] <= 1, i in I;": "constraint k[i in I]: x[i] <= 1;",
        "param w[Links]; let y = sum[(i, j) in Links] w[i][j];": (
            "param w[Links]; let y = sum[(i, j) in Links] w[i, j];"
        ),
        "constraint k[i in I][j in I]: x[i] <= x[j];": "constraint k[i in I, j in I]: x[i] <= x[j];",
        "set R = [1, 2];": "set R = {1, 2};",
        "constraint k: b is 1;": "constraint k: b == 1;",
        "constraint k: max(x[i] : i in I) <= 3;": "constraint k: max[i in I] (x[i]) <= 3;",
        "param m = sum[i in 1:n] i;": "param m = sum[i in 1..n] i;",
        "k[i in I]: x[i] <= 1;": "constraint k[i in I]: x[i] <= 1;",
        "constraint k: sum(x[i] for i in I) <= 1;": "constraint k: sum[i in I] (x[i]) <= 1;",
        "constraint k: sum(a[i] * x[i] for i in I if a[i] > 1) <= 1;": (
            "constraint k: sum[i in I where a[i] > 1] (a[i] * x[i]) <= 1;"
        ),
        "constraint k[i = I]: x[i] <= 1;": "constraint k[i in I]: x[i] <= 1;",
        "constraint k[i=I]: x[i] <= 1;": "constraint k[i in I]: x[i] <= 1;",
        "constraint k: b .<= d;": "constraint k: b <= d;",
        "param m = 2**3;": "param m = 2^3;",
        "param m = 1_000;": "param m = 1000;",
        "param m = len(I);": "param m = count(I);",
        "param m = pow(n, 2);": "param m = (n^2);",
        "param m = 2 * pow(n + 1, 2);": "param m = 2 * ((n + 1)^2);",
        "constraint k: b || d;": "constraint k: b or d;",
        "constraint k: b | d;": "constraint k: b or d;",
        "constraint k: b & d;": "constraint k: b and d;",
        "constraint k: b AND NOT d;": "constraint k: b and not d;",
        "check: True;": "check: true;",
        "constraint k[i in I if a[i] > 1]: x[i] <= 1;": "constraint k[i in I where a[i] > 1]: x[i] <= 1;",
        "y = 2 * n;": "let y = 2 * n;",
        "var y = 2 * b;": "let y = 2 * b;",
        "var y[i in I] = 2 * x[i];": "let y[i in I] = 2 * x[i];",
        "// all of it": "# all of it",
        "* all of it": "# all of it",
        "constraint k: ~b;": "constraint k: not b;",
        "constraint k[i in I]: x(i) <= 1;": "constraint k[i in I]: x[i] <= 1;",
        "constraint k: max(b, d) = 1;": "constraint k: max(b, d) == 1;",
    },
    "GAMS and LP files": {
        "k.. b + d =l= 1;": "constraint k: b + d <= 1;",
        "k[i in I].. x[i] =l= 1;": "constraint k[i in I]: x[i] <= 1;",
        "positive variable z;": "var z >= 0;",
        "binary variable z;": "var z binary;",
        "Variables z;": "var z;",
        "Equations k;": "",
        "obj: min b;": "minimize obj: b;",
        "dvar boolean z;": "var z binary;",
        "dvar int+ z[I];": "var z[I] integer >= 0;",
        "dexpr float y = 2 * b;": "let y = 2 * b;",
        "range R = 1..5;": "set R = 1..5;",
        "constraint k: b le d;": "constraint k: b <= d;",
        "constraint k: b =l= d;": "constraint k: b <= d;",
        "constraint k: b =G= d;": "constraint k: b >= d;",
        "constraint k: b =e= d;": "constraint k: b == d;",
        "k: b + d <= 1;": "constraint k: b + d <= 1;",
        "max: b;": "maximize b;",
        "constraint k: b =< d;": "constraint k: b <= d;",
        "var z free;": "var z;",
    },
    "mathematics": {
        "constraint k[i ∈ I]: x[i] ≤ 1;": "constraint k[i in I]: x[i] <= 1;",
        "constraint k[i∈I]: x[i]≥1;": "constraint k[i in I]: x[i]>=1;",
        "constraint k: ∑[i in I] x[i] ≥ 1;": "constraint k: sum[i in I] x[i] >= 1;",
        "constraint k: b ∧ ¬d;": "constraint k: b and not d;",
        "constraint k: b∨d;": "constraint k: b or d;",
        "constraint k: b ⇔ d;": "constraint k: b <=> d;",
        "constraint k: 2·b ≥ d;": "constraint k: 2*b >= d;",
        "let y = b²;": "let y = b ^ 2;",
        "constraint k: sum[i in I | a[i] > 1] x[i] <= 1;": "constraint k: sum[i in I where a[i] > 1] x[i] <= 1;",
        "constraint k: sum[i in I : a[i] > 1] x[i] <= 1;": "constraint k: sum[i in I where a[i] > 1] x[i] <= 1;",
        "constraint k: sum[i in I, a[i] > 1] x[i] <= 1;": "constraint k: sum[i in I where a[i] > 1] x[i] <= 1;",
        "constraint k[i, j in I]: x[i] <= x[j];": "constraint k[i in I, j in I]: x[i] <= x[j];",
        "set R = I \\ {i in I where a[i] > 1};": "set R = I diff {i in I where a[i] > 1};",
        "set R = {i in I : a[i] > 1};": "set R = {i in I where a[i] > 1};",
        "param m = ln(n);": "param m = log(n);",
        "param m = log10(n);": "param m = (log(n) / log(10));",
        "constraint k: mod(n, 2) == b;": "constraint k: (n mod 2) == b;",
        "constraint k: n % 2 == b;": "constraint k: n mod 2 == b;",
        "constraint k: n%2 == b;": "constraint k: n mod 2 == b;",
        "param m = 6 / log2(n + 1);": "param m = 6 / (log(n + 1) / log(2));",
        "constraint k b <= 1;": "constraint k: b <= 1;",
        "maximise b;": "maximize b;",
        "minimize: b;": "minimize b;",
        "var y, z;": "var y; var z;",
    },
}

# What cannot be said by an edit: the help says how, or nothing is proposed.
ADVICE = {
    "minimize <<3; 1, 2>> n;": "piecewise(x, breakpoints",
    "forall(i in I) x[i] <= 1;": "constraint name[i in Set]",
    "for (i in I) x[i] <= 1;": "constraint name[i in Set]",
    "sum[i in I] x[i] <= 1;": "constraint name",
    "b + d <= 1;": "constraint name",
    'constraint x["a"] <= 1;': "constraint name",
    "k(i).. x(i) <= 1;": "constraint k[i in Set]",
    "constraint k: x.a <= 1;": "x[...]",
    "constraint k: 0 <= b, b <= 1;": "`and`",
    "constraint k: b >= 0 and <= 1;": "a <= x <= b",
    "constraint k: if b == 1 then d == 1 endif;": "condition => row",
    "param m = if n > 2 then 1;": "`else`",
    "param m = 1 if n > 2 else 2;": "if condition then",
    "param m = if(n > 2, 1, 2);": "if condition then",
    "param q[I] = [1, 2];": "scenario",
    "set R = {1, ..., 5};": "1..5",
    "set R = range(5);": "0..n-1",
    "set R = I symdiff I;": "union",
    "set R dimen 2;": "cross",
    "binary z;": "var z binary",
    "var z in {0, 1};": "`binary`",
    "var z within Binary;": "`binary`",
    'include "a.gsm";': "import",
    "fix b = 1;": "==",
    "function f(y) = y;": "let name[i in Set]",
    "if n > 2 then b <= 1;": "condition =>",
    "@constraint(m, k, b <= 1);": "constraint name",
    "constraint k: b xor d;": "not (a <=> b)",
    "constraint k: b nand d;": "not (a and b)",
    "constraint k: n // 2 == b;": "a div b",
    "constraint k: |I| >= b;": "count(S)",
    "constraint k: abs(|n|) >= b;": "abs(x)",
    "constraint k: sqr(n) >= b;": "sqrt(a)",
    "constraint k: sin(n) >= b;": "functions are",
    "constraint k: tan(n) >= b;": "functions are",
    "constraint k: int(n) >= b;": "floor",
    "constraint k: b ? d : 1;": "if condition then",
    "constraint sum[i in I] x[i] <= 1;": "constraint name",
    "constraint forall(i in I): x[i] <= 1;": "constraint name",
    "constraint: b <= 1;": "constraint name",
    "constraint k for i in I: x[i] <= 1;": "constraint name[i in Set]",
    "var z positive;": ">= 0",
    "var z in 0..5;": "integer >= 0 <= 5",
    "var y >= 0 = 2;": "let",
    "var y, z >= 0;": "separately",
    "constraint k: b >= 0x1F;": "written as",
    "constraint k: 2 b >= d;": "`*`",
    "constraint k[i]: b <= 1;": "i in ...",
    "constraint k: avg[i in I] x[i] >= b;": "count(Jobs)",
    "constraint k: b >= infinity;": "bound",
    "constraint alldifferent(x);": "all_different[i in Set] x[i]",
    "def rule(m): b >= 1;": "`constraint name[i in Set]: ...` for a rule",
    "constraint k[i in I]: sum[i in I] x[i] <= 1;": "another name",
    "constraint k: x1 >= b;": None,
    "constraint k: X >= b;": None,
}


# The same in a scenario.
IN_SCENARIOS = {
    "I = { a.b, 2a, c };": 'I = { "a.b", "2a", c };',
    "I = { gpu:0, gpu:1 };": 'I = { "gpu:0", "gpu:1" };',
    "I = { A100-80GB, V100 };": 'I = { "A100-80GB", V100 };',
    "I = { a b c };": "I = { a, b, c };",
    "set I = { p, q };": "I = { p, q };",
    "param n = 4;": "n = 4;",
    "let n := 4;": "n = 4;",
    "I = 1:10;": "I = 1..10;",
    "a(p) = 2;": "a[p] = 2;",
    "table I: a = p 2, q 3;": "table I: a = p 2 q 3;",
}
ADVICE_IN_SCENARIOS = {
    "param: a := p 1 q 2;": "by name",
    "data;": "`scenario`",
    "solve;": "gsdsl solve",
    "display a;": "--show",
    "table a: p 1 q 2;": "columns before",
    "a = { p: 1, q: 2 };": "table Jobs",
    "I = { i in I where i $ 1 };": None,
}
SCENARIO = """scenario S for M {{
  {statement}
  {rest}
}}
"""


def findings(statement: str, text: str | None = None) -> tuple[str, list[Diagnostic]]:
    text = MODEL.format(statement=statement) if text is None else text
    found = Diagnostics()
    workspace = workspace_from_text(text, "t.gsm", found)
    if not found.has_errors:
        check_workspace(workspace, found)
    return text, list(found)


def mended(statement: str) -> tuple[str, list[Diagnostic]]:
    """The text after all proposed edits, made until there are no more, and what is found then."""
    text, found = findings(statement)
    assert found, "this should be refused"
    for _ in range(ROUNDS):
        edits = [edit for each in found for edit in each.edits]
        if not edits:
            break
        text, found = findings("", apply_edits(text, edits))
    return text, found


@pytest.mark.quick(71)
@pytest.mark.parametrize(
    ("written", "meant"),
    [pytest.param(w, m, id=f"{name}: {w}") for name, cases in MEANT.items() for w, m in cases.items()],
)
def test_edits_give_what_is_meant(written: str, meant: str) -> None:
    text, found = mended(written)
    assert [d for d in found if d.severity == "error"] == []
    assert format_text(text) == format_text(MODEL.format(statement=meant))


@pytest.mark.parametrize(("written", "advice"), ADVICE.items())
def test_what_is_not_certain_is_not_edited(written: str, advice: str | None) -> None:
    _, found = findings(written)
    assert found
    assert not any(d.edits for d in found)
    helps = " ".join(d.help or "" for d in found)
    assert advice in helps if advice is not None else "did you mean" not in helps


def in_scenario(statement: str) -> str:
    rest = "" if "I = " in statement else "I = { p, q };"
    return MODEL.format(statement="") + SCENARIO.format(statement=statement, rest=rest + " Links = {};")


@pytest.mark.parametrize(("written", "meant"), IN_SCENARIOS.items())
def test_edits_in_scenarios(written: str, meant: str) -> None:
    text, found = findings("", in_scenario(written))
    assert found
    for _ in range(ROUNDS):
        text, found = findings("", apply_edits(text, [edit for each in found for edit in each.edits]))
    assert found == []
    assert format_text(text) == format_text(in_scenario(meant))
    check_scenario(workspace_from_text(text, "t.gsm", diagnostics := Diagnostics()), "S", {}, diagnostics)
    diagnostics.raise_if_errors()


@pytest.mark.parametrize(("written", "advice"), ADVICE_IN_SCENARIOS.items())
def test_advice_in_scenarios(written: str, advice: str | None) -> None:
    _, found = findings("", in_scenario(written))
    assert found
    assert advice is None or advice in " ".join(d.help or "" for d in found)
    assert not any(d.edits for d in found if d.code == "GSM1010")


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_broken_statements_are_read(seed: int) -> None:
    """Statements with a word lost or misplaced, or without their end, are reported and never fail."""
    draw = random.Random(seed)
    written = [*(s for cases in MEANT.values() for s in cases), *ADVICE, *IN_SCENARIOS, *ADVICE_IN_SCENARIOS]
    for statement in draw.sample(written, 20 if seed == 1 else len(written)):
        words = re.findall(r"\w+|[^\w\s]+|\s+", statement)
        at = draw.randrange(len(words))
        for changed in (words[:at], words[:at] + words[at + 1 :], [*words[:at], " ", words[-2], " ", *words[at:]]):
            for text in (in_scenario("".join(changed)), "model M { " + "".join(changed)):
                _, found = findings("", text)
                edits = [edit for each in found for edit in each.edits]
                assert all(0 <= e.span.start <= e.span.end <= len(text) for e in edits)


ROOT = Path(__file__).resolve().parents[2]
MODELS = sorted([*(ROOT / "models").rglob("*.gsm"), *(ROOT / "tests" / "tour").rglob("*.gsm")])


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
@pytest.mark.quick(8)
def test_valid_models_get_no_hints(path: Path) -> None:
    found = Diagnostics()
    parse(Source(str(path), path.read_text(encoding="utf-8")), found)
    assert [d for d in found if d.severity == "error"] == []
