"""Folding: blocks, statements of several lines, groups of comments."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from gsdsl_editor.document import Document
from gsdsl_editor.fragments import end_in_file, start_in_file


def folding_ranges(document: Document) -> list[types.FoldingRange]:
    """The parts of a document that can be folded, in the order of their first lines."""
    found = {(line, last): None for line, last in _blocks_and_statements(document) if last > line}
    folds = [types.FoldingRange(line, last) for line, last in found]
    folds += [types.FoldingRange(a, b, kind=types.FoldingRangeKind.Comment) for a, b in _comments(document)]
    return sorted(folds, key=lambda fold: (fold.start_line, -fold.end_line))


def _blocks_and_statements(document: Document) -> Iterator[tuple[int, int]]:
    line = document.positions.position
    for extent in document.parsed.extents:
        yield line(extent.start).line, line(extent.end).line
        for statement in getattr(extent.block, "statements", ()):
            yield line(start_in_file(statement.span)).line, line(end_in_file(statement.span)).line


def _comments(document: Document) -> Iterator[tuple[int, int]]:
    """Two or more lines in a row that have only comments."""
    first = last = -2
    for chunk in document.parsed.chunks:
        for comment in chunk.comments:
            start = start_in_file(comment)
            place = document.positions.position(start)
            if document.text[start - place.character : start].strip():
                continue
            if place.line != last + 1:
                if last > first:
                    yield first, last
                first = place.line
            last = place.line
    if last > first:
        yield first, last
