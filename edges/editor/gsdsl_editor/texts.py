"""The texts of the server: open documents as the author edits them, and all other files as on the disk."""

from __future__ import annotations

from pathlib import Path

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Source, Span
from gpusched_dsl.language.source_files import Place, read_source
from gsdsl_editor.parsed_text import ParsedText, parse_text

Stamp = tuple[int, int]


class Texts:
    """Reads and parses the files of workspaces (`SourceFiles`); a file that has not changed is not parsed again."""

    def __init__(self) -> None:
        self._open: dict[Path, str] = {}
        self._parsed: dict[str, ParsedText] = {}
        self._read: dict[Path, tuple[Stamp, Source]] = {}

    def open(self, path: Path, text: str) -> None:
        """Take the text of an open document instead of the file."""
        self._open[path] = text

    def close(self, path: Path) -> None:
        self._open.pop(path, None)

    def is_open(self, path: Path) -> bool:
        return path in self._open

    def read(self, place: Place, diagnostics: Diagnostics, asked: Span | None = None) -> tuple[Source, str] | None:
        """The text of a file under its complete path as its name, so that each file is parsed once."""
        text = self._open.get(place.path)
        if text is not None:
            return Source(str(place.path), text, place.path), ""
        stamp = _stamp(place.path)
        known = self._read.get(place.path)
        if known is not None and known[0] == stamp:
            return known[1], ""
        read = read_source(place, diagnostics, asked)
        if read is None:
            return None
        source = Source(str(place.path), read[0].text, place.path)
        if stamp is not None:
            self._read[place.path] = stamp, source
        return source, ""

    def parse(self, source: Source, diagnostics: Diagnostics) -> tree.File:
        parsed = self.parsed(source)
        diagnostics.extend(parsed.diagnostics)
        return parsed.file

    def text_of(self, path: Path) -> str | None:
        """The text of a file that was parsed."""
        parsed = self._parsed.get(str(path))
        return None if parsed is None else parsed.source.text

    def parsed(self, source: Source) -> ParsedText:
        """The parsed text of a source."""
        before = self._parsed.get(source.name)
        if before is None or before.source.text != source.text:
            before = self._parsed[source.name] = parse_text(source.text, source.name, source.path, before)
        return before


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size
