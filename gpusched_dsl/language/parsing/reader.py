"""The state of reading tokens: the read part, open brackets, and the skipping of statements."""

from __future__ import annotations

from lark import Token
from msgspec import Struct

from gpusched_dsl.language.diagnostics.diagnostic import Fix, Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.grammar import BLOCKS, CLOSER_OF, OPENER_OF
from gpusched_dsl.language.parsing.parse_loop import ParserState
from gpusched_dsl.language.source import Source, Span

_NAMING = BLOCKS | {"SET", "PARAM", "LET", "VAR", "RANDOM", "CONSTRAINT", "OPTION", "MINIMIZE", "MAXIMIZE"}


class OpenBracket(Struct, frozen=True):
    """An opening bracket without its closing one; `block` if it contains statements."""

    token: Token
    index: int
    block: bool


class StatementReader:
    """The state of one reading. A statement begins at token `first`, where the parser's stack had depth `base`."""

    def __init__(self, source: Source, tokens: list[Token], diagnostics: Diagnostics) -> None:
        self.source = source
        self.tokens = tokens
        self.diagnostics = diagnostics
        self.state = ParserState()
        self.at = 0
        self.between = True
        self.base = self.state.depth
        self.first = 0
        self.open: list[OpenBracket] = []
        self.errors = 0
        self.lost: list[Token] = []
        self.damaged: list[Token] = []
        self.read_tokens: list[Token] = []
        self.starts: set[int] = set()
        self.braces: set[int] = set()

    # --- tokens to the parser ----------------------------------------------------------------------------------------

    def take(self, token: Token) -> None:
        """Give the next token to the parser."""
        self.feed(token, self.at)
        self.at += 1

    def feed(self, token: Token, index: int) -> None:
        self.state.feed(token)
        number = len(self.read_tokens)
        self.read_tokens.append(token)
        if self.between:
            self.starts.add(number)
            self.base, self.first, self.between = self.state.depth - 1, index, False
        if token.type in CLOSER_OF:
            # A set may contain a number, a block may not.
            block = token.type == "LBRACE" and self.state.accepts("RBRACE") and not self.state.accepts("NUMBER")
            self.open.append(OpenBracket(token, index, block))
            self.between = block
        elif token.type in OPENER_OF:
            self.between = self.open.pop().block
        elif token.type == "SEMICOLON":
            self.between = True
        if token.type in ("LBRACE", "RBRACE") and self.between:
            self.braces.add(number)

    def insert(self, terminal: str, text: str) -> None:
        """Insert a missing token for the parser; it has no width and follows the last token."""
        place = self.tokens[self.at - 1].end_pos if self.at else 0
        self.feed(Token(terminal, text, start_pos=place, end_pos=place), max(self.at - 1, 0))

    def next_token(self) -> Token | None:
        return self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None

    # --- places ------------------------------------------------------------------------------------------------------

    @property
    def statement_type(self) -> str:
        """The first terminal of the statement; the first token itself does not know that it is a keyword."""
        start = self.tokens[self.first].start_pos if self.tokens else None
        return next((token.type for token in reversed(self.read_tokens) if token.start_pos == start), "")

    def span(self, token: Token) -> Span:
        return self.source.span(token.start_pos or 0, token.end_pos or 0)

    def text(self, start: int, end: int) -> str:
        """Return the text from a token up to another, exclusively."""
        if start >= end:
            return ""
        return self.span(self.tokens[start]).to(self.span(self.tokens[end - 1])).text

    def span_at(self, index: int) -> Span:
        """Return the place of a token; for the end of the text, after the last one."""
        if index < len(self.tokens):
            return self.span(self.tokens[index])
        end = (self.tokens[-1].end_pos or 0) if self.tokens else 0
        return self.source.span(end, end)

    def span_before(self, index: int) -> Span:
        """Return the place directly before a token."""
        start = self.tokens[index].start_pos or 0
        return self.source.span(start, start)

    def end_of_last(self) -> Span:
        """Return the place directly after the previous token, where something is missing."""
        end = (self.tokens[self.at - 1].end_pos or 0) if self.at else 0
        return self.source.span(end, end)

    def starts_line(self, index: int) -> bool:
        if index == 0:
            return True
        before, token = self.tokens[index - 1], self.tokens[index]
        return "\n" in self.source.text[before.end_pos : token.start_pos]

    # --- reporting ---------------------------------------------------------------------------------------------------

    def error(
        self,
        code: str,
        message: str,
        place: Span,
        label: str = "",
        *,
        help: str | None = None,
        also: Label | None = None,
        fix: Fix = None,
    ) -> None:
        self.errors += 1
        self.diagnostics.error(code, message, place, label, secondary=(also,) if also else (), help=help, fix=fix)

    def report_unclosed(self, opened: OpenBracket, place: Span) -> None:
        self.error(
            "GSM1012",
            "this `{` is not closed",
            self.span(opened.token),
            "opened here",
            also=Label(place, "`}` is missing before this"),
        )

    # --- skipping ----------------------------------------------------------------------------------------------------

    def abandon(self) -> None:
        """Discard the current statement."""
        if not self.between:
            words = [t for t in self.tokens[self.first : self.first + 3] if t.type != "OVERRIDE"]
            if len(words) > 1 and words[0].type in _NAMING and words[1].type == "NAME":
                self.lost.append(words[1])
            self._remember_damage()
            self.state.cut_back(self.base)
            while self.open and self.open[-1].index >= self.first:
                self.open.pop()
            self.between = True

    def _remember_damage(self) -> None:
        """Mark the block around a skipped statement: missing parts of it are not reported again."""
        around = next((o.index for o in self.open if o.block and o.index < self.first), 0)
        head = next((i for i in range(around, 0, -1) if self.tokens[i - 1].type in BLOCKS), None)
        if head is not None and head < around and self.tokens[head].type == "NAME":
            self.damaged.append(self.tokens[head])

    def skip_statement(self) -> None:
        """Skip the current statement with its `;` or block, but never the end of the block around it."""
        has_begun = not self.between
        header = has_begun and not self.open_blocks() and self.tokens[self.first].type in BLOCKS
        inside = [o for o in self.open if o.token.type == "LBRACE" and has_begun and o.index >= self.first]
        depth, sets = len(inside), sum(1 for o in inside if not o.block)
        start = self.at
        self.abandon()
        if header and self._enter_block(start):
            return
        statements_inside = False
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.type == "SEMICOLON" and depth <= sets:  # a set contains no `;`, so its `}` is missing
                self.at += 1
                return
            if token.type == "LBRACE":
                depth += 1
            elif token.type == "RBRACE":
                if depth == 0:
                    if not self.state.accepts("RBRACE"):
                        self.at += 1
                    return
                depth -= 1
                following = self.next_token()
                if depth == 0 and statements_inside and (following is None or following.type != "ELSE"):
                    self.at += 1
                    return
            elif token.type == "SEMICOLON":
                statements_inside = True
            elif self.at > start and self.starts_line(self.at) and self._begins_statement(token, depth):
                return
            self.at += 1

    def open_blocks(self) -> list[OpenBracket]:
        return [o for o in self.open if o.block]

    def open_brackets(self) -> list[OpenBracket]:
        """The open brackets that contain no statements."""
        return [o for o in self.open if not o.block]

    def _begins_statement(self, token: Token, depth: int) -> bool:
        """Whether a word at the beginning of a line certainly begins a statement or block."""
        if token.type in BLOCKS:
            return True
        return depth == 0 and token.type != "NAME" and self.state.accepts(token.type)

    def _enter_block(self, start: int) -> bool:
        """After an error in the head of a block, continue inside it; the block gets no name and is dropped later."""
        keyword = self.tokens[self.first]
        for i in range(start, len(self.tokens)):
            token = self.tokens[i]
            if token.type == "SEMICOLON" or (token.type in BLOCKS and self.starts_line(i) and i > start):
                return False
            if token.type == "LBRACE" and self.state.accepts(keyword.type, "NAME", "LBRACE"):
                self.at = i
                self.feed(keyword, self.first)
                self.insert("NAME", "")
                self.take(token)
                return True
        return False
