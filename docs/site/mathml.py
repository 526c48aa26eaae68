"""Formulas as MathML, which browsers draw without scripts: the mathematics renderer of the site."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from html import escape
from typing import Any

from docutils import nodes
from math_core import LatexToMathML
from sphinx.application import Sphinx

_TAG = re.compile(r"\s*\\tag\{([^{}]*)\}\s*$")
_NAME = re.compile(r"<mi>((?:[\U0001d434-\U0001d467\u210e_]){2,})</mi>")
_INLINE = re.compile(r"\$`([^`\n]+)`\$")


@cache
def _converter() -> LatexToMathML:
    return LatexToMathML(pretty_print="never")


@cache
def mathml(latex: str, display: bool) -> str:
    """The MathML of a formula; raises `LatexError` for LaTeX that cannot be converted."""
    made = _converter().convert_with_local_state(latex.strip(), displaystyle=display)
    return _NAME.sub(_as_word, made)


def _as_word(name: re.Match[str]) -> str:
    """A name of several letters in italics of text: those of mathematics are spaced like a product of variables."""
    return f'<mi class="name">{unicodedata.normalize("NFKC", name[1])}</mi>'


def with_roles(text: str) -> str:
    """Replace the inline formulas of GitHub, $`x`$, by those of MyST, {math}`x`."""
    return _INLINE.sub(r"{math}`\1`", text)


def _visit_math(self: Any, node: nodes.math) -> None:
    self.body.append(mathml(node.astext(), False))
    raise nodes.SkipNode


def _visit_math_block(self: Any, node: nodes.math_block) -> None:
    latex = node.astext()
    number = _TAG.search(latex)
    formula = mathml(_TAG.sub("", latex), True)
    label = f'<span class="number">({escape(number[1])})</span>' if number else ""
    self.body.append(f'<div class="formula"><div class="shown">{formula}</div>{label}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (_visit_math, None), (_visit_math_block, None))
    app.connect("source-read", lambda app, name, source: source.__setitem__(0, with_roles(source[0])))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
