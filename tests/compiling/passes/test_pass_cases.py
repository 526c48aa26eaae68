"""Each case has the text that its pass makes of it, and every pass obeys the laws of `pass_laws` on every case."""

from __future__ import annotations

import pytest
from pass_cases import BY_FILE, Case, actual, cases

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=[f"{case.file}: {case.title}" for case in CASES])
def test_the_text_is_up_to_date_and_all_laws_are_kept(case: Case) -> None:
    """After a change that is meant, run `python tests/compiling/passes/pass_cases.py` and read the difference."""
    assert actual(case) == case.expected


@pytest.mark.parametrize("file", BY_FILE)
def test_each_pass_has_a_case_where_it_acts_and_one_where_it_must_not(file: str) -> None:
    assert {case.acts for case in CASES if case.file == file} == {True, False}


def test_titles_differ() -> None:
    assert len({(case.file, case.title) for case in CASES}) == len(CASES)
    assert {case.file for case in CASES} <= BY_FILE.keys()
