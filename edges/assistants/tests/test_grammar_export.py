"""The exported grammar and the parser agree: on texts drawn from the grammar, and on all texts of the repository."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

import pytest
from gbnf_machine import Gbnf

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.formatting.formatter import format_text
from gpusched_dsl.language.parsing.grammar import vocabulary
from gpusched_dsl.language.parsing.lexing import lex
from gpusched_dsl.language.parsing.recovery import read_blocks
from gpusched_dsl.language.source import Source
from gsdsl_assistants.grammar.gbnf import gbnf
from gsdsl_assistants.grammar.names import NameRules

ROOT = Path(__file__).resolve().parents[3]
TEXTS = sorted([*(ROOT / "models").rglob("*.gsm"), *(ROOT / "tests" / "tour").rglob("*.gsm")])
BLOCKS = ("import", "model", "scenario", "test", "policy", "online", "campaign")


@cache
def grammar() -> Gbnf:
    return Gbnf.read(gbnf())


@cache
def words() -> dict[str, list[str]]:
    """For each rule of names, the keywords that it accepts as names: the hardest ones."""
    used = {s for n, es in grammar().rules.items() if not n.startswith("name-") for e in es for s in e}
    names = sorted(s for s in used if isinstance(s, str) and re.fullmatch(r"name-\d+", s))
    assert len(names) >= 4
    return {name: [word for word in vocabulary().soft if grammar().accepts(word, name)] for name in names}


def syntax_errors(text: str) -> list[str]:
    diagnostics = Diagnostics()
    source = Source("t.gsm", text)
    lexed = lex(source, diagnostics)
    if lexed is not None:
        read_blocks(source, lexed.tokens, diagnostics)
    return [f"{d.code} {d.message}" for d in diagnostics]


def check_drawn(seed: int, rule: str, size: int) -> None:
    text = grammar().draw(random.Random(seed), rule, size, words())
    assert syntax_errors(text) == [], text
    assert grammar().accepts(text, rule), text


@pytest.mark.parametrize("rule", BLOCKS)
@pytest.mark.quick(3)
def test_drawn_blocks_have_no_syntax_errors(rule: str) -> None:
    for seed in range(6):
        check_drawn(seed, rule, 50)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [*BLOCKS, "root"])
def test_many_drawn_texts_have_no_syntax_errors(rule: str) -> None:
    draw = random.Random()
    for _ in range(400):
        check_drawn(draw.getrandbits(32), rule, draw.choice((20, 80, 300)))


@pytest.mark.quick(3)
@pytest.mark.parametrize("path", [p for p in TEXTS if p.stat().st_size < 4_000], ids=lambda path: path.name)
def test_short_texts_of_the_repository_are_accepted(path: Path) -> None:
    check_accepted(path)


@pytest.mark.slow
@pytest.mark.parametrize("path", [p for p in TEXTS if p.stat().st_size >= 4_000], ids=lambda path: path.name)
def test_long_texts_of_the_repository_are_accepted(path: Path) -> None:
    check_accepted(path)


def check_accepted(path: Path) -> None:
    text = format_text(path.read_text(encoding="utf-8"))
    length = grammar().accepted_length(text)
    assert length == len(text), f"{text[max(0, length - 60) : length]}<HERE>{text[length : length + 20]}"


REFUSED = (
    "model M { var x", "model M { set x }", "model M { var sum; }", "modelM {}", "model M { let a = b c; }",
    "model M { let a = 1 + ; }", "model model {}", "scenario S { a = (1; }", "model M { var x;; }",
    "model M { letx = 1; }", "policy P { order i in 1..5 by 2; }x", "model M { let a = sum i; }",
    "model M { let a = b.c; }",
)  # fmt: skip


def test_wrong_texts_are_refused() -> None:
    for text in REFUSED:
        assert syntax_errors(text)
        assert not grammar().accepts(text), text


@pytest.mark.slow
def test_texts_with_a_lost_letter_are_refused_by_both() -> None:
    """A grammar that accepts everything would pass the tests above."""
    draw = random.Random(5)
    refused = 0
    for _ in range(300):
        path = draw.choice([p for p in TEXTS if p.stat().st_size < 3_000])
        text = format_text(path.read_text(encoding="utf-8"))
        at = draw.randrange(len(text))
        broken = text[:at] + text[at + 1 :]
        if grammar().accepts(broken):
            assert syntax_errors(broken) == [], broken
        refused += bool(syntax_errors(broken))
    assert refused > 30


def test_names_without_words() -> None:
    """Against the definition: names of letters, digits and underscores that are none of the words."""
    names = NameRules()
    start = names.name(["in", "int", "sum", "a"])
    of_names = Gbnf.read("\n".join(f"{n} ::= {e}" for n, e in names.rules.items()) + "\n")
    draw = random.Random(1)
    tried = ["in", "int", "inte", "i", "a", "aa", "su", "sum", "sum1", "_", "é", "9a", "", "A", "i n", "ins", "in_"]
    tried += ["".join(draw.choices("insumta_9", k=draw.randint(1, 5))) for _ in range(300)]
    for name in tried:
        expected = name.isidentifier() and name not in ("in", "int", "sum", "a")
        assert of_names.accepts(name, start) is expected, name
