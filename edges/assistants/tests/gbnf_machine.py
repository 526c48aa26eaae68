"""Reads grammars in GBNF, recognises texts by them, and draws texts from them; it shares nothing with the package.

The recogniser follows the machines of the programs that use such grammars: a set of stacks of what is still to come,
advanced letter by letter. Left recursion would not end in such machines, so it is refused.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]
# A symbol is the name of a rule, or ("class", ranges); an alternative is a tuple of symbols.
Symbol: TypeAlias = "str | tuple[str, Ranges]"
Alternative: TypeAlias = tuple[Symbol, ...]

_TOKEN = re.compile(
    r"\s+|#[^\n]*\n|(?P<define>[A-Za-z][\w-]*)\s*::=|(?P<rule>[A-Za-z][\w-]*)"
    r'|"(?P<literal>(?:[^"\\]|\\.)*)"|\[(?P<not>\^)?(?P<class>(?:[^\]\\]|\\.)*)\]|(?P<sign>[()|?*+])'
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
LAST = 0x10FFFF


@dataclass
class Gbnf:
    """A grammar: the alternatives of each rule; groups and repetitions are rules of their own."""

    rules: dict[str, list[Alternative]] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> Gbnf:
        found = cls()
        at = 0
        name: str | None = None
        tokens: list[re.Match[str]] = []
        while at < len(text):
            match = _TOKEN.match(text, at)
            assert match is not None, text[at : at + 40]
            at = match.end()
            if match["define"]:
                found._define(name, tokens)
                assert match["define"] not in found.rules, f"two rules `{match['define']}`"
                name, tokens = match["define"], []
            elif match.lastgroup is not None:
                tokens.append(match)
        found._define(name, tokens)
        used = {s for es in found.rules.values() for e in es for s in e if isinstance(s, str)}
        assert used <= found.rules.keys(), f"undefined: {sorted(used - found.rules.keys())}"
        found._refuse_left_recursion()
        return found

    def _define(self, name: str | None, tokens: list[re.Match[str]]) -> None:
        if name is not None:
            self.rules[name] = []  # keeps its place
            alternatives, rest = self._alternatives(name, tokens)
            assert not rest, f"unbalanced: {name}"
            self.rules[name] = alternatives

    def _alternatives(self, owner: str, tokens: list[re.Match[str]]) -> tuple[list[Alternative], list[re.Match[str]]]:
        alternatives: list[list[Symbol]] = [[]]
        while tokens and tokens[0]["sign"] != ")":
            token, *tokens = tokens
            if token["sign"] == "|":
                alternatives.append([])
                continue
            symbols: list[Symbol]
            if token["sign"] == "(":
                inner, tokens = self._alternatives(owner, tokens)
                assert tokens, f"unbalanced: {owner}"
                assert tokens[0]["sign"] == ")", f"unbalanced: {owner}"
                tokens = tokens[1:]
                symbols = [self._new(owner, inner)]
            elif token["rule"]:
                symbols = [token["rule"]]
            elif token["class"] is not None:
                symbols = [("class", _ranges(token["class"], token["not"] is not None))]
            else:
                assert token["literal"] is not None, f"misplaced {token[0]} in {owner}"
                symbols = [("class", ((ord(c), ord(c)),)) for c in _letters(token["literal"])]
            if tokens and tokens[0]["sign"] in ("?", "*", "+"):
                symbols = [self._repeated(owner, symbols, tokens[0]["sign"])]
                tokens = tokens[1:]
            alternatives[-1] += symbols
        return [tuple(a) for a in alternatives], tokens

    def _new(self, owner: str, alternatives: list[Alternative]) -> str:
        name = f"{owner}.{len(self.rules)}"
        self.rules[name] = alternatives
        return name

    def _repeated(self, owner: str, symbols: list[Symbol], sign: str) -> str:
        once = tuple(symbols)
        if sign == "?":
            return self._new(owner, [once, ()])
        again = self._new(owner, [])
        self.rules[again] = [(*once, again), ()]
        return again if sign == "*" else self._new(owner, [(*once, again)])

    def _refuse_left_recursion(self) -> None:
        nullable: set[str] = set()
        while more := {n for n, es in self.rules.items() if any(nullable.issuperset(e) for e in es)} - nullable:
            nullable |= more
        first: dict[str, set[str]] = {}
        for name, alternatives in self.rules.items():
            first[name] = set()
            for alternative in alternatives:
                for symbol in alternative:
                    if isinstance(symbol, str):
                        first[name].add(symbol)
                    if symbol not in nullable:
                        break
        done: set[str] = set()
        open_rules: list[str] = []

        def visit(name: str) -> None:
            assert name not in open_rules, f"left recursion: {name}"
            if name not in done:
                open_rules.append(name)
                for other in first[name]:
                    visit(other)
                open_rules.pop()
                done.add(name)

        for name in self.rules:
            visit(name)

    # --- recognition -------------------------------------------------------------------------------------------------

    def accepts(self, text: str, start: str = "root") -> bool:
        return self.accepted_length(text, start) == len(text)

    def accepted_length(self, text: str, start: str = "root") -> int:
        """The length of the text if it is accepted, else of the longest prefix that a text can begin with, minus 1."""
        machine = _Machine(self)
        stacks = machine.open(start)
        for at, letter in enumerate(text):
            after: set[int] = set()
            code = ord(letter)
            for stack in stacks:
                after |= machine.after(stack, code)
            if not after:
                return at
            stacks = after
        return len(text) if _END in stacks else len(text) - 1

    # --- drawing -----------------------------------------------------------------------------------------------------

    @cached_property
    def heights(self) -> dict[str, int]:
        """The height of the smallest derivation of each rule."""
        heights: dict[str, int] = {}
        changed = True
        while changed:
            changed = False
            for name, alternatives in self.rules.items():
                known = [h for e in alternatives if (h := self._height(e, heights)) is not None]
                if known and heights.get(name, 1 << 30) > 1 + min(known):
                    heights[name] = 1 + min(known)
                    changed = True
        return heights

    @staticmethod
    def _height(alternative: Alternative, heights: dict[str, int]) -> int | None:
        found = [heights.get(s) for s in alternative if isinstance(s, str)]
        return None if None in found else max((h for h in found if h is not None), default=0)

    def draw(
        self, choose: random.Random, start: str = "root", size: int = 60, words: dict[str, list[str]] | None = None
    ) -> str:
        """A random text; after about `size` choices the smallest ones. `words` are texts to prefer for some rules."""
        parts: list[str] = []
        left = size
        pending: list[Symbol] = [start]
        while pending:
            symbol = pending.pop()
            if not isinstance(symbol, str):
                low, high = choose.choice(symbol[1])
                parts.append(chr(choose.randint(low, min(high, low + 90))))
                continue
            if words is not None and symbol in words and words[symbol] and choose.random() < 0.5:
                parts.append(choose.choice(words[symbol]))
                continue
            alternatives = self.rules[symbol]
            left -= len(alternatives) > 1
            if left < 0:
                least = min(self._height(e, self.heights) or 0 for e in alternatives)
                alternatives = [e for e in alternatives if (self._height(e, self.heights) or 0) == least]
            pending += reversed(choose.choice(alternatives))
        return "".join(parts)


_END = -1


class _Machine:
    """Stacks as numbers: of a class of letters and the stack below it. Equal stacks have one number."""

    def __init__(self, grammar: Gbnf) -> None:
        self._rules = grammar.rules
        self._numbers: dict[tuple[Alternative, int], int] = {}
        self._stacks: list[tuple[Alternative, int]] = []
        self._opened: dict[tuple[Alternative, int], frozenset[int]] = {}
        self._base = self._number((), _END)

    def open(self, start: str) -> set[int]:
        return set(self._open((start,), _END))

    def after(self, stack: int, code: int) -> frozenset[int]:
        if stack == _END:
            return frozenset()
        (symbol, *rest), below = self._stacks[stack]
        assert not isinstance(symbol, str)
        if not any(low <= code <= high for low, high in symbol[1]):
            return frozenset()
        return self._open(tuple(rest), below)

    def _number(self, alternative: Alternative, below: int) -> int:
        key = (alternative, below)
        if key not in self._numbers:
            self._numbers[key] = len(self._stacks)
            self._stacks.append(key)
        return self._numbers[key]

    def _open(self, alternative: Alternative, below: int) -> frozenset[int]:
        """The stacks, each with letters on top, for a sequence of symbols above a stack."""
        key = (alternative, below)
        known = self._opened.get(key)
        if known is not None:
            return known
        if not alternative:
            found = frozenset((_END,)) if below == _END else self._open(*self._stacks[below])
        elif isinstance(alternative[0], str):
            under = below if len(alternative) == 1 else self._number(alternative[1:], below)
            found = frozenset().union(*(self._open(e, under) for e in self._rules[alternative[0]]))
        else:
            found = frozenset((self._number(alternative, below),))
        self._opened[key] = found
        return found


def _letters(text: str) -> list[str]:
    found, at = [], 0
    while at < len(text):
        if text[at] != "\\":
            found.append(text[at])
            at += 1
        elif text[at + 1] == "x":
            found.append(chr(int(text[at + 2 : at + 4], 16)))
            at += 4
        else:
            found.append(_ESCAPES.get(text[at + 1], text[at + 1]))
            at += 2
    return found


def _ranges(text: str, negated: bool) -> Ranges:
    """The ranges of a class; `-` between two letters is a range."""
    letters = re.findall(r"\\x[0-9A-Fa-f]{2}|\\.|[^\\]", text)
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(letters):
        low = ord(_letters(letters[at])[0])
        high = low
        if at + 2 < len(letters) and letters[at + 1] == "-":
            high = ord(_letters(letters[at + 2])[0])
            at += 2
        found.append((low, high))
        at += 1
    if not negated:
        return tuple(found)
    gaps, start = [], 0
    for low, high in sorted(found):
        if low > start:
            gaps.append((start, low - 1))
        start = max(start, high + 1)
    return (*gaps, (start, LAST))
