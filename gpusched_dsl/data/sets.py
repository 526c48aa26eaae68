"""Chunks to sets: the universe of a root set, the domain of a subset or of a tuple set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from msgspec import Struct

from gpusched_dsl.data.chunks import ColumnChunk, Place
from gpusched_dsl.data.labels import encode, first_distinct, has_values, is_text, joined, natural_labels
from gpusched_dsl.data.reports import (
    SHOWN,
    declaration_label,
    examples,
    place_text,
    quote,
    report_empty_keys,
    report_nothing,
    report_unknown_keys,
    tuple_text,
)
from gpusched_dsl.data.short_columns import ShortColumn, as_series
from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.ir.domains import Component, Domain, Packing, TupleDomain, Universe
from gpusched_dsl.language.checked import CheckedSet
from gpusched_dsl.language.diagnostics.diagnostic import Label, Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics

if TYPE_CHECKING:
    from gpusched_dsl.data.short_columns import Column


class Enclosing(Protocol):
    """The set that contains another one."""

    def locate(self, columns: Sequence[Codes]) -> Codes:
        """Return the positions of tuples, -1 for those outside."""
        ...


class _Stack(Struct, frozen=True, eq=False):
    """The concatenated rows of several chunks: the chunk and row of each."""

    chunks: Sequence[ColumnChunk]
    chunk_of: Codes
    row_of: Codes

    @staticmethod
    def of(chunks: Sequence[ColumnChunk], rows: Sequence[Codes]) -> _Stack:
        none = np.empty(0, dtype=np.int64)
        numbers = [np.full(len(r), i, dtype=np.int64) for i, r in enumerate(rows)]
        return _Stack(chunks, np.concatenate([none, *numbers]), np.concatenate([none, *rows]))

    def place(self, at: int) -> Place:
        return self.chunks[int(self.chunk_of[at])].origin.place(int(self.row_of[at]), 0)

    def may_repeat(self) -> Bools:
        allowed = np.array([chunk.distinct for chunk in self.chunks], dtype=np.bool_)
        return allowed[self.chunk_of]


def bind_root_set(checked: CheckedSet, chunks: Sequence[ColumnChunk], diagnostics: Diagnostics) -> Universe | None:
    """The elements of a nominal root set in the order given.

    None after a finding: GSM2061 elements that look the same, GSM2107 empty cell, GSM2110 repeated element, GSM2111
    integers and text mixed, GSM2115 nothing given. An invisible letter is a warning (GSM2062).
    """
    if not chunks:
        report_nothing(checked, diagnostics)
        return None
    if _report_mixed(checked, chunks, diagnostics):
        return None
    sound = True
    columns, rows = [], []
    for chunk, column in zip(chunks, natural_labels(list(chunks)), strict=True):
        has_value = has_values(column)
        if not has_value.all():
            report_empty_keys(checked, chunk, 0, ~has_value, diagnostics)
            sound = False
        columns.append(column.filter(has_value))
        rows.append(np.flatnonzero(has_value))
    labels = joined(columns)
    stack = _Stack.of(chunks, rows)
    first = first_distinct(labels)
    wrong = np.flatnonzero(~first & ~stack.may_repeat())
    if len(wrong):
        every = labels.to_list()
        repeats = [
            _Repeat(quote(every[at]), stack.place(at), stack.place(every.index(every[at])))
            for at in wrong[:SHOWN].tolist()
        ]
        _report_repeated(checked, repeats, len(wrong), diagnostics)
        sound = False
    if sound and is_text(labels):
        sound = _check_letters(checked, labels, stack, diagnostics)
    elements: list[Any] = labels.filter(first).to_list()
    return Universe(checked.name, tuple(elements)) if sound else None


def _check_letters(checked: CheckedSet, column: Column, stack: _Stack, diagnostics: Diagnostics) -> bool:
    """Report elements that look the same (GSM2061) or have invisible letters (GSM2062); false after an error."""
    if isinstance(column, ShortColumn) and all(str(cell).isascii() for cell in column.cells):
        return True
    labels = as_series(column)
    rows = np.flatnonzero(labels.str.contains(r"[^\x00-\x7F]").to_numpy())
    if not len(rows):
        return True
    written = labels.gather(rows).to_list()
    from gpusched_dsl.language.text.lookalikes import visible

    shown = [visible(label) for label in written]
    asked = sorted({text for text in shown if text.isascii()})
    plain = np.flatnonzero(labels.is_in(asked).to_numpy()) if asked else rows[:0]
    first = {str(labels[at]): at for at in plain[::-1].tolist()}
    twins = []
    for row, label, text in zip(rows.tolist(), written, shown, strict=True):
        other = first.setdefault(text, row)
        if labels[other] != label:
            twins.append((min(row, other), max(row, other)))
    if twins:
        one, later = twins[0]
        from gpusched_dsl.language.text.lookalikes import spell

        message = f"the elements `{spell(labels[one])}` and `{spell(labels[later])}` of `{checked.name}` look the same"
        shown_twins = [f"`{spell(labels[row])}` ({place_text(stack.place(row))})" for _, row in twins[1:SHOWN]]
        diagnostics.error(
            "GSM2061", message, stack.place(later), secondary=[
                Label(stack.place(one), "the other one"), declaration_label(checked)
            ], notes=examples(shown_twins, len(twins) - 1), help="write the label in the same way everywhere",
        )  # fmt: skip
        return False
    from gpusched_dsl.language.text.lookalikes import INVISIBLE

    hidden = [
        (int(row), label) for row, label in zip(rows, written, strict=True) if INVISIBLE.search(label) is not None
    ]
    if hidden:
        row, label = hidden[0]
        from gpusched_dsl.language.text.lookalikes import spell

        message = f"element `{spell(label)}` of `{checked.name}` contains an invisible letter"
        if len(hidden) > 1:
            message = f"{len(hidden)} elements of `{checked.name}` contain invisible letters, such as `{spell(label)}`"
        diagnostics.error(
            "GSM2062", message, stack.place(row), secondary=[declaration_label(checked)],
            help="remove it, unless all files that name this element have it", severity=Severity.WARNING,
        )  # fmt: skip
    return True


def _report_mixed(checked: CheckedSet, chunks: Sequence[ColumnChunk], diagnostics: Diagnostics) -> bool:
    within = next((chunk for chunk in chunks if chunk.mixed is not None), None)
    if within is not None:
        assert within.mixed is not None
        places = within.origin.place(within.mixed, 0), within.origin.place(0, 0)
    else:
        typed = [chunk for chunk in chunks if chunk.typed and len(chunk.keys[0])]
        kinds = [is_text(chunk.keys[0]) for chunk in typed]
        if len(set(kinds)) < 2:
            return False
        places = typed[kinds.index(not kinds[0])].origin.place(0, 0), typed[0].origin.place(0, 0)
    diagnostics.error(
        "GSM2111",
        f"the elements of `{checked.name}` are partly integers and partly text",
        places[0],
        secondary=[Label(places[1], "element of the other type"), declaration_label(checked)],
        help="quote the integers to make all elements text",
    )
    return True


class _Repeat(Struct, frozen=True):
    text: str
    place: Place
    earlier: Place


def _report_repeated(checked: CheckedSet, repeats: list[_Repeat], count: int, diagnostics: Diagnostics) -> None:
    head, *rest = repeats
    message = f"`{head.text}` occurs twice among the elements of `{checked.name}`"
    if count > 1:
        message = f"{count} elements of `{checked.name}` are repeated, such as `{head.text}`"
    diagnostics.error(
        "GSM2110",
        message,
        head.place,
        secondary=[Label(head.earlier, "first given here"), declaration_label(checked)],
        notes=examples([f"`{r.text}` ({place_text(r.place)}), first {place_text(r.earlier)}" for r in rest], count - 1),
        help=f"if rows may repeat, write `{checked.name} = distinct(...);` in the data statement",
    )


def bind_set(
    checked: CheckedSet,
    components: Sequence[Component],
    chunks: Sequence[ColumnChunk],
    diagnostics: Diagnostics,
    within: Enclosing | None = None,
) -> Domain | None:
    """The tuples of a set given by data, in the order given.

    None after a finding: GSM2103 unknown label, GSM2107 empty cell, GSM2110 repeated tuple, GSM2112 tuple not in
    `within`, GSM2115 nothing given.
    """
    if not chunks:
        report_nothing(checked, diagnostics)
        return None
    sound = True
    rows: list[Codes] = []
    parts: list[tuple[Codes, ...]] = []
    for chunk in chunks:
        coded = [encode(series, component) for series, component in zip(chunk.keys, components, strict=True)]
        is_known: Bools = np.ones(len(chunk.keys[0]), dtype=np.bool_)
        for at, column in enumerate(coded):
            if not column.has_value.all():
                report_empty_keys(checked, chunk, at, ~column.has_value, diagnostics)
            unknown = column.has_value & ~column.is_known
            if unknown.any():
                report_unknown_keys(checked, chunk, at, components[at], unknown, diagnostics)
            is_known &= column.is_known
        sound &= bool(is_known.all())
        rows.append(np.flatnonzero(is_known))
        parts.append(tuple(column.codes[rows[-1]] for column in coded))
    stack = _Stack.of(chunks, rows)
    none = np.empty(0, dtype=np.int64)
    columns = tuple(np.concatenate([none, *(part[at] for part in parts)]) for at in range(len(components)))
    if within is not None:
        sound &= _check_within(checked, components, columns, stack, within, diagnostics)
    first, earlier = first_rows(columns)
    wrong = np.flatnonzero(~first & ~stack.may_repeat()) if chunks else none
    if len(wrong):
        repeats = [
            _Repeat(tuple_text(components, columns, at), stack.place(at), stack.place(int(earlier[at])))
            for at in wrong[:SHOWN].tolist()
        ]
        _report_repeated(checked, repeats, len(wrong), diagnostics)
        sound = False
    if not sound:
        return None
    return TupleDomain(tuple(components), tuple(column[first] for column in columns))


def first_rows(columns: Sequence[Codes]) -> tuple[Bools, Codes]:
    """Which rows are the first of their kind, and for every row which one is."""
    keys = row_keys(columns)
    ordered = np.sort(keys)
    if (ordered[1:] != ordered[:-1]).all():  # in a fraction of the time, and most often the case
        return np.ones(len(keys), dtype=np.bool_), np.arange(len(keys))
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    earlier: Codes = first[inverse]
    return earlier == np.arange(len(earlier)), earlier


def row_keys(columns: Sequence[Codes]) -> Codes:
    """One integer per row, equal exactly where the rows are."""
    try:
        return Packing.of(columns).keys(columns)
    except OverflowError:
        key: Codes = np.zeros(len(columns[0]), dtype=np.int64)
        for column in columns:  # dense numbers stay below the number of rows, so their products fit
            digits, digit = np.unique(column, return_inverse=True)
            _, key = np.unique(key * len(digits) + digit, return_inverse=True)
        return key


def _check_within(
    checked: CheckedSet,
    components: Sequence[Component],
    columns: Sequence[Codes],
    stack: _Stack,
    within: Enclosing,
    diagnostics: Diagnostics,
) -> bool:
    wrong = np.flatnonzero(within.locate(columns) < 0) if len(stack.row_of) else stack.row_of
    if not len(wrong):
        return True
    shown = [f"{tuple_text(components, columns, at)} ({place_text(stack.place(at))})" for at in wrong[:SHOWN].tolist()]
    head = tuple_text(components, columns, int(wrong[0]))
    message = f"{head} of `{checked.name}` is not in the set that contains `{checked.name}`"
    if len(wrong) > 1:
        message = f"{len(wrong)} elements of `{checked.name}` are not in the set that contains it, such as {head}"
    secondary = (
        [declaration_label(checked)]
        if checked.within is None
        else [Label(checked.within.span, "elements must be in this set")]
    )
    diagnostics.error(
        "GSM2112", message, stack.place(int(wrong[0])), secondary=secondary, notes=examples(shown[1:], len(wrong) - 1)
    )
    return False
