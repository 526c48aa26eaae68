"""Formulations to text, by Jinja2 templates: Markdown (GitHub's mathematics), a LaTeX document, or HTML."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gpusched_dsl.reporting.mathematics.citations import Citation
from gpusched_dsl.reporting.mathematics.formulation import Formulation
from gpusched_dsl.reporting.mathematics.mathml import mathml
from gpusched_dsl.reporting.mathematics.symbols import escape

_TEMPLATES = PackageLoader("gpusched_dsl.reporting.mathematics")


def to_markdown(models: Sequence[Formulation], title: str = "") -> str:
    """One page; formulas are in `math` blocks, which GitHub and most viewers typeset."""
    template = _markdown().get_template("model.md.j2")
    head = f"# {title}\n\n" if title else ""
    return head + "\n".join(_space(template.render(model=m)) for m in models)


def to_latex(models: Sequence[Formulation]) -> str:
    """A complete document of class `article`; needs amsmath, amssymb, booktabs and longtable."""
    body = _latex().get_template("model.tex.j2").render(models=models)
    return f"{_PREAMBLE}\\begin{{document}}\n{body}\n\\end{{document}}\n"


def to_html(models: Sequence[Formulation]) -> str:
    """A part of a page, with formulas as MathML; names and texts are escaped."""
    template = _html().get_template("model.html.j2")
    return f'<div class="gsdsl-output">{"".join(template.render(model=m) for m in models)}</div>'


_PREAMBLE = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage[margin=2cm]{geometry}
\usepackage{amsmath, amssymb, booktabs, longtable}
"""


@cache
def _markdown() -> Environment:
    # Markdown is no HTML: what could start a tag or end a table cell is escaped by the filters.
    made = Environment(loader=_TEMPLATES, undefined=StrictUndefined, trim_blocks=True, autoescape=False)
    made.filters["citation"] = _citation
    made.filters["inline"] = lambda text: "" if not text else f"$`{text}`$".replace("|", r"\vert ")
    made.filters["text"] = _plain
    made.filters["cell"] = lambda text: _plain(text).replace("|", r"\|")
    return made


@cache
def _latex() -> Environment:
    made = Environment(
        loader=_TEMPLATES, undefined=StrictUndefined, trim_blocks=True, autoescape=False,
        block_start_string="<%", block_end_string="%>", variable_start_string="<<", variable_end_string=">>",
        comment_start_string="<#", comment_end_string="#>",
    )  # fmt: skip
    made.filters["citation"] = _citation
    made.filters["inline"] = lambda text: "" if not text else f"${text}$"
    made.filters["tex"] = escape
    return made


@cache
def _html() -> Environment:
    made = Environment(
        loader=_TEMPLATES, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=True
    )
    made.filters["citation"] = _citation
    made.filters["math"] = lambda text: Markup(mathml(text)) if text else ""
    made.filters["display"] = lambda text: Markup(mathml(text, display=True)) if text else ""
    return made


def _space(text: str) -> str:
    """One empty line before and after headings, tables and code, and nowhere else."""
    result: list[str] = []
    fenced = False
    for line in (line.rstrip() for line in text.split("\n")):
        before = result[-1] if result else ""
        starts = line.startswith(("#", "**", "```")) and not fenced
        goes_on = line.startswith("|") == before.startswith("|")
        if result and before and not fenced and (starts or not goes_on or before.startswith(("#", "```"))):
            result.append("")
        if line or fenced or (result and result[-1]):
            result.append(line)
        fenced ^= line.startswith("```")
    return "\n".join(result).strip() + "\n"


def _citation(cited: Citation | None) -> str:
    return "" if cited is None else f"{cited.symbol} in {cited.places}" if cited.symbol else cited.places


def _plain(text: str) -> str:
    return text.replace("\\", "\\\\").replace("<", "&lt;").replace("*", r"\*").replace("_", r"\_").replace("`", r"\`")
