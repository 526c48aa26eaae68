"""Settings from a CSV file: columns `name` and `value`, and optionally `unit`."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from pathlib import Path

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.scenarios.settings import FileText
from gpusched_dsl.language.source import Source, Span

COLUMNS = ("name", "value", "unit")
_FORM = "the first line is `name,value` or `name,value,unit`, the others are such as `deadline[j1],20,h`"


def read_settings(path: str | Path) -> dict[str, str]:
    """Return the settings of a CSV file by name, for `settings=` and `--set-file`; the last value of a name wins.

    A row sets one value, as `--set` does: `period,30[min]`, or with a column of units `deadline[j1],20,h`. Names with
    commas are quoted: `"time[j1,n1]",5[h]`. Empty lines and lines that start with `#` are skipped. Raises
    DiagnosticError (GSM6003) with every malformed row.
    """
    if not isinstance(path, str | os.PathLike):
        message = f"settings are read from the path of a file, not from a value of type `{type(path).__name__}`"
        raise DiagnosticError([Diagnostic("GSM6003", message)])
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except (OSError, ValueError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) and failure.strerror else "it is not UTF-8 text"
        raise DiagnosticError([Diagnostic("GSM6003", f"cannot read settings from `{path}`: {reason}")]) from failure
    source = Source(str(path), text)
    rows = _rows(source)
    if not rows:
        raise DiagnosticError([Diagnostic("GSM6003", f"`{path}` has no settings", help=_FORM)])
    (header, place), *rest = rows
    names = [cell.strip() for cell in header]
    wrong = [name for name in names if name not in COLUMNS]
    if wrong or not {"name", "value"} <= set(names) or len(set(names)) < len(names):
        message = (
            f"unknown column `{wrong[0]}` of settings" if wrong else "settings need the columns `name` and `value`"
        )
        help = (did_you_mean(wrong[0], COLUMNS) if wrong else None) or _FORM
        raise DiagnosticError([Diagnostic("GSM6003", message, place, "the header", help=help)])
    placed: list[tuple[str, FileText, int]] = []
    errors: list[Diagnostic] = []
    for cells, span in rest:
        row = dict(zip(names, (cell.strip() for cell in cells), strict=False))
        name, value, unit = row.get("name", ""), row.get("value", ""), row.get("unit", "")
        if len(cells) > len(names) or not name or not value:
            few = f"{len(cells)} cells, but {len(names)} columns" if len(cells) > len(names) else "no name or no value"
            errors.append(Diagnostic("GSM6003", f"a row of settings has {few}", span, "malformed", help=_FORM))
            continue
        setting = FileText(f"{value}[{unit}]" if unit else value)
        placed.append((name, setting, span.line))
    if errors:
        raise DiagnosticError(errors)
    _place(placed, str(path))
    return merge_settings((name, text) for name, text, _ in placed)


def merge_settings(settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return settings by name; the last value applies, in any spelling (`deadline["j1"]`, `deadline[ j1 ]`)."""
    names: dict[str, str] = {}
    merged: dict[str, str] = {}
    for name, value in settings:
        plain = "".join(name.replace('"', "").split()) if "[" in name else name
        merged.pop(names.get(plain, name), None)
        names[plain] = name
        merged[name] = value
    return merged


def _place(settings: list[tuple[str, FileText, int]], path: str) -> None:
    """Give each setting its place: in a source with the lines of the file, each written as `name=value`."""
    lines = [""] * max((line for _, _, line in settings), default=0)
    for name, text, line in settings:
        lines[line - 1] = f"{name}={text}"
    source = Source(path, "\n".join(lines))
    starts = [0]
    for line_text in lines:
        starts.append(starts[-1] + len(line_text) + 1)
    for _, text, line in settings:
        text.row = source.span(starts[line - 1], starts[line] - 1)


def _rows(source: Source) -> list[tuple[list[str], Span]]:
    """Return the cells and the place of each row, without empty lines and comments."""
    reader = csv.reader(io.StringIO(source.text))
    rows: list[tuple[list[str], Span]] = []
    starts = [0]
    for line in source.text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    before = 0
    for cells in reader:
        start, end = starts[min(before, len(starts) - 1)], starts[min(reader.line_num, len(starts) - 1)]
        before = reader.line_num
        line = source.text[start:end].rstrip("\r\n")
        if line.strip() and not line.lstrip().startswith("#"):
            rows.append((cells, source.span(start, start + len(line))))
    return rows
