"""Blocks that extend others: the chain of a block, and the statements that apply in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from msgspec import Struct

from gpusched_dsl.language import tree
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics

Block: TypeAlias = tree.ModelBlock | tree.Scenario | tree.Policy | tree.Online
B = TypeVar("B", tree.ModelBlock, tree.Scenario, tree.Policy, tree.Online)


class BlockKind(Struct, frozen=True):
    """The name of blocks, and the codes for unknown ones and for cycles."""

    name: str
    plural: str
    unknown: str
    cycle: str


MODEL = BlockKind("model", "models", "GSM1107", "GSM1401")
SCENARIO = BlockKind("scenario", "scenarios", "GSM1501", "GSM1502")
POLICY = BlockKind("policy", "policies", "GSM1610", "GSM1611")
MAX_CHAIN = 50  # blocks that extend each other

ONLINE = BlockKind("online block", "online blocks", "GSM1624", "GSM1624")


def chain_of(
    workspace: Workspace, blocks: Mapping[str, B], block: B, kind: BlockKind, diagnostics: Diagnostics
) -> list[B] | None:
    """The block preceded by all that it extends, the oldest first.

    None if one of them does not exist, if they form a cycle or if they are more than `MAX_CHAIN`. All of these are
    reported, except that a block which may be in an unread part of the workspace is not.
    """
    chain = [block]
    while (base := chain[-1].extends) is not None:
        found = blocks.get(base.text)
        if found is None and workspace.may_hold(base.text):
            return None
        if found is None:
            diagnostics.error(
                kind.unknown,
                f"`{chain[-1].name.text}` extends the unknown {kind.name} `{base.text}`",
                base.span,
                f"no such {kind.name}",
                help=did_you_mean(base.text, blocks) or "check that its file is imported",
            )
            return None
        if found in chain:
            _report_cycle(kind, chain[chain.index(found) :], diagnostics)
            return None
        chain.append(found)
        if len(chain) > MAX_CHAIN:
            message = f"{kind.name} `{block.name.text}` extends a chain of more than {MAX_CHAIN} {kind.plural}"
            help = "let blocks extend a common one, not each other in turn"
            diagnostics.error("GSM1004", message, block.name.span, "the last of the chain", help=help)
            return None
    return chain[::-1]


def statements_of(
    chain: Sequence[B],
    key: Callable[[tree.Statement], str | None],
    report: Callable[[str, tree.Statement, tree.Statement], None],
) -> dict[str, tuple[B, tree.Statement]]:
    """The statements that apply, by their keys, each with its block: a statement replaces inherited ones of its key.

    `report` gets each statement that repeats one of its own block, after its key and the first one. Statements without
    a key are left out.
    """
    found: dict[str, tuple[B, tree.Statement]] = {}
    for block in chain:
        own: dict[str, tree.Statement] = {}
        for statement in block.statements:
            name = key(statement)
            if name is None:
                continue
            if name in own:
                report(name, own[name], statement)
                continue
            own[name] = statement
            found[name] = block, statement
    return found


def _report_cycle(kind: BlockKind, cycle: Sequence[Block], diagnostics: Diagnostics) -> None:
    """Report blocks in an inheritance cycle, equally for each of them."""
    first = min(range(len(cycle)), key=lambda i: (cycle[i].span.source.name, cycle[i].span.start))
    turned = [*cycle[first:], *cycle[:first]]
    names = [f"`{block.name.text}`" for block in turned]
    places = [block.extends.span for block in turned if block.extends is not None]
    if len(turned) == 1:
        message = f"{kind.name} {names[0]} extends itself"
        diagnostics.error(kind.cycle, message, places[0], "itself", help="remove `extends`")
        return
    diagnostics.error(
        kind.cycle,
        f"{kind.plural} extend each other in a cycle",
        places[0],
        "part of the cycle",
        secondary=[Label(place, "and this") for place in places[1:]],
        notes=["the cycle is " + " extends ".join([*names, names[0]])],
        help="one of them must not extend another",
    )
