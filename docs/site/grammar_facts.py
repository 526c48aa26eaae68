"""What the grammar says about words and operators: where each may be used, and how tightly operators bind."""

from __future__ import annotations

import re
from functools import cache

from gpusched_dsl.language.parsing.grammar import grammar_text, lark, vocabulary

BLOCKS = ("import", "model", "scenario", "test", "policy", "online", "campaign")
EXPRESSION, UNIT = "expr", "unit"


@cache
def _uses() -> dict[str, frozenset[str]]:
    """The rules and terminals that each rule contains; helpers of repetitions have a rule of their own."""
    found: dict[str, set[str]] = {}
    for rule in lark().rules:
        found.setdefault(rule.origin.name, set()).update(symbol.name for symbol in rule.expansion)
    return {name: frozenset(symbols) for name, symbols in found.items()}


def _reachable(rule: str, without: frozenset[str] = frozenset()) -> frozenset[str]:
    """The symbols that a rule contains, directly or not, except within some rules."""
    seen: set[str] = set()
    waiting = [rule]
    while waiting:
        for symbol in _uses().get(waiting.pop(), ()):
            if symbol not in seen and symbol not in without:
                seen.add(symbol)
                waiting.append(symbol)
    return frozenset(seen)


@cache
def places_of_words() -> dict[str, tuple[str, ...]]:
    """For each word of the language, the blocks that have it outside of expressions, and `expressions`."""
    expressions = _reachable(EXPRESSION) | {EXPRESSION}
    rules = frozenset(symbol for symbol in expressions if symbol in _uses())
    within = {block: _reachable(block, rules | {UNIT}) for block in BLOCKS}
    words = vocabulary()
    places: dict[str, tuple[str, ...]] = {}
    for word, terminals in {**{w: (t,) for w, t in words.reserved.items()}, **words.soft}.items():
        blocks = [block for block in BLOCKS if within[block] & set(terminals)]
        anywhere = ["expressions"] if expressions & set(terminals) else []
        places[word] = (*blocks, *anywhere)
    return dict(sorted(places.items()))


# Rules of the ladder of expressions that repeat the operators of another one.
_REPEATED = frozenset(("_comparator", "factors", "aggregated", "exponent"))


@cache
def operator_levels() -> dict[str, tuple[str, ...]]:
    """The operators by the rule of the grammar that has them, loosest first; a sign is an operator of `signed`."""
    text = grammar_text()
    section = text[text.index("// --- expressions") : text.index("?atom:")]
    spelling = vocabulary().spelling
    levels: dict[str, tuple[str, ...]] = {}
    for name, body in re.findall(r"^\??(\w+): ((?:.*\n)(?:[ \t]+\|?.*\n)*)", section, re.MULTILINE):
        alternatives = (line for line in body.splitlines() if not re.search(r"-> (aggregate|cumulative)$", line))
        expanded = " ".join(alternatives).replace("_comparator", "EQ NE LE GE LT GT")
        words = [
            spelling[terminal] if terminal else quoted
            for terminal, quoted in re.findall(r'\b([A-Z]{2,})\b|"(in|if|\.\.)"', expanded)
        ]
        if words and name not in _REPEATED:
            levels[name] = tuple(dict.fromkeys(words))
    return levels
