"""A number without a unit has the unit that its declaration states, as a bound, a default or a value; nowhere else."""

import pytest

import gpusched_dsl as gs


@pytest.mark.parametrize("declared", ["= 90", "default 90", "= 90[min]", "= 1.5[h]"])
def test_the_declared_unit_counts(declared: str) -> None:
    text = f"model M {{ param p in min {declared}; var x >= 0; minimize c: x + p / 1[h]; }} scenario S for M {{ }}"
    model = gs.loads(text)
    assert model.solve("S").objective == 1.5


@pytest.mark.parametrize("value", ["2 + 1", "q", "if q > 1 then 2 else 3"])
def test_other_numbers_need_a_unit(value: str) -> None:
    text = f"model M {{ param q; param p in min = {value}; var x >= 0; minimize c: x; }} scenario S for M {{ q = 1; }}"
    with pytest.raises(gs.DiagnosticError) as caught:
        gs.loads(text).solve("S")
    assert caught.value.diagnostics[0].code in ("GSM1302", "GSM1303")
