"""A diagnostic: coded, located, with help. Rendering is in `render.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from gpusched_dsl.language.diagnostics.similar_names import nearest
from gpusched_dsl.language.source import Span


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Cell(Struct, frozen=True):
    """A place in a data file: `row` is the line of the file (the header is line 1), `column` its name."""

    file: str
    row: int | None = None
    column: str | None = None
    text: str | None = None

    def __str__(self) -> str:
        place = self.file if self.row is None else f"{self.file}:{self.row}"
        return place if self.column is None else f"{place}, column {self.column}"


class Label(Struct, frozen=True):
    """A secondary place with a few words, such as the other declaration."""

    place: Span | Cell
    message: str


class Edit(Struct, frozen=True):
    """A change of the text: `text` replaces the text of `span` (an insertion if that is empty)."""

    span: Span
    text: str


Fix: TypeAlias = "str | Edit | Iterable[Edit] | None"


class Diagnostic(Struct, frozen=True):
    """One finding.

    `message` says what is wrong, `label` stands under the underlined primary text, `secondary` names other places,
    `notes` add facts (a cycle, an example index), `help` says what to do. `edits` make the change that `help`
    proposes; there are none where what is meant is not certain. `code` is stable and never reused; each has a
    section of `docs/reference/errors.md`.
    """

    code: str
    message: str
    primary: Span | Cell | None = None
    label: str = ""
    secondary: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None
    severity: Severity = Severity.ERROR
    edits: tuple[Edit, ...] = ()


class Suggestion(str):
    """A help line with names similar to an unknown name; `meant` is the only one, or None if there are several."""

    name: str
    meant: str | None


def did_you_mean(name: str, known: Iterable[str]) -> Suggestion | None:
    """A help line with the names that a slip of the keyboard away from this one, or None when there are none."""
    return suggest(name, nearest(name, known))


def suggest(name: str, near: Sequence[str]) -> Suggestion | None:
    """A help line that proposes these names in place of one, or None when there are none."""
    if not near:
        return None
    text = f"did you mean {' or '.join(f'`{n}`' for n in near)}?"
    from gpusched_dsl.language.text.lookalikes import look_alike

    if look_alike(name, near[0]):
        from gpusched_dsl.language.text.lookalikes import spell

        text += f" It looks the same, but the letters are `{spell(near[0])}`, not `{spell(name)}`"
    suggestion = Suggestion(text)
    suggestion.name, suggestion.meant = name, near[0] if len(near) == 1 else None
    return suggestion


def edits_of(fix: Fix, help: str | None, primary: Span | Cell | None) -> tuple[Edit, ...]:
    if isinstance(fix, Edit):
        return (fix,)
    if fix is not None and not isinstance(fix, str):
        return tuple(fix)
    if not isinstance(primary, Span):
        return ()
    if isinstance(fix, str):
        return (Edit(primary, fix),)
    if isinstance(help, Suggestion) and help.meant is not None:
        if primary.text == help.name:
            return (Edit(primary, help.meant),)
        if primary.text == f'"{help.name}"':
            return (Edit(primary, f'"{help.meant}"'),)
    return ()


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the edited text; of two overlapping edits the later one is skipped."""
    ordered = sorted(set(edits), key=lambda e: (e.span.start, e.span.end))
    parts: list[str] = []
    end = 0
    for edit in ordered:
        if edit.span.start < end:
            continue
        parts += [text[end : edit.span.start], edit.text]
        end = edit.span.end
    return "".join([*parts, text[end:]])
