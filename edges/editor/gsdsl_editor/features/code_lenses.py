"""Code lenses: solve a scenario, run a test."""

from __future__ import annotations

from lsprotocol import types

from gpusched_dsl.language import tree
from gsdsl_editor.document import Document

SOLVE, TEST = "gsdsl.solve", "gsdsl.test"


def code_lenses(document: Document) -> list[types.CodeLens]:
    """One lens for each scenario and test that is in a file."""
    if document.path is None:
        return []
    lenses = []
    for extent in document.parsed.extents:
        block = extent.block
        if isinstance(block, tree.Scenario):
            command = types.Command("solve", SOLVE, arguments=[document.uri, block.name.text])
        elif isinstance(block, tree.Test):
            command = types.Command("test", TEST, arguments=[document.uri, block.name.text])
        else:
            continue
        lenses.append(types.CodeLens(document.range_of(block.name.span), command))
    return lenses
