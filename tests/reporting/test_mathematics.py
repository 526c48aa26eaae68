"""Formulations as mathematics: precedence, notation, numbering, variants of options, and pages in step with models."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import Workspace, load_workspace, workspace_from_text
from gpusched_dsl.reporting.mathematics.citations import Citation, split_citation
from gpusched_dsl.reporting.mathematics.formulation import Formulation, formulation
from gpusched_dsl.reporting.mathematics.pages import family_pages, pages
from gpusched_dsl.reporting.mathematics.rendering import to_latex, to_markdown
from gpusched_dsl.reporting.mathematics.symbol_tables import BEGIN, END, symbol_table, with_symbols

ROOT = Path(__file__).resolve().parents[2]


def workspace_of(text: str) -> Workspace:
    found = Diagnostics()
    workspace = workspace_from_text(text, "<text>", found, Path())
    found.raise_if_errors()
    return workspace


def model_of(statements: str) -> Formulation:
    return formulation(workspace_of(f"model M {{ set J; set K ordered; {statements} }}"), "M")


@pytest.mark.parametrize(
    ("source", "latex"),
    [
        ("(a - b) - c", "a - b - c"),
        ("a - (b - c)", r"a - \left(b - c\right)"),
        ("a - (b + c) * d", r"a - \left(b + c\right) \, d"),
        ("a * 2", r"a \cdot 2"),
        ("a / (b + c) ^ 2", r"\frac{a}{\left(b + c\right)^{2}}"),
        ("-(a + b)", r"-\left(a + b\right)"),
        ("sum[j in J] x[j] + a", r"\sum_{j \in \mathcal{J}} x_{j} + a"),
        ("sum[j in J] (x[j] + a)", r"\sum_{j \in \mathcal{J}} \left(x_{j} + a\right)"),
        ("(sum[j in J] x[j]) * a", r"\left(\sum_{j \in \mathcal{J}} x_{j}\right) \, a"),
        ("a * sum[i in J, j in J where i != j] x[i]", r"a \, \sum_{i, j \in \mathcal{J} \,:\, i \neq j} x_{i}"),
        ("a * norm[j in J] (x[j] - c)", r"a \, \left\lVert\left(x_{j} - c\right)_{j \in \mathcal{J}}\right\rVert"),
        ("norm(a, b) + c", r"\left\lVert\left(a, b\right)\right\rVert + c"),
        ("max(a, 0) + abs(b) + sqrt(c)", r"\max\left(a, 0\right) + \left|b\right| + \sqrt{c}"),
        ("if a >= 1 then b else c", r"\begin{cases} b & \text{if } a \geq 1 \\ c & \text{otherwise} \end{cases}"),
        ("count(J)", r"\left|\mathcal{J}\right|"),
        (
            "card(J) + ord(last(K))",
            r"\left|\mathcal{J}\right| + \operatorname{ord}\left(\operatorname{last}\left(\mathcal{K}\right)\right)",
        ),
        ("exec_time + alpha", r"\mathit{exec\_time} + \alpha"),
        ("0.000001 * a", r"10^{-6} \, a"),
        (
            "sum[(j, 1) in J cross L] x[j]",
            r"\sum_{(j, 1) \in \mathcal{J} \times \mathcal{L}} x_{j}",
        ),
        ("min[j in J] x[j]", r"\min_{j \in \mathcal{J}} x_{j}"),
    ],
)
def test_expressions(source: str, latex: str) -> None:
    declared = "set L = 1..2; param a; param b; param c; param d; param exec_time; param alpha; param x[J];"
    (equation,) = model_of(f"{declared} let y = {source};").definitions
    assert equation.latex == f"y = {latex}"


@pytest.mark.parametrize(
    ("source", "latex"),
    [
        ("p => q or r", r"p \Rightarrow q \vee r"),
        ("(p => q) => r", r"\left(p \Rightarrow q\right) \Rightarrow r"),
        ("not (p and q)", r"\neg \left(p \wedge q\right)"),
        ("p or q and r", r"p \vee q \wedge r"),
        ("(p or q) and r", r"\left(p \vee q\right) \wedge r"),
        ("0 <= p + q <= 1", r"0 \leq p + q \leq 1"),
        ("p == 1 <=> q == 0", r"p = 1 \Leftrightarrow q = 0"),
        ("all[j in J] (s[j] => p)", r"\bigwedge_{j \in \mathcal{J}} \left(s_{j} \Rightarrow p\right)"),
        ("(t[prev(k)] else 0) <= 1", r"\left[t_{\operatorname{prev}\left(k\right)} \text{ else } 0\right] \leq 1"),
    ],
)  # fmt: skip
def test_conditions(source: str, latex: str) -> None:
    declared = "var p binary; var q binary; var r binary; var s[J] binary; var t[K] binary;"
    (equation,) = model_of(f"{declared} constraint c[k in K]: {source};").constraints
    assert equation.latex == latex


def test_intervals() -> None:
    found = model_of(
        "var s[J] >= 0; var x[J] binary; interval t[j in J] start s[j] length 2 optional on x[j];"
        "constraint c: no_overlap[j in J] t[j]; constraint d: cumulative[j in J] (t[j], 3) <= 4;"
    )
    assert found.definitions[0].latex == r"t_{j} = \left[s_{j},\ s_{j} + 2\right) \text{ if } x_{j}"
    assert [c.latex for c in found.constraints] == [
        r"\operatorname*{no\,overlap}_{j \in \mathcal{J}} t_{j}",
        r"\operatorname*{cumulative}_{j \in \mathcal{J}} (t_{j}, 3) \leq 4",
    ]


def test_notation_uses_the_letters_of_the_model() -> None:
    model = model_of(
        'param due[J] in h >= 0 default 2[h] "time left"; set P within J cross K; var x[P] binary; var y[J, K] >= 0;'
        "constraint c[job in J]: sum[(job, k) in P] x[job, k] <= 1; constraint d[job in J, k in K]: y[job, k] <= 3;"
    )
    (due,), (x, y) = model.parameters, model.variables
    assert (due.symbol, due.unit, due.meaning) == (r"\mathit{due}_{\mathit{job}}", r"\mathrm{h}", "time left")
    assert due.values == r"\geq 0 \text{ (default } 2\,\mathrm{h}\text{)}"
    assert x.symbol == r"x_{\mathit{job}, k}"
    assert (y.over, y.values) == (r"\mathit{job} \in \mathcal{J},\ k \in \mathcal{K}", r"\geq 0")


def test_equations_are_numbered_through_and_variants_tell_what_changes() -> None:
    text = """
model M {
  set J; var x[J] >= 0; option rule in { few, many } default few;
  let total = sum[j in J] x[j] "all of it";
  minimize cost { rent: 2 * total; idle: total; }
  constraint upper: total <= 9;
  when rule == few { constraint few_only: total <= 3; } else { constraint many_only: total >= 3; }
}
"""
    model = formulation(workspace_of(text), "M")
    numbers = [e.number for e in (*model.definitions, *model.objectives, *model.constraints)]
    assert numbers == [1, 2, 3, 4]
    assert "(rent)" in model.objectives[0].latex
    (variant,) = model.variants
    assert (variant.choice, [e.name for e in variant.equations], variant.gone) == ("many", ["many_only"], ("few_only",))
    assert variant.equations[0].number == 5
    page = to_markdown([model])
    assert r"\tag{5}" in page
    assert "Without `few_only`." in page
    assert "constraint upper: total <= 9;" in page


def test_texts_are_escaped() -> None:
    model = model_of('param p "50% & a_b <b> | c"; var x >= p; minimize t "cost_$": x;')
    assert r"50\% \& a\_b <b> | c" in to_latex([model])
    assert r"50% & a\_b &lt;b> \| c" in to_markdown([model])


MODELS = sorted((ROOT / "models").glob("*/*.gsm"))


@pytest.mark.quick(3)
@pytest.mark.parametrize("path", MODELS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_all_models_become_balanced_documents(path: Path) -> None:
    found = Diagnostics()
    workspace = load_workspace(path, found)
    found.raise_if_errors()
    text = to_latex([formulation(workspace, name) for name in workspace.models])
    plain = text.replace(r"\\", "").replace(r"\{", "").replace(r"\}", "")
    assert plain.count("{") == plain.count("}")
    assert re.findall(r"\\begin\{(\w+\*?)\}", text).__len__() == re.findall(r"\\end\{(\w+\*?)\}", text).__len__()
    assert text.count(r"\left") == text.count(r"\right")
    tags = [int(t) for t in re.findall(r"\\tag\{(\d+)\}", text)]
    assert all(b == a + 1 or b == 1 for a, b in itertools.pairwise(tags))


def test_pages_are_in_step_with_the_models() -> None:
    made = pages(ROOT / "models")
    folder = ROOT / "docs" / "models"
    kept = {p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8") for p in folder.rglob("*.md")}
    assert kept == made, "run `make docs`"


def test_tables_of_symbols_are_in_step_with_the_models() -> None:
    pages = family_pages(ROOT / "models")
    assert pages
    for path, text in pages.items():
        assert path.read_text(encoding="utf-8") == text, "run `make docs`"


@pytest.mark.parametrize(
    ("doc", "meaning", "symbol", "places"),
    [
        ("rent of a VM; c_v in (1)", "rent of a VM", "c_v", "(1)"),
        ("at most 2; in a rack; x_jnv in (2) to (7), (P1)", "at most 2; in a rack", "x_jnv", "(2) to (7), (P1)"),
        ("w_n in the objective", "", "w_n", "the objective"),
        ("(4)", "", "", "(4)"),
        ("first in the queue; Algorithm 2, line 10", "first in the queue", "", "Algorithm 2, line 10"),
        ("late; Kiros (3.2) and section 3.1.4", "late", "", "Kiros (3.2) and section 3.1.4"),
    ],
)
def test_texts_cite_a_paper(doc: str, meaning: str, symbol: str, places: str) -> None:
    assert split_citation(doc) == (meaning, Citation(symbol, places))


@pytest.mark.parametrize(
    "doc", ["", "see (4)", "power [W]", "a job; see (4) there", "sized (1)", "by row; 5 of (7) rows"]
)
def test_other_texts_cite_nothing(doc: str) -> None:
    assert split_citation(doc) == (doc, None)


def test_a_table_of_symbols_has_symbols_as_declared_then_rows_by_number() -> None:
    workspace = workspace_of("""
        model A { set J "jobs; J in Table I"; param p[J] in h >= 0 "time; p_j in (2)"; var x[J] binary "x_j in (1)";
          maximize most "the objective": sum[j in J] x[j];
          constraint b "time; (10)": sum[j in J] p[j] * x[j] <= 1[h]; constraint a[j in J] "(2)": x[j] <= 1; }
        model B extends A { var y >= 0; constraint c "(1)": y <= 1; }""")
    table = symbol_table([formulation(workspace, name) for name in ("A", "B")])
    assert [row.split(" | ")[:5] for row in table.split("\n")[2:]] == [
        ["| `J`", "Table I", "`J`", "", "`<text>` |"],
        ["| `p_j`", "(2)", "`p`", r"$`\mathrm{h}`$", "`<text>` |"],
        ["| `x_j`", "(1)", "`x`", "", "`<text>` |"],
        ["| ", "the objective", "`most`", "", "`<text>` |"],
        ["| ", "(1)", "`c`", "", "`<text>` |"],
        ["| ", "(2)", "`a`", "", "`<text>` |"],
        ["| ", "(10)", "`b`", "", "`<text>` |"],
    ]
    assert with_symbols(f"a {BEGIN}{END} b {BEGIN}old{END}", []).count("old") == 0
    text = to_markdown([formulation(workspace, "A")])
    assert "**b**, (10) of the paper: time" in text
    assert "p\\_j in (2)" in text
    assert "(10) of the paper" in to_latex([formulation(workspace, "A")])
