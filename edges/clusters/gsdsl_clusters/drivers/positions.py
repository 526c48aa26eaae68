"""Where the entries of a TOML text are: the spans of keys and values, for diagnostics."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpusched_dsl.language.source import Source, Span

_HEADER = re.compile(r"^[ \t]*\[([^\[\]\n]+)\][ \t]*(?:#.*)?$")
_KEY = re.compile(
    r"""^[ \t]*((?:[\w-]+|"[^"\n]*"|'[^'\n]*')(?:[ \t]*\.[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*'))*)[ \t]*="""
)
_PART = re.compile(r"""[\w-]+|"[^"\n]*"|'[^'\n]*'""")

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    key: Span
    value: Span


class Positions:
    """The spans of the entries of a text that is valid TOML. Unknown places are those of the nearest outer entry."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._entries: dict[Path, _Entry] = {}
        self._read()

    def key(self, path: Path) -> Span:
        """The span of a key, or of the header of a table."""
        return self._find(path).key

    def value(self, path: Path) -> Span:
        """The span of a value."""
        return self._find(path).value

    def _find(self, path: Path) -> _Entry:
        for length in range(len(path), 0, -1):
            outer = self._entries.get(path[:length])
            if outer is not None:
                return self._inside(outer, path[length:])
        end = len(self._source.line(1)) if self._source.text else 0
        whole = self._source.span(0, end)
        return _Entry(whole, whole)

    def _inside(self, outer: _Entry, rest: Path) -> _Entry:
        """Look for keys of inline tables within a value."""
        entry, text = outer, self._source.text
        for name in rest:
            pattern = re.compile(rf"""(?<![\w-])(["']?){re.escape(name)}\1[ \t]*=[ \t]*([^,}}\n]*)""")
            found = pattern.search(text, entry.value.start, entry.value.end)
            if found is None:
                return entry
            start, end = found.span(2)
            if text[start : start + 1] in "{[":
                end = entry.value.end
            elif text[start : start + 1] in ("'", '"'):
                close = text.find(text[start], start + 1)
                end = entry.value.end if close < 0 else close + 1
            key = self._source.span(found.start(), found.start() + len(name) + 2 * len(found.group(1)))
            entry = _Entry(key, self._source.span(start, start + len(text[start:end].rstrip())))
        return entry

    def _read(self) -> None:
        table: Path = ()
        last: Path | None = None
        offset = 0
        for line in self._source.text.splitlines(keepends=True):
            bare = line.rstrip("\r\n")
            header, key = _HEADER.match(bare), _KEY.match(bare)
            if header is not None:
                table, last = _parts(header.group(1)), None
                span = self._source.span(offset + header.start(1), offset + header.end(1))
                self._entries.setdefault(table, _Entry(span, span))
            elif key is not None:
                last = (*table, *_parts(key.group(1)))
                span = self._source.span(offset + key.start(1), offset + key.end(1))
                start = key.end() + len(bare[key.end() :]) - len(bare[key.end() :].lstrip())
                self._entries[last] = _Entry(span, self._source.span(offset + start, offset + _value_end(bare, start)))
            elif last is not None and bare.strip() and not bare.lstrip().startswith("#"):
                entry = self._entries[last]  # a value of several lines
                self._entries[last] = _Entry(entry.key, self._source.span(entry.value.start, offset + len(bare)))
            offset += len(line)


def _parts(text: str) -> Path:
    return tuple(part.strip("\"'") for part in _PART.findall(text))


def _value_end(line: str, start: int) -> int:
    """Return the end of a value on its line, without a comment."""
    quote = ""
    for at in range(start, len(line)):
        letter = line[at]
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter == "#":
            return start + len(line[start:at].rstrip())
    return start + len(line[start:].rstrip())
