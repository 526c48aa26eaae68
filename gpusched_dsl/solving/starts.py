"""Named values to a point of a problem: the way from an earlier result back to where a solver can start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.data.sources.writing import LARGEST_INPUT
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.domains import Component, Domain, decode
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

Entry = tuple[Sequence[str | int], float]
# The values of a family: by labels, or in codes of the instance that is solved.
StartValues = Sequence[Entry] | VariableValues
NamedValues = Mapping[str, StartValues]  # by the name of the variable
OUTSIDE = np.int64(-(1 << 61))  # the code of a label that is no element


def entries_of_file(path: Path) -> dict[str, list[Entry]]:
    """The values in a JSON result; raises DiagnosticError (GSM6009) when it cannot be read or is no result."""
    from gpusched_dsl.data.sources.json_keys import decode_distinct

    try:
        if path.exists() and not path.is_file():  # a device has no end, a pipe may have no writer
            raise ValueError("it is not a plain file")
        if path.stat().st_size > LARGEST_INPUT:
            raise ValueError("the file is too large")
        document = decode_distinct(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) and failure.strerror else str(failure)
        raise DiagnosticError([_unusable(f"cannot read the warm start `{path}`: {reason}")]) from failure
    try:
        return entries_of_document(document)
    except (KeyError, TypeError, AttributeError, ValueError) as failure:
        raise DiagnosticError(
            [_unusable(f"the warm start `{path}` is not a result of `gsdsl solve --json`")]
        ) from failure


def entries_of_document(document: Mapping[str, Any]) -> dict[str, list[Entry]]:
    """The values in a result's document; raises KeyError, TypeError or ValueError when it is none."""
    entries: dict[str, list[Entry]] = {}
    for name, listed in document["variables"].items():
        entries[str(name)] = [(_labels(e["index"]), float(e["value"])) for e in listed]
    return entries


def entries_of_point(problem: Problem, point: Floats) -> dict[str, list[Entry]]:
    """The values of a point that are not zero."""
    from gpusched_dsl.ir.index_labels import label_rows, nonzero_positions

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
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        kind = type(values).__name__
        message = f"a warm start is a result, a path, the name of a policy, or values by variable, not a `{kind}`"
        raise DiagnosticError([_unusable(message)])
    entries: dict[str, list[Entry]] = {}
    for name, start_values in values.items():
        try:
            entries[name] = list(_entries_in(start_values))
        except (TypeError, ValueError) as failure:
            raise DiagnosticError([_unusable(f"the warm start has no numbers for `{name}`: {failure}")]) from failure
    return entries


def point_from(problem: Problem, entries: Mapping[str, StartValues]) -> tuple[Floats, list[Diagnostic]]:
    """Return a point with these values, NaN for all others, and warnings for values without a column.

    Entries omit zeros. An omitted entry is zero (or the nearest bound) if each of its labels occurs in another entry of
    the variable: a plan that places a job also excludes its other places. Variables without entries stay NaN, and so do
    entries with a label that no entry has, such as those of jobs that came later.
    """
    point = np.full(problem.columns, np.nan)
    warnings: list[Diagnostic] = []
    families = {f.name: f for f in problem.variables}
    for name, start_values in entries.items():
        family = families.get(name)
        if family is None:
            help = did_you_mean(name, families)
            warnings.append(
                _make_warning(f"the warm start has values for `{name}`, which is not a variable of this model", help)
            )
            continue
        codes, values, is_known = read_entries(family.domain, start_values)
        positions = np.full(len(values), -1, dtype=np.int64)
        positions[is_known] = family.domain.locate([c[is_known] for c in codes]) if codes else 0
        is_known = (positions >= 0) & np.isfinite(values)
        if is_known.any():
            point[family.slice] = np.where(_entries_with_values(family, positions[is_known]), 0.0, np.nan)
        point[family.first + positions[is_known]] = values[is_known]
        warnings += warnings_without_column(name, family.domain, start_values, is_known)
    return np.clip(point, problem.lower, problem.upper), warnings


def warnings_without_column(name: str, domain: Domain, start_values: StartValues, is_known: Bools) -> list[Diagnostic]:
    """Return a warning if some values of a start have no column here."""
    if is_known.all():
        return []
    first = int(np.flatnonzero(~is_known)[0])
    if isinstance(start_values, VariableValues):
        [example] = decode(domain.components, [c[first : first + 1] for c in start_values.codes])
    else:
        example = tuple(start_values[first][0])
    text = (
        f"{int((~is_known).sum())} of {len(is_known)} values of `{name}` in the warm start have no index in this model"
    )
    return [_make_warning(text, f"such as `{name}[{', '.join(map(str, example))}]`")]


def _entries_with_values(family: Family, positions: Codes) -> Bools:
    """Return the entries of a family with values if these are listed: every label occurs in one of them."""
    is_covered = np.ones(family.size, dtype=np.bool_)
    for codes in family.domain.columns():
        is_covered &= np.isin(codes, codes[positions])
    return is_covered


def read_entries(domain: Domain, start_values: StartValues) -> tuple[list[Codes], Floats, Bools]:
    """Columns of codes, the values, and which entries have elements of the right number; other codes are `OUTSIDE`."""
    if isinstance(start_values, VariableValues):
        return list(start_values.codes), start_values.values, np.ones(len(start_values.values), dtype=np.bool_)
    values = np.array([value for _, value in start_values], dtype=np.float64)
    is_known = np.array([len(labels) == domain.arity for labels, _ in start_values], dtype=np.bool_)
    padded = [
        labels if fits else (None,) * domain.arity for (labels, _), fits in zip(start_values, is_known, strict=True)
    ]
    codes = [_codes(component, [t[at] for t in padded]) for at, component in enumerate(domain.components)]
    return codes, values, np.logical_and.reduce([is_known, *(c != OUTSIDE for c in codes)])


def _codes(component: Component, labels: Iterable[str | int | None]) -> Codes:
    if component is None:
        found = [label if isinstance(label, int) and abs(label) < 1 << 60 else OUTSIDE for label in labels]
    else:
        code_of = component.code_of
        found = [code_of.get(label, OUTSIDE) if label is not None else OUTSIDE for label in labels]
    return np.array(found, dtype=np.int64)


def _entries_in(start_values: Any) -> Iterable[Entry]:
    if isinstance(start_values, Mapping):
        for key, value in start_values.items():
            yield (tuple(key) if isinstance(key, tuple) else (key,)), float(value)
    elif hasattr(start_values, "columns") and (hasattr(start_values, "rows") or hasattr(start_values, "itertuples")):
        rows = start_values.rows() if hasattr(start_values, "rows") else start_values.itertuples(index=False, name=None)
        for row in rows:
            yield tuple(row[:-1]), float(row[-1])
    else:
        yield (), float(start_values)


def _labels(index: Sequence[Any]) -> tuple[str | int, ...]:
    if not isinstance(index, list) or not all(isinstance(label, str | int) for label in index):
        raise TypeError("an index must be a list of labels")
    return tuple(index)


def _unusable(message: str) -> Diagnostic:
    return Diagnostic("GSM6009", message, help="give a file that `gsdsl solve --json` wrote")


def _make_warning(message: str, help: str | None) -> Diagnostic:
    return Diagnostic("GSM6009", message, help=help, severity=Severity.WARNING)
