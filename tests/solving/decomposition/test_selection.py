"""Which problems are solved block by block: those with named blocks, with that structure, and large enough."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from found_codes import message_values

import gpusched_dsl as gs
from gpusched_dsl.ir.domains import IntervalDomain, ProductDomain
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.decomposition import selection as by_blocks
from gpusched_dsl.solving.decomposition.selection import AUTO, OFF, ON, choice_for, choose_decomposition

MODEL = """
model Assign {
  set Jobs; set Nodes;
  param work[j in Jobs, n in Nodes];
  var x[Jobs, Nodes] KIND >= 0 <= 1;
  var open[Nodes] >= 0 <= 1;
  minimize total: sum[j in Jobs, n in Nodes] work[j, n] * x[j, n] + sum[n in Nodes] open[n];
  constraint once[j in Jobs]: sum[n in Nodes] x[j, n] == 1;
  constraint room[n in Nodes]: sum[j in Jobs] x[j, n] <= 2 * open[n];
  STATEMENT
}
scenario S for Assign {
  Jobs = { a, b, c }; Nodes = { n1, n2 };
  table Jobs, Nodes: work = a n1 1  a n2 2  b n1 4  b n2 1  c n1 3  c n2 3;
}
"""


def problem(statement: str = "decompose by Jobs;", kind: str = "integer") -> Problem:
    return gs.compile(MODEL.replace("STATEMENT", statement).replace("KIND", kind))


@pytest.fixture
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_blocks, "LEAST_INTEGERS", 6)
    monkeypatch.setattr(by_blocks, "LEAST_BLOCKS", 3)


@pytest.mark.usefixtures("_small_is_large")
def test_large_problems_with_blocks_are() -> None:
    choice = choice_for(problem())
    assert choice.by_blocks
    assert choice.blocks is not None
    assert choice.blocks.labels == ("a", "b", "c")
    assert not choose_decomposition(problem(), OFF).by_blocks


@pytest.mark.usefixtures("_small_is_large")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"upper": np.where(np.arange(8) < 1, 0.0, 1.0)}, "its 5 integer columns are few enough"),
        ({"integer": np.zeros(8, dtype=bool)}, "it has no integer variables"),
        ({"objectives": ()}, "it has no objective, "),
        ({"decompose": None}, "has no `decompose by`"),
        ({"decompose": "Slots"}, "no variable is indexed by `Slots`"),
    ],
)
def test_others_say_why_not(change: dict[str, object], words: str) -> None:
    choice = choice_for(replace(problem(), **change))  # type: ignore[arg-type]
    assert not choice.by_blocks
    assert words in choice.reason


@pytest.mark.usefixtures("_small_is_large")
def test_several_objectives_are_not() -> None:
    one = problem()
    twice = replace(one, objectives=one.objectives * 2)
    assert "it has 2 objectives" in choice_for(twice).reason


def test_small_problems_are_only_when_asked() -> None:
    assert "few enough" in choice_for(problem()).reason
    assert choose_decomposition(problem(), ON).by_blocks
    assert not choose_decomposition(problem(), AUTO).by_blocks
    few = by_blocks.LEAST_BLOCKS
    assert few > 3, "else the line above does not depend on the size"


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (problem(""), "the problem cannot be decomposed: the model has no `decompose by`"),
        (problem(kind=""), "the problem cannot be decomposed by `Jobs`: it has no integer variables"),
    ],
)
def test_what_cannot_be_is_refused_when_asked_for(one: Problem, words: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        choose_decomposition(one, ON)
    assert caught.value.diagnostics[0].code == "GSM4013"
    assert words in caught.value.diagnostics[0].message
    for mode in (AUTO, OFF):
        assert not choose_decomposition(one, mode).by_blocks


def test_the_family_in_the_way_is_named() -> None:
    one = problem()
    (jobs, _) = (component for component in one.variables[0].domain.components)
    pairs = ProductDomain((IntervalDomain(0, 2, 1, jobs), IntervalDomain(0, 2, 1, jobs)))
    before = Family("before", one.columns, pairs, one.variables[0].span)
    wider = replace(
        one,
        auxiliary=(before,),
        lower=np.concatenate((one.lower, np.zeros(9))),
        upper=np.concatenate((one.upper, np.ones(9))),
        integer=np.concatenate((one.integer, np.ones(9, dtype=bool))),
    )
    with pytest.raises(DiagnosticError) as caught:
        choose_decomposition(wider, ON)
    first = caught.value.diagnostics[0]
    assert first.code == "GSM4013"
    assert {"before[a, b]", "Jobs"} <= set(message_values(first.message))
    assert first.primary is before.span
