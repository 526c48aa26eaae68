"""The measured repairs of the page: kept outcomes are those of the corpus and of today, and the page shows them."""

from __future__ import annotations

import pytest
from corpus import FOLDER, corpus, read
from repairs import PAGE, STATEMENTS, measure, outcome_of, page_with, render
from repairs import read as kept

RUN = "run `python tests/broken/repairs.py`"
FEW = ("10xx/1015_misspelt_keyword.gsm", "10xx/1010_prose.gsm", "11xx/1101_typo_in_a_parameter.gsm")


def test_the_page_shows_the_kept_outcomes() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page_with(text, render(kept())) == text, RUN


def test_every_file_with_an_error_has_an_outcome() -> None:
    files = {b.name for b in corpus() if any(e.severity == "error" for e in b.expected)}
    assert {o.name for o in kept() if not o.group.startswith(STATEMENTS)} == files, RUN


def test_only_statements_of_certain_meaning_are_edited() -> None:
    for outcome in kept():
        if outcome.group.startswith(STATEMENTS):
            assert outcome.mended is not outcome.group.endswith("not certain"), outcome
            assert outcome.proposed or not outcome.mended


@pytest.mark.parametrize("name", FEW)
def test_kept_outcomes_of_a_few_files(name: str) -> None:
    assert outcome_of(read(FOLDER / name)) == next(o for o in kept() if o.name == name)


@pytest.mark.slow
def test_kept_outcomes_are_those_of_today() -> None:
    assert measure() == kept(), RUN
