"""The parser tables of `grammar/gsm.lark`, and the words and signs that its terminals stand for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lark import Lark

RESERVED_PRIORITY = 1


def grammar_text() -> str:
    return files("gpusched_dsl.grammar").joinpath("gsm.lark").read_text(encoding="utf-8")


@cache
def lark() -> Lark:
    """The LALR parser. Lark's own cache is never used: it unpickles a file from a predictable shared place."""
    from lark import Lark

    return Lark(grammar_text(), parser="lalr", lexer="basic", propagate_positions=True, maybe_placeholders=True)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The terminals of the grammar, by what they look like.

    `reserved` and `soft` give the terminals of a word (several for a soft word that stands in several places, the one
    to prefer first); `signs` the terminal of a sign; `patterns` the regular expressions of all others;
    `spelling` is the way back: the word or sign of a terminal.
    """

    reserved: dict[str, str]
    soft: dict[str, tuple[str, ...]]
    signs: dict[str, str]
    patterns: dict[str, str]
    spelling: dict[str, str]


@cache
def vocabulary() -> Vocabulary:
    reserved: dict[str, str] = {}
    soft: dict[str, tuple[str, ...]] = {}
    signs: dict[str, str] = {}
    patterns: dict[str, str] = {}
    for terminal in lark().terminals:
        text = terminal.pattern.value
        if terminal.pattern.type != "str":
            patterns[terminal.name] = terminal.pattern.to_regexp()
        elif not text.isidentifier():
            signs[text] = terminal.name
        elif terminal.priority >= RESERVED_PRIORITY:
            reserved[text] = terminal.name
        else:
            soft[text] = (terminal.name,)
    # Two words of the grammar are spelt alike; a terminal can have only one spelling there.
    soft["by"] = (*soft["by"], "_STEP")
    spelling = {name: text for text, name in (reserved | signs).items()}
    spelling |= {name: text for text, names in soft.items() for name in names}
    return Vocabulary(reserved, soft, signs, patterns, spelling)
