"""Declarations, chunks and findings for the tests of binding."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpusched_dsl.data.chunks import ColumnChunk, FileOrigin
from gpusched_dsl.data.sources.tables import read_columns
from gpusched_dsl.ir.domains import IntervalDomain, ProductDomain, TupleDomain, Universe
from gpusched_dsl.language.checked import (
    CheckedParam,
    CheckedSet,
    Element,
    IndexVar,
    Iterator,
    NamedSet,
    Numeric,
    TypedIndexing,
    ValueType,
)
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Source, Span

MODEL = Source("model.gsm", "param time[Jobs, Types] in h >= 0 <= 24; set Jobs; check: time >= 0;\n")
SCENARIO = Source("scenario.gsm", "Jobs = { j1, 2 };\ntime = data;\n")


def model_span(text: str) -> Span:
    start = MODEL.text.index(text)
    return MODEL.span(start, start + len(text))


def scenario_span(text: str) -> Span:
    start = SCENARIO.text.index(text)
    return SCENARIO.span(start, start + len(text))


JOBS = Universe("Jobs", ("j1", "j2", "j3"))
TYPES = Universe("Types", ("v1", "v2"))
YEARS = Universe("Years", (2020, 2025, 2030))
ALL_JOBS = IntervalDomain(0, 2, 1, JOBS)
ALL_TYPES = IntervalDomain(0, 1, 1, TYPES)
PAIRS = ProductDomain((ALL_JOBS, ALL_TYPES))
SPARSE = TupleDomain((JOBS, TYPES), (np.array([0, 0, 2]), np.array([0, 1, 1])))


def param(kind: str = "real", type_: ValueType | None = None) -> CheckedParam:
    var = IndexVar("j", Element("Jobs"), model_span("Jobs"))
    domain = NamedSet(span=model_span("Jobs"), types=(Element("Jobs"),), name="Jobs")
    indexing = TypedIndexing((Iterator((var,), domain, model_span("Jobs, Types")),))
    return CheckedParam("time", model_span("time"), type_ or Numeric(), kind, indexing)


def a_set(name: str = "Jobs", types: tuple[ValueType, ...] = (Element("Jobs"),)) -> CheckedSet:
    return CheckedSet(name, model_span("set Jobs"), types, name)


def csv_chunk(
    tmp_path: Path, text: str, keys: tuple[str, ...], value: str | None = "x", **options: object
) -> ColumnChunk:
    (tmp_path / "a.csv").write_text(text)
    file = read_columns(tmp_path, "a.csv", None, [*keys, *([value] if value else [])])
    origin = FileOrigin(scenario_span("time = data;"), file, keys, value)
    return ColumnChunk(
        tuple(file.columns[k] for k in keys), file.columns[value] if value else None, origin, typed=False, **options
    )  # type: ignore[arg-type]


def told(diagnostics: Diagnostics) -> list[tuple[str, str]]:
    return [(d.code, str(d.primary)) for d in diagnostics]


def only(diagnostics: Diagnostics, code: str, place: str) -> tuple[str, tuple[str, ...]]:
    assert told(diagnostics) == [(code, place)]
    [found] = diagnostics
    return found.message, found.notes
