"""Piecewise and quadratic terms in runs over time: events, windows, journals, as the same terms written otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
from online_texts import MACHINES, ROLLING, run

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

DATA = """
scenario S for Machines { Nodes = { n1, n2, n3 };
  table Jobs: submitted[h] length[h] = a 0 3  b 0 1  c 0 2  d 1 2  e 5 1; }
"""
# The number of running jobs: slopes 0.1 up to 1, then 0.3, from 2 on 2.
CURVES = (
    "piecewise(load, breakpoints = { 1, 2 }, slopes = { 0.1, 0.3, 2 })",
    "piecewise(load, points = { (0, 0), (1, 0.1), (2, 0.4), (3, 2.4) })",
    "(0.1 * load + 0.2 * max(load - 1, 0) + 1.7 * max(load - 2, 0))",
)


def events(term: str) -> str:
    model = MACHINES.replace("  maximize", "  let load = sum[j in Jobs, n in Nodes] run[j, n];\n  maximize")
    return model.replace("* run[j, n];\n  constraint once", f"* run[j, n] - 1[$] * {term};\n  constraint once") + DATA


def test_a_run_by_events(tmp_path: Path) -> None:
    """Also one that stops and goes on from its journal."""
    outcomes = [run(events(curve), "Events", "S", "highs") for curve in CURVES]
    assert len({tuple(o.world.end.tolist()) for o in outcomes}) == 1
    plain = run(events("0"), "Events", "S", "highs")
    assert plain.world.end.tolist() != outcomes[0].world.end.tolist()
    calls = iter([False, False, True])
    with gs.loads(events(CURVES[0])) as model:
        model.run("S", "Events", journal=tmp_path / "run.db", stop=lambda: next(calls, True))
        resumed = model.run("S", "Events", journal=tmp_path / "run.db")
        assert resumed.total == pytest.approx(model.run("S", "Events").total)
    assert resumed.total == pytest.approx(outcomes[0].total)


@pytest.mark.slow
def test_quadratic_terms_of_integers() -> None:
    square, curve = "0.3 * load ^ 2", "piecewise(load, points = { (0, 0), (1, 0.3), (2, 1.2), (3, 2.7) })"
    one, other = (run(events(term), "Events", "S", "highs") for term in (square, curve))
    assert str(one.world.end.tolist()) == str(other.world.end.tolist())  # as text: a job may never end
    assert one.total == pytest.approx(other.total)


WINDOWED = """
model Curved extends PriceAware {{
  let active[h in Slots] = sum[k in Nodes] on[k, h];
  var surge[Slots] >= 0 <= 9;
  constraint surge_is[h in Slots]: surge[h] >= {curve};
  constraint few[h in Slots]: {row};
}}
online Rolling for Curved"""


def windowed(curve: str, row: str = "surge[h] <= 4") -> str:
    model = ROLLING.replace("online Rolling for PriceAware", WINDOWED.format(curve=curve, row=row))
    model = model.replace("for PriceAware extends", "for Curved extends")
    return model + "scenario Bent for Curved extends ValleysByNode {}"


def test_a_run_by_windows() -> None:
    slopes, maximum = (
        run(windowed(curve), "Rolling", "Bent", "highs")
        for curve in (
            "piecewise(active[h], breakpoints = { 1 }, slopes = { 1, 3 })",
            "active[h] + 2 * max(active[h] - 1, 0)",
        )
    )
    assert slopes.total == pytest.approx(maximum.total)
    assert slopes.world.ledger.jobs["restarts"].sum() == pytest.approx(maximum.world.ledger.jobs["restarts"].sum())


@pytest.mark.slow
def test_quadratic_rows_in_windows_need_a_backend_that_takes_them() -> None:
    """Beside the binaries of a placement HiGHS takes no quadratic terms of continuous variables."""
    text = windowed("0.5 * active[h]", "surge[h] ^ 2 <= 4")
    with pytest.raises(DiagnosticError) as caught:
        run(text, "Rolling", "Bent", "highs")
    assert {d.code for d in caught.value.diagnostics} == {"GSM3201"}
    assert "`scip`" in str(caught.value)
    assert run(text, "Rolling", "Bent", "scip").total == pytest.approx(0.0234, abs=1e-6)
