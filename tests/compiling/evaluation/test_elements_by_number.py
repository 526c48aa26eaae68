"""Elements of ordered sets selected by number: `tariff[floor(clock / 1[h])]`, from the text to the solution."""

from __future__ import annotations

import pytest
from found_codes import raises_code

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

TEXT = """
model M {
  set Hours ordered;
  set Jobs;
  param tariff[Hours];
  param due[Jobs] integer;
  param at in h;
  param now_price = tariff[floor(at / 1[h])];
  param later[j in Jobs] = (tariff[due[j] + 2] else 100);
  var on[Hours] binary;
  minimize cost: sum[h in Hours] tariff[h] * on[h] * now_price;
  constraint covered[j in Jobs]: on[due[j]] + (on[due[j] - 1] else 0) >= 1;
  report total_later = sum[j in Jobs] later[j];
}
scenario S for M {
  at = 2.5[h];
  table Hours: tariff = 5 1  1 5  2 2  3 4  0 3;
  table Jobs: due = a 1  b 3  c 0;
}
"""


@pytest.mark.parametrize("backend", ["highs", "scip"])
def test_data_and_variables_are_read_by_label_not_by_place(backend: str) -> None:
    # The hours stand in the order 5, 1, 2, 3, 0, so that a label is never a place.
    text = TEXT.replace("report total_later = ", "report total_later = ")
    result = gs.loads(text).solve("S", backend=backend)
    # a: on[1] or on[0]; b: on[3] or on[2]; c: on[0], as no hour is -1. The tariff of hour 2 is 2.
    assert result.objective == pytest.approx(2 * (3 + 2))
    assert result.reports["total_later"]["value"].item() == pytest.approx(4 + 1 + 2)


def test_a_number_without_an_element_is_told() -> None:
    text = TEXT.replace("report total_later = ", "report total_later = ")
    with raises_code("GSM3002", "tariff[4]"):
        gs.loads(text.replace("at = 2.5[h]", "at = 4[h]")).solve("S")


def test_a_set_without_order_is_not_read_by_number() -> None:
    with pytest.raises(DiagnosticError) as caught:
        gs.loads(TEXT.replace("set Hours ordered", "set Hours")).solve("S")
    assert "declare `set Hours ordered`" in str(caught.value)
    with pytest.raises(DiagnosticError) as caught:
        gs.loads(TEXT.replace("floor(at / 1[h])", "at / 1[h]")).solve("S")
    assert "GSM1207" in str(caught.value)
