"""Formatting: the one layout, as one edit of the lines that change."""

from __future__ import annotations

from lsprotocol import types

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.formatting.formatter import format_text
from gsdsl_editor.document import Document
from gsdsl_editor.positions import common_length


def formatting(document: Document) -> list[types.TextEdit]:
    """The edit that formats a document; none for a text with syntax errors, which is left as it is."""
    try:
        formatted = format_text(document.text)
    except DiagnosticError:
        return []
    text = document.text
    if formatted == text:
        return []
    start = common_length(text, formatted)
    start = text.rfind("\n", 0, start) + 1
    old, new = text[start:], formatted[start:]
    last = common_length(old[::-1], new[::-1])
    last -= len(old[len(old) - last :].partition("\n")[0]) if last < min(len(old), len(new)) else 0
    last = max(last, 0)
    end = len(text) - last
    return [types.TextEdit(document.positions.range(start, end), formatted[start : len(formatted) - last])]
