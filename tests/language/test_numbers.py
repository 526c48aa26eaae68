import math

import pytest

from gpusched_dsl.language.text.numbers import align, column_texts, number_text, percent_text, seconds_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0"),
        (-0.0, "0"),
        (12.0, "12"),
        (4.4279, "4.4279"),
        (178.75692123, "178.75692"),
        (1.5e-7, "1.5e-07"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
    ],
)
def test_numbers_are_short(value: float | None, text: str) -> None:
    assert number_text(value) == text


def test_terms_stand_below_their_sum() -> None:
    assert align([104.4279, 0.0, 1.0]) == ["104.4279", "  0.0000", "  1.0000"]
    assert align([12.0, 3.0]) == ["12", " 3"]
    assert align([2.5, None]) == ["2.5", "  -"]


def test_a_sum_keeps_eight_digits() -> None:
    assert align([2.0000001, 1.0]) == ["2.0000001", "1.0000000"]


def test_table_columns_share_their_decimals() -> None:
    assert column_texts([12.345678, 0.5]) == ["12.35", "0.50"]
    assert column_texts([0.6, 0.05]) == ["0.6000", "0.0500"]
    assert column_texts([3.0, 11.0]) == ["3", "11"]
    assert column_texts([math.nan, 1.5]) == ["nan", "1.500"]
    assert column_texts([]) == []


def test_gaps_and_times() -> None:
    assert percent_text(0.0) == "0 %"
    assert percent_text(0.0331) == "3.31 %"
    assert percent_text(1e12) == "above 1000 %"
    assert percent_text(None) == "-"
    assert [seconds_text(s) for s in (0.031, 12.44, 200, 7500)] == ["0.03 s", "12.4 s", "3 min 20 s", "2 h 5 min"]
