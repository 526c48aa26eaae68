"""Reading tokens to blocks: mends what is clear, leaves out statements that are not, and reports both."""

from __future__ import annotations

from dataclasses import dataclass

from lark import Token, Tree

from gpusched_dsl.language.diagnostics.diagnostic import Fix, Label, Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.advice import advice
from gpusched_dsl.language.parsing.fix_its import mend
from gpusched_dsl.language.parsing.parse_loop import Driver
from gpusched_dsl.language.parsing.wording import expected_words, found_words
from gpusched_dsl.language.source import Source, Span

MAX_ERRORS = 50
# Of the parser's stack. What is nested 200 deep, however it is written, stays far below.
MAX_DEPTH = 4_000

_PAIRS = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
_SIGNS = {"RPAR": ")", "RSQB": "]", "RBRACE": "}"}
_BLOCKS = frozenset(("IMPORT", "MODEL", "SCENARIO", "TEST", "POLICY", "ONLINE", "CAMPAIGN"))
_NAMING = _BLOCKS | {"SET", "PARAM", "LET", "VAR", "RANDOM", "CONSTRAINT", "OPTION", "MINIMIZE", "MAXIMIZE"}


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text consists of.

    `blocks` are the parse trees; `tokens` those that were read, as the words and signs they are at their place;
    `starts` and `braces` the numbers of the tokens that begin statements and of the braces around statements; `lost`
    the names whose declarations are left out, `damaged` those of blocks of which a statement is left out.
    """

    blocks: list[Tree[Token]]
    tokens: list[Token]
    starts: set[int]
    braces: set[int]
    lost: list[Token]
    damaged: list[Token]


@dataclass(frozen=True, slots=True)
class Opened:
    """An opening bracket that waits for its other half; `block` when statements stand inside."""

    token: Token
    index: int
    block: bool


class Reader:
    """The state of one reading. A statement begins at token `first`, where the parser's stack had depth `base`."""

    def __init__(self, source: Source, tokens: list[Token], diagnostics: Diagnostics) -> None:
        self.source = source
        self.tokens = tokens
        self.diagnostics = diagnostics
        self.driver = Driver()
        self.at = 0
        self.between = True
        self.base = self.driver.depth
        self.first = 0
        self.open: list[Opened] = []
        self.errors = 0
        self.lost: list[Token] = []
        self.damaged: list[Token] = []
        self.taken: list[Token] = []
        self.starts: set[int] = set()
        self.braces: set[int] = set()

    # --- reading ----------------------------------------------------------------------------------------------------

    def read(self) -> Reading:
        while self.at < len(self.tokens) and self.errors < MAX_ERRORS:
            token = self.driver.role(self.tokens[self.at], self.following())
            if token.type == "CAMPAIGN" and self.between and not self.open:
                self._skip_campaign(token)
            elif self.driver.fits(token.type):
                self.take(token)
                if self.driver.depth > MAX_DEPTH:
                    self._leave_out_deep(token)
            elif not mend(self, token):
                self.report_unexpected(token)
                self.skip_statement()
        if self.errors >= MAX_ERRORS:
            self.diagnostics.error(
                "GSM1019", f"more than {MAX_ERRORS} syntax errors: the rest is not read", self.span_at(self.at)
            )
            self.abandon()
        return Reading(self._finish(), self.taken, self.starts, self.braces, self.lost, self.damaged)

    def take(self, token: Token) -> None:
        """Give the next token to the parser."""
        self.feed(token, self.at)
        self.at += 1

    def feed(self, token: Token, index: int) -> None:
        self.driver.feed(token)
        number = len(self.taken)
        self.taken.append(token)
        if self.between:
            self.starts.add(number)
            self.base, self.first, self.between = self.driver.depth - 1, index, False
        if token.type in _PAIRS:
            # A set may hold a number, a block may not.
            block = token.type == "LBRACE" and self.driver.accepts("RBRACE") and not self.driver.accepts("NUMBER")
            self.open.append(Opened(token, index, block))
            self.between = block
        elif token.type in _SIGNS:
            self.between = self.open.pop().block
        elif token.type in ("SEMICOLON", "SKIPPED"):
            self.between = True
        if token.type in ("LBRACE", "RBRACE") and self.between:
            self.braces.add(number)

    def insert(self, terminal: str, text: str) -> None:
        """Give the parser a token that the author forgot; it stands, without width, behind the last one."""
        place = self.tokens[self.at - 1].end_pos if self.at else 0
        self.feed(Token(terminal, text, start_pos=place, end_pos=place), max(self.at - 1, 0))

    def following(self) -> Token | None:
        return self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None

    # --- places -----------------------------------------------------------------------------------------------------

    def span(self, token: Token) -> Span:
        return self.source.span(token.start_pos or 0, token.end_pos or 0)

    def text(self, start: int, end: int) -> str:
        """The text from one token to before another."""
        if start >= end:
            return ""
        return self.span(self.tokens[start]).to(self.span(self.tokens[end - 1])).text

    def span_at(self, index: int) -> Span:
        """The place of a token; behind the last one for the end of the text."""
        if index < len(self.tokens):
            return self.span(self.tokens[index])
        end = (self.tokens[-1].end_pos or 0) if self.tokens else 0
        return self.source.span(end, end)

    def span_before(self, index: int) -> Span:
        """The place right before a token."""
        start = self.tokens[index].start_pos or 0
        return self.source.span(start, start)

    def behind_last(self) -> Span:
        """The place right behind the token before this one: where something is missing."""
        end = (self.tokens[self.at - 1].end_pos or 0) if self.at else 0
        return self.source.span(end, end)

    def starts_line(self, index: int) -> bool:
        if index == 0:
            return True
        before, token = self.tokens[index - 1], self.tokens[index]
        return "\n" in self.source.text[before.end_pos : token.start_pos]

    # --- reporting --------------------------------------------------------------------------------------------------

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

    def report_unexpected(self, token: Token) -> None:
        bracket = self.open[-1] if self.open and not self.open[-1].block else None
        if bracket is not None and token.type in ("SEMICOLON", "RBRACE", "$END"):
            self.error(
                "GSM1012",
                f"`{bracket.token}` is never closed",
                self.span(bracket.token),
                "opened here",
                also=Label(self.span(token), f"`{_SIGNS[_PAIRS[bracket.token.type]]}` is missing before this"),
            )
            return
        expected = self.driver.expected()
        help, fix = advice(self, token)
        pair = None if bracket is None else _PAIRS[bracket.token.type]
        self.error(
            "GSM1010",
            f"expected {expected_words(expected)}, found {found_words(token)}",
            self.span(token),
            also=Label(self.span(bracket.token), "inside this") if bracket and pair in expected else None,
            help=help,
            fix=fix,
        )

    # --- leaving out ------------------------------------------------------------------------------------------------

    def abandon(self) -> None:
        """Forget the statement that was begun."""
        if not self.between:
            words = [t for t in self.tokens[self.first : self.first + 3] if t.type != "OVERRIDE"]
            if len(words) > 1 and words[0].type in _NAMING and words[1].type == "NAME":
                self.lost.append(words[1])
            self._remember_damage()
            self.driver.cut(self.base)
            while self.open and self.open[-1].index >= self.first:
                self.open.pop()
            self.between = True

    def _remember_damage(self) -> None:
        """The block around the statement that is left out lacks it: what it then seems to lack is no other mistake."""
        around = next((o.index for o in self.open if o.block and o.index < self.first), 0)
        head = next((i for i in range(around, 0, -1) if self.tokens[i - 1].type in _BLOCKS), None)
        if head is not None and head < around and self.tokens[head].type == "NAME":
            self.damaged.append(self.tokens[head])

    def skip_statement(self) -> None:
        """Leave out the present statement: up to and with its `;` or block, never the end of the one around it."""
        begun = not self.between
        header = begun and not self.open_blocks() and self.tokens[self.first].type in _BLOCKS
        inside = [o for o in self.open if o.token.type == "LBRACE" and begun and o.index >= self.first]
        depth, sets = len(inside), sum(1 for o in inside if not o.block)
        start = self.at
        self.abandon()
        if header and self._enter_block(start):
            return
        statements_inside = False
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.type == "SEMICOLON" and depth <= sets:  # a set holds no `;`: its `}` is what is missing
                self.at += 1
                return
            if token.type == "LBRACE":
                depth += 1
            elif token.type == "RBRACE":
                if depth == 0:
                    if not self.driver.accepts("RBRACE"):
                        self.at += 1
                    return
                depth -= 1
                following = self.following()
                if depth == 0 and statements_inside and (following is None or following.type != "ELSE"):
                    self.at += 1
                    return
            elif token.type == "SEMICOLON":
                statements_inside = True
            elif self.at > start and self.starts_line(self.at) and self._begins(token, depth):
                return
            self.at += 1

    def _leave_out_deep(self, token: Token) -> None:
        self.error("GSM1004", "this is nested too deeply", self.span(token), help="give parts of it names with `let`")
        self.skip_statement()

    def open_blocks(self) -> list[Opened]:
        return [o for o in self.open if o.block]

    def _begins(self, token: Token, depth: int) -> bool:
        """Whether a word at the beginning of a line surely begins something new."""
        if token.type in _BLOCKS:
            return True
        return depth == 0 and token.type != "NAME" and self.driver.accepts(token.type)

    def _enter_block(self, start: int) -> bool:
        """After a mistake in the head of a block, go on inside it; the block gets no name and is dropped later."""
        keyword = self.tokens[self.first]
        for i in range(start, len(self.tokens)):
            token = self.tokens[i]
            if token.type == "SEMICOLON" or (token.type in _BLOCKS and self.starts_line(i) and i > start):
                return False
            if token.type == "LBRACE" and self.driver.accepts(keyword.type, "NAME", "LBRACE"):
                self.at = i
                self.feed(keyword, self.first)
                self.insert("NAME", "")
                self.take(token)
                return True
        return False

    def _skip_campaign(self, word: Token) -> None:
        """Give the parser all that follows the word `campaign` as one token."""
        opened: list[Opened] = []
        end, closed = self.at + 1, False
        while end < len(self.tokens) and not closed:
            token = self.tokens[end]
            if token.type in _BLOCKS and self.starts_line(end):
                break
            if token.type == "LBRACE":
                opened.append(Opened(token, end, block=True))
            elif token.type == "RBRACE":
                if opened:
                    opened.pop()
                closed = not opened
            end += 1
        self.diagnostics.error(
            "GSM9001",
            "`campaign` blocks are not part of this version; this one is skipped",
            self.span(word),
            severity=Severity.WARNING,
        )
        if opened:
            self.report_unclosed(opened[0], self.span_at(end))
        elif not closed:
            self.error("GSM1010", "expected the block of this campaign", self.span(word), help="`{ ... }` is missing")
        self.take(word)
        start = self.tokens[self.at].start_pos if self.at < end else word.end_pos
        self.feed(Token("SKIPPED", "", start_pos=start, end_pos=self.tokens[end - 1].end_pos), self.at)
        self.at = end

    # --- the end ----------------------------------------------------------------------------------------------------

    def _finish(self) -> list[Tree[Token]]:
        end = self.span_at(len(self.tokens))
        token = Token("$END", "", start_pos=end.start, end_pos=end.end)
        if not self.between:
            if self.driver.accepts("SEMICOLON"):
                self.at = len(self.tokens)
                self.error("GSM1011", "`;` is missing at the end of this statement", end, help="add `;`", fix=";")
                self.insert("SEMICOLON", ";")
            else:
                self.report_unexpected(token)
                self.abandon()
        blocks = self.open_blocks()
        if blocks and self.errors < MAX_ERRORS:
            self.report_unclosed(blocks[-1], end)
        for _ in blocks:
            self.insert("RBRACE", "}")
        tree = self.driver.finish(token)
        return [child for child in tree.children if isinstance(child, Tree)]

    def report_unclosed(self, opened: Opened, place: Span) -> None:
        self.error(
            "GSM1012",
            "this `{` is never closed",
            self.span(opened.token),
            "opened here",
            also=Label(place, "`}` is missing before this"),
        )


def read_blocks(source: Source, tokens: list[Token], diagnostics: Diagnostics) -> Reading:
    """The blocks of a text; statements with errors are not in them."""
    return Reader(source, tokens, diagnostics).read()
