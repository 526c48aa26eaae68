"""Rename: a name in all files that know it, refused where the new name would change the meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lsprotocol import types

from gpusched_dsl.language.parsing.grammar import vocabulary
from gpusched_dsl.language.source_files import library_folder
from gsdsl_editor.document import Document
from gsdsl_editor.features.navigation import occurrences_of, symbol_at
from gsdsl_editor.resolution import Symbol

_NAME = re.compile(r"[^\W\d]\w*")


class RenameError(Exception):
    """A rename that is not possible; the message says why."""


def prepare_rename(document: Document, position: types.Position) -> types.Range:
    """The range of the name at a place; raise RenameError if it cannot be renamed."""
    found = symbol_at(document, position)
    if found is None:
        raise RenameError("there is no name here that is declared in a file")
    _require_own(document, found[1])
    return document.range_of(found[0].span)


def rename(
    document: Document, others: Iterable[Document], position: types.Position, new_name: str
) -> types.WorkspaceEdit:
    """The edits of a rename in this document and in others; raise RenameError if it is not possible."""
    found = symbol_at(document, position)
    if found is None:
        raise RenameError("there is no name here that is declared in a file")
    occurrence, symbol = found
    _require_own(document, symbol)
    if _NAME.fullmatch(new_name) is None:
        raise RenameError(f"`{new_name}` is not a name: a name has letters, digits and `_`, and no digit at its start")
    if new_name in vocabulary().reserved:
        raise RenameError(f"`{new_name}` is a reserved word")
    documents = [document] if symbol.kind == "index" else [document, *others]
    changes: dict[str, list[types.TextEdit]] = {}
    for each in documents:
        for place in occurrences_of(each, symbol):
            changes.setdefault(each.uri, []).append(types.TextEdit(each.range_of(place.span), new_name))
        if each.uri in changes and new_name != occurrence.text:
            _require_free(each, symbol, new_name)
    return types.WorkspaceEdit(changes)


def _require_own(document: Document, symbol: Symbol) -> None:
    if symbol.place.startswith(str(library_folder())) and (document.path is None or str(document.path) != symbol.place):
        raise RenameError(f"`{symbol.name}` is declared in a shipped model, which is not changed")


def _require_free(document: Document, symbol: Symbol, new_name: str) -> None:
    """Raise if the new name already has a meaning in a document, in a block that has the old one."""
    for place in document.places():
        if place.occurrence.text == new_name:
            resolved = document.resolve(place)
            clashes = resolved is not None and (
                (resolved.symbol.kind, resolved.symbol.place, resolved.symbol.owner)
                == (symbol.kind, symbol.place, symbol.owner)
                or {resolved.symbol.kind, symbol.kind} <= {"index", "declared"}
            )
            if clashes and _share_a_statement(document, symbol, new_name):
                where = document.range_of(place.occurrence.span).start.line + 1
                raise RenameError(f"`{new_name}` already has a meaning, in line {where}")


def _share_a_statement(document: Document, symbol: Symbol, new_name: str) -> bool:
    """Whether an index is renamed within one statement with the new name; other names clash everywhere."""
    if symbol.kind != "index":
        return True
    for chunk in document.parsed.chunks:
        texts = {o.text for o in chunk.names}
        binders = {str(id(o.binder)) for o in chunk.names if o.binder is not None}
        if symbol.owner in binders and new_name in texts:
            return True
    return False
