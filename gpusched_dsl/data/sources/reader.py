"""Reads the values of a scenario: tables and files to chunks. Each file is read once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct, field

from gpusched_dsl.data.chunks import ColumnChunk, FileOrigin, MatrixOrigin, TableOrigin, TextOrigin, first_mixed_row
from gpusched_dsl.data.sources.files import DataFile, Fault, FileColumns, FileLimits, Unreadable, locate
from gpusched_dsl.data.sources.untyped import column_of
from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import Assignment, FileAssignment, MatrixAssignment, TableAssignment
from gpusched_dsl.language.scenarios.formats import Use
from gpusched_dsl.language.source import Span

if TYPE_CHECKING:
    from gpusched_dsl.data.sources.formatted import FormattedFile
    from gpusched_dsl.language.calendar import Calendar

# A file and which of its tables is read, or how; what a generator draws has no path.
_FileKey = tuple[Path | None, str | Use | None]


class FileReader(Struct, eq=False):
    """Reads the files of one scenario, each once and only the columns that are used.

    `folder` stands for the folder of texts that are no file. `roots` has, for a text, the folder that its paths may
    not leave, unless it is its own. `hashes` has the SHA-256 of every file read, by the name the author wrote, and of
    every table drawn, by its generator with all options. `notes` list what formats skipped, and slots that begin at
    another time than the `calendar`, if the scenario states one.
    """

    folder: Path
    limits: FileLimits = field(default_factory=FileLimits)
    roots: Mapping[Path, Path | None] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    notes: Diagnostics = field(default_factory=Diagnostics)
    calendar: Calendar | None = None
    _formatted: dict[_FileKey, FormattedFile | None] = field(default_factory=dict)
    _wanted: dict[_FileKey, dict[str, Span]] = field(default_factory=dict)
    _data_files: dict[tuple[Path, str], DataFile | Fault] = field(default_factory=dict)
    _read: dict[_FileKey, FileColumns | None] = field(default_factory=dict)
    _attempted: dict[_FileKey, set[str]] = field(default_factory=dict)

    def expect(self, assignments: Iterable[Assignment]) -> None:
        """Announce the columns that will be read, so that one pass over a file reads all of them."""
        for assignment in assignments:
            if isinstance(assignment, FileAssignment) and assignment.use is None:
                assert isinstance(assignment.data, tree.Data)
                data_file = self.locate(assignment.data)
                if isinstance(data_file, DataFile):
                    self._want(data_file, assignment)

    def read(self, assignment: FileAssignment, diagnostics: Diagnostics) -> FileColumns | None:
        """Return the file of an assignment with at least its columns; None after an error, reported once per file."""
        from gpusched_dsl.data.sources.tables import read_data_file

        if assignment.use is not None:
            return self._by_format(assignment, assignment.use, diagnostics)
        assert isinstance(assignment.data, tree.Data)
        data_file = self._locate_or_report(assignment.data, diagnostics)
        if data_file is None:
            return None
        key = (data_file.path, _table(assignment.data))
        wanted = self._want(data_file, assignment)
        attempted = self._attempted.setdefault(key, set())
        if not wanted.keys() <= attempted and self._read.get(key, wanted) is not None:
            attempted.update(wanted)
            self._read[key] = None
            remaining: Mapping[str, Span] | None = wanted
            while remaining is not None:
                try:
                    self._read[key] = file = read_data_file(data_file, key[1], list(remaining), self.limits)
                    self._remember(file.name, file.sha256, data_file)
                    break
                except Unreadable as error:
                    remaining = _report_lost(error.faults, assignment.data, remaining, diagnostics)
        content = self._read.get(key)
        columns = {*assignment.keys, assignment.value} - {None}
        return content if content is not None and columns <= content.columns.keys() else None

    def forget(self) -> None:
        """Free the read data, which is already bound; hashes and notes stay."""
        self._formatted.clear()
        self._read.clear()
        self._attempted.clear()

    def _by_format(self, assignment: FileAssignment, use: Use, diagnostics: Diagnostics) -> FileColumns | None:
        """Read a format or draw a generator, once for all equal statements."""
        data_file, data = None, assignment.data
        if isinstance(data, tree.Data):
            data_file = self._locate_or_report(data, diagnostics)
            if data_file is None:
                return None
        key: _FileKey = (None if data_file is None else data_file.path, use)
        wanted = {k.column: k.span for k in assignment.item.keys} | {c.name: c.span for c in assignment.item.columns}
        try:
            if key not in self._formatted:
                from gpusched_dsl.data.sources.formatted import (
                    draw,
                    read_with_format,
                    report_dropped,
                    report_other_start,
                )

                self._formatted[key] = None
                read = draw(use) if data_file is None else read_with_format(use, data_file, self.limits)
                self._formatted[key] = read
                self._remember(read.file.name, read.file.sha256, data_file)
                report_dropped(read, use, data, self.notes)
                if self.calendar is not None:
                    report_other_start(read, use, data, self.calendar, self.notes)
            formatted = self._formatted[key]
            return None if formatted is None else formatted.columns(list(wanted))
        except Unreadable as error:
            statement = data.path.span if isinstance(data, tree.Data) else data.generator.span
            settings = {argument.name.text: argument.value.span for argument in data.options}
            _report(error.faults, statement, None, wanted, diagnostics, settings)
            return None

    def _locate_or_report(self, data: tree.Data, diagnostics: Diagnostics) -> DataFile | None:
        data_file = self.locate(data)
        if isinstance(data_file, DataFile):
            return data_file
        diagnostics.error(data_file.code, data_file.message, data.path.span, notes=data_file.notes, help=data_file.help)
        return None

    def _remember(self, name: str, sha256: str, data_file: DataFile | None) -> None:
        """Record the hash of the data, by its name or, if two files have the same name, by its path."""
        name = name if data_file is None else data_file.name  # of a database, not of one of its tables
        same = self.hashes.get(name, sha256) == sha256
        self.hashes[name if same or data_file is None else str(data_file.path)] = sha256

    def locate(self, data: tree.Data) -> DataFile | Fault:
        """Return the file of a statement, or why it cannot be read; nothing is read."""
        source = data.path.span.source.path
        base = self.folder if source is None else source.parent
        key = (source or base, data.path.value)
        if key not in self._data_files:
            try:
                root = None if source is None else self.roots.get(source)
                found = locate(base, data.path.value, self.limits, root)
                self._data_files[key] = DataFile(found.path, _name_beside(data.path))
            except Unreadable as error:
                self._data_files[key] = error.faults[0]
        return self._data_files[key]

    def _want(self, data_file: DataFile, assignment: FileAssignment) -> dict[str, Span]:
        assert isinstance(assignment.data, tree.Data)
        wanted = self._wanted.setdefault((data_file.path, _table(assignment.data)), {})
        for key in assignment.item.keys:
            wanted.setdefault(key.column, key.span)
        for column in assignment.item.columns:
            wanted.setdefault(column.name, column.span)
        return wanted


def _name_beside(path: tree.Text) -> str:
    """Return the name of a data file in diagnostics: its path relative to the name of the text."""
    source = path.span.source
    return (
        path.value if source.path is None else os.path.normpath(os.path.join(os.path.dirname(source.name), path.value))
    )


def _table(data: tree.Data) -> str | None:
    return None if data.table is None else data.table.value


def _report(
    faults: Iterable[Fault],
    path: Span,
    table: Span | None,
    wanted: Mapping[str, Span],
    diagnostics: Diagnostics,
    settings: Mapping[str, Span] = MappingProxyType({}),
) -> None:
    """Report faults at their cells, or at the part of the statement that asks for what is missing."""
    for fault in faults:
        statement = wanted.get(fault.column or "", table if fault.code == "GSM2016" and table else path)
        if fault.option is not None and fault.option[0] in settings:
            statement = _part_of(settings[fault.option[0]], fault.option[1])
        secondary = [Label(statement, "read for this")] if fault.cell is not None else []
        diagnostics.error(
            fault.code, fault.message, fault.cell or statement, secondary=secondary, notes=fault.notes, help=fault.help
        )


def _part_of(span: Span, text: str) -> Span:
    """Return the first place of a text within a span; the span if it is not there."""
    at = span.text.find(text) if text else -1
    return span if at < 0 else Span(span.source, span.start + at, span.start + at + len(text))


def _report_lost(
    faults: Sequence[Fault], data: tree.Data, wanted: Mapping[str, Span], diagnostics: Diagnostics
) -> dict[str, Span] | None:
    """Report the faults of a file; return the columns without faults, None if the complete file is at fault."""
    table = None if data.table is None else data.table.span
    _report(faults, data.path.span, table, wanted, diagnostics)
    lost = {fault.column for fault in faults}
    if None in lost or not lost <= wanted.keys():
        return None
    return {column: span for column, span in wanted.items() if column not in lost}


def chunk_of(assignment: FileAssignment, file: FileColumns, diagnostics: Diagnostics) -> ColumnChunk | None:
    """The keys and values of an item of a data statement, from its file; None after an error (GSM2030)."""
    from gpusched_dsl.data.sources.tables import is_text

    keys = tuple(file.columns[key] for key in assignment.keys)
    values = None if assignment.value is None else file.columns[assignment.value]
    origin = FileOrigin(assignment.span, file, assignment.keys, assignment.value)
    typed = assignment.use is not None or not (
        isinstance(assignment.data, tree.Data) and is_text(assignment.data.path.value)
    )
    chunk = ColumnChunk(keys, values, origin, assignment.factor, assignment.function, assignment.distinct, typed=typed)
    if not any(assignment.slots):
        return chunk
    from gpusched_dsl.data.slot_keys import with_slot_keys

    try:
        return with_slot_keys(chunk, assignment.slots, file, assignment.keys)
    except Unreadable as error:
        _report(error.faults, assignment.item.keys[0].span.to(assignment.item.keys[-1].span), None, {}, diagnostics)
        return None


def read_table(assignment: TableAssignment) -> ColumnChunk:
    """Read one column of an inline table with its keys, or only its keys."""
    cells, width = assignment.table.cells, assignment.width
    keys = [[cell.label for cell in cells[k::width]] for k in range(assignment.keys)]
    values = None
    if assignment.column is not None:
        column = cells[assignment.keys + assignment.column :: width]
        values = column_of([cell.label if assignment.labels else cell.value for cell in column])
    mixed = first_mixed_row([isinstance(label, str) for label in keys[0]])
    return ColumnChunk(tuple(map(column_of, keys)), values, TableOrigin(assignment), assignment.factor, mixed=mixed)


def read_matrix(assignment: MatrixAssignment) -> ColumnChunk:
    """Read the values of a matrix row by row with their keys, or the labels of its rows or columns for a set."""
    matrix, width = assignment.matrix, assignment.width
    columns = [column.label for column in matrix.columns]
    lines = len(matrix.cells) // width
    keys: list[list[str | int | None]] = []
    for source in assignment.components:
        if not isinstance(source, int):
            keys.append([source.label] * (lines * len(columns)))
        elif source == assignment.rows:
            keys.append(columns * lines if assignment.values else columns)
        else:
            labels = [cell.label for cell in matrix.cells[source::width]]
            keys.append([label for label in labels for _ in columns] if assignment.values else labels)
    values = None
    if assignment.values:
        cells = [cell for at, cell in enumerate(matrix.cells) if at % width >= assignment.rows]
        values = column_of([cell.label if assignment.labels else cell.value for cell in cells])
    mixed = first_mixed_row([isinstance(label, str) for label in keys[0]])
    return ColumnChunk(tuple(map(column_of, keys)), values, MatrixOrigin(assignment), assignment.factor, mixed=mixed)


def read_set_cells(given: TableAssignment) -> ColumnChunk:
    """Read the elements of an indexed set in the cells of a column, with their keys."""
    assert given.column is not None
    rows: list[tuple[str | int | None, ...]] = []
    spans: list[Span] = []
    for start in range(0, len(given.table.cells), given.width):
        keys = given.table.cells[start : start + given.keys]
        cell = given.table.cells[start + given.keys + given.column]
        for item in cell.items if isinstance(cell, tree.SetCell) else ():
            rows.append((*(key.label for key in keys), item.label))
            spans.append(item.span)
    columns = list(zip(*rows, strict=True)) if rows else [()] * (given.keys + 1)
    return ColumnChunk(tuple(map(column_of, columns)), None, TextOrigin(given.span, tuple(spans)))
