"""Reads tokens to blocks: repairs clear mistakes, skips other wrong statements, and reports both."""

from __future__ import annotations

from lark import Token, Tree
from msgspec import Struct

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.reader import StatementReader
from gpusched_dsl.language.source import Source

MAX_ERRORS = 50
# Of the parser's stack. Any text nested 200 deep stays far below.
MAX_DEPTH = 4_000


class RecoveredText(Struct, frozen=True):
    """The content of a text.

    `blocks` are the parse trees; `tokens` are the read tokens with their roles; `starts` and `braces` are numbers of
    tokens that begin statements and of braces around statements; `lost` are the names of skipped declarations,
    `damaged` the names of blocks with a skipped statement.
    """

    blocks: list[Tree[Token]]
    tokens: list[Token]
    starts: set[int]
    braces: set[int]
    lost: list[Token]
    damaged: list[Token]


def read_blocks(source: Source, tokens: list[Token], diagnostics: Diagnostics) -> RecoveredText:
    """Return the blocks of a text, without statements that have errors."""
    reader = StatementReader(source, tokens, diagnostics)
    while reader.at < len(reader.tokens) and reader.errors < MAX_ERRORS:
        token = reader.state.role(reader.tokens[reader.at], reader.next_token())
        if reader.state.fits(token.type):
            reader.take(token)
            if reader.state.depth > MAX_DEPTH:
                _skip_deep_statement(reader, token)
        elif not _repair(reader, token):
            _report_unexpected(reader, token)
            reader.skip_statement()
    if reader.errors >= MAX_ERRORS:
        diagnostics.error(
            "GSM1019", f"more than {MAX_ERRORS} syntax errors: the rest is not read", reader.span_at(reader.at)
        )
        reader.abandon()
    return RecoveredText(_finish(reader), reader.read_tokens, reader.starts, reader.braces, reader.lost, reader.damaged)


# Only a text with an error loads the advice.


def _repair(reader: StatementReader, token: Token) -> bool:
    from gpusched_dsl.language.parsing.fix_its import repair_mistake

    return repair_mistake(reader, token)


def _report_unexpected(reader: StatementReader, token: Token) -> None:
    from gpusched_dsl.language.parsing.advice import report_unexpected

    report_unexpected(reader, token)


def _skip_deep_statement(reader: StatementReader, token: Token) -> None:
    reader.error("GSM1004", "this is too deeply nested", reader.span(token), help="name parts with `let`")
    reader.skip_statement()


def _finish(reader: StatementReader) -> list[Tree[Token]]:
    end = reader.span_at(len(reader.tokens))
    token = Token("$END", "", start_pos=end.start, end_pos=end.end)
    if not reader.between:
        if reader.state.accepts("SEMICOLON"):
            reader.at = len(reader.tokens)
            reader.error("GSM1011", "`;` is missing at the end of this statement", end, help="add `;`", fix=";")
            reader.insert("SEMICOLON", ";")
        else:
            _report_unexpected(reader, token)
            reader.abandon()
    blocks = reader.open_blocks()
    if blocks and reader.errors < MAX_ERRORS:
        reader.report_unclosed(blocks[-1], end)
    for _ in blocks:
        reader.insert("RBRACE", "}")
    tree = reader.state.finish()
    return [child for child in tree.children if isinstance(child, Tree)]
