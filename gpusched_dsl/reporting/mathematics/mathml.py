"""Formulas as MathML, which browsers typeset without a script.

It reads the LaTeX that `expressions.py` writes, not LaTeX in general. Names and texts are escaped.
"""

from __future__ import annotations

import re
import unicodedata
from html import escape
from typing import Final

from gpusched_dsl.reporting.mathematics.symbols import GREEK

_TOKEN: Final = re.compile(r"\\operatorname\*|\\[A-Za-z]+|\\.|[{}^_&]|\d+(?:\.\d+)?|\s+|.", re.DOTALL)

_SYMBOLS: Final = {
    r"\in": "∈", r"\notin": "∉", r"\subseteq": "⊆", r"\cup": "∪", r"\cap": "∩", r"\setminus": "∖", r"\times": "×",
    r"\wedge": "∧", r"\vee": "∨", r"\neg": "¬", r"\Rightarrow": "⇒", r"\Leftrightarrow": "⇔", r"\forall": "∀",
    r"\leq": "≤", r"\geq": "≥", r"\neq": "≠", r"\sim": "∼", r"\cdot": "⋅", r"\dots": "…", r"\bmod": "mod",
    r"\exp": "exp", r"\log": "log", r"\{": "{", r"\}": "}", r"\$": "$", r"\&": "&", r"\#": "#", r"\%": "%", r"\_": "_",
    "-": "−", "*": "∗",
}  # fmt: skip
_LARGE: Final = {r"\sum": "∑", r"\prod": "∏", r"\bigvee": "⋁", r"\bigwedge": "⋀", r"\min": "min", r"\max": "max"}
_SPACES: Final = {r"\,": "0.17em", r"\ ": "0.3em", r"\quad": "1em", r"\qquad": "2em"}
_FENCES: Final = {
    r"\lfloor": "⌊", r"\rfloor": "⌋", r"\lceil": "⌈", r"\rceil": "⌉", r"\lVert": "‖", r"\rVert": "‖", r"\{": "{",
    r"\}": "}",
}  # fmt: skip
_OPERATORS: Final = frozenset("+=<>,:;()[]/|")
_TEXT: Final = {r"\textbackslash": "\\", r"\textasciicircum": "^", r"\textasciitilde": "~", r"\,": "\u2009"}
_LETTERS: Final = {r"\mathcal": "SCRIPT", r"\mathbb": "DOUBLE-STRUCK"}


def mathml(latex: str, *, display: bool = False) -> str:
    """Return a formula as an element `math`; a displayed one has limits below its sums."""
    form = ' displaystyle="true"' if display else ""
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"{form}>{_Reader(latex).row()}</math>'


class _Reader:
    """Reads one formula from left to right."""

    def __init__(self, latex: str) -> None:
        self.tokens = _TOKEN.findall(latex)
        self.at = 0

    @property
    def token(self) -> str:
        """The next token; "" at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        self.at += 1
        return str(self.tokens[self.at - 1])

    def skip_space(self) -> None:
        while self.token and self.token.isspace():
            self.at += 1

    def row(self, *ends: str) -> str:
        """Return elements up to one of the ends, which stays."""
        parts: list[str] = []
        while self.token and self.token not in ends:
            if self.token.isspace():
                self.at += 1
            else:
                parts.append(self.with_scripts())
        return f"<mrow>{''.join(parts)}</mrow>"

    def with_scripts(self) -> str:
        """Return an element with its subscript and superscript."""
        is_large = self.token in _LARGE or self.token == r"\operatorname*"
        base = self.element()
        self.skip_space()
        scripts = {}
        while self.token in ("_", "^") and self.token not in scripts:
            kind = self.take()
            scripts[kind] = self.element()
        if "_" in scripts:
            tag = "munder" if is_large else "msub"
            base = f"<{tag}>{base}{scripts['_']}</{tag}>"
        return f"<msup>{base}{scripts['^']}</msup>" if "^" in scripts else base

    def element(self) -> str:
        token = self.take()
        if token == "{":
            return self._close_row(self.row("}"))
        if token in _SPACES:
            return f'<mspace width="{_SPACES[token]}"></mspace>'
        if token in _LARGE:
            return f"<mo>{_LARGE[token]}</mo>"
        if token == r"\mathit":
            return f'<mi style="font-style: italic">{self._text()}</mi>'
        if token == r"\mathrm":
            return f'<mi mathvariant="normal">{self._text()}</mi>'
        if token in (r"\operatorname", r"\operatorname*"):
            return f"<mo>{self._text()}</mo>"
        if token == r"\text":
            text = re.sub("^ | $", "\u00a0", self._text())
            return f"<mtext>{text}</mtext>"
        if token in _LETTERS:
            return f"<mi>{''.join(_letter(letter, _LETTERS[token]) for letter in self._text())}</mi>"
        if token == r"\frac":
            return f"<mfrac>{self._group()}{self._group()}</mfrac>"
        if token == r"\sqrt":
            return f"<msqrt>{self._group()}</msqrt>"
        if token == r"\left":
            return self._with_brackets()
        if token == r"\middle":
            return _fence(self._delimiter())
        if token == r"\begin":
            return self._table(self._text())
        return _plain(token)

    def _close_row(self, row: str) -> str:
        self.at += 1
        return row

    def _group(self) -> str:
        self.skip_space()
        return self.element()

    def _text(self) -> str:
        """Return the argument of a command as escaped text."""
        self.skip_space()
        assert self.take() == "{"
        depth, parts = 0, list[str]()
        while True:
            token = self.take()
            if token == "}" and depth == 0:
                return escape("".join(parts))
            if token in "{}":  # those of \textbackslash{}
                depth += 1 if token == "{" else -1
            else:
                parts.append(_TEXT.get(token, token[-1:] if token.startswith("\\") else token))

    def _delimiter(self) -> str:
        self.skip_space()
        token = self.take()
        return _FENCES.get(token, token)

    def _with_brackets(self) -> str:
        opening = self._delimiter()
        inner = self.row(r"\right")
        self.at += 1
        return f"<mrow>{_fence(opening)}{inner}{_fence(self._delimiter())}</mrow>"

    def _table(self, kind: str) -> str:
        """Return the lines of `cases` or `aligned`."""
        lines: list[list[str]] = [[]]
        while True:
            lines[-1].append(self.row("&", r"\\", r"\end"))
            end = self.take()
            if end == r"\end":
                self._text()
                break
            if end == r"\\":
                lines.append([])
        style = 'style="text-align: left; padding: 0.15em 0.3em"'
        rows = "".join(f"<mtr>{''.join(f'<mtd {style}>{c}</mtd>' for c in line)}</mtr>" for line in lines)
        table = f'<mtable displaystyle="true">{rows}</mtable>'
        return f"<mrow>{_fence('{')}{table}</mrow>" if kind == "cases" else table


def _fence(text: str) -> str:
    return f'<mo fence="true" stretchy="true">{escape(text)}</mo>'


def _letter(letter: str, style: str) -> str:
    for name in (f"MATHEMATICAL {style} CAPITAL {letter}", f"{style} CAPITAL {letter}"):
        try:
            return unicodedata.lookup(name)
        except KeyError:
            continue
    return letter


def _plain(token: str) -> str:
    if token in _SYMBOLS:
        return f"<mo>{escape(_SYMBOLS[token])}</mo>"
    if token.startswith("\\") and token[1:] in GREEK:
        return f"<mi>{_greek(token[1:])}</mi>"
    if token[:1].isdigit():
        return f"<mn>{token}</mn>"
    if token in _OPERATORS:
        stretch = ' stretchy="false"' if token in "()[]|" else ""
        return f"<mo{stretch}>{escape(token)}</mo>"
    return f"<mi>{escape(token)}</mi>"


def _greek(name: str) -> str:
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    spelling = {"lambda": "LAMDA"}.get(name.lower(), name.upper())
    return unicodedata.lookup(f"GREEK {size} LETTER {spelling}")
