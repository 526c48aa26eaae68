"""Named values to a point of a problem: the way from an earlier result back to where a solver can start."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.data.sources.writing import LARGEST_INPUT
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.domains import Component, Domain, decode
from gpusched_dsl.ir.index_labels import label_rows, nonzero_positions
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

Entry = tuple[Sequence[str | int], float]
# The values of a family: by labels, or in codes of the instance that is solved.
Given = Sequence[Entry] | VariableValues
OUTSIDE = np.int64(-(1 << 61))  # the code of a label that is no element


def entries_of_file(path: Path) -> dict[str, list[Entry]]:
    """The values in a JSON result; raises DiagnosticError (GSM6009) when it cannot be read or is no result."""
    try:
        if path.stat().st_size > LARGEST_INPUT:
            raise ValueError("the file is too large")
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) and failure.strerror else str(failure)
        raise DiagnosticError([_unusable(f"cannot read the warm start `{path}`: {reason}")]) from failure
    try:
        return entries_of_document(found)
    except (KeyError, TypeError, AttributeError, ValueError) as failure:
        raise DiagnosticError(
            [_unusable(f"the warm start `{path}` is not a result of `gsdsl solve --json`")]
        ) from failure


def entries_of_document(found: Mapping[str, Any]) -> dict[str, list[Entry]]:
    """The values in a result's document; raises KeyError, TypeError or ValueError when it is none."""
    entries: dict[str, list[Entry]] = {}
    for name, listed in found["variables"].items():
        entries[str(name)] = [(_labels(e["index"]), float(e["value"])) for e in listed]
    return entries


def entries_of_point(problem: Problem, point: Floats) -> dict[str, list[Entry]]:
    """The values of a point that are not zero."""
    entries: dict[str, list[Entry]] = {}
    for family in problem.variables:
        values = point[family.slice]
        positions = nonzero_positions(values)
        labels = label_rows(family.domain, positions)
        entries[family.name] = list(zip(labels, values[positions].tolist(), strict=True))
    return entries


def entries_of_mapping(values: Mapping[str, Any]) -> dict[str, list[Entry]]:
    """The values in `{"run": {("j1", "n1"): 1}, "total": 3.5}`; a table has its indices before the value column.

    Raises DiagnosticError (GSM6009) for what is neither.
    """
    entries: dict[str, list[Entry]] = {}
    for name, given in values.items():
        try:
            entries[name] = list(_given_entries(given))
        except (TypeError, ValueError) as failure:
            raise DiagnosticError([_unusable(f"the warm start has no numbers for `{name}`: {failure}")]) from failure
    return entries


def point_from(problem: Problem, entries: Mapping[str, Given]) -> tuple[Floats, list[Diagnostic]]:
    """Return a point with these values, NaN for all others, and warnings for values without a column.

    Entries leave zeros out. An entry that is left out is zero (or the nearest bound) where each of its labels stands in
    another entry of the variable: a plan that places a job says where the job is not. Nothing is said of variables
    without entries, and of labels that no entry has, such as those of jobs that came later.
    """
    point = np.full(problem.columns, np.nan)
    warnings: list[Diagnostic] = []
    families = {f.name: f for f in problem.variables}
    for name, given in entries.items():
        family = families.get(name)
        if family is None:
            help = did_you_mean(name, families)
            warnings.append(
                _make_warning(f"the warm start has values for `{name}`, which is not a variable of this model", help)
            )
            continue
        codes, values, known = read_entries(family.domain, given)
        positions = np.full(len(values), -1, dtype=np.int64)
        positions[known] = family.domain.locate([c[known] for c in codes]) if codes else 0
        known = (positions >= 0) & np.isfinite(values)
        if known.any():
            point[family.slice] = np.where(_stated_entries(family, positions[known]), 0.0, np.nan)
        point[family.first + positions[known]] = values[known]
        warnings += without_place(name, family.domain, given, known)
    return np.clip(point, problem.lower, problem.upper), warnings


def without_place(name: str, domain: Domain, given: Given, known: Bools) -> list[Diagnostic]:
    """The warning that some values of a start are not known here; none where all are."""
    if known.all():
        return []
    first = int(np.flatnonzero(~known)[0])
    if isinstance(given, VariableValues):
        [example] = decode(domain.components, [c[first : first + 1] for c in given.codes])
    else:
        example = tuple(given[first][0])
    text = f"{int((~known).sum())} of {len(known)} values of `{name}` in the warm start have no index in this model"
    return [_make_warning(text, f"such as `{name}[{', '.join(map(str, example))}]`")]


def _stated_entries(family: Family, positions: Codes) -> Bools:
    """Return the entries of a family with values if these are listed: every label occurs in one of them."""
    said = np.ones(family.size, dtype=np.bool_)
    for codes in family.domain.columns():
        said &= np.isin(codes, codes[positions])
    return said


def read_entries(domain: Domain, given: Given) -> tuple[list[Codes], Floats, Bools]:
    """Columns of codes, the values, and which entries have elements of the right number; other codes are `OUTSIDE`."""
    if isinstance(given, VariableValues):
        return list(given.codes), given.values, np.ones(len(given.values), dtype=np.bool_)
    values = np.array([value for _, value in given], dtype=np.float64)
    known = np.array([len(labels) == domain.arity for labels, _ in given], dtype=np.bool_)
    padded = [labels if fits else (None,) * domain.arity for (labels, _), fits in zip(given, known, strict=True)]
    codes = [_codes(component, [t[at] for t in padded]) for at, component in enumerate(domain.components)]
    return codes, values, np.logical_and.reduce([known, *(c != OUTSIDE for c in codes)])


def _codes(component: Component, labels: Iterable[str | int | None]) -> Codes:
    if component is None:
        found = [label if isinstance(label, int) and abs(label) < 1 << 60 else OUTSIDE for label in labels]
    else:
        code_of = component.code_of
        found = [code_of.get(label, OUTSIDE) if label is not None else OUTSIDE for label in labels]
    return np.array(found, dtype=np.int64)


def _given_entries(given: Any) -> Iterable[Entry]:
    if isinstance(given, Mapping):
        for key, value in given.items():
            yield (tuple(key) if isinstance(key, tuple) else (key,)), float(value)
    elif hasattr(given, "columns") and (hasattr(given, "rows") or hasattr(given, "itertuples")):
        rows = given.rows() if hasattr(given, "rows") else given.itertuples(index=False, name=None)
        for row in rows:
            yield tuple(row[:-1]), float(row[-1])
    else:
        yield (), float(given)


def _labels(index: Sequence[Any]) -> tuple[str | int, ...]:
    if not isinstance(index, list) or not all(isinstance(label, str | int) for label in index):
        raise TypeError("an index must be a list of labels")
    return tuple(index)


def _unusable(message: str) -> Diagnostic:
    return Diagnostic("GSM6009", message, help="give a file that `gsdsl solve --json` wrote")


def _make_warning(message: str, help: str | None) -> Diagnostic:
    return Diagnostic("GSM6009", message, help=help, severity=Severity.WARNING)
