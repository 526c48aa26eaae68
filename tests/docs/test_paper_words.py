"""docs/reference/paper_words.md teaches the words that the printed formulations use, and no others."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from gpusched_dsl.language.checking.functions import FUNCTIONS
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.grammar import vocabulary
from gpusched_dsl.language.parsing.lexing import lex
from gpusched_dsl.language.parsing.recovery import read_blocks
from gpusched_dsl.language.source import Source

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/paper_words.md").read_text(encoding="utf-8")


def words_of(path: Path) -> set[str]:
    """The keywords and functions of a file, as the parser reads them: a parameter `speed` is no word."""
    source, found = Source(path.name, path.read_text(encoding="utf-8")), Diagnostics()
    lexed = lex(source, found)
    assert lexed is not None
    tokens = read_blocks(source, lexed.tokens, found).tokens
    found.raise_if_errors()
    words = vocabulary()
    kinds = set(words.reserved.values()).union(*words.soft.values())
    called = {str(name) for name, then in itertools.pairwise(tokens) if then.type == "LPAR"}
    return {str(token) for token in tokens if token.type in kinds} | called & {*FUNCTIONS, "E"}


def test_the_page_teaches_the_words_of_the_printed_formulations() -> None:
    table = PAGE.split("## A model")[0]
    files = [ROOT / "models" / name for name in re.findall(r"`models/([\w/.]+)`", table)]
    files += [ROOT / "models" / family / "inputs.gsm" for family in ("gpu_sharing", "price_aware")]
    taught = {
        word
        for row in re.findall(r"^\| (`[^|]*`) \|", PAGE.split("## A model")[1], re.MULTILINE)
        for word in re.findall(r"`(\w+)`", row)
    }
    assert len(files) == 8
    assert set().union(*map(words_of, files)) == taught
