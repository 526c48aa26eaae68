"""The words of the language by class, all derived from the grammar and its parse tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from lark import Token

from gpusched_dsl.language.parsing.grammar import AGGREGATES, BLOCKS, vocabulary
from gpusched_dsl.language.parsing.parse_loop import ParserState

_OPERATORS = frozenset(("AND", "OR", "NOT", "IN", "UNION", "DIFF", "INTER", "CROSS", "DIV", "MOD"))
_CONSTANTS = frozenset(("TRUE", "FALSE"))
_CONTROL = frozenset(("IF", "THEN", "ELSE", "WHERE", "WHEN"))
_NAMED = frozenset(
    ("SET", "PARAM", "LET", "VAR", "RANDOM", "CONSTRAINT", "OPTION", "MINIMIZE", "MAXIMIZE", "REPORT", "INTERVAL")
)


@dataclass(frozen=True, slots=True)
class WordClasses:
    """Words by class. `starting` and `inner` are no reserved words: those that begin statements, and all others."""

    blocks: tuple[str, ...]
    declarations: tuple[str, ...]
    aggregates: tuple[str, ...]
    operators: tuple[str, ...]
    constants: tuple[str, ...]
    control: tuple[str, ...]
    reserved: tuple[str, ...]
    starting: tuple[str, ...]
    inner: tuple[str, ...]


@cache
def word_classes() -> WordClasses:
    """The classes of all words of the grammar, each sorted."""
    words = vocabulary()
    classes: dict[str, list[str]] = {name: [] for name in WordClasses.__dataclass_fields__}
    for word, terminal in words.reserved.items():
        classes[class_of(terminal)].append(word)
    begins = _statement_starts()
    for word, terminals in words.soft.items():
        if not _OPERATORS.isdisjoint(terminals):
            classes["operators"].append(word)
        else:
            classes["starting" if not begins.isdisjoint(terminals) else "inner"].append(word)
    return WordClasses(**{name: tuple(sorted(found)) for name, found in classes.items()})


def class_of(terminal: str) -> str:
    """The class of the terminal of a reserved word."""
    for name, terminals in (
        ("blocks", BLOCKS),
        ("declarations", _NAMED),
        ("aggregates", AGGREGATES),
        ("operators", _OPERATORS),
        ("constants", _CONSTANTS),
        ("control", _CONTROL),
    ):
        if terminal in terminals:
            return name
    return "reserved"


def _statement_starts() -> frozenset[str]:
    """The terminals that can begin a statement of a block."""
    found: set[str] = set()
    for terminal, word in (("MODEL", "model"), ("SCENARIO", "scenario"), ("TEST", "test"), ("POLICY", "policy"),
                           ("ONLINE", "online"), ("CAMPAIGN", "campaign")):  # fmt: skip
        state = ParserState()
        for kind, text in ((terminal, word), ("NAME", "x"), ("LBRACE", "{")):
            state.feed(Token(kind, text))
        found |= state.expected_terminals()
    return frozenset(found)
