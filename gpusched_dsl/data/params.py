"""Chunks to the values of a parameter over its domain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from gpusched_dsl.data.chunks import ColumnChunk, DataChunk, Place, TextOrigin, ValueChunk, label_chunk
from gpusched_dsl.data.labels import encode, has_values, numbers, scale
from gpusched_dsl.data.reports import (
    SHOWN,
    declaration_label,
    examples,
    key_text,
    keys_at,
    place_text,
    report_empty_keys,
    report_nothing,
    report_unknown_keys,
)
from gpusched_dsl.data.sources.cells import check_kind, read_values
from gpusched_dsl.data.sources.untyped import column_of
from gpusched_dsl.ir.arrays import Bools, Codes, Values
from gpusched_dsl.ir.domains import Domain, decode
from gpusched_dsl.language.checked import CheckedParam, Element, TextType
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span

_NO_POSITIONS = np.empty(0, dtype=np.int64)
EXCLUSIVE = "make their conditions exclude each other"
ANY_VALUE = ("real", "symbol")  # kinds of parameters that take every number or text


class _ChunkRows(Struct, frozen=True, eq=False):
    """The rows of one chunk that count: their positions in the domain, their rows in the chunk, their values.

    `blank` are the rows whose key is right and whose value is not given, `blank_positions` their positions.
    """

    chunk: ColumnChunk
    positions: Codes
    rows: Codes
    values: Values
    blank: Codes
    blank_positions: Codes

    def blank_at(self, position: int) -> Place | None:
        """The place of an empty cell for a position of the domain."""
        rows = self.blank[self.blank_positions == position]
        return self.chunk.origin.place(int(rows[0])) if len(rows) else None


class ParamOrigin(Struct, frozen=True, eq=False):
    """The source of each value of a parameter, as one array of positions for each chunk."""

    declaration: Span
    parts: tuple[_ChunkRows, ...]
    everywhere: Span | None
    patches: dict[int, Span]

    def place(self, position: int) -> Place:
        """The place of the value at a position; the declaration where it is the default."""
        if position in self.patches:
            return self.patches[position]
        found = _place_in(self.parts, position)
        return found or (self.declaration if self.everywhere is None else self.everywhere)


class BoundParam(Struct, frozen=True, eq=False):
    """`values` in the order of the domain: float64 in the declared unit, int64 codes for an element-valued parameter,
    an object array of strings for a symbol. `origin` is None for a derived parameter.

    `sound` is false after a finding: a number without a sound value is NaN then.
    """

    values: Values
    origin: ParamOrigin | None = None
    sound: bool = True


def bind_param(
    checked: CheckedParam,
    domain: Domain,
    chunks: Sequence[DataChunk],
    default: Values | None,
    diagnostics: Diagnostics,
    within: Domain | None = None,
) -> BoundParam:
    """The values of a parameter from all that is given for it.

    `default`: values over the complete domain for keys without one, or None when every key needs a value.
    `within`: for an element-valued parameter the set of the values it may take.
    Reports GSM2101 missing, GSM2102 duplicate, GSM2103 key not in the index set, GSM2104 mistyped, GSM2105 NaN,
    GSM2106 infinite, GSM2107 empty key, GSM2108 unknown element, GSM2112 element not in `within`,
    GSM2113 not integer, GSM2114 not binary, GSM2115 nothing given.
    """
    before = diagnostics.errors
    dtype = _dtype(checked)
    blank = np.nan if dtype is np.float64 else 0
    values: Values = np.full(domain.size, blank, dtype=dtype) if default is None else default.astype(dtype)
    if default is None and domain.size and not chunks:
        report_nothing(checked, diagnostics)
        return BoundParam(values, sound=False)
    filled = np.full(domain.size, default is not None)
    everywhere: Span | None = None
    single_keys: list[ValueChunk] = []
    parts: list[_ChunkRows] = []
    formulas: list[ColumnChunk] = []
    many_keys: list[ColumnChunk] = []
    for chunk in chunks:
        if isinstance(chunk, ColumnChunk) and chunk.level is not None:
            (many_keys if chunk.single_keys else formulas).append(chunk)
        elif isinstance(chunk, ColumnChunk):
            parts.append(_read_part(checked, domain, chunk, within, filled, diagnostics))
        elif chunk.labels is not None:
            single_keys.append(chunk)
        else:
            everywhere = chunk.span
            filled[:] = True
            values[:] = _single_value(checked, chunk, within, diagnostics)
    counts = np.bincount(np.concatenate([_NO_POSITIONS, *(p.positions for p in parts)]), minlength=domain.size)
    if counts.max(initial=0) > 1:
        _report_duplicates(checked, domain, parts, counts, diagnostics)
    for part in parts:
        values[part.positions] = part.values
    patches: dict[int, ValueChunk] = {}
    for level in sorted({0, *(s.level for s in single_keys), *(f.level or 0 for f in (*formulas, *many_keys))}):
        for columns, help in ((formulas, EXCLUSIVE), (many_keys, "keep one of them")):
            own = [_read_part(checked, domain, c, within, filled, diagnostics) for c in columns if c.level == level]
            if columns is many_keys or len(own) > 1:
                _report_overlap(checked, domain, own, diagnostics, help)
            for part in own:
                values[part.positions] = part.values
                if patches:
                    replaced = set(part.positions.tolist())
                    patches = {at: patch for at, patch in patches.items() if at not in replaced}
            parts[:0] = own
        for single in single_keys:
            position = _patch_position(checked, domain, single, diagnostics) if single.level == level else None
            if position is None:
                continue
            earlier = patches.get(position)
            same_level = earlier.span if earlier is not None and earlier.level == level else None
            _report_patched_twice(checked, same_level or _place_in(own, position), single, diagnostics)
            patches[position] = single
            filled[position] = True
            values[position] = _single_value(checked, single, within, diagnostics)
    if not filled.all():
        _report_missing(checked, domain, filled, chunks, parts, diagnostics)
    sound = diagnostics.errors == before
    origin = ParamOrigin(checked.span, tuple(parts), everywhere, {at: patch.span for at, patch in patches.items()})
    return BoundParam(values, origin, sound)


def _dtype(checked: CheckedParam) -> type:
    if isinstance(checked.type, Element):
        return np.int64
    return object if isinstance(checked.type, TextType) else np.float64


def _read_part(
    checked: CheckedParam,
    domain: Domain,
    chunk: ColumnChunk,
    within: Domain | None,
    filled: Bools,
    diagnostics: Diagnostics,
) -> _ChunkRows:
    """Read one chunk; marks in `filled` every key that has a value, be it a wrong one (which is reported as such)."""
    assert chunk.values is not None
    positions = positions_of(checked, domain, chunk, diagnostics)
    has_value = has_values(chunk.values)
    is_placed = has_value & (positions >= 0)
    filled[positions[is_placed]] = True
    values: Values = np.ones(len(is_placed))
    sound = is_placed
    if chunk.function != "count":
        cells = read_values(checked, chunk, within, diagnostics)
        values, sound = cells.values, is_placed & cells.sound
    blank = np.flatnonzero(~has_value & (positions >= 0))
    blank_positions = positions[blank]
    rows = np.flatnonzero(sound)
    positions, values = positions[rows], values[rows]
    if chunk.function is not None:
        weights = None if chunk.weights is None else chunk.weights[rows]
        from gpusched_dsl.data.aggregates import aggregate

        positions, rows, values = aggregate(chunk.function, positions, rows, values, weights)
    if chunk.factor != 1 and values.dtype == np.float64:
        values = scale(values, chunk.factor)
    if checked.kind not in ANY_VALUE:
        check_kind(checked, chunk, rows, values, within, diagnostics)
    return _ChunkRows(chunk, positions, rows, values, blank, blank_positions)


def _single_value(
    checked: CheckedParam, single: ValueChunk, within: Domain | None, diagnostics: Diagnostics
) -> float | int | str:
    """Return a value of an expression, checked like one from a file; errors have been reported."""
    series = column_of([single.value])
    chunk = ColumnChunk((), series, TextOrigin(single.span))
    cells = read_values(checked, chunk, within, diagnostics)
    rows = np.flatnonzero(cells.sound)
    if checked.kind not in ANY_VALUE:
        check_kind(checked, chunk, rows, cells.values[rows], within, diagnostics)
    value: float | int | str = cells.values[0]
    return value


def positions_of(checked: CheckedParam, domain: Domain, chunk: ColumnChunk, diagnostics: Diagnostics) -> Codes:
    """The position of each row's key, -1 where it has none (which has been reported)."""
    if domain.arity == 0:
        assert chunk.values is not None
        return np.zeros(len(chunk.values), dtype=np.int64)
    if chunk.codes is not None:
        positions = domain.locate(chunk.codes)
        _report_outside(checked, domain, chunk, chunk.codes, np.flatnonzero(positions < 0), diagnostics)
        return positions
    coded = [encode(series, component) for series, component in zip(chunk.keys, domain.components, strict=True)]
    outside = rows_outside(chunk, domain) if chunk.windows else np.zeros(len(chunk.keys[0]), dtype=np.bool_)
    is_known: Bools = ~outside
    for at, column in enumerate(coded):
        if not column.has_value.all():
            report_empty_keys(checked, chunk, at, ~column.has_value, diagnostics)
        unknown = column.has_value & ~column.is_known & ~outside
        if unknown.any():
            report_unknown_keys(checked, chunk, at, domain.components[at], unknown, diagnostics)
        is_known &= column.is_known
    if is_known.all():
        positions = domain.locate([column.codes for column in coded])
    else:
        rows = np.flatnonzero(is_known)
        positions = np.full(len(is_known), -1, dtype=np.int64)
        positions[rows] = domain.locate([column.codes[rows] for column in coded])
    extra = np.flatnonzero(is_known & (positions < 0))
    _report_outside(checked, domain, chunk, [column.codes for column in coded], extra, diagnostics)
    return positions


def rows_outside(chunk: ColumnChunk, domain: Domain) -> Bools:
    """Return the rows with a slot before the first or after the last one of the domain."""
    outside: Bools = np.zeros(len(chunk.keys[0]), dtype=np.bool_)
    for at in chunk.windows:
        codes, component = domain.columns()[at], domain.components[at]
        labels = codes if component is None else component.integer_labels
        if labels is None or not len(codes):
            continue
        there = labels if component is None else labels[codes]
        found = numbers(chunk.keys[at])
        outside |= found.has_value & ((found.values < there.min()) | (found.values > there.max()))
    return outside


def _report_outside(
    checked: CheckedParam,
    domain: Domain,
    chunk: ColumnChunk,
    codes: Sequence[Codes],
    extra: Codes,
    diagnostics: Diagnostics,
) -> None:
    if len(extra):
        labels = decode(domain.components, [column[extra[:SHOWN]] for column in codes])
        _report_extra(checked, chunk, extra, [key_text(checked.name, key) for key in labels], diagnostics)


def _report_extra(
    checked: CheckedParam, chunk: ColumnChunk, rows: Codes, keys: list[str], diagnostics: Diagnostics
) -> None:
    places = [chunk.origin.place(row, 0) for row in rows[:SHOWN].tolist()]
    message = f"`{keys[0]}` is outside the index set of `{checked.name}`"
    if len(rows) > 1:
        message = f"{len(rows)} keys are outside the index set of `{checked.name}`, such as `{keys[0]}`"
    shown = [f"`{key}` ({place_text(place)})" for key, place in zip(keys[1:], places[1:], strict=True)]
    index_set = checked.indexing.iterators[0].span.to(checked.indexing.iterators[-1].span)
    diagnostics.error(
        "GSM2103",
        message,
        places[0],
        "each label is known, but this combination is not in the index set",
        secondary=[Label(chunk.origin.statement, "given here"), Label(index_set, "the index set")],
        notes=examples(shown, len(rows) - 1),
    )


def _report_duplicates(
    checked: CheckedParam,
    domain: Domain,
    parts: list[_ChunkRows],
    counts: Codes,
    diagnostics: Diagnostics,
    help: str = "keep one row per key, or use an aggregate such as `mean(column)`",
) -> None:
    twice = np.flatnonzero(counts > 1)
    shown = [_two_places(parts, position) for position in twice[:SHOWN].tolist()]
    keys = keys_at(checked.name, domain, twice[:SHOWN].tolist())
    message = f"`{keys[0]}` is given {counts[twice[0]]} times"
    if len(twice) > 1:
        message = f"{len(twice)} values of `{checked.name}` are given more than once, such as `{keys[0]}`"
    notes = [
        f"`{key}` ({place_text(second)}), first {place_text(first)}"
        for key, (first, second) in zip(keys[1:], shown[1:], strict=True)
    ]
    diagnostics.error(
        "GSM2102",
        message,
        shown[0][1],
        secondary=[Label(shown[0][0], "first given here"), declaration_label(checked)],
        notes=examples(notes, len(twice) - 1),
        help=help,
    )


def _report_overlap(
    checked: CheckedParam, domain: Domain, parts: list[_ChunkRows], diagnostics: Diagnostics, help: str
) -> None:
    """Report (GSM2102) the keys that two formulas of one scenario, or two settings, give."""
    counts = np.bincount(np.concatenate([_NO_POSITIONS, *(p.positions for p in parts)]), minlength=domain.size)
    if counts.max(initial=0) > 1:
        _report_duplicates(checked, domain, parts, counts, diagnostics, help)


def _two_places(parts: list[_ChunkRows], position: int) -> tuple[Place, Place]:
    places: list[Place] = []
    for part in parts:
        rows = part.rows[part.positions == position][:2].tolist()
        places.extend(part.chunk.origin.place(row) for row in rows)
    return places[0], places[1]


def _place_in(parts: Sequence[_ChunkRows], position: int) -> Place | None:
    """The place of the value that one of the chunks has for a position."""
    for part in parts:
        at = np.flatnonzero(part.positions == position)
        if len(at):
            return part.chunk.origin.place(int(part.rows[at[0]]))
    return None


def _report_patched_twice(
    checked: CheckedParam, earlier: Place | None, patch: ValueChunk, diagnostics: Diagnostics
) -> None:
    if earlier is None:
        return
    assert patch.labels is not None
    diagnostics.error(
        "GSM2102",
        f"`{key_text(checked.name, patch.labels)}` is given 2 times",
        patch.span,
        secondary=[Label(earlier, "first given here"), declaration_label(checked)],
        help="keep one of them",
    )


def _patch_position(checked: CheckedParam, domain: Domain, patch: ValueChunk, diagnostics: Diagnostics) -> int | None:
    assert patch.labels is not None
    key = label_chunk([patch.labels], domain.arity, patch.span)
    keyed = ColumnChunk(key.keys, key.keys[0], key.origin)
    position = int(positions_of(checked, domain, keyed, diagnostics)[0])
    return position if position >= 0 else None


def _blank_place(parts: Sequence[_ChunkRows], position: int) -> Place | None:
    """Return the place of the empty cell for the value at a position, if there is one."""
    places = (part.blank_at(position) for part in parts)
    return next((place for place in places if place is not None), None)


def _report_missing(
    checked: CheckedParam,
    domain: Domain,
    filled: Bools,
    chunks: Sequence[DataChunk],
    parts: Sequence[_ChunkRows],
    diagnostics: Diagnostics,
) -> None:
    missing = np.flatnonzero(~filled)
    spans = [chunk.span if isinstance(chunk, ValueChunk) else chunk.origin.statement for chunk in chunks]
    assert spans, "nothing given has been reported"
    keys = keys_at(checked.name, domain, missing[: SHOWN + 1].tolist())
    message = f"`{keys[0]}` has no value"
    if len(missing) > 1:
        message = f"`{checked.name}` has no value for {len(missing)} of its {domain.size} keys, such as `{keys[0]}`"
    blanks = [_blank_place(parts, position) for position in missing[: len(keys)].tolist()]
    empty = [f" (empty: {place_text(place)})" if place is not None else "" for place in blanks]
    diagnostics.error(
        "GSM2101",
        message,
        blanks[0] or spans[0],
        "" if blanks[0] is None else "empty",
        secondary=[*([Label(spans[0], "given here")] if blanks[0] is not None else []), declaration_label(checked)],
        notes=examples([f"`{key}`{cell}" for key, cell in zip(keys[1:], empty[1:], strict=True)], len(missing) - 1),
        help="give the values, or state a `default` in the declaration",
    )
