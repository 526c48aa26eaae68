"""Tuples in sets that have not been made are found by the formulas of the sets."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from found_codes import raises_code

from gpusched_dsl.compiling.data.instance import Instance, build_instance
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.membership import contains_by_formula
from gpusched_dsl.compiling.evaluation.on_demand import OnDemand
from gpusched_dsl.compiling.evaluation.store import MISSING, PAST
from gpusched_dsl.language.checked import IndexRef, NamedSet, ParamRef
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text

TEXT = """
model M {
  set Jobs; set Nodes; set Pairs within Jobs cross Nodes;
  param size[Jobs] integer; param rank[Nodes];
  set Whole = { (j, n, g) : j in Jobs, n in Nodes, g in 1..size[j] where (j, n) in Pairs };
  set Fixed = { (j, n, 3) : (j, n) in Pairs where rank[n] > 1 };
  set Both = Whole union Fixed; set Fewer = Both diff Fixed; set Common = Whole inter Fixed;
  set Shifted = { (j, n, g + 1) : (j, n, g) in Whole };
  set Hidden = { (j, n, size[j]) : j in Jobs, n in Nodes, m in Nodes where (j, m) in Pairs };
  param time[(j, n, g) in Both] = size[j] * rank[n] / g;
  param wrong[(j, n, g) in Both] = 1 / (rank[n] - 2);
  var x binary;
  minimize cost: x;
}
scenario S for M {
  table Jobs: size = a 1  b 2  c 3;
  table Nodes: rank = k 4  l 2  m 3;
  Pairs = { (a, k), (a, m), (b, l), (b, m), (c, k) };
}
"""
NAMES = ("Whole", "Fixed", "Both", "Fewer", "Common")


def instance() -> Instance:
    found = Diagnostics()
    scenario = check_scenario(workspace_from_text(TEXT, "test", found), "S", {}, found)
    found.raise_if_errors()
    assert scenario is not None
    return build_instance(scenario, folder=Path(), on_demand=True)


def evaluator(found: Instance) -> Evaluator:
    return Evaluator(found.scenario.model, found.store, MemoryLimits())


def named(found: Instance, name: str) -> NamedSet:
    declared = found.scenario.model.sets[name]
    return NamedSet(span=declared.span, types=declared.types, name=name)


def waiting(found: Instance) -> set[str]:
    assert isinstance(found.store.sets, OnDemand)
    return set(found.store.sets.waiting())


def reference_to(name: str, found: Instance) -> ParamRef:
    """`name[j, n, g]` with the indices of the declaration of `time`."""
    declared = found.scenario.model.params[name]
    indices = found.scenario.model.params["time"].indexing.variables
    subscripts = tuple(IndexRef(span=declared.span, type=v.type, variable=v) for v in indices)
    return ParamRef(span=declared.span, type=declared.type, name=name, subscripts=subscripts)


EVERY = tuple(np.array(list(itertools.product((MISSING, 0, 1, 2, PAST), (0, 1, 2), (0, 1, 2, 3, 4)))).T)


@pytest.mark.parametrize("name", NAMES)
def test_a_set_by_its_formula(name: str) -> None:
    found = instance()
    expr = named(found, name)
    inside = evaluator(found).contains(expr, EVERY, Frame(len(EVERY[0]), {}))
    assert name in waiting(found)
    assert inside.tolist() == (found.store.sets[name].locate(EVERY) >= 0).tolist()
    assert inside.any()
    assert name not in waiting(found)


@pytest.mark.parametrize("name", ["Shifted", "Hidden"])
def test_a_set_whose_formula_does_not_say(name: str) -> None:
    found = instance()
    ev, expr = evaluator(found), named(found, name)
    assert contains_by_formula(ev, expr, EVERY) is None
    inside = ev.contains(expr, EVERY, Frame(len(EVERY[0]), {}))
    assert inside.tolist() == (found.store.sets[name].locate(EVERY) >= 0).tolist()


def test_values_over_a_set_that_waits() -> None:
    """Neither the set nor the parameter is made for some rows; a tuple outside is an error."""
    found = instance()
    model, whole = found.scenario.model, instance()
    domain, values = whole.store.params["time"].domain, whole.store.params["time"].values
    reference = model.params["time"]
    frame = Frame(domain.size, dict(zip(reference.indexing.variables, domain.columns(), strict=True)))
    expr = reference_to("time", found)
    assert evaluator(found).numbers(expr, frame).tolist() == values.tolist()
    assert {"Both", "Whole", "Fixed"} <= waiting(found)
    outside = Frame(1, dict(zip(reference.indexing.variables, (np.array([c]) for c in (0, 1, 1)), strict=True)))
    with raises_code("GSM3002", "time[a, l, 1]", at="time"):
        evaluator(found).numbers(expr, outside)
    with raises_code("GSM3003", "1", at="rank[n] - 2"):
        evaluator(found).numbers(reference_to("wrong", found), frame)
