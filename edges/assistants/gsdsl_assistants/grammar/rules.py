"""The rules of the grammar as plain data, with `by` of ranges only where it cannot be read as another `by`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from gpusched_dsl.language.parsing.grammar import lark


@dataclass(frozen=True, slots=True)
class Token:
    """A terminal; of a name, `without` has the words that it must not be here."""

    name: str
    without: frozenset[str] = frozenset()


Symbol: TypeAlias = "str | Token"  # a rule by its name, or a terminal
Expansion: TypeAlias = tuple[Symbol, ...]
Rules: TypeAlias = dict[str, list[Expansion]]

START = "start"
NAME = "NAME"
STEP = "_STEP"
OPENING = frozenset(("LPAR", "LSQB", "LBRACE"))
CLOSING = frozenset(("RPAR", "RSQB", "RBRACE"))
_BEFORE_BY = "by_keys"  # its indices are followed by `by`
_RANGE = "range"
_STEPLESS = "_without_step"
# After `count[...]` an operand may follow or not, so its name must not be a word that follows an expression.
_COUNTABLE = "countable"
_OWN_NAMES = ("name", "subscript", "call", "_function")
_COUNTED = "_counted"


def rules_of_grammar() -> Rules:
    """Return the expansions of every rule of `gsm.lark`; only `start` has an empty one."""
    rules: Rules = {}
    for rule in lark().rules:
        expansion = tuple(Token(s.name) if s.is_term else s.name for s in rule.expansion)
        known = rules.setdefault(rule.origin.name, [])
        if expansion not in known and expansion != (rule.origin.name,):
            known.append(expansion)
    return _with_stepless_ranges(_with_names_of_countables(rules))


def _with_names_of_countables(rules: Rules) -> Rules:
    """Copy the rules of names for the operand of `count[...]`."""

    def copied(expansion: Expansion) -> Expansion:
        return tuple(f"{s}{_COUNTED}" if isinstance(s, str) and s in _OWN_NAMES else s for s in expansion)

    copies = {name + _COUNTED: [copied(e) for e in rules[name]] for name in _OWN_NAMES}
    return {**rules, _COUNTABLE: [copied(e) for e in rules[_COUNTABLE]], **copies}


def _with_stepless_ranges(rules: Rules) -> Rules:
    """Copy the rules of indices that `by` follows, outside of brackets, and omit steps of ranges in the copies."""
    reaching = _rules_that_reach(rules, _RANGE)
    copies: Rules = {}
    found = {**rules, _BEFORE_BY: [_copy_expansion(e, reaching) for e in rules[_BEFORE_BY]]}
    pending = sorted({s for e in rules[_BEFORE_BY] for s in _outside(e) if isinstance(s, str)} & reaching)
    while pending:
        name = pending.pop()
        if name + _STEPLESS in copies:
            continue
        kept = [e for e in rules[name] if Token(STEP) not in _outside(e)]
        copies[name + _STEPLESS] = [_copy_expansion(e, reaching) for e in kept]
        pending += sorted({s for e in kept for s in _outside(e) if isinstance(s, str)} & reaching)
    return found | copies


def _rules_that_reach(rules: Rules, target: str) -> frozenset[str]:
    """Return the rules that contain a rule outside of brackets, directly or through others."""
    found = {target}
    while True:
        more = {name for name, expansions in rules.items() if any(found & set(_outside(e)) for e in expansions)} - found
        if not more:
            return frozenset(found)
        found |= more


def _outside(expansion: Expansion) -> list[Symbol]:
    """Return the symbols of an expansion that are not within brackets."""
    depth, found = 0, []
    for symbol in expansion:
        depth -= isinstance(symbol, Token) and symbol.name in CLOSING
        if depth == 0:
            found.append(symbol)
        depth += isinstance(symbol, Token) and symbol.name in OPENING
    return found


def _copy_expansion(expansion: Expansion, reaching: frozenset[str]) -> Expansion:
    """Return an expansion with the copies in place of rules outside of brackets."""
    depth, found = 0, []
    for symbol in expansion:
        depth -= isinstance(symbol, Token) and symbol.name in CLOSING
        copied = isinstance(symbol, str) and depth == 0 and symbol in reaching
        found.append(f"{symbol}{_STEPLESS}" if copied else symbol)
        depth += isinstance(symbol, Token) and symbol.name in OPENING
    return tuple(found)


def first_tokens(rules: Rules) -> dict[str, frozenset[Symbol]]:
    """Return all tokens and rules that can begin a rule, itself included."""
    return _ends(rules, 0)


def last_tokens(rules: Rules) -> dict[str, frozenset[Symbol]]:
    """Return all tokens and rules that can end a rule, itself included."""
    return _ends(rules, -1)


def _ends(rules: Rules, at: int) -> dict[str, frozenset[Symbol]]:
    found: dict[str, set[Symbol]] = {name: {name} for name in rules}
    changed = True
    while changed:
        changed = False
        for name, expansions in rules.items():
            before = len(found[name])
            for expansion in expansions:
                if expansion:
                    symbol = expansion[at]
                    found[name] |= found[symbol] if isinstance(symbol, str) else {symbol}
            changed = changed or len(found[name]) > before
    return {name: frozenset(symbols) for name, symbols in found.items()}
