"""Converts value columns to numbers, codes or texts of a parameter's kind, and reports all errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from gpusched_dsl.data.chunks import ColumnChunk
from gpusched_dsl.data.labels import encode, has_values, numbers, texts
from gpusched_dsl.data.reports import SHOWN, declaration_label, examples, place_text
from gpusched_dsl.ir.arrays import Bools, Codes, Values
from gpusched_dsl.ir.domains import Domain, Universe
from gpusched_dsl.language.checked import CheckedParam, Element, TextType
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics

if TYPE_CHECKING:
    from gpusched_dsl.data.short_columns import Column

_LABELS_COMPARED = 5000


class Cells(Struct, frozen=True, eq=False):
    """`sound`: given and of the right kind; only there do the values mean anything. They have the file's unit."""

    values: Values
    sound: Bools


def read_values(checked: CheckedParam, chunk: ColumnChunk, within: Domain | None, diagnostics: Diagnostics) -> Cells:
    """The values of a chunk as its parameter needs them; reports GSM1007, GSM2104 to GSM2106 and GSM2108."""
    assert chunk.values is not None
    if isinstance(checked.type, TextType):
        column = texts(chunk.values)
        return Cells(np.array(column.to_list(), dtype=object), has_values(column))
    tell = _CellReporter(checked, chunk, diagnostics, np.arange(len(chunk.values)))
    if isinstance(checked.type, Element):
        assert within is not None, "an element-valued parameter has a set of values"
        universe = within.components[0]
        assert universe is not None, "elements belong to a nominal set"
        return _elements(chunk.values, universe, tell)
    found = numbers(chunk.values, truth_values=checked.kind == "binary")
    tell("GSM2104", found.has_value & ~found.numeric, "is not a number", "are not numbers")
    missing = np.isnan(found.values)
    tell("GSM2105", found.numeric & missing, "is not a number (NaN)", "are not numbers (NaN)")
    infinite = np.isinf(found.values)
    tell("GSM2106", found.numeric & infinite, "is infinite", "are infinite")
    tell(
        "GSM1007",
        found.underflows,
        "is so small that it would be read as 0",
        "are so small that they would be read as 0",
    )
    tell("GSM1007", found.inexact, "has too many digits to be exact", "have too many digits to be exact")
    return Cells(found.values, found.numeric & ~missing & ~infinite & ~found.underflows & ~found.inexact)


def check_kind(
    checked: CheckedParam,
    chunk: ColumnChunk,
    rows: Codes,
    values: Values,
    within: Domain | None,
    diagnostics: Diagnostics,
) -> None:
    """Check valid values, in the declared unit, from some rows of a chunk: integer, binary, within a set.

    Reports GSM2112 to GSM2114.
    """
    tell = _CellReporter(checked, chunk, diagnostics, rows)
    if checked.kind == "integer":
        tell("GSM2113", values != np.rint(values), "is not an integer", "are not integers")
    elif checked.kind == "binary":
        tell("GSM2114", (values != 0) & (values != 1), "is neither 0 nor 1", "are neither 0 nor 1")
    if within is not None:
        codes = values.astype(np.int64)
        outside = (codes != values) | (within.locate([codes]) < 0)
        into = f"in `{checked.within.span.text}`" if checked.within is not None else "in the set of its values"
        tell("GSM2112", outside, f"is not {into}", f"are not {into}")


def _elements(values: Column, universe: Universe, tell: _CellReporter) -> Cells:
    coded = encode(values, universe)
    known = [str(label) for label in universe.labels[:_LABELS_COMPARED]]
    one, many = f"is not an element of `{universe.name}`", f"are not elements of `{universe.name}`"
    tell("GSM2108", coded.has_value & ~coded.is_known, one, many, known)
    return Cells(coded.codes, coded.is_known)


def _write(value: object) -> object:
    """A value as an author would write it: 2, not 2.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _CellReporter(Struct, frozen=True, eq=False):
    """Reports one kind of wrong value, if there is any. `rows` are the rows of the chunk for the masks."""

    checked: CheckedParam
    chunk: ColumnChunk
    diagnostics: Diagnostics
    rows: Codes

    def __call__(self, code: str, wrong: Bools, one: str, many: str, known: list[str] | None = None) -> None:
        rows = self.rows[wrong]
        if not len(rows):
            return
        values, origin = self.chunk.values, self.chunk.origin
        assert values is not None
        shown = [(f"`{_write(values[row])}`", origin.place(row)) for row in rows[:SHOWN].tolist()]
        text, place = shown[0]
        message = f"{text}, a value of `{self.checked.name}`, {one}"
        if len(rows) > 1:
            message = f"{len(rows)} values of `{self.checked.name}` {many}, such as {text}"
        self.diagnostics.error(
            code,
            message,
            place,
            secondary=[Label(origin.statement, "given here"), declaration_label(self.checked)],
            notes=examples([f"{text} ({place_text(place)})" for text, place in shown[1:]], len(rows) - 1),
            help=did_you_mean(text.strip("`"), known) if known else None,
        )
