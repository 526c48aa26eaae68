"""Warns of variables that nothing reads."""

from __future__ import annotations

from gpusched_dsl.language import tree
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.diagnostic import Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.tree_walk import nodes_in


def warn_of_unused(workspace: Workspace, diagnostics: Diagnostics) -> None:
    """Warn (GSM1421) of each variable of the main file whose name occurs nowhere else in the files.

    Any other occurrence counts, also in a policy or a test: a false warning is worse than one that is missed. Sets and
    parameters may serve files that import this one; a variable has no such purpose.
    """
    declared: list[tree.Identifier] = []
    names: set[str] = set()
    for place, file in enumerate(workspace.files):
        for block in file.blocks:
            variables = list(nodes_in(block, tree.VarDecl))
            own = {id(decl.name) for decl in variables}
            names.update(node.text for node in nodes_in(block, tree.Identifier) if id(node) not in own)
            names.update(node.text for node in nodes_in(block, tree.Name))
            declared += [decl.name for decl in variables if place == 0 and _is_decided(decl)]
    for name in declared:
        if name.text not in names:
            diagnostics.error(
                "GSM1421",
                f"the variable `{name.text}` is never used",
                name.span,
                "in no constraint, objective, placement or report",
                help="remove it, or write the constraint or term that was meant",
                severity=Severity.WARNING,
            )


def _is_decided(decl: tree.VarDecl) -> bool:
    """Whether it is a decision of this model: not declared elsewhere, and not fixed on purpose (`>= 1 <= 1`)."""
    numbers = [bound.value.value for bound in decl.bounds if isinstance(bound.value, tree.Number)]
    return not decl.override and not (len(numbers) == 2 and len(set(numbers)) == 1)
