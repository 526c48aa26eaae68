"""The values of a scenario: table columns, items of data statements, files read once."""

from __future__ import annotations

from pathlib import Path

import pytest
from binding_help import (
    a_set,
    only,
)

from gpusched_dsl.data.sets import bind_root_set
from gpusched_dsl.data.sources.reader import FileReader, chunk_of, read_table
from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import FileAssignment, TableAssignment
from gpusched_dsl.language.source import Source, Span

TEXT = """table Types: gpus price[$/h] = v1 4 0.2 1 8 . ;
data "a.csv" { time[job, kind] = hours; Jobs = job; cost[job] = price; }
"""


def table_given(source: Source, column: int | None) -> TableAssignment:
    def span(text: str, start: int = 0) -> Span:
        at = source.text.index(text, start)
        return source.span(at, at + len(text))

    body = source.text.index("=")
    cells: list[tree.TableCell] = []
    at = body + 1
    for text, value in (("v1", "v1"), ("4", 4.0), ("0.2", 0.2), ("1", 1.0), ("8", 8.0), (".", None)):
        cell = span(text, at)
        at = cell.end
        cells.append(tree.TableCell(span=cell, value=value))
    columns = tuple(
        tree.TableColumn(span=span(n), name=tree.Identifier(span=span(n), text=n)) for n in ("gpus", "price")
    )
    keys = (tree.Identifier(span=span("Types"), text="Types"),)
    table = tree.Table(span=source.span(0, body), keys=keys, columns=columns, cells=tuple(cells))
    return TableAssignment(target="price", span=table.span, table=table, keys=1, column=column)


def test_table_column(tmp_path: Path) -> None:
    source = Source("s.gsm", TEXT)
    found = Diagnostics()
    chunk = read_table(table_given(source, 1))
    assert chunk.values is not None
    assert chunk.values.to_list() == [0.2, None]
    assert chunk.keys[0].to_list() == ["v1", "1"]
    assert str(chunk.origin.place(0)) == "s.gsm:1:37"
    assert bind_root_set(a_set("Types"), [chunk], found) is None
    only(found, "GSM2111", "s.gsm:1:41")


def file_given(
    source: Source, target: str, keys: tuple[str, ...], value: str | None, path: str = "a.csv"
) -> FileAssignment:
    def span(text: str) -> Span:
        at = source.text.index(text)
        return source.span(at, at + len(text))

    item = tree.DataItem(
        span=span(f"{target}["),
        target=tree.Identifier(span=span(target), text=target),
        keys=tuple(tree.DataKey(span=span(k), column=k) for k in keys),
        columns=(tree.DataColumn(span=span(value), name=value),) if value else (),
    )
    data = tree.Data(span=span("data"), path=tree.Text(span=span('"a.csv"'), value=path), items=(item,))
    return FileAssignment(target=target, span=item.span, data=data, item=item, keys=keys, value=value)


def test_a_file_is_read_once_for_all_its_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("job,kind,hours,price\nj1,v1,2,3\n")
    source = Source("s.gsm", TEXT, tmp_path / "s.gsm")
    givens = [file_given(source, "time", ("job", "kind"), "hours"), file_given(source, "cost", ("job",), "price")]
    reader = FileReader(Path("/nowhere"))
    reader.expect(givens)
    calls = []
    import gpusched_dsl.data.sources.tables as reading

    original = reading.read_data_file
    monkeypatch.setattr(reading, "read_data_file", lambda *a: calls.append(a) or original(*a))
    found = Diagnostics()
    files = [reader.read(g, found) for g in givens]
    chunks = [chunk_of(g, f, found) for g, f in zip(givens, files, strict=True) if f is not None]
    assert len(calls) == 1
    assert not found
    assert [p.values.to_list() for p in chunks if p is not None and p.values is not None] == [["2"], ["3"]]
    assert list(reader.hashes) == ["a.csv"]


def test_columns_that_lack_are_told_and_the_others_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("job,hours,price\nj1,2,3\n")
    source = Source("s.gsm", TEXT, tmp_path / "s.gsm")
    givens = [file_given(source, "time", ("job", "kind"), "hours"), file_given(source, "cost", ("job",), "price")]
    reader = FileReader(Path("/nowhere"))
    reader.expect(givens)
    found = Diagnostics()
    assert reader.read(givens[0], found) is None
    assert reader.read(givens[1], found) is not None
    only(found, "GSM2011", "s.gsm:2:26")


def test_faults_inside_a_file_name_the_statement_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("job,kind,hours\nj1,v1\n")
    source = Source("s.gsm", TEXT)
    found = Diagnostics()
    given = file_given(source, "time", ("job", "kind"), "hours")
    reader = FileReader(tmp_path)
    assert reader.read(given, found) is None
    assert reader.read(given, found) is None
    only(found, "GSM2013", "a.csv:2")
    assert str(next(iter(found)).secondary[0].place) == "s.gsm:2:6"


def test_missing_file_is_told_at_its_path(tmp_path: Path) -> None:
    source = Source("s.gsm", TEXT)
    found = Diagnostics()
    assert FileReader(tmp_path).read(file_given(source, "time", ("job", "kind"), "hours"), found) is None
    only(found, "GSM2001", "s.gsm:2:6")
