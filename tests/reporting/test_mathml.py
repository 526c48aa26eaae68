"""Formulas as MathML: every form that the writer of LaTeX has, and all shipped models."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import gpusched_dsl as gs
from gpusched_dsl.reporting.mathematics.mathml import mathml
from gpusched_dsl.reporting.mathematics.symbols import GREEK, escape

MODELS = Path(__file__).resolve().parents[2] / "models"
FILES = sorted(path for path in MODELS.glob("*/*.gsm"))


def shape(element: ElementTree.Element) -> str:
    """A formula in brackets: `sub(x, j)`; rows of one element are that element."""
    name = element.tag.rpartition("}")[2]
    inner = [shape(child) for child in element]
    if name in ("mi", "mn", "mo", "mtext"):
        return element.text or ""
    if name == "mspace":
        return " "
    if name in ("mrow", "math", "mtd"):
        return "".join(inner)
    return f"{name[1:]}({', '.join(inner)})"


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"x_{j}", "sub(x, j)"),
        (r"\mathit{exec\_time}_{j, v}", "sub(exec_time, j,v)"),
        (r"\sum_{j \in \mathrm{Jobs}} x_{j}^{2} \leq 3", "under(∑, j∈Jobs)sup(sub(x, j), 2)≤3"),
        (r"\frac{a}{\left(b + c\right)^{2}}", "frac(a, sup((b+c), 2))"),
        (r"\sqrt{x}", "sqrt(x)"),
        (r"-\left(a + b\right)", "−(a+b)"),
        (r"\begin{cases} x & \text{if } y \\ z & \text{or} \end{cases}", "{table(tr(x, if\u00a0y), tr(z, or))"),
        (r"\operatorname*{all\,different}_{j \in \mathcal{J}} x", "under(all\u2009different, j∈𝒥)x"),
        (r"\mathbb{E}\left[w \,\middle|\, y\right]", "𝔼[w | y]"),
        (r"\left\lVert\left(x\right)\right\rVert", "‖(x)‖"),
        (r"\left[a,\ b\right)", "[a, b)"),
        (r"\mathcal{B} = \mathbb{R}", "ℬ=ℝ"),
        (r"10^{-6} \, \lambda_{\Omega}", "sup(10, −6) sub(λ, Ω)"),
        (rf"\text{{{escape('<b>&{_}^~$%#' + chr(92))}}}", "<b>&{_}^~$%#\\"),
    ],
)  # fmt: skip
def test_forms(latex: str, expected: str) -> None:
    assert shape(ElementTree.fromstring(mathml(latex))) == expected


def test_every_greek_letter() -> None:
    letters = {shape(ElementTree.fromstring(mathml(f"\\{name}"))) for name in GREEK}
    assert len(letters) == len(GREEK)
    assert all(len(letter) == 1 and ord(letter) > 900 for letter in letters)


@pytest.mark.quick(1)
@pytest.mark.parametrize("file", FILES, ids=lambda path: path.relative_to(MODELS).as_posix())
def test_all_shipped_models(file: Path) -> None:
    html = gs.load(file)._repr_html_()
    found = ElementTree.fromstring(f"<div>{html.replace('<br>', '')}</div>")
    texts = "".join(found.itertext())
    assert "\\" not in texts, "a command is unknown"
    assert not {"{", "}"} & {e.text for e in found.iter("{*}mi")}
