"""A lexer for Pygments that reads a text as the compiler does: words are keywords only where they are keywords."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lark import Token
from pygments.lexer import Lexer
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, String, Whitespace, _TokenType

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.highlighting.words import class_of
from gpusched_dsl.language.parsing.grammar import vocabulary
from gpusched_dsl.language.parsing.lexing import lex
from gpusched_dsl.language.parsing.recovery import read_blocks
from gpusched_dsl.language.source import Source

_CLASSES: dict[str, _TokenType] = {
    "blocks": Keyword.Namespace,
    "declarations": Keyword.Declaration,
    "aggregates": Name.Builtin,
    "operators": Operator.Word,
    "constants": Keyword.Constant,
    "control": Keyword,
    "reserved": Keyword,
}
_PUNCTUATION = frozenset(("LPAR", "RPAR", "LSQB", "RSQB", "LBRACE", "RBRACE", "COMMA", "SEMICOLON", "COLON", "DOT"))
_PLAIN: dict[str, _TokenType] = {"NUMBER": Number, "STRING": String.Double, "UNIT_SIGN": Name.Constant}


class GsmLexer(Lexer):  # type: ignore[misc]  # Pygments has no types
    """Lexer of `.gsm` texts; characters that the language does not have become `Error` tokens."""

    name = "GSM"
    aliases: ClassVar[list[str]] = ["gsm", "gsdsl"]
    filenames: ClassVar[list[str]] = ["*.gsm"]
    mimetypes: ClassVar[list[str]] = ["text/x-gsm"]
    url = ""

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, _TokenType, str]]:
        """Yield the place, type and text of every part of a text."""
        source = Source("text", text)
        lexed = lex(source, Diagnostics())
        if lexed is None:
            yield 0, Error, text
            return
        roles = {t.start_pos: t for t in read_blocks(source, lexed.tokens, Diagnostics()).tokens}
        tokens = [roles.get(t.start_pos, t) for t in lexed.tokens]
        parts = [(c.start, c.end, Comment.Single) for c in lexed.comments]
        for number, token in enumerate(tokens):
            following = tokens[number + 1] if number + 1 < len(tokens) else None
            before = tokens[number - 1] if number else None
            parts.append((token.start_pos or 0, token.end_pos or 0, _type_of(token, before, following)))
        at = 0
        for start, end, kind in sorted(parts, key=lambda part: part[0]):
            yield from _gap(text, at, start)
            if end > max(start, at):
                yield start, kind, text[start:end]
                at = end
        yield from _gap(text, at, len(text))


def _gap(text: str, start: int, end: int) -> Iterator[tuple[int, _TokenType, str]]:
    """The text between two tokens: blanks, or what is no part of the language."""
    if start < end:
        yield start, Error if text[start:end].strip() else Whitespace, text[start:end]


def _type_of(token: Token, before: Token | None, following: Token | None) -> _TokenType:
    kind = token.type
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind == "NAME":
        if before is not None and class_of(before.type) == "blocks":
            return Name.Class
        if before is not None and class_of(before.type) == "declarations":
            return Name.Variable
        return Name.Function if following is not None and following.type == "LPAR" else Name
    if kind in _PUNCTUATION:
        return Punctuation
    words = vocabulary()
    if words.spelling.get(kind, "") in words.signs:
        return Operator
    return _CLASSES[class_of(kind)]
