"""Splits a text into chunks that are parsed on their own: heads of blocks, and statements.

The split reads only strings, comments, braces, semicolons and words at the beginning of a line, so it takes a small
part of the time of a parse. A block whose braces do not match is one chunk. The boundaries are those at which the
parser also continues after an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

HEADS = {
    "model": "model _ {\n",
    "scenario": "scenario _ {\n",
    "test": "test _ {\n",
    "policy": "policy _ {\n",
    "online": "online _ for _ {\n",
    "campaign": "campaign _ {\n",
}
_WORDS = "|".join(("import", *HEADS))
_PARTS = re.compile(
    rf'"(?:[^"\\\n]|\\.)*"|"[^\n]*?(?=[ \t\r;,)\]}}]*$)|\#[^\r\n]*|/\*(?s:.*?)(?:\*/|\Z)|[{{}};]|^(?:{_WORDS})\b',
    re.MULTILINE,
)
_FIRST_WORD = re.compile(rf"(?:\s|\#[^\n]*)*({_WORDS})\b")
_ELSE = re.compile(r"(?:\s|\#[^\n]*)*else\b")


@dataclass(frozen=True, slots=True)
class Chunk:
    """The part `start:end` of a text.

    `kind` is "" for a part that is a text of its own. "head" is the head of a block, up to and with its `{`. Otherwise
    it is the keyword of the block around a statement. `end_of_block` closes the block of the last head.
    """

    start: int
    end: int
    kind: str = ""
    end_of_block: bool = False


@dataclass(slots=True)
class _Open:
    """A block that is being read: its keyword, its start, and its chunks so far."""

    keyword: str
    start: int
    chunks: list[Chunk]
    statement: int
    braces: list[bool]


def split(text: str) -> list[Chunk]:
    """The chunks of a text, in order; together they are the complete text."""
    chunks, start, opened = _read(text)
    if opened is not None:
        chunks.append(Chunk(opened.start, len(text)))
    elif start < len(text):
        chunks.append(Chunk(start, len(text)))
    return chunks


def last_statement(text: str) -> tuple[str, int]:
    """The keyword of the block at the end of a text ("" outside of blocks), and where its last statement begins."""
    _, start, opened = _read(text)
    return ("", start) if opened is None else (opened.keyword, opened.statement)


def _read(text: str) -> tuple[list[Chunk], int, _Open | None]:
    """The complete chunks of a text, where they end, and the block that is open there."""
    chunks: list[Chunk] = []
    start = 0
    opened: _Open | None = None
    for match in _PARTS.finditer(text):
        sign, at, end = match.group(), match.start(), match.end()
        if sign[0] in '"#/':
            continue
        if sign not in "{};":
            if opened is not None:  # no block continues over a keyword at the beginning of a line
                chunks.append(Chunk(opened.start, at))
                opened = None
            elif text[start:at].strip():
                chunks.append(Chunk(start, at))
            else:
                at = start
            start = at
        elif opened is None:
            if sign == "{":
                word = _FIRST_WORD.match(text, start, at)
                keyword = "" if word is None else word.group(1)
                opened = _Open(keyword, start, [Chunk(start, end, "head")], end, [])
            else:
                chunks.append(Chunk(start, end))
                start = end
        elif _closes(text, opened, sign, end):
            chunks += _finish(opened, end)
            start, opened = end, None
    return chunks, start, opened


def _closes(text: str, opened: _Open, sign: str, end: int) -> bool:
    """Read the next sign of a block; whether it closes the block."""
    braces = opened.braces  # for each open brace inside the block, whether a `;` was seen in it
    if sign == "{":
        braces.append(False)
    elif sign == ";":
        if braces:
            braces[-1] = True
        else:
            _end_statement(opened, end)
    elif not braces:
        return True
    elif braces.pop() and not braces and _ELSE.match(text, end) is None:
        _end_statement(opened, end)
    return False


def _end_statement(opened: _Open, end: int) -> None:
    opened.chunks.append(Chunk(opened.statement, end, opened.keyword))
    opened.statement = end


def _finish(opened: _Open, end: int) -> list[Chunk]:
    """The chunks of a block that ends here; one chunk if its head is unknown."""
    if opened.keyword not in HEADS:
        return [Chunk(opened.start, end)]
    return [*opened.chunks, Chunk(opened.statement, end, opened.keyword, end_of_block=True)]
