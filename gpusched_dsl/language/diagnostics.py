"""What the compiler has to say about a text: coded, located, with help. Rendering is in `render.py`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from gpusched_dsl.language.source import Span


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Cell:
    """A place in a data file: `row` is the line of the file (the header is line 1), `column` its name."""

    file: str
    row: int | None = None
    column: str | None = None
    text: str | None = None

    def __str__(self) -> str:
        place = self.file if self.row is None else f"{self.file}:{self.row}"
        return place if self.column is None else f"{place}, column {self.column}"


@dataclass(frozen=True, slots=True)
class Label:
    """A secondary place with a few words, such as the other declaration."""

    place: Span | Cell
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    `message` says what is wrong, `label` stands under the underlined primary text, `secondary` names other places,
    `notes` add facts (a cycle, an example index), `help` says what to do. `code` is stable and never reused;
    `docs/errors.md` has a section on each.
    """

    code: str
    message: str
    primary: Span | Cell | None = None
    label: str = ""
    secondary: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None
    severity: Severity = Severity.ERROR


class DiagnosticError(Exception):
    """Work could not go on; `diagnostics` tell why (at least one is an error)."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        first = next((d for d in self.diagnostics if d.severity is Severity.ERROR), None)
        super().__init__(f"{first.code}: {first.message}" if first else "no diagnostics")

    def __str__(self) -> str:
        from gpusched_dsl.language.render import render_text

        return render_text(self.diagnostics)


class Diagnostics:
    """Collects findings so that one run reports many."""

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []

    def add(self, diagnostic: Diagnostic) -> None:
        if diagnostic not in self._found:
            self._found.append(diagnostic)

    def error(
        self,
        code: str,
        message: str,
        primary: Span | Cell | None = None,
        label: str = "",
        *,
        secondary: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: str | None = None,
        severity: Severity = Severity.ERROR,
    ) -> None:
        self.add(Diagnostic(code, message, primary, label, tuple(secondary), tuple(notes), help, severity))

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        for diagnostic in diagnostics:
            self.add(diagnostic)

    @property
    def has_errors(self) -> bool:
        return any(d.severity is Severity.ERROR for d in self._found)

    def raise_if_errors(self) -> None:
        """Raise `DiagnosticError` with everything found so far if any of it is an error."""
        if self.has_errors:
            raise DiagnosticError(self._found)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A help line with the nearest known names, or None when nothing is near."""
    near = difflib.get_close_matches(name, list(known), n=2, cutoff=0.6)
    if not near:
        lowered = {k.lower(): k for k in known}
        near = [lowered[name.lower()]] if name.lower() in lowered else []
    return f"did you mean {' or '.join(f'`{n}`' for n in near)}?" if near else None
