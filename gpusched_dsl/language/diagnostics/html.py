"""Diagnostics as HTML: their text, underlined and coloured."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Final

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.render import render_text

_CODE: Final = re.compile("\x1b\\[([0-9;]*)m")
_COLOURS: Final = {"31": "#cf222e", "32": "#1a7f37", "33": "#9a6700", "34": "#0969da", "36": "#1b7c83"}


def render_html(diagnostics: Iterable[Diagnostic]) -> str:
    """Return the text of the terminal as an element `pre`; "" if there are no diagnostics."""
    text = render_text(diagnostics, color=True)
    if not text:
        return ""
    parts = _CODE.split(text)  # text, code, text, code, ...
    spans = [escape(parts[0])]
    for code, words in zip(parts[1::2], parts[2::2], strict=True):
        spans.append(f'<span style="{_style(code)}">{escape(words)}</span>' if code not in ("", "0") else escape(words))
    return f'<pre class="gsdsl-diagnostics" style="line-height: 1.35">{"".join(spans).rstrip()}</pre>'


def _style(code: str) -> str:
    colours = [f"color: {_COLOURS[part]}" for part in code.split(";") if part in _COLOURS]
    return "; ".join(["font-weight: 600", *colours])
