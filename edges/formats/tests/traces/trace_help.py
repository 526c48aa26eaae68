"""Tables of formats from text, samples and the published files, without a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusched_dsl.data.formats.registry import reader
from gpusched_dsl.data.formats.separators import content_of
from gpusched_dsl.data.formats.shape import Dropped, FormatTable, Setting
from gpusched_dsl.data.sources.files import Fault, FileLimits, Unreadable

SAMPLES = Path(__file__).parent / "samples"
SHARED = Path(__file__).resolve().parents[5] / "shared" / "data"


def read_text(name: str, content: str | bytes, **options: Setting) -> FormatTable:
    """What a format makes of a file with this content; options that are not given have their defaults."""
    found = reader(name)
    known = {option.name: option.default for option in found.options}
    assert options.keys() <= known.keys()
    settings = {key: value for key, value in {**known, **options}.items() if value is not None}
    data = content.encode() if isinstance(content, str) else content
    table = found.read(content_of(found, "file", data, settings, FileLimits()), settings)
    check(name, table)
    return table


def read_file(name: str, path: Path, **options: Setting) -> FormatTable:
    return read_text(name, path.read_bytes(), **options)


def sample(name: str, file: str, **options: Setting) -> FormatTable:
    return read_file(name, SAMPLES / file, **options)


def shared(name: str, file: str, **options: Setting) -> FormatTable:
    """A file of the published data; the test is skipped where they are not."""
    if not SHARED.is_dir():
        pytest.skip("the published traces are not here")
    return read_file(name, SHARED / file, **options)


def check(name: str, table: FormatTable) -> None:
    """What holds for every table: columns of the format in its order, a line for each row, no row unaccounted for."""
    columns = [column.name for column in reader(name).columns]
    known = table.frame.columns
    if reader(name).open_columns:
        known = [c for c in known if c in columns]
    assert known == [c for c in columns if c in table.frame.columns]
    assert table.lines is not None
    assert len(table.lines) == table.frame.height
    out = sum(d.rows for d in (*table.dropped, *table.filtered))
    if name not in ("chronus_values", "tiresias_nodes"):  # a row of theirs gives several
        assert table.frame.height == table.rows - out
    for column in table.frame.iter_columns():
        if column.dtype.is_float():
            assert column.drop_nulls().is_finite().all(), column.name


def fault(name: str, content: str | bytes, **options: Setting) -> Fault:
    """The first thing wrong with a file as a whole."""
    with pytest.raises(Unreadable) as raised:
        read_text(name, content, **options)
    return raised.value.faults[0]


def reasons(dropped: tuple[Dropped, ...]) -> dict[str, tuple[int, int | None]]:
    return {d.reason: (d.rows, d.first) for d in dropped}


def first(table: FormatTable, row: int = 0) -> dict[str, object]:
    """One row without what is not given."""
    return {name: value for name, value in table.frame.row(row, named=True).items() if value is not None}
