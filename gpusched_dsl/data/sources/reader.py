"""Reads the values of a scenario: tables and files to chunks. Each file is read once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpusched_dsl.data.chunks import ColumnChunk, FileOrigin, MatrixOrigin, TableOrigin, first_mixed
from gpusched_dsl.data.sources.files import Fault, FileColumns, FileLimits, Located, Unreadable, locate
from gpusched_dsl.data.sources.formatted import Formatted, draw, read_formatted, report_dropped
from gpusched_dsl.data.sources.tables import is_text, read_located
from gpusched_dsl.data.sources.untyped import column_of
from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import Assignment, FileAssignment, MatrixAssignment, TableAssignment
from gpusched_dsl.language.scenarios.formats import Use
from gpusched_dsl.language.source import Span

# A file and which of its tables is read, or how; what a generator draws has no path.
_FileKey = tuple[Path | None, str | Use | None]


@dataclass(eq=False)
class FileReader:
    """Reads the files of one scenario, each once and only the columns that are used.

    `folder` stands for the folder of texts that are no file. `roots` tells for a text the folder that its paths may
    not leave, where that is not its own. `hashes` holds the SHA-256 of every file read, by the name the author wrote,
    and of every table drawn, by its generator with all options. `notes` tell what formats left out.
    """

    folder: Path
    limits: FileLimits = field(default_factory=FileLimits)
    roots: Mapping[Path, Path | None] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    notes: Diagnostics = field(default_factory=Diagnostics)
    _formatted: dict[_FileKey, Formatted | None] = field(default_factory=dict)
    _wanted: dict[_FileKey, dict[str, Span]] = field(default_factory=dict)
    _located: dict[tuple[Path, str], Located | Fault] = field(default_factory=dict)
    _read: dict[_FileKey, FileColumns | None] = field(default_factory=dict)
    _tried: dict[_FileKey, set[str]] = field(default_factory=dict)

    def expect(self, givens: Iterable[Assignment]) -> None:
        """Announce the columns that will be read, so that one pass over a file reads all of them."""
        for given in givens:
            if isinstance(given, FileAssignment) and given.use is None:
                assert isinstance(given.data, tree.Data)
                located = self._locate(given.data)
                if isinstance(located, Located):
                    self._want(located, given)

    def read(self, given: FileAssignment, diagnostics: Diagnostics) -> FileColumns | None:
        """The file of a given with at least its columns; None after a finding (reported once for each file)."""
        if given.use is not None:
            return self._by_format(given, given.use, diagnostics)
        assert isinstance(given.data, tree.Data)
        located = self._located_or_told(given.data, diagnostics)
        if located is None:
            return None
        key = (located.path, _table(given.data))
        wanted = self._want(located, given)
        tried = self._tried.setdefault(key, set())
        if not wanted.keys() <= tried and self._read.get(key, wanted) is not None:
            tried.update(wanted)
            self._read[key] = None
            left: Mapping[str, Span] | None = wanted
            while left is not None:
                try:
                    self._read[key] = file = read_located(located, key[1], list(left), self.limits)
                    self._remember(file.name, file.sha256, located)
                    break
                except Unreadable as error:
                    left = _report_lost(error.faults, given.data, left, diagnostics)
        known = self._read.get(key)
        columns = {*given.keys, given.value} - {None}
        return known if known is not None and columns <= known.columns.keys() else None

    def forget(self) -> None:
        """Free the read data, which is already bound; hashes and notes stay."""
        self._formatted.clear()
        self._read.clear()
        self._tried.clear()

    def _by_format(self, given: FileAssignment, use: Use, diagnostics: Diagnostics) -> FileColumns | None:
        """Read a format or draw a generator, once for all equal statements."""
        located, data = None, given.data
        if isinstance(data, tree.Data):
            located = self._located_or_told(data, diagnostics)
            if located is None:
                return None
        key: _FileKey = (None if located is None else located.path, use)
        wanted = {k.column: k.span for k in given.item.keys} | {c.name: c.span for c in given.item.columns}
        try:
            if key not in self._formatted:
                self._formatted[key] = None
                read = draw(use) if located is None else read_formatted(use, located, self.limits)
                self._formatted[key] = read
                self._remember(read.file.name, read.file.sha256, located)
                report_dropped(read, use, data, self.notes)
            known = self._formatted[key]
            return None if known is None else known.columns(list(wanted))
        except Unreadable as error:
            statement = data.path.span if isinstance(data, tree.Data) else data.generator.span
            _report(error.faults, statement, None, wanted, diagnostics)
            return None

    def _located_or_told(self, data: tree.Data, diagnostics: Diagnostics) -> Located | None:
        located = self._locate(data)
        if isinstance(located, Located):
            return located
        diagnostics.error(located.code, located.message, data.path.span, notes=located.notes, help=located.help)
        return None

    def _remember(self, name: str, sha256: str, located: Located | None) -> None:
        """Record the hash of the data, by its name or, if two files have the same name, by its path."""
        name = name if located is None else located.name  # of a database, not of one of its tables
        same = self.hashes.get(name, sha256) == sha256
        self.hashes[name if same or located is None else str(located.path)] = sha256

    def _locate(self, data: tree.Data) -> Located | Fault:
        source = data.path.span.source.path
        base = self.folder if source is None else source.parent
        key = (source or base, data.path.value)
        if key not in self._located:
            try:
                root = None if source is None else self.roots.get(source)
                found = locate(base, data.path.value, self.limits, root)
                self._located[key] = Located(found.path, _name_beside(data.path))
            except Unreadable as error:
                self._located[key] = error.faults[0]
        return self._located[key]

    def _want(self, located: Located, given: FileAssignment) -> dict[str, Span]:
        assert isinstance(given.data, tree.Data)
        wanted = self._wanted.setdefault((located.path, _table(given.data)), {})
        for key in given.item.keys:
            wanted.setdefault(key.column, key.span)
        for column in given.item.columns:
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
    faults: Iterable[Fault], path: Span, table: Span | None, wanted: Mapping[str, Span], diagnostics: Diagnostics
) -> None:
    for fault in faults:
        statement = wanted.get(fault.column or "", table if fault.code == "GSM2016" and table else path)
        secondary = [Label(statement, "read for this")] if fault.cell is not None else []
        diagnostics.error(
            fault.code, fault.message, fault.cell or statement, secondary=secondary, notes=fault.notes, help=fault.help
        )


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


def chunk_of(given: FileAssignment, file: FileColumns, diagnostics: Diagnostics) -> ColumnChunk | None:
    """The keys and values of an item of a data statement, from its file; None after a finding (GSM2030)."""
    keys = tuple(file.columns[key] for key in given.keys)
    values = None if given.value is None else file.columns[given.value]
    origin = FileOrigin(given.span, file, given.keys, given.value)
    typed = given.use is not None or not (isinstance(given.data, tree.Data) and is_text(given.data.path.value))
    chunk = ColumnChunk(keys, values, origin, given.factor, given.function, given.distinct, typed=typed)
    if not any(given.slots):
        return chunk
    from gpusched_dsl.data.slot_keys import in_slots

    try:
        return in_slots(chunk, given.slots, file, given.keys)
    except Unreadable as error:
        _report(error.faults, given.item.keys[0].span.to(given.item.keys[-1].span), None, {}, diagnostics)
        return None


def read_table(given: TableAssignment) -> ColumnChunk:
    """Read one column of an inline table with its keys, or only its keys."""
    cells, width = given.table.cells, given.width
    keys = [[cell.label for cell in cells[k::width]] for k in range(given.keys)]
    values = None
    if given.column is not None:
        column = cells[given.keys + given.column :: width]
        values = column_of([cell.label if given.labels else cell.value for cell in column])
    mixed = first_mixed([isinstance(label, str) for label in keys[0]])
    return ColumnChunk(tuple(map(column_of, keys)), values, TableOrigin(given), given.factor, mixed=mixed)


def read_matrix(given: MatrixAssignment) -> ColumnChunk:
    """Read the values of a matrix row by row with their keys, or the labels of its rows or columns for a set."""
    matrix, width = given.matrix, given.width
    columns = [column.label for column in matrix.columns]
    lines = len(matrix.cells) // width
    keys: list[list[str | int | None]] = []
    for source in given.components:
        if not isinstance(source, int):
            keys.append([source.label] * (lines * len(columns)))
        elif source == given.rows:
            keys.append(columns * lines if given.values else columns)
        else:
            labels = [cell.label for cell in matrix.cells[source::width]]
            keys.append([label for label in labels for _ in columns] if given.values else labels)
    values = None
    if given.values:
        cells = [cell for at, cell in enumerate(matrix.cells) if at % width >= given.rows]
        values = column_of([cell.label if given.labels else cell.value for cell in cells])
    mixed = first_mixed([isinstance(label, str) for label in keys[0]])
    return ColumnChunk(tuple(map(column_of, keys)), values, MatrixOrigin(given), given.factor, mixed=mixed)
