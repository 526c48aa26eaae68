"""Terms that would become far too many rows are refused by name, before any array is allocated."""

from __future__ import annotations

import re

import pytest
from drafts import Draft

from gpusched_dsl.compiling.evaluation.limits import ENTRY, MemoryLimits
from gpusched_dsl.compiling.passes import problem_builder, steps
from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

TARGET = Target("test")


def long_product() -> Problem:
    """20 binaries times a sum of 30 columns from 1 to 2: a row of 32 entries for each binary, and 20 of two."""
    draft = Draft()
    b, y = draft.columns("b", 20), draft.columns("y", 30, 1, 2, integer=False)
    w = draft.product("w", [[*({c: 1.0} for c in b), dict.fromkeys(y, 1.0)]])
    draft.maximize({w[0]: 1.0} | dict.fromkeys(b, -1.0))
    return draft.problem()


def digits() -> Problem:
    """A whole number of 12 digits times a sum of 30 columns."""
    draft = Draft()
    n, y = draft.columns("n", 1, 0, 4095), draft.columns("y", 30, 1, 2, integer=False)
    w = draft.product("w", [[{n[0]: 1.0}, dict.fromkeys(y, 1.0)]])
    draft.maximize({w[0]: 1.0, n[0]: -40.0})
    return draft.problem()


def squares() -> Problem:
    """20 squares of whole sums of 5 columns with 501 values each."""
    draft = Draft()
    n = draft.columns("n", 5, 0, 100)
    s = draft.power("s", [dict.fromkeys(n, 1.0) | {None: float(k)} for k in range(20)], [2.0] * 20)
    draft.minimize(dict.fromkeys(s, 1.0) | {n[0]: -3.0})
    return draft.problem()


@pytest.mark.parametrize(
    ("problem", "entries"),
    [(long_product(), 20 * 32), (digits(), 12 * 33), (squares(), 20 * 501 * 6)],
    ids=["product", "digits", "squares"],
)
def test_the_term_is_named(problem: Problem, entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reformulate(problem, TARGET).problem.matrix.nonzeros >= entries // 2
    monkeypatch.setattr(problem_builder, "LIMITS", MemoryLimits(ENTRY * (entries - 1)))
    with pytest.raises(DiagnosticError) as refusal:
        reformulate(problem, TARGET)
    (found,) = refusal.value.diagnostics
    assert found.code == "GSM3001"
    assert re.match("`[ws]` is too large as linear rows", found.message)
    said = re.fullmatch("at least ([0-9,]+) entries", found.label)
    assert said is not None
    assert int(said[1].replace(",", "")) == pytest.approx(entries, rel=0.02)
    assert "choose a backend" in (found.help or "")


def test_what_is_linear_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem_builder, "LIMITS", MemoryLimits(1))
    draft = Draft()
    x = draft.columns("x", 3)
    draft.rows("some", [(1, dict.fromkeys(x, 1.0), 3)])
    draft.minimize(dict.fromkeys(x, 1.0))
    assert reformulate(draft.problem(), TARGET, tighten=True).problem.columns <= 3


def implied() -> Problem:
    """40 products of y and a binary x_i <= y: each is x_i, as the rows say."""
    draft = Draft()
    x, y = draft.columns("x", 40), draft.columns("y", 1)[0]
    w = draft.product("w", [[{y: 1.0}, {c: 1.0}] for c in x])
    draft.rows("link", [(-float("inf"), {c: 1.0, y: -1.0}, 0) for c in x])
    draft.maximize(dict.fromkeys(w, 1.0) | {y: -3.0})
    return draft.problem()


def test_implied_factors_are_left_where_they_take_too_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = reformulate(implied(), TARGET).notes
    assert {n.pass_name for n in notes} == {"implied_factors"}
    monkeypatch.setattr(steps, "WORK", 100)
    notes = reformulate(implied(), TARGET).notes
    assert [n.effect for n in notes if n.pass_name == "implied_factors"] == ["not searched in rows: too much work"]
    assert "binary_products" in {n.pass_name for n in notes}
