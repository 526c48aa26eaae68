"""Random models: every entry of the compiled problem, and every value, equals that of plain loops."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusched_dsl as gs
from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text


def _beside(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


random_texts = _beside("random_texts")


def compiled(text: str) -> tuple[CheckedModel, ValueStore, Problem]:
    diagnostics = Diagnostics()
    scenario = check_scenario(workspace_from_text(text, "test", diagnostics, None), "S", {}, diagnostics)
    diagnostics.raise_if_errors()
    assert scenario is not None
    store = build_instance(scenario, folder=Path()).store
    return scenario.model, store, ground(scenario.model, store)


def columns_of(problem: Problem) -> list[tuple[str, tuple[Any, ...]]]:
    found: list[tuple[str, tuple[Any, ...]]] = []
    for family in problem.variables:
        keys = zip(*family.domain.label_columns(), strict=True) if family.domain.arity else [()]
        found.extend((family.name, tuple(key)) for key in keys)
    return found


def compare(random: Random) -> str:
    """Write a model, compile it, hold both against each other; gives how it went."""
    writer = random_texts.Writer(random)
    writer.write()
    text = writer.text()
    try:
        writer.make()
    except random_texts.Refused:
        with pytest.raises(DiagnosticError) as refusal:
            gs.compile(text)
        assert {d.code for d in refusal.value.diagnostics} == {"GSM3005"}, text
        return "refused"
    try:
        model, store, problem = compiled(text)
    except DiagnosticError as error:
        raise AssertionError(f"{text}\n{error}") from error
    columns = columns_of(problem)
    assert columns == [(name, key) for name, key, *_ in writer.columns], text
    for at, (_, _, lower, upper, whole) in enumerate(writer.columns):
        assert (problem.lower[at], problem.upper[at], problem.integer[at]) == (lower, upper, whole), (columns[at], text)
    rows: list[tuple[Any, ...]] = []
    matrix = problem.matrix
    for family in problem.constraints:
        for number in range(family.first, family.stop):
            entries = range(matrix.starts[number], matrix.starts[number + 1])
            terms = {columns[matrix.columns[e]]: float(matrix.values[e]) for e in entries}
            assert len(terms) == len(entries), text
            rows.append((family.name, family.index_of(number), terms,
                         float(problem.row_lower[number]), float(problem.row_upper[number])))  # fmt: skip
    assert rows == writer.rows, text
    goals = [
        (o.sense, t.constant, {columns[c]: float(v) for c, v in zip(t.columns, t.coefficients, strict=True)})
        for o in problem.objectives
        for t in o.terms
    ]
    assert goals == [
        (sense, t.constant, {at: v for at, v in t.terms.items() if v}) for sense, terms in writer.goals for t in terms
    ], text
    compare_values(random, writer, model, store, columns, text)
    return "compared"


def compare_values(
    random: Random, writer: Any, model: CheckedModel, store: ValueStore, columns: list[Any], text: str
) -> None:
    """The values of parameters, and of expressions at some point."""
    point = {column: random.choice((0.0, 1.0, -2.0, 0.5, 3.25)) for column in columns}
    store.point = np.array([point[c] for c in columns])
    evaluator = Evaluator(model, store, MemoryLimits())
    for declared in (d for d in writer.readable if d.name in model.lets):
        let = model.lets[declared.name]
        domain = evaluator.index_domain(let.indexing, let.span)
        frame = evaluator.domain_frame(let.indexing, domain)
        keys = list(zip(*domain.label_columns(), strict=True)) if domain.arity else [()]
        try:
            lins = {key: declared.value(key) for key in declared.inside}
        except random_texts.Refused:  # nothing in the problem refers to it
            with pytest.raises(DiagnosticError):
                evaluator.numbers(let.value, frame)
            continue
        found = np.broadcast_to(evaluator.numbers(let.value, frame), domain.size)
        expected = {
            key: lin.constant + sum(value * point[at] for at, value in lin.terms.items()) for key, lin in lins.items()
        }
        assert dict(zip(keys, found.tolist(), strict=True)) == expected, text
    for declared in writer.params:
        param = store.params[declared.name]
        keys = list(zip(*param.domain.label_columns(), strict=True))
        assert dict(zip(keys, param.values.tolist(), strict=True)) == {k: declared.value(k) for k in declared.inside}


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_random_models(random: Random) -> None:
    compare(random)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.randoms(use_true_random=False))
def test_many_random_models(random: Random) -> None:
    compare(random)


@pytest.mark.slow
def test_most_random_models_mean_something() -> None:
    outcomes = [compare(Random(seed)) for seed in range(300)]
    assert outcomes.count("compared") > 210
