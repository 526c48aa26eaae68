"""Text to tokens and comments. The patterns are the grammar's; mistakes in single tokens are mended here."""

from __future__ import annotations

import re
from functools import cache

from lark import Token
from msgspec import Struct

from gpusched_dsl.language.diagnostics.diagnostic import Edit
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing import foreign
from gpusched_dsl.language.parsing.grammar import vocabulary
from gpusched_dsl.language.source import Source, Span

MAX_CHARACTERS = 1_000_000
MAX_TOKENS = 200_000
MAX_NESTING = 200
MAX_MENDED = 1_000  # malformed tokens and signs of other languages

_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")


class Lexed(Struct, frozen=True):
    """The tokens of a text in order, and its comments. Words with two roles are still of type NAME."""

    tokens: list[Token]
    comments: list[Span]


@cache
def _scanner() -> re.Pattern[str]:
    words = vocabulary()
    signs = sorted(words.signs, key=len, reverse=True)
    parts = [f"(?P<{name}>{pattern})" for name, pattern in words.patterns.items()]
    parts += [
        r"(?P<open_string>\"[^\n]*)",
        r"(?P<quoted>'[^'\n]*'|[“„][^“”\n]*[“”]|[‘‚][^‘’\n]*[‘’])",
        r"(?P<foreign_comment>//[^\n]*|/\*(?s:.*?)(?:\*/|\Z))",
        f"(?P<foreign>{foreign.pattern()})",
        f"(?P<sign>{'|'.join(re.escape(s) for s in signs)})",
        r"(?P<unknown>(?s:.))",
    ]
    return re.compile("|".join(parts))


def lex(source: Source, diagnostics: Diagnostics) -> Lexed | None:
    """Split a text into tokens; None when it is too large or nested too deeply to go on.

    Strings keep their quotes. A character that cannot stand in a model is reported and left out; what other languages
    write (`:=`, `&&`, `// comment`) is reported and read as what is meant.
    """
    if len(source.text) > MAX_CHARACTERS:
        diagnostics.error(
            "GSM1003",
            f"the text has {len(source.text):,} characters; the limit is {MAX_CHARACTERS:,}",
            source.span(0, 0),
            help="put large tables into data files and read them with `data`",
        )
        return None
    words = vocabulary()
    tokens: list[Token] = []
    comments: list[Span] = []
    depth = mended_tokens = 0
    start = 1 if source.text.startswith("\ufeff") else 0
    unknown_until = -1
    scan, end = _scanner().match, start
    while match := scan(source.text, end):
        kind, text, place, end = match.lastgroup, match.group(), match.start(), match.end()
        if kind == "BLANK":
            continue
        if kind == "COMMENT":
            comments.append(source.span(place, end))
            continue
        if kind == "NAME":
            kind = words.reserved.get(text, "NAME")
        elif kind == "sign":
            kind = words.signs[text]
            if text in _OPENING:
                depth += 1
                if depth > MAX_NESTING:
                    _report_depth(source.span(place, end), diagnostics)
                    return None
            elif text in _CLOSING:
                depth = max(depth - 1, 0)
        elif kind not in words.patterns:
            if kind == "open_string":
                end = place + _likely_end(text)
            elif kind == "foreign_comment" and ";" in text and _divides(text, tokens):
                end = place + 2
            mended_tokens += 1
            if mended_tokens > MAX_MENDED:
                message = f"more than {MAX_MENDED:,} malformed words and signs: the text is not read"
                diagnostics.error("GSM1019", message, source.span(place, end))
                return None
            mended = _mend(
                kind or "", source.span(place, end), diagnostics, tokens, after_unknown=place == unknown_until
            )
            if kind == "unknown":
                unknown_until = end
            if mended is None:
                continue
            kind, text = mended
        tokens.append(Token(kind, text, start_pos=place, end_pos=end))
        if len(tokens) > MAX_TOKENS:
            diagnostics.error(
                "GSM1003",
                f"the text has more than {MAX_TOKENS:,} words and signs",
                source.span(place, end),
                help="put large tables into data files and read them with `data`",
            )
            return None
    return Lexed(tokens, comments)


def _likely_end(text: str) -> int:
    """Return the length of a text without a closing quote, excluding the end of the statement."""
    return max(len(text.rstrip(" \t\r;,)]}")), 1)


def _report_depth(span: Span, diagnostics: Diagnostics) -> None:
    diagnostics.error(
        "GSM1004",
        f"brackets are nested more than {MAX_NESTING} levels deep",
        span,
        help="give parts of the expression names with `let`",
    )


def _mend(
    kind: str, span: Span, diagnostics: Diagnostics, tokens: list[Token], *, after_unknown: bool
) -> tuple[str, str] | None:
    """Report a malformed token; return the type and text it is read as, or None to leave it out."""
    text = span.text
    if kind == "open_string":
        diagnostics.error(
            "GSM1006", "this text has no closing quote", span, help='close the text with `"` on the same line'
        )
        return "STRING", text.rstrip("\\") + '"'
    if kind == "quoted":
        quoted = '"' + text[1:-1].replace("\\", "\\\\").replace('"', '\\"') + '"'
        diagnostics.error(
            "GSM1017", "write texts in straight double quotes", span, help=f'write `"{text[1:-1]}"`', fix=quoted
        )
        return "STRING", quoted
    if text == "//" and foreign.after_operand(tokens):
        help = "write `a div b` for an integer quotient, rounded down; comments begin with `#`"
        diagnostics.error("GSM1017", "`//` is not an operator of this language", span, help=help)
        return "SLASH", "/"
    if kind == "foreign_comment":
        _report_comment(span, diagnostics, tokens)
        return None
    if kind == "foreign":
        return _replace_foreign_sign(span, diagnostics, tokens)
    if not after_unknown:
        visible = text.isprintable()
        shown = f"`{text}`" if visible else f"U+{ord(text):04X}"
        shown = '"`"' if text == "`" else shown
        diagnostics.error(
            "GSM1005",
            f"the character {shown} is not allowed here",
            span,
            help=_UNKNOWN.get(text) if visible else "remove it",
            fix=None if visible else "",
        )
    return None


_UNKNOWN = {
    "?": "write `if condition then a else b`",
    "@": "write `var name;`, `constraint name: ...;` or `minimize ...;`",
    "$": "write a condition after `where`, as in `[i in I where a[i] > 0]`",
}


def _replace_foreign_sign(span: Span, diagnostics: Diagnostics, tokens: list[Token]) -> tuple[str, str] | None:
    """Replace an operator of another language by its equivalent."""
    words = vocabulary()
    text, source = span.text, span.source.text
    replacement = foreign.SIGNS.get(text)
    if text == foreign.BAR and not _encloses(span):
        replacement = foreign.bar(tokens)
    message = f"`{text}` is not an operator of this language"
    if text == "\\" and not foreign.after_operand(tokens):
        diagnostics.error("GSM1017", message, span, help="remove it", fix="")
        return None
    if replacement == ".." and tokens and tokens[-1].type == "COMMA":
        return "DOTS", replacement  # `{ 1, ..., 5 }`: the parser has advice for the whole
    if replacement is None:
        help = "write `abs(x)` for an absolute value, `count(S)` for the size of a set, `where` before a condition"
        diagnostics.error("GSM1017", message, span, help=help)
        return None
    fix = foreign.space(replacement, source[span.start - 1 : span.start], source[span.end : span.end + 1])
    diagnostics.error("GSM1017", message, span, help=f"write `{replacement}`", fix=fix)
    return (words.reserved | words.signs)[replacement], replacement


def _encloses(span: Span) -> bool:
    """Whether a bar closes one that is open, as in `|x|`."""
    text = span.source.text
    begin = max(text.rfind(sign, 0, span.start) for sign in ";{}") + 1
    before, bar, _ = text[begin : span.start].partition(foreign.BAR)
    return bool(bar) and before.rstrip()[-1:] in tuple("(=<>+-*/:,^")


def _divides(text: str, tokens: list[Token]) -> bool:
    """Whether `//` is the division of another language: inside a statement that ends after it."""
    return text.startswith("//") and foreign.after_operand(tokens) and tokens[-1].type != "RBRACE"


def _report_comment(span: Span, diagnostics: Diagnostics, tokens: list[Token]) -> None:
    """Report `// ...` or `/* ... */`; the fix is certain if no part of a statement is before or after it."""
    source, text = span.source, span.text
    first = source.span(span.start, span.start + 2)
    rest = source.line(source.position(span.end)[0])[source.position(span.end)[1] - 1 :]
    inside = bool(tokens) and tokens[-1].type not in ("SEMICOLON", "LBRACE", "RBRACE")
    help = "comments begin with `#`"
    if text.startswith("//"):
        edits = () if inside else (Edit(first, "#"),)
    else:
        lines = text[2:].removesuffix("*/").split("\n")
        whole = text.endswith("*/") and (not rest.strip() or rest.lstrip().startswith("#"))
        edits = (Edit(span, "\n".join("#" + line for line in lines)),) if whole else ()
    diagnostics.error("GSM1017", f"`{text[:2]}` does not begin a comment", first, help=help, fix=edits)
