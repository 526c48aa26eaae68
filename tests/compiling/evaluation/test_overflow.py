"""Results beyond the largest number are refused in every operation, with both signs: -inf as a side means no limit."""

import warnings

import pytest

import gpusched_dsl as gs

MODEL = """
model M {{
  set S;
  param a[S]; param n;
  var x >= 0 <= 5; var y >= 0 <= 5;
  minimize c: x;
  {body}
}}
scenario T for M {{ table S: a = i 1e308  j 1e308; n = -1e308; }}
"""
VALUES = (
    'n - a["i"]',
    'a["i"] - n',
    "n + n",
    '-n + a["i"]',
    'n * a["i"]',
    "n / 1e-10",
    "sum[s in S] a[s]",
    "-(sum[s in S] a[s])",
    "sum[s in S] (n * 1)",
    "n^2 * n",
    "prod[s in S] a[s]",
)


@pytest.mark.parametrize("side", ["constraint r: x >= {v};", "constraint r: x <= {v};", "constraint r: x + y == {v};",
                                  "constraint r: 0 <= x + y <= {v};", "let t = {v}; constraint r: t <= x;",
                                  "param b = {v};", "check: {v} >= 0 \"positive\";"])  # fmt: skip
@pytest.mark.parametrize("value", VALUES)
def test_overflow_is_refused(value: str, side: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(gs.DiagnosticError) as caught:
            gs.loads(MODEL.format(body=side.format(v=value))).solve()
    assert {found.code for found in caught.value.diagnostics} == {"GSM3004"}


@pytest.mark.parametrize("row", ["x + 1e308 + 1e308 >= 0", 'x >= n + x - a["i"]', "x - n - n >= y", "x + n + n <= y"])
def test_constants_of_rows_count(row: str) -> None:
    with pytest.raises(gs.DiagnosticError) as caught:
        gs.loads(MODEL.format(body=f"constraint r: {row};")).solve()
    assert {found.code for found in caught.value.diagnostics} == {"GSM3004"}


def test_large_numbers_without_overflow_are_accepted() -> None:
    text = MODEL.format(body='constraint r: x >= (a["i"] + n) * 1 + (n / n) + (sum[s in S] a[s] / a[s]);')
    assert gs.loads(text).solve().objective == pytest.approx(3.0)
