"""The grammar in GBNF: a grammar over characters for programs that constrain the output of language models."""

from __future__ import annotations

from functools import cache

from gpusched_dsl.language.parsing.grammar import vocabulary
from gsdsl_assistants.grammar.factoring import (
    inline_rules,
    left_factored,
    reachable,
    without_left_recursion,
)
from gsdsl_assistants.grammar.names import NameRules
from gsdsl_assistants.grammar.rules import NAME, START, Expansion, Rules, Symbol, rules_of_grammar
from gsdsl_assistants.grammar.separators import NEEDED, OPTIONAL, with_separators
from gsdsl_assistants.grammar.soft_words import with_excluded_words

HEADER = """\
# The GSM language as a grammar over characters, in the layout of `gsdsl fmt` or with more white space.
# Written by `gsdsl grammar`. Texts of this grammar have no syntax errors; see docs/reference/assistants.md.
"""
_PATTERNS = {
    "NUMBER": "number",
    "STRING": "string",
    "UNIT_SIGN": "unit-sign",
    OPTIONAL.name: "ws",
    NEEDED.name: "space",
}
_PREFIXES = ("", "part-", "repeated-")  # by the underscores before the name of a rule
_WHOLE, _FRACTION = ("[0-9] " + " ".join(["[0-9]?"] * (most - 1)) for most in (15, 20))
_FIXED = {
    "number": f'{_WHOLE} ("." {_FRACTION})? ([eE] [+-]? [0-9] [0-9]?)?',
    "string": r'"\"" ([^"\\\x00-\x1F] | "\\" ["\\nt])* "\""',
    "unit-sign": "[$€£¥%]",
    "blank": r'[ \t\r\n] | "#" [^\r\n]* [\r\n]',
    "ws": "blank*",
    "space": "blank blank*",
}


@cache
def gbnf() -> str:
    """Return the grammar of the language in GBNF."""
    soft = {terminal: word for word, terminals in vocabulary().soft.items() for terminal in terminals}
    rules = with_separators(with_excluded_words(rules_of_grammar(), soft))
    rules[START] = [(OPTIONAL, *e, OPTIONAL) if e else (OPTIONAL,) for e in rules[START]]
    rules = reachable(left_factored(inline_rules(without_left_recursion(rules))), START)
    return HEADER + _Writer().text(rules)


class _Writer:
    """Writes rules as text."""

    def __init__(self) -> None:
        self._names = NameRules()
        self._spelling = vocabulary().spelling
        self._reserved = frozenset(vocabulary().reserved)

    def text(self, rules: Rules) -> str:
        lines = [f"{self._rule(name)} ::= {self._alternatives(expansions)}" for name, expansions in rules.items()]
        fixed = [f"{name} ::= {text}" for name, text in (self._names.rules | _FIXED).items()]
        return "\n".join([*lines, *fixed]) + "\n"

    def _alternatives(self, expansions: list[Expansion]) -> str:
        shown = [" ".join(map(self._symbol, e)) for e in expansions if e]
        return f"({' | '.join(shown)})?" if () in expansions else " | ".join(shown)

    def _symbol(self, symbol: Symbol) -> str:
        if isinstance(symbol, str):
            return self._rule(symbol)
        if symbol.name == NAME:
            return self._names.name(self._reserved | symbol.without)
        return _PATTERNS.get(symbol.name) or f'"{self._spelling[symbol.name]}"'

    def _rule(self, name: str) -> str:
        if name == START:
            return "root"
        plain = name.lstrip("_")
        return _PREFIXES[len(name) - len(plain)] + plain.replace("_", "-")
