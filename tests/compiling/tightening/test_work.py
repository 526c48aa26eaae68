"""A tightening that would look at too much is left out; work is counted, not timed, and grows with the entries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from brute import optimum, solved
from choices import random_choices
from drafts import Draft, Row

from gpusched_dsl.compiling.passes import pipeline
from gpusched_dsl.compiling.passes.pipeline import TIGHTENINGS, reformulate
from gpusched_dsl.compiling.passes.steps import WORK, Analysis, Pass, Target
from gpusched_dsl.compiling.tightening.column_sets import ColumnSets, containments
from gpusched_dsl.compiling.work_budget import TooMuchWork, WorkBudget
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.problem import Problem

TARGET = Target("test")


def test_what_takes_too_much_work_is_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_choices(np.random.default_rng(4))
    full = reformulate(problem, TARGET, tighten=True)
    assert len(full.notes) > 2
    monkeypatch.setattr(pipeline, "WORK", 1)
    left = reformulate(problem, TARGET, tighten=True)
    assert left.problem is left.original is problem
    asked = {t.name for t in TIGHTENINGS if t.accepts(Analysis(problem, swept=True), TARGET)}
    assert {n.pass_name for n in left.notes} == asked
    assert all(n.effect == "skipped: it would examine more than 1 entries" for n in left.notes)
    assert all(n.rows == n.columns == 0 for n in left.notes)


@pytest.mark.parametrize("without", [(), ("network_integrality",)], ids=["all", "without the usual hungriest"])
def test_the_others_go_on(without: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each budget is one pass's own: without enough for the hungriest, the others do what they do without it."""
    for seed in range(8):
        problem = random_choices(np.random.default_rng(seed))
        spent = work_in_turn([t for t in TIGHTENINGS if t.name not in without], problem)
        most = max(spent.values())
        with monkeypatch.context() as patch:
            patch.setattr(pipeline, "WORK", most - 1)
            reformulated = reformulate(problem, TARGET, tighten=True, without=without)
        skipped = [n.pass_name for n in reformulated.notes if n.abandoned]
        assert skipped[:1] == [next(name for name, done in spent.items() if done == most)]
        assert len(skipped) < len(spent)
        others = reformulate(problem, TARGET, tighten=True, without=(*without, *skipped))
        assert [n for n in reformulated.notes if not n.abandoned] == list(others.notes)
        value, again = optimum(problem), solved(reformulated.problem)
        assert again.status == value.status
        assert again.value == pytest.approx(value.value, abs=1e-6, nan_ok=True)


def work_in_turn(passes: Sequence[Pass], problem: Problem) -> dict[str, int]:
    """The work of each pass that accepts the problem as those before it left it."""
    spent: dict[str, int] = {}
    analysis = Analysis(problem, swept=True)
    for one in passes:
        if one.accepts(analysis, TARGET):
            analysis.work = WorkBudget(WORK)
            step = one.apply(analysis, TARGET)
            spent[one.name] = analysis.work.done
            if step.problem is not analysis.problem:
                analysis = Analysis(step.problem, swept=True)
    return spent


def work_of(one: Pass, problem: Problem) -> int:
    analysis = Analysis(problem, swept=True)
    one.apply(analysis, TARGET)
    return analysis.work.done


def wide(size: int) -> Problem:
    """Jobs of which one runs at most, each with a link to a machine, a lateness and a place in nested sums."""
    draft = Draft()
    x, y = draft.columns("x", size), draft.columns("y", 1)[0]
    t = draft.columns("t", size, 0, np.inf, integer=False)
    draft.rows("one", [(-np.inf, dict.fromkeys(x, 1.0), 1)])
    draft.rows("link", [(-np.inf, {i: 1.0, y: -1.0}, 0) for i in x])
    draft.rows("room", [(-np.inf, {i: 1.0 + i % 3 for i in x}, 5)])
    late: list[Row] = [(-np.inf, {i: 3.0, x[(k + 1) % size]: 5.0, t[k]: -1.0}, 2) for k, i in enumerate(x)]
    draft.rows("late", late)
    z = draft.columns("z", size, 0, 9)
    draft.rows("sums", [(0, {z[k]: 1.0, x[k]: -1.0, x[(k + 1) % size]: -1.0}, 0) for k in range(size)])
    draft.minimize({c: 1.0 + c % 5 for c in (*t, *z, y)} | dict.fromkeys(x, -2.0))
    return draft.problem()


@pytest.mark.parametrize("one", TIGHTENINGS, ids=lambda t: t.name)
def test_work_grows_with_the_entries(one: Pass) -> None:
    small, large = (work_of(one, wide(size)) for size in (60, 600))
    assert small > 0
    assert large < 10.5 * small


def test_pairs_are_counted_before_they_are_looked_up() -> None:
    """8 sets that hold the rarest column are searched for each of 100 sets of 50 columns."""

    def sets(count: int) -> ColumnSets:
        starts: Codes = np.arange(count + 1, dtype=np.int64) * 50
        return ColumnSets(starts, np.tile(np.arange(50, dtype=np.int32), count))

    work = WorkBudget(10**9)
    assert len(containments(sets(100), sets(20), 50, work=work).inner) == 800
    assert work.done == 20 * 100 * 8 * 50
    with pytest.raises(TooMuchWork):
        containments(sets(100), sets(20), 50, work=WorkBudget(work.done - 1))
