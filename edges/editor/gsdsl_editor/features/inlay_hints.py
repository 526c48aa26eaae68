"""Inlay hints: units that the compiler infers."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.units import DIMENSIONLESS, Unit
from gsdsl_editor.document import Document
from gsdsl_editor.features.hover import checked_model, unit_of_name
from gsdsl_editor.fragments import end_in_file, start_in_file


def inlay_hints(document: Document, place: types.Range) -> list[types.InlayHint]:
    """Hints in a range: the inferred units of `let`, `report` and objectives."""
    first, last = document.offset(place.start), document.offset(place.end)
    hints: list[types.InlayHint] = []
    for extent in document.parsed.extents:
        if extent.end < first or extent.start > last:
            continue
        block = extent.block
        checked = checked_model(document, block.name.text) if isinstance(block, tree.ModelBlock) else None
        if checked is None:
            continue
        for statement in _statements(getattr(block, "statements", ())):
            if end_in_file(statement.span) >= first and start_in_file(statement.span) <= last:
                hints += (
                    types.InlayHint(
                        document.positions.position(offset),
                        f" in {unit.text}",
                        kind=types.InlayHintKind.Type,
                        tooltip=f"the unit `{unit.text}` is inferred",
                    )
                    for offset, unit in _hints(checked, statement)
                )
    return hints


def _statements(statements: tuple[tree.Statement, ...]) -> Iterator[tree.Statement]:
    for statement in statements:
        yield statement
        if isinstance(statement, tree.When):
            yield from _statements((*statement.body, *statement.otherwise))


def _hints(model: CheckedModel, statement: tree.Statement) -> Iterator[tuple[int, Unit]]:
    match statement:
        case tree.LetDecl(unit=None) | tree.ReportDecl(unit=None):
            unit = unit_of_name(model, statement.name.text)
            end = statement.name if statement.indexing is None else statement.indexing
            if unit is not None and unit != DIMENSIONLESS:
                yield end_in_file(end.span), unit
        case tree.ObjectiveDecl(unit=None, name=tree.Identifier()):
            assert statement.name is not None
            unit = unit_of_name(model, statement.name.text)
            if unit is not None and unit != DIMENSIONLESS:
                yield end_in_file(statement.name.span), unit
        case _:
            return
