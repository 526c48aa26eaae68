"""Bounds of parameters and checks on data: the reports about violations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from binding_help import (
    ALL_JOBS,
    PAIRS,
    csv_chunk,
    model_span,
    only,
    param,
    scenario_span,
)
from found_codes import message_values

from gpusched_dsl.data.params import ParamOrigin, bind_param
from gpusched_dsl.data.ranges import report_failed_check, report_out_of_range
from gpusched_dsl.language.checked import (
    CheckedBound,
    CheckedCheck,
    Constant,
    Element,
    IndexVar,
    Iterator,
    NamedSet,
    Numeric,
    TypedIndexing,
)
from gpusched_dsl.language.diagnostics.diagnostic import Cell
from gpusched_dsl.language.diagnostics.errors import Diagnostics


def bound(op: str, value: float) -> CheckedBound:
    expr = Constant(span=model_span("24"), type=Numeric(), value=value)
    return CheckedBound(op, expr, model_span("<= 24"))


@pytest.mark.parametrize(
    ("op", "limit", "wrong"),
    [("<=", 2.0, "j3"), ("<", 3.0, "j3"), (">=", 2.0, "j1"), (">", 1.0, "j1"), ("==", 1.0, "j2")],
)
def test_bounds(tmp_path: Path, op: str, limit: float, wrong: str) -> None:
    found = Diagnostics()
    origin = ParamOrigin(
        model_span("time"), (), None, {i: scenario_span("Jobs = { j1, 2 };"[: i + 1]) for i in range(3)}
    )
    values = np.array([1.0, 2.0, 3.0])
    assert not report_out_of_range(param(), ALL_JOBS, values, limit, bound(op, limit), origin, found)
    [diagnostic] = found
    assert diagnostic.code == "GSM2109"
    assert f'`time["{wrong}"] ' in diagnostic.message.replace("` is", " ")
    assert diagnostic.secondary[0].place == model_span("<= 24")
    assert report_out_of_range(param(), ALL_JOBS, values, np.array([1.0, 2.0, 3.0]), bound("==", 0), origin, found)


def test_bounds_name_file_and_row(tmp_path: Path) -> None:
    chunk = csv_chunk(tmp_path, "job,x\nj1,1\nj2,25\nj3,26\n", ("job",))
    values = bind_param(param(), ALL_JOBS, [chunk], None, Diagnostics())
    assert values.sound
    assert values.origin is not None
    found = Diagnostics()
    report_out_of_range(param(), ALL_JOBS, values.values, 24.0, bound("<=", 24.0), values.origin, found)
    message, notes = only(found, "GSM2109", "a.csv:3, column x")
    assert message == '2 values of `time` are not `<= 24`; for instance `time["j2"]` is 25'
    assert notes == ('`time["j3"]` is 26 (a.csv:4, column x)',)


def test_bounds_of_derived_values_are_told_at_the_bound() -> None:
    found = Diagnostics()
    report_out_of_range(param(), ALL_JOBS, np.array([1.0, 2.0, -3.0]), 0.0, bound(">=", 0.0), None, found)
    message, _ = only(found, "GSM2109", "model.gsm:1:35")
    assert message_values(message) == ('time["j3"]', "-3", "0")


def a_check(names: tuple[str, ...], message: str | None) -> CheckedCheck:
    variables = tuple(IndexVar(n, Element("Jobs"), model_span("time")) for n in names)
    domain = NamedSet(span=model_span("Jobs"), types=(Element("Jobs"),), name="Jobs")
    indexing = TypedIndexing(tuple(Iterator((v,), domain, v.span) for v in variables))
    condition = Constant(span=model_span("time >= 0"), type=Numeric(), value=0)
    return CheckedCheck(model_span("check"), indexing, condition, message)


def test_failed_check_names_the_indices() -> None:
    found = Diagnostics()
    columns = PAIRS.columns()
    holds = np.array([True, False, True, False, True, False])
    assert not report_failed_check(a_check(("j", "v"), "too late"), PAIRS.components, columns, holds, found)
    message, notes = only(found, "GSM2201", "model.gsm:1:59")
    assert message == "a check failed: too late"
    assert notes == (
        "violated in 3 of 6 cases",
        'violated for j = "j1", v = "v2"',
        'and for j = "j2", v = "v2"',
        'and for j = "j3", v = "v2"',
    )
    assert report_failed_check(a_check(("j", "v"), None), PAIRS.components, columns, np.ones(6, bool), found)


def test_failed_check_without_indices() -> None:
    found = Diagnostics()
    assert not report_failed_check(a_check((), None), (), (), np.array([False]), found)
    assert only(found, "GSM2201", "model.gsm:1:59")[1] == ()


def test_origin_of_nothing_is_the_declaration() -> None:
    origin = ParamOrigin(model_span("time"), (), None, {})
    assert origin.place(0) == model_span("time")
    assert not isinstance(origin.place(0), Cell)
