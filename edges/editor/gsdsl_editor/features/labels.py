"""The labels of the elements of a set, as far as the texts of a workspace list them."""

from __future__ import annotations

from collections.abc import Iterator

from gpusched_dsl.language import tree
from gsdsl_editor.document import Document


def labels_of(document: Document, root: str | None) -> list[str]:
    """The labels of a set, or of all sets, in sets and tables of scenarios and models."""
    workspace = document.workspace
    found: dict[str, None] = {}
    blocks: list[tree.ModelBlock | tree.Scenario] = [*workspace.models.values(), *workspace.scenarios.values()]
    for block in blocks:
        for statement in block.statements:
            found.update((label, None) for label in _labels(statement, root))
    return list(found)


def _labels(statement: tree.Statement, root: str | None) -> Iterator[str]:
    match statement:
        case tree.SetDecl(name=name, value=tree.SetLiteral(items=items)) if root in (None, name.text):
            yield from _texts(items)
        case tree.Assign(target=target, value=tree.SetLiteral(items=items)) if root in (None, target.text):
            yield from _texts(items)
        case tree.Table(keys=keys, columns=columns, cells=cells):
            width = len(keys) + len(columns)
            for at, key in enumerate(keys):
                if root in (None, key.text):
                    yield from (str(cell.value) for cell in cells[at::width] if isinstance(cell.value, str))
        case _:
            return


def _texts(items: tuple[tree.Expr, ...]) -> Iterator[str]:
    for item in items:
        if isinstance(item, tree.Text):
            yield item.value
        elif isinstance(item, tree.Name):
            yield item.text
