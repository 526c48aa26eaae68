"""Code actions: the edits that help lines of diagnostics propose, one by one or all at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lsprotocol import types

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Edit
from gpusched_dsl.language.source import Span
from gsdsl_editor.document import Document
from gsdsl_editor.features.diagnostics import client_diagnostics
from gsdsl_editor.fragments import start_in_file

FIX_ALL = types.CodeActionKind.SourceFixAll


def code_actions(
    document: Document,
    found: Sequence[Diagnostic],
    place: types.Range,
    only: Sequence[types.CodeActionKind | str] | None = None,
) -> list[types.CodeAction]:
    """The fixes of the diagnostics at a range, and one action that applies the fixes of the complete document."""
    fixable = [d for d in found if d.edits and isinstance(d.primary, Span) and document.is_own(d.primary)]
    actions: list[types.CodeAction] = []
    if _is_requested(types.CodeActionKind.QuickFix, only):
        for diagnostic in fixable:
            assert isinstance(diagnostic.primary, Span)
            if _touch(document.range_of(diagnostic.primary), place):
                actions.append(
                    types.CodeAction(
                        _title(diagnostic),
                        kind=types.CodeActionKind.QuickFix,
                        diagnostics=client_diagnostics(document, [diagnostic]),
                        is_preferred=True,
                        edit=_edit(document, diagnostic.edits),
                    )
                )
    if fixable and _is_requested(FIX_ALL, only):
        edits = _without_overlaps(e for d in fixable for e in d.edits)
        actions.append(types.CodeAction("fix all", kind=FIX_ALL, edit=_edit(document, edits)))
    return actions


def _is_requested(kind: types.CodeActionKind, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    return only is None or any(
        kind.value == o or kind.value.startswith(f"{o}.") for o in (str(getattr(o, "value", o)) for o in only)
    )


def _title(diagnostic: Diagnostic) -> str:
    """The help line, without a question; else the message."""
    if diagnostic.help is None:
        return f"fix: {diagnostic.message}"
    if diagnostic.help.startswith("did you mean"):
        return f"write `{diagnostic.edits[0].text}`"
    return diagnostic.help


def _edit(document: Document, edits: Sequence[Edit]) -> types.WorkspaceEdit:
    changes: dict[str, list[types.TextEdit]] = {}
    for edit in edits:
        location = document.location_of(edit.span)
        if location is not None:
            changes.setdefault(location.uri, []).append(types.TextEdit(location.range, edit.text))
    return types.WorkspaceEdit(changes)


def _without_overlaps(edits: Iterable[Edit]) -> list[Edit]:
    """The edits in order, without those that begin before an earlier one ends."""
    kept: list[Edit] = []
    ordered = sorted(set(edits), key=lambda e: (start_in_file(e.span), len(e.span.text)))
    end = -1
    for edit in ordered:
        start = start_in_file(edit.span)
        if start >= end:
            kept.append(edit)
            end = start + len(edit.span.text)
    return kept


def _touch(one: types.Range, other: types.Range) -> bool:
    first, last = _pair(one.start), _pair(one.end)
    return first <= _pair(other.end) and _pair(other.start) <= last


def _pair(position: types.Position) -> tuple[int, int]:
    return position.line, position.character
