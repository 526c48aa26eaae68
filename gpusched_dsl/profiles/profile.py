"""A profile: pairs of job and GPU model with their measurements, and the features of the jobs.

A pair that does not fit into memory has no measured quantities, whatever its row says: a time of 0 is how some
profilers write that the job could not be loaded, and never a short time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.data.labels import has_values, numbers, texts
from gpusched_dsl.data.reports import SHOWN, examples
from gpusched_dsl.data.short_columns import as_series
from gpusched_dsl.data.sources.files import FileColumns
from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.language.diagnostics.diagnostic import Label, Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.profiles.columns import (
    FITS,
    GPU,
    JOB,
    MEASURED,
    MEMORY,
    NO_FEATURES,
    PREDICTED,
    SOURCE,
    TIME,
    is_logarithmic,
    is_target,
)
from gpusched_dsl.profiles.sheets import keys_of, numbers_of, read_sheet, report_cells

YES, NO, UNKNOWN = 1, 0, -1


@dataclass(frozen=True, eq=False)
class Feature:
    """A feature of jobs: a number of each, or, with `labels`, the code of a label. `values` is (J,)."""

    name: str
    values: Floats
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Profile:
    """P pairs of J jobs and T GPU models, in the order of the table."""

    jobs: tuple[str, ...]
    types: tuple[str, ...]
    job: Ints  # (P,)
    type: Ints  # (P,)
    fits: Ints  # (P,) YES, NO, UNKNOWN: nobody tried
    targets: dict[str, Floats]  # by column, (P,): NaN where nothing was measured
    features: tuple[Feature, ...]
    memory: Floats = field(default_factory=lambda: np.zeros(0))  # (T,) MB, NaN where not given
    zeros: int = 0  # rows whose time of 0 means that they do not fit
    recomputed: int = 0  # rows that were predictions: they are not measurements

    def learnable_pairs(self, target: str) -> Bools:
        """The pairs that a target can be learnt from: those that fit and were measured."""
        usable: Bools = (self.fits == YES) & np.isfinite(self.targets[target])
        return usable


def read_profile(
    table: Path, diagnostics: Diagnostics, *, jobs: Path | None = None, gpus: Path | None = None
) -> Profile | None:
    """A profile with the tables that describe jobs and GPUs, if they are given; None after an error.

    Jobs of the table of jobs that have no row are jobs to predict. Reports GSM2301 to GSM2303, GSM2305 and, as a
    warning, GSM2306; raises DiagnosticError (GSM20xx) for files that cannot be read.
    """
    before = diagnostics.has_errors
    file = read_sheet(table, (JOB, GPU, TIME))
    job_labels, type_labels = keys_of(file, (JOB, GPU), diagnostics)
    described = None if jobs is None else read_sheet(jobs, (JOB,))
    more = [] if described is None else keys_of(described, (JOB,), diagnostics)[0].tolist()
    names = tuple(dict.fromkeys((*more, *job_labels.tolist())))
    machines = None if gpus is None else read_sheet(gpus, (GPU,))
    types = tuple(dict.fromkeys((*type_labels.tolist(), *(_types(machines) if machines else ()))))
    job, type_ = _codes(job_labels, names), _codes(type_labels, types)
    fits, targets, zeros, recomputed = _measured_pairs(file, diagnostics)
    features = _features(file, job, described, names, diagnostics)
    memory = np.full(len(types), np.nan) if machines is None else _memory(machines, types, diagnostics)
    if diagnostics.has_errors and not before:
        return None
    return Profile(names, types, job, type_, fits, targets, features, memory, zeros, recomputed)


def without_features(profile: Profile, *names: str) -> Profile:
    """The same without some features."""
    return replace(profile, features=tuple(f for f in profile.features if f.name not in names))


def _codes(labels: NDArray[np.object_], names: tuple[str, ...]) -> Ints:
    at = {name: code for code, name in enumerate(names)}
    return np.fromiter((at[label] for label in labels), dtype=np.int64, count=len(labels))


def _measured_pairs(file: FileColumns, diagnostics: Diagnostics) -> tuple[Ints, dict[str, Floats], int, int]:
    """Return whether pairs fit, and the measurements of those that do."""
    targets = {c: numbers_of(file, c, diagnostics, least=0.0) for c in file.columns if is_target(c)}
    time = targets[TIME]
    predicted = np.zeros(file.rows, dtype=np.bool_)
    if SOURCE in file.columns:
        words = np.array(as_series(texts(file.columns[SOURCE])).fill_null(MEASURED).to_list(), dtype=object)
        report_cells(
            file, SOURCE, ~np.isin(words, (MEASURED, PREDICTED)), f"is neither `{MEASURED}` nor `{PREDICTED}`",
            diagnostics,
        )  # fmt: skip
        predicted = words == PREDICTED
    fits = np.full(file.rows, UNKNOWN)
    if FITS in file.columns:
        stated_fits = numbers_of(file, FITS, diagnostics, truth_values=True)
        report_cells(
            file,
            FITS,
            np.isfinite(stated_fits) & (stated_fits != 0) & (stated_fits != 1),
            "is neither true nor false",
            diagnostics,
        )
        fits = np.where(np.isfinite(stated_fits), stated_fits, UNKNOWN).astype(np.int64)
    zero = (time == 0) & (fits != NO) & ~predicted
    fits = np.where(predicted, UNKNOWN, np.where(time == 0, NO, np.where((time > 0) & (fits != NO), YES, fits)))
    _warn_zero_times(file, np.flatnonzero(zero), diagnostics)
    for column, values in targets.items():
        if is_logarithmic(column) and column != TIME:
            report_cells(
                file, column, (fits == YES) & (values == 0), "is not a possible power of a running job", diagnostics
            )
        undefined = column.endswith("_peak") & (values == 0)  # no sample came that high
        targets[column] = np.where((fits == YES) & ~predicted & ~undefined, values, np.nan)
    return fits, targets, int(zero.sum()), int(predicted.sum())


def _warn_zero_times(file: FileColumns, rows: Ints, diagnostics: Diagnostics) -> None:
    if not len(rows):
        return
    many = f"{len(rows)} rows have" if len(rows) > 1 else "a row has"
    diagnostics.error(
        "GSM2306",
        f"{many} an execution time of 0: read as `{FITS}` = false",
        file.place(int(rows[0]), TIME),
        notes=examples([str(file.place(int(r), TIME)) for r in rows[1:SHOWN]], len(rows) - 1),
        help=f"leave the time empty and state `{FITS}` to avoid this warning",
        severity=Severity.WARNING,
    )


def _features(
    file: FileColumns, job: Ints, described: FileColumns | None, names: tuple[str, ...], diagnostics: Diagnostics
) -> tuple[Feature, ...]:
    """Return the features of jobs from both tables; for a column of both, the table of jobs counts."""
    found: dict[str, Feature | None] = {}
    sheets = [] if described is None else [(described, _codes(keys_of(described, (JOB,), Diagnostics())[0], names))]
    for sheet, owner in (*sheets, (file, job)):
        for column in sheet.columns:
            if column not in NO_FEATURES and not is_target(column) and column not in found:
                found[column] = _feature(sheet, column, owner, names, diagnostics)
    return tuple(f for f in found.values() if f is not None and len(np.unique(f.values)) > 1)


def _feature(
    sheet: FileColumns, column: str, owner: Ints, names: tuple[str, ...], diagnostics: Diagnostics
) -> Feature | None:
    """One column as a number or a code for each job; reports GSM2303 (two values of a job) and GSM2305 (none)."""
    series = sheet.columns[column]
    read = numbers(series, truth_values=True)
    has_value = has_values(series)
    if (read.numeric == has_value).all():
        values, labels = read.values, ()
    else:
        distinct_labels, codes = np.unique(
            np.array(as_series(texts(series)).fill_null("").to_list(), dtype=str), return_inverse=True
        )
        values, labels = codes.astype(np.float64), tuple(distinct_labels.tolist())
    rows = np.flatnonzero(has_value & np.isfinite(values))
    of_job, first = np.unique(owner[rows], return_index=True)
    place = np.full(len(names), -1)
    place[of_job] = rows[first]
    other = rows[values[rows] != values[place[owner[rows]]]]
    if len(other):
        row = int(other[0])
        diagnostics.error(
            "GSM2303",
            f"job `{names[owner[row]]}` has two values of `{column}`",
            sheet.place(row, column),
            "another value",
            secondary=[Label(sheet.place(int(place[owner[row]]), column), "first value")],
            notes=examples([str(sheet.place(int(r), column)) for r in other[1:SHOWN]], len(other) - 1),
            help="a column describes a job: write runs with different values as different jobs",
        )
        return None
    if (place < 0).any():
        lacking = np.flatnonzero(place < 0)
        diagnostics.error(
            "GSM2305",
            f"`{column}` of job `{names[lacking[0]]}` is not given in `{sheet.name}`",
            notes=examples([f"`{names[j]}`" for j in lacking[1:SHOWN]], len(lacking) - 1),
            help="give it for every job, or remove the column",
        )
        return None
    return Feature(column, values[place], labels)


def _types(machines: FileColumns) -> list[str]:
    return [str(label) for label in as_series(texts(machines.columns[GPU])).drop_nulls().to_list()]


def _memory(machines: FileColumns, types: tuple[str, ...], diagnostics: Diagnostics) -> Floats:
    """Memory of every GPU model; reports GSM2303 where machines of one model differ."""
    report_cells(machines, GPU, ~has_values(machines.columns[GPU]), "is empty", diagnostics)
    memory = np.full(len(types), np.nan)
    if MEMORY not in machines.columns or diagnostics.has_errors:
        return memory
    values = numbers_of(machines, MEMORY, diagnostics, least=0.0)
    codes = _codes(np.array(_types(machines), dtype=object), types)
    for row in np.flatnonzero(np.isfinite(values)):
        if np.isfinite(memory[codes[row]]) and memory[codes[row]] != values[row]:
            diagnostics.error(
                "GSM2303",
                f"GPUs of the model `{types[codes[row]]}` have two sizes of memory",
                machines.place(int(row), MEMORY),
                help="give models of different memory different names",
            )
        memory[codes[row]] = values[row]
    return memory
