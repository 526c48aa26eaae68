"""Diagnostics as text for people, with the source underlined, and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from gpusched_dsl.language.diagnostics.diagnostic import Cell, Diagnostic, Severity
from gpusched_dsl.language.diagnostics.excerpt import LONGEST_LINE, clip, display, printable, width
from gpusched_dsl.language.source import Source, Span

_RESET = "\x1b[0m"
_STYLES = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;33m",
    "note": "\x1b[1;36m",
    "help": "\x1b[1;32m",
    "gutter": "\x1b[1;34m",
    "secondary": "\x1b[1;34m",
    "message": "\x1b[1m",
}


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """File by file as they first appear, and by place within a file."""
    found = list(diagnostics)
    files: dict[object, int] = {}

    def key(diagnostic: Diagnostic) -> tuple[int, int]:
        place = diagnostic.primary
        if isinstance(place, Span):
            return files.setdefault(id(place.source), len(files)), place.start
        if isinstance(place, Cell):
            return files.setdefault(place.file, len(files)), place.row or 0
        return files.setdefault(None, len(files)), 0

    return sorted(found, key=key)


# --- text ------------------------------------------------------------------------------------------------------------


def render_text(diagnostics: Iterable[Diagnostic], *, color: bool = False) -> str:
    """All diagnostics, each with its source lines underlined, and a line that counts them; empty if there are none."""
    found = in_order(diagnostics)
    if not found:
        return ""
    paint = _Painter(color)
    blocks = ["\n".join(_lines(d, paint)) for d in found]
    return "\n\n".join([*blocks, summary(found)]) + "\n"


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """`2 errors, 1 warning`."""
    counts = dict.fromkeys(Severity, 0)
    for diagnostic in diagnostics:
        counts[diagnostic.severity] += 1
    return ", ".join(f"{n} {severity}{'s' if n > 1 else ''}" for severity, n in counts.items() if n)


class _Painter(Struct, frozen=True):
    color: bool

    def __call__(self, style: str, text: str) -> str:
        return f"{_STYLES[style]}{text}{_RESET}" if self.color and text else text


class _Mark(Struct, frozen=True):
    """A stretch of one line to underline: columns from 1, `end` exclusive."""

    line: int
    start: int
    end: int
    label: str
    primary: bool


def _lines(diagnostic: Diagnostic, paint: _Painter) -> list[str]:
    kind = str(diagnostic.severity)
    lines = [paint(kind, f"{kind}[{diagnostic.code}]") + paint("message", f": {printable(diagnostic.message)}")]
    gutter = _gutter_width(diagnostic)
    bar = paint("gutter", f"{' ' * gutter} |")
    for number, (place, labels) in enumerate(_by_file(diagnostic)):
        arrow = "-->" if number == 0 else ":::"
        lines.append(paint("gutter", f"{' ' * gutter}{arrow} ") + printable(str(place)))
        if isinstance(place, Cell):
            lines += _cell_lines(place, labels[0][1], number == 0, kind, gutter, paint)
        else:
            marks = [m for span, label, primary in labels for m in _marks(span, label, primary)]
            lines += [bar, *_excerpt(place.source, marks, kind, gutter, paint)]
    rest = [("note", n) for n in diagnostic.notes] + ([("help", diagnostic.help)] if diagnostic.help else [])
    if rest and diagnostic.primary is not None:
        lines.append(bar)
    for word, text in rest:
        first, *more = printable(text).split("\n")
        lines.append(paint("gutter", f"{' ' * gutter} = ") + paint(word, word) + f": {first}")
        lines += [" " * (gutter + len(word) + 5) + line for line in more]
    return lines


def _places(diagnostic: Diagnostic) -> list[tuple[Span | Cell, str, bool]]:
    first = [] if diagnostic.primary is None else [(diagnostic.primary, diagnostic.label, True)]
    return [*first, *((label.place, label.message, False) for label in diagnostic.secondary)]


def _by_file(diagnostic: Diagnostic) -> list[tuple[Span | Cell, list[tuple[Any, str, bool]]]]:
    """Group the places of a diagnostic by source, each cell of a data file separately."""
    groups: list[tuple[Span | Cell, list[tuple[Any, str, bool]]]] = []
    for place, label, primary in _places(diagnostic):
        for head, members in groups:
            if isinstance(head, Span) and isinstance(place, Span) and head.source is place.source:
                members.append((place, label, primary))
                break
        else:
            groups.append((place, [(place, label, primary)]))
    return groups


def _gutter_width(diagnostic: Diagnostic) -> int:
    numbers = [1]
    for place, _, _ in _places(diagnostic):
        if isinstance(place, Cell):
            numbers.append(place.row or 1)
        else:
            numbers.append(place.source.position(place.end)[0])
    return len(str(max(numbers)))


def _marks(span: Span, label: str, primary: bool) -> list[_Mark]:
    """Return the lines to underline for a span: its first line, and its last one if it has several."""
    line, column = span.source.position(span.start)
    last, end = span.source.position(max(span.end, span.start))
    if last > line and end == 1:
        # A span that ends with a line break ends on the line before.
        last -= 1
        end = len(span.source.line(last)) + 1
    if last == line:
        return [_Mark(line, column, max(end, column + 1), label, primary)]
    first = _Mark(line, column, max(len(span.source.line(line)) + 1, column + 1), "", primary)
    text = span.source.line(last)
    begin = len(text) - len(text.lstrip()) + 1
    return [first, _Mark(last, min(begin, end), max(end, begin + 1), label, primary)]


def _excerpt(source: Source, marks: list[_Mark], kind: str, gutter: int, paint: _Painter) -> list[str]:
    lines: list[str] = []
    shown = 0
    for number in sorted({m.line for m in marks}):
        if shown and number > shown + 2:
            lines.append(paint("gutter", "..."))
        elif shown and number == shown + 2:
            lines.append(_source_line(source, shown + 1, 1, gutter, paint))
        shown = number
        here = sorted((m for m in marks if m.line == number), key=lambda m: (m.start, m.end))
        long = len(source.line(number)) > LONGEST_LINE
        for i, mark in enumerate(here):
            if i == 0 or long:
                lines.append(_source_line(source, number, mark.start, gutter, paint))
            lines.append(_underline(source, mark, kind, gutter, paint))
    return lines


def _source_line(source: Source, number: int, column: int, gutter: int, paint: _Painter) -> str:
    text, _ = clip(source.line(number), column - 1)
    return (paint("gutter", f"{number:>{gutter}} |") + " " + display(text)).rstrip()


def _underline(source: Source, mark: _Mark, kind: str, gutter: int, paint: _Painter) -> str:
    text, shift = clip(source.line(mark.line), mark.start - 1)
    start, end = mark.start - 1 - shift, mark.end - 1 - shift
    before = width(text[:start])
    length = max(width(text[: max(end, start)]) - before, 1)
    sign = "^" if mark.primary else "-"
    label = f" {printable(mark.label)}" if mark.label else ""
    style = kind if mark.primary else "secondary"
    return paint("gutter", f"{' ' * gutter} |") + " " * (before + 1) + paint(style, sign * length + label)


def _cell_lines(cell: Cell, label: str, primary: bool, kind: str, gutter: int, paint: _Painter) -> list[str]:
    bar = paint("gutter", f"{' ' * gutter} |")
    style = kind if primary else "secondary"
    if cell.text is None:
        return [f"{bar} {paint(style, printable(label))}"] if label else []
    text, _ = clip(cell.text.replace("\n", " "), 0)
    row = "" if cell.row is None else str(cell.row)
    sign = ("^" if primary else "-") * max(width(text), 1)
    mark = paint(style, sign + (f" {printable(label)}" if label else ""))
    return [bar, paint("gutter", f"{row:>{gutter}} |") + f" {display(text)}", f"{bar} {mark}"]


# --- JSON ------------------------------------------------------------------------------------------------------------


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """A JSON array with an object for each diagnostic.

    Fields: `code`, `severity` (`error`, `warning` or `note`), `message`, the place, `label`, `secondary` (a list of
    places, each with its `message`), `notes` (a list of texts), `help` (a text or null), `edits` (a list of places,
    each with the `text` to put there; together they make the change that `help` proposes).
    A place has `file`, `line`, `column`, `end_line`, `end_column` (lines and columns from 1, the end exclusive). In a
    data file `line` is the row and `data_column` the name of the column; what is not known is null.
    """
    import json

    return json.dumps([_object(d) for d in in_order(diagnostics)], indent=2)


def _object(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        **_place_object(diagnostic.primary),
        "label": diagnostic.label,
        "secondary": [{**_place_object(s.place), "message": s.message} for s in diagnostic.secondary],
        "notes": list(diagnostic.notes),
        "help": diagnostic.help,
        "edits": [{**_place_object(e.span), "text": e.text} for e in diagnostic.edits],
    }


def _place_object(place: Span | Cell | None) -> dict[str, Any]:
    empty = dict.fromkeys(("file", "line", "column", "end_line", "end_column", "data_column"))
    if place is None:
        return empty
    if isinstance(place, Cell):
        return empty | {"file": place.file, "line": place.row, "data_column": place.column}
    line, column = place.source.position(place.start)
    end_line, end_column = place.source.position(max(place.start, place.end))
    name = place.source.name
    return empty | {"file": name, "line": line, "column": column, "end_line": end_line, "end_column": end_column}
