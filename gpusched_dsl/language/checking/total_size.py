"""Counts the statements that a check reads before it begins: each block is checked with all that it inherits.

Statements are counted, not seconds, so a text is refused on every machine or on none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from gpusched_dsl.language import tree
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.errors import Diagnostics

Block: TypeAlias = tree.ModelBlock | tree.Scenario | tree.Policy | tree.Online

MOST_STATEMENTS = 500_000  # of all blocks, inherited ones counted again: about a minute


def allow_size(workspace: Workspace, diagnostics: Diagnostics) -> bool:
    """Return whether a workspace is small enough to be checked; report GSM6031 if it is not."""
    total = 0
    tables: list[Mapping[str, Block]] = [workspace.models, workspace.scenarios, workspace.policies, workspace.onlines]
    for blocks in tables:
        sizes: dict[str, tuple[int, int]] = {}
        for block in blocks.values():
            statements, variants = _size(block, blocks, sizes)
            total += statements * variants
            if total > MOST_STATEMENTS:
                diagnostics.error(
                    "GSM6031",
                    f"more than {MOST_STATEMENTS:,} statements would be checked, with inherited ones in each block",
                    block.name.span,
                    f"this block has {statements:,}" + (f", under {variants:,} choices" if variants > 1 else ""),
                    help="check fewer files at a time, or set single values by `--set` instead of blocks",
                )
                return False
    return True


def _size(block: Block, blocks: Mapping[str, Block], sizes: dict[str, tuple[int, int]]) -> tuple[int, int]:
    """Return the number of statements of a block, with inherited ones, and that of checks of a model."""
    chain = {block.name.text: block}
    last = block
    while (base := last.extends) is not None and last.name.text not in sizes:
        found = blocks.get(base.text)
        if found is None or base.text in chain:  # reported elsewhere
            break
        chain[base.text] = last = found
    statements, variants = 0, 1
    for name, each in reversed(chain.items()):
        if name not in sizes:
            choices = [len(s.choices) - 1 for s in each.statements if isinstance(s, tree.OptionDecl)]
            own = sum(1 for _ in _all_statements(each.statements))
            sizes[name] = statements + own, variants + sum(choices)
        statements, variants = sizes[name]
    return statements, variants


def _all_statements(statements: Iterable[tree.Statement]) -> Iterator[tree.Statement]:
    for statement in statements:
        yield statement
        if isinstance(statement, tree.When):
            yield from _all_statements(statement.body)
            yield from _all_statements(statement.otherwise)
