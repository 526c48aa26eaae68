"""Diagnostics for the client: places, related places, notes and help; errors of imports at their `import`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.source import Span
from gsdsl_editor.document import Document

SOURCE = "gsdsl"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}


def client_diagnostics(document: Document, found: Iterable[Diagnostic]) -> list[types.Diagnostic]:
    """The diagnostics of a document; those of other files are reported once, at the import that leads to them."""
    own: list[types.Diagnostic] = []
    elsewhere: dict[str, list[Diagnostic]] = {}
    for diagnostic in found:
        primary = diagnostic.primary
        if not isinstance(primary, Span) or document.is_own(primary):
            own.append(_own(document, diagnostic))
        elif diagnostic.severity is Severity.ERROR:
            elsewhere.setdefault(primary.source.name, []).append(diagnostic)
    own += _of_imports(document, elsewhere)
    return own


def _own(document: Document, diagnostic: Diagnostic) -> types.Diagnostic:
    primary = diagnostic.primary
    if isinstance(primary, Span):
        place = document.range_of(primary)
    else:
        place = types.Range(types.Position(0, 0), types.Position(0, 0))
    related = [
        types.DiagnosticRelatedInformation(location, label.message)
        for label in diagnostic.secondary
        if isinstance(label.place, Span) and (location := document.location_of(label.place)) is not None
    ]
    return types.Diagnostic(
        place,
        message_of(diagnostic),
        severity=_SEVERITIES[diagnostic.severity],
        code=diagnostic.code,
        source=SOURCE,
        related_information=related or None,
    )


def message_of(diagnostic: Diagnostic) -> str:
    """The message, then the label, the notes and the help line."""
    first = diagnostic.message
    if diagnostic.label and diagnostic.label not in first:
        first += f" ({diagnostic.label})"
    lines = [first, *(f"note: {note}" for note in diagnostic.notes)]
    return "\n".join([*lines, f"help: {diagnostic.help}"] if diagnostic.help else lines)


def _of_imports(document: Document, elsewhere: dict[str, list[Diagnostic]]) -> Iterator[types.Diagnostic]:
    """For each file with errors, one diagnostic at an import of the document."""
    imports = [b for b in document.parsed.file.blocks if isinstance(b, tree.Import)]
    for name, found in elsewhere.items():
        leading = next((i for i in imports if name.endswith(_tail(i.path.value))), imports[0] if imports else None)
        if leading is None:
            continue
        first = found[0]
        line = first.primary.line if isinstance(first.primary, Span) else 0
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        yield types.Diagnostic(
            document.range_of(leading.path.span),
            f"`{name}` has errors: {first.message} (line {line}){more}",
            severity=types.DiagnosticSeverity.Error,
            code=first.code,
            source=SOURCE,
        )


def _tail(path: str) -> str:
    """The part of the path of an import after `..` and after the prefix of the library."""
    return path.split(":", 1)[-1].replace("../", "").removeprefix("./")
