"""Samples of a random quantity from a file: the values and weights of each position of its domain."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from gpusched_dsl.data.chunks import ColumnChunk, FileOrigin
from gpusched_dsl.data.labels import has_values
from gpusched_dsl.data.params import positions_of
from gpusched_dsl.data.reports import SHOWN, examples, keys_at, place_text
from gpusched_dsl.data.sources.cells import read_values
from gpusched_dsl.data.sources.reader import FileReader
from gpusched_dsl.data.sources.tables import is_text
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.language.checked import CheckedParam, CheckedRandom, SampleFile, TypedLaw
from gpusched_dsl.language.checking.walk import walk
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import FileAssignment


class Samples(Struct, frozen=True, eq=False):
    """Group i has entries `starts[i] .. starts[i+1]-1`: one group per position, or a single one for all."""

    starts: Codes
    values: Floats
    weights: Floats | None


def files_of(random: CheckedRandom, law: TypedLaw) -> Iterator[FileAssignment]:
    """Return the files that a distribution needs, for the reader's plan."""
    return (_assignment(random, part) for part in walk(law) if isinstance(part, SampleFile))


def _assignment(random: CheckedRandom, file: SampleFile) -> FileAssignment:
    return FileAssignment(
        target=random.name, span=file.data.span, data=file.data, item=file.item, keys=file.keys, value=file.value
    )


def read_samples(
    random: CheckedRandom, domain: Domain, file: SampleFile, reader: FileReader, diagnostics: Diagnostics
) -> Samples | None:
    """The samples in the unit of the file; None after an error.

    Findings: GSM20xx of the file, GSM2103 and GSM2107 of keys, GSM2101 and GSM2104 to GSM2106 of values, GSM3102 of
    positions without a sample, GSM3103 of weights.
    """
    before = diagnostics.errors
    assignment = _assignment(random, file)
    read = reader.read(assignment, diagnostics)
    if read is None or (file.weight is not None and file.weight not in read.columns):
        return None
    checked = CheckedParam(random.name, random.span, random.type, "real", random.indexing)
    keys = tuple(read.columns[key] for key in file.keys)
    typed = not is_text(file.data.path.value)

    def numbers_in(column: str) -> tuple[ColumnChunk, Floats]:
        chunk = ColumnChunk(
            keys, read.columns[column], FileOrigin(assignment.span, read, file.keys, column), typed=typed
        )
        cells = read_values(checked, chunk, None, diagnostics)
        assert chunk.values is not None
        empty = np.flatnonzero(~has_values(chunk.values))
        _report(chunk, empty, "GSM2101", "is empty", "are empty", checked, diagnostics)
        return chunk, cells.values

    chunk, values = numbers_in(file.value)
    weights: Floats | None = None
    if file.weight is not None:
        column, weights = numbers_in(file.weight)
        negative = np.flatnonzero(weights < 0)
        _report(column, negative, "GSM3103", "is negative", "are negative", checked, diagnostics)
    positions = positions_of(checked, domain, chunk, diagnostics) if keys else np.zeros(len(values), dtype=np.int64)
    if diagnostics.errors > before:
        return None
    groups = domain.size if keys else 1
    total = np.bincount(positions, weights=weights, minlength=groups)
    missing = np.flatnonzero(total <= 0)
    if len(missing):
        _report_without(random, domain, missing, bool(keys), file, diagnostics)
        return None
    order = np.argsort(positions, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(positions, minlength=groups)))).astype(np.int64)
    return Samples(starts, values[order], None if weights is None else weights[order])


def _report(
    chunk: ColumnChunk,
    rows: Codes,
    code: str,
    one: str,
    many: str,
    checked: CheckedParam,
    diagnostics: Diagnostics,
) -> None:
    if not len(rows):
        return
    places = [chunk.origin.place(row) for row in rows[:SHOWN].tolist()]
    message = f"a sample or weight of `{checked.name}` {one}"
    if len(rows) > 1:
        message = f"{len(rows)} samples or weights of `{checked.name}` {many}"
    diagnostics.error(
        code,
        message,
        places[0],
        secondary=[Label(chunk.origin.statement, "read for this"), Label(checked.span, "declared here")],
        notes=examples([place_text(place) for place in places[1:]], len(rows) - 1),
    )


def _report_without(
    random: CheckedRandom, domain: Domain, missing: Codes, keyed: bool, file: SampleFile, diagnostics: Diagnostics
) -> None:
    keys = keys_at(random.name, domain, missing[: SHOWN + 1].tolist()) if keyed else [random.name]
    message = f"no sample for `{keys[0]}`"
    if len(missing) > 1:
        some = f"{len(missing)} of the {domain.size} keys of `{random.name}`"
        message = f"no samples for {some}, such as `{keys[0]}`"
    diagnostics.error(
        "GSM3102",
        message,
        file.data.path.span,
        "no row has a weight" if file.weight is not None else "no row for it",
        secondary=[Label(random.span, f"`{random.name}` is declared here")],
        notes=examples([f"`{key}`" for key in keys[1:]], len(missing) - 1),
    )
