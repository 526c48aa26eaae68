"""Repairs files by the fixes of their diagnostics alone: check, make all edits, check again, until none is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gsdsl_assistants.edits import Found, edit_files

MOST_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Repair:
    """`texts` has the new texts of changed files by name, after `rounds` of edits; `found` is what is still found."""

    texts: dict[str, str]
    rounds: int
    found: tuple[Found, ...]

    @property
    def is_mended(self) -> bool:
        """Whether no error is left."""
        return not any(f["severity"] == "error" for f in self.found)


def repair(folder: Path, find: Callable[[], Sequence[Found]]) -> Repair:
    """Make the edits of what `find` finds in the files of a folder, as long as they change something.

    `find` checks the files and returns the diagnostics as JSON. Edits that undo each other end after `MOST_ROUNDS`.
    """
    texts: dict[str, str] = {}
    found = find()
    for done in range(MOST_ROUNDS):
        changed = edit_files(folder, found)
        if not changed:
            return Repair(texts, done, tuple(found))
        texts |= changed
        found = find()
    return Repair(texts, MOST_ROUNDS, tuple(found))
