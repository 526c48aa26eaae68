"""A `Problem` as JSON and back: format `gsdsl-problem`, described by `docs/schema/problem.schema.json`.

Arrays are plain JSON numbers that read back as the same doubles; `null` is a bound or side that is infinite. Index
domains are stored once, by number, and products as their factors, so that provenance stays small beside the numbers.
Source places are written as `file:line:column` for readers; a loaded problem has no spans. Version 1 is of linear
problems and still written for them; version 2 has auxiliary columns, definitions and conditions.
"""

from __future__ import annotations

from inspect import cleandoc
from typing import Any, NoReturn

import msgspec
import numpy as np

from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.distributions import Distribution
from gpusched_dsl.ir.domains import Domain, Universe
from gpusched_dsl.ir.granularity import with_steps
from gpusched_dsl.ir.json.arrays import Broken, Unwritable, finite_numbers, infinite_from_none, sides
from gpusched_dsl.ir.json.checks import check_file
from gpusched_dsl.ir.json.domains import DomainStore, UniverseFile, domain_of
from gpusched_dsl.ir.json.laws import law_file, law_of
from gpusched_dsl.ir.json.schema import FamilyFile, ObjectiveFile, ProblemFile, RowsFile, TermFile
from gpusched_dsl.ir.json.terms import conditions_file, conditions_of, definition_file, definition_of
from gpusched_dsl.ir.problem import Family, Matrix, Objective, Problem, Term
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span

FORMAT = "gsdsl-problem"
VERSIONS = (1, 2)


class _Header(msgspec.Struct):
    format: str = ""
    version: int = 0


def to_json(problem: Problem) -> bytes:
    """The JSON text; raises DiagnosticError (GSM4023) for numbers and laws that the format has no form for."""
    try:
        return msgspec.json.encode(_problem_file(problem))
    except Unwritable as failure:
        _fail("GSM4023", f"the problem contains {failure}")


def _problem_file(problem: Problem) -> ProblemFile:
    store, matrix = DomainStore(), problem.matrix
    laws: dict[Distribution, int] = {}
    return ProblemFile(  # families before what the store then holds, definitions before their laws
        format="gsdsl-problem",
        version=1 if problem.is_linear and not problem.auxiliary else 2,
        name=problem.name,
        variables=[_family_file(f, store) for f in problem.variables],
        constraints=[_family_file(f, store) for f in problem.constraints],
        auxiliary=[_family_file(f, store) for f in problem.auxiliary],
        universes=[UniverseFile(u.name, list(u.labels)) for u in store.universes],
        domains=store.domains,
        lower=sides(problem.lower, -np.inf),
        upper=sides(problem.upper, np.inf),
        integer=_runs(problem.integer),
        rows=RowsFile(
            matrix.starts.tolist(),
            matrix.columns.tolist(),
            finite_numbers(matrix.values),
            sides(problem.row_lower, -np.inf),
            sides(problem.row_upper, np.inf),
        ),
        objectives=[_objective_file(o) for o in problem.objectives],
        definitions=[definition_file(d, laws) for d in problem.definitions],
        laws=[law_file(law) for law in laws],
        conditions=conditions_file(problem.conditions),
        decompose=problem.decompose,
    )


def from_json(text: bytes) -> Problem:
    """The problem; raises DiagnosticError (GSM4020 to 4022) for text that is not a sound problem file."""
    try:
        header = msgspec.json.decode(text, type=_Header)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as failure:
        _fail("GSM4020", f"this is not JSON: {failure}")
    if header.format != FORMAT:
        _fail("GSM4020", f"this JSON file is not a problem: its `format` is not `{FORMAT}`")
    if header.version not in VERSIONS:
        message = (
            f"this problem is in version {header.version} of its format; this gsdsl reads versions up to {VERSIONS[-1]}"
        )
        _fail("GSM4021", message)
    try:
        file = msgspec.json.decode(text, type=ProblemFile)
        check_file(file)
        return _problem(file)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, Broken, OverflowError) as failure:
        _fail("GSM4022", f"the problem file is contradictory: {failure}")


def schema() -> dict[str, Any]:
    """The JSON schema of the format, as published in `docs/schema/problem.schema.json`."""
    described = _with_clean_descriptions(msgspec.json.schema(ProblemFile))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": FORMAT, **described}


def _with_clean_descriptions(value: Any) -> Any:
    """Remove the indentation of docstrings, as Python 3.13 does itself."""
    if isinstance(value, dict):
        return {k: cleandoc(v) if k == "description" else _with_clean_descriptions(v) for k, v in value.items()}
    return [_with_clean_descriptions(v) for v in value] if isinstance(value, list) else value


def _fail(code: str, message: str) -> NoReturn:
    raise DiagnosticError([Diagnostic(code, message)])


def _family_file(family: Family, store: DomainStore) -> FamilyFile:
    place = _place(family.span)
    return FamilyFile(family.name, store.domain(family.domain), family.unit, family.part, family.doc, place)


def _place(span: Span | None) -> str | None:
    return None if span is None else str(span)


def _objective_file(objective: Objective) -> ObjectiveFile:
    terms = [
        TermFile(
            t.columns.tolist(),
            finite_numbers(t.coefficients),
            finite_numbers(np.array([t.constant]))[0],
            t.name,
            _place(t.span),
        )
        for t in objective.terms
    ]
    sense: Any = objective.sense
    return ObjectiveFile(sense, terms, objective.name, objective.unit, _place(objective.span))


def _runs(marked: Bools) -> list[tuple[int, int]]:
    steps = np.diff(np.concatenate([[0], marked.astype(np.int8), [0]]))
    return list(zip(np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist(), strict=True))


def _problem(file: ProblemFile) -> Problem:
    universes = [Universe(u.name, tuple(u.labels)) for u in file.universes]
    domains: list[Domain] = []
    for stored in file.domains:
        domains.append(domain_of(stored, universes, domains))
    integer = np.zeros(len(file.lower), dtype=bool)
    for first, stop in file.integer:
        integer[first:stop] = True
    rows = file.rows
    variables = _families(file.variables, domains)
    laws = [law_of(law, f"laws[{k}]") for k, law in enumerate(file.laws)]
    return Problem(
        name=file.name,
        variables=variables,
        lower=infinite_from_none(file.lower, -np.inf),
        upper=infinite_from_none(file.upper, np.inf),
        integer=integer,
        constraints=_families(file.constraints, domains),
        matrix=Matrix(
            np.array(rows.starts, dtype=np.int64),
            np.array(rows.columns, dtype=np.int32),
            np.array(rows.values, dtype=np.float64),
        ),
        row_lower=infinite_from_none(rows.lower, -np.inf),
        row_upper=infinite_from_none(rows.upper, np.inf),
        objectives=tuple(_objective(o) for o in file.objectives),
        auxiliary=_families(file.auxiliary, domains, variables[-1].stop if variables else 0),
        definitions=with_steps((definition_of(d, laws) for d in file.definitions), integer),
        conditions=conditions_of(file.conditions),
        decompose=file.decompose,
    )


def _families(stored: list[FamilyFile], domains: list[Domain], first: int = 0) -> tuple[Family, ...]:
    families = []
    for one in stored:
        family = Family(one.name, first, domains[one.domain], None, one.unit, one.part, one.doc)
        families.append(family)
        first += family.size
    return tuple(families)


def _objective(stored: ObjectiveFile) -> Objective:
    terms = tuple(
        Term(t.name, np.array(t.columns, dtype=np.int32), np.array(t.coefficients, dtype=np.float64), t.constant)
        for t in stored.terms
    )
    return Objective(stored.sense, terms, stored.name, stored.unit)
