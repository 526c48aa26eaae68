"""Makes the edits of diagnostics as JSON, as a program does that has only their text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

Found = Mapping[str, Any]  # a diagnostic, as `--diagnostics json` writes it


def edited_text(text: str, edits: Iterable[Mapping[str, Any]]) -> str:
    """Return the edited text; of two overlapping edits the later one is skipped.

    Lines and columns count from 1, the end is exclusive.
    """
    starts = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
    places = {
        (starts[e["line"] - 1] + e["column"] - 1, starts[e["end_line"] - 1] + e["end_column"] - 1, str(e["text"]))
        for e in edits
    }
    parts: list[str] = []
    at = 0
    for start, end, put in sorted(places):
        if start >= at:
            parts += [text[at:start], put]
            at = end
    return "".join([*parts, text[at:]])


def edit_files(folder: Path, found: Sequence[Found]) -> dict[str, str]:
    """Make the edits of diagnostics in the files of a folder; return the new text of each changed file by its name.

    Edits of other files, such as those of the library, and of texts of a command line are skipped.
    """
    edits: dict[str, list[Mapping[str, Any]]] = {}
    for diagnostic in found:
        for edit in diagnostic["edits"]:
            edits.setdefault(str(edit["file"]), []).append(edit)
    changed: dict[str, str] = {}
    for name, of_file in edits.items():
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()) or not path.is_file():
            continue
        before = path.read_bytes().decode("utf-8")
        after = edited_text(before, of_file)
        if after != before:
            path.write_bytes(after.encode("utf-8"))
            changed[name] = after
    return changed
