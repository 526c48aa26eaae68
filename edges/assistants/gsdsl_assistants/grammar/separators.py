"""White space between the tokens of rules: needed where two words could meet, as the formatter writes it."""

from __future__ import annotations

from itertools import pairwise

from gpusched_dsl.language.parsing.grammar import vocabulary
from gsdsl_assistants.grammar.rules import (
    OPENING,
    Expansion,
    Rules,
    Symbol,
    Token,
    first_tokens,
    last_tokens,
)

OPTIONAL = Token("optional space")
NEEDED = Token("needed space")
_CELLS = frozenset(("cell", "matrix_label"))


def with_separators(rules: Rules) -> Rules:
    """Return the rules with a space, optional or needed, between their symbols.

    A space is needed between what can end and what can begin with a word or number, after `=` before a word (`=e=` is a
    sign of another language), and before a cell of a table.
    """
    first, last = first_tokens(rules), last_tokens(rules)
    signs = {sign: name for name, sign in vocabulary().spelling.items()}
    closes_words = {Token(signs["="])}
    opens = {Token(name) for name in (*OPENING, signs[","])}

    def starts(symbol: Symbol) -> frozenset[Symbol]:
        return first[symbol] if isinstance(symbol, str) else frozenset((symbol,))

    def ends(symbol: Symbol) -> frozenset[Symbol]:
        return last[symbol] if isinstance(symbol, str) else frozenset((symbol,))

    def between(one: Symbol, other: Symbol) -> Token:
        if starts(other) & _CELLS and one not in opens:
            return NEEDED
        words_meet = any(map(is_word, starts(other))) and any(is_word(s) or s in closes_words for s in ends(one))
        return NEEDED if words_meet else OPTIONAL

    def separated(expansion: Expansion) -> Expansion:
        found: list[Symbol] = list(expansion[:1])
        for one, other in pairwise(expansion):
            found += [between(one, other), other]
        return tuple(found)

    return {name: [separated(e) for e in expansions] for name, expansions in rules.items()}


def is_word(symbol: Symbol) -> bool:
    """Whether a symbol is a token of letters, digits and underscores."""
    if isinstance(symbol, str):
        return False
    spelling = vocabulary().spelling.get(symbol.name)
    return symbol.name in ("NAME", "NUMBER") if spelling is None else spelling.isidentifier()
