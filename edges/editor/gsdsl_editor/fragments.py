"""Fragments: parts of a text that are parsed on their own, and keep their places when the text before them changes."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpusched_dsl.language.source import Source, Span


@dataclass(slots=True)
class FragmentOrigin:
    """The place of a fragment in its file: the offset of its first character, and the number of lines before it."""

    offset: int = 0
    lines: int = 0


@dataclass(frozen=True, eq=False)
class Fragment(Source):
    """A part of a file with the head and the end that make it a text of its own.

    Offsets of spans count from the start of that head. `origin` may be moved, so spans in a fragment stay valid while
    the author edits text before it. `first` and `last` bound the part of the fragment that is in the file.
    """

    first: int = 0
    last: int = 0
    origin: FragmentOrigin = field(default_factory=FragmentOrigin)

    def in_file(self, offset: int) -> int:
        """The offset in the file; a place in the added head or end becomes the first or last place of the part."""
        return self.origin.offset + min(max(offset, self.first), self.last) - self.first

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column in the file for the lines of the part, as far as the part begins its line."""
        line, column = Source.position(self, min(max(offset, self.first), self.last))
        head = self.text.count("\n", 0, self.first)
        return line - head + self.origin.lines, column


def start_in_file(span: Span) -> int:
    """The offset of the start of a span in its file."""
    source = span.source
    return source.in_file(span.start) if isinstance(source, Fragment) else span.start


def end_in_file(span: Span) -> int:
    """The offset of the end of a span in its file."""
    source = span.source
    return source.in_file(span.end) if isinstance(source, Fragment) else span.end
