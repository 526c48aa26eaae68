"""Keys that occur twice in a JSON object: readers would take the last one, or the first one, without a word."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpusched_dsl.data.sources.files import Fault, Unreadable
from gpusched_dsl.language.diagnostics.diagnostic import Cell

_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}]', re.DOTALL)
# A key with an escaped letter may be another one of the same line.
_ESCAPED_KEY = rb'\\u[0-9a-fA-F]{4}[^"\n]*"\s*:'


class RepeatedKey(ValueError):
    """An object has the key twice."""

    def __init__(self, key: str) -> None:
        super().__init__(f"an object has the key `{key}` twice")
        self.key = key


def decode_distinct(text: str | bytes) -> Any:
    """Decode JSON. Raises ValueError or RecursionError for text that is not JSON, and RepeatedKey."""
    return json.loads(text, object_pairs_hook=_distinct)


def repeated_key(data: bytes) -> str | None:
    """Return a key that occurs twice in an object of JSON; None without one, and for text that is not JSON."""
    try:
        decode_distinct(data)
    except RepeatedKey as failure:
        return failure.key
    except (ValueError, RecursionError):  # the reader reports it
        return None
    return None


def check_keys(name: str, data: bytes) -> None:
    """Raise Unreadable (GSM2060) for a key that occurs twice in an object of a JSON document."""
    if repeated_key(data) is not None:
        key, at, _ = next(_repeated(data))
        raise Unreadable(_fault(name, key, data.count(b"\n", 0, at) + 1))


def check_line_keys(name: str, data: bytes, columns: Mapping[str, int]) -> None:
    """Raise Unreadable (GSM2060) for one of the columns that occurs twice in a line of JSON Lines.

    `columns` has the number of lines with a value for each.
    """
    for start, end in sorted(_suspicious(data, columns)):
        for key, _, depth in _repeated(data[start:end]):
            if depth == 1 and key in columns:
                raise Unreadable(_fault(name, key, data.count(b"\n", 0, start) + 1))


def _suspicious(data: bytes, columns: Mapping[str, int]) -> Iterable[tuple[int, int]]:
    """Return the stretches of the lines that may have a key twice; no other lines have."""
    escaped = b"\\u" in data and re.search(_ESCAPED_KEY, data) is not None
    patterns = [_ESCAPED_KEY] if escaped else []
    for column, lines in columns.items():
        written = json.dumps(column, ensure_ascii=False).encode()
        if escaped or data.count(written) != lines:
            key = re.escape(written) + rb"\s*:"
            patterns.append(key + rb"[^\n]*?" + key)
    found = set()
    for pattern in patterns:
        for match in re.finditer(pattern, data):
            start = data.rfind(b"\n", 0, match.start()) + 1
            end = data.find(b"\n", match.end())
            found.add((start, len(data) if end < 0 else end))
    return found


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (key, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise RepeatedKey(key)
    return found


def _repeated(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield each repeated key, its place, and in how many objects it is; nothing is required of the text."""
    keys: list[set[str]] = []
    for token in _TOKEN.finditer(data):
        if token[0] == b"{":
            keys.append(set())
        elif token[0] == b"}" and keys:
            keys.pop()
        elif token[2] is not None and keys:
            key = _text(token[1])
            if key in keys[-1]:
                yield key, token.start(), len(keys)
            keys[-1].add(key)


def _text(written: bytes) -> str:
    try:
        return str(json.loads(b'"' + written + b'"'))
    except ValueError:  # the reader says what is wrong
        return written.decode("utf-8", "replace")


def _fault(name: str, key: str, line: int) -> Fault:
    message = f"a JSON object of data file `{name}` has the key `{key}` twice"
    return Fault("GSM2060", message, Cell(name, line, key), help="remove one of the two members, or rename it")
