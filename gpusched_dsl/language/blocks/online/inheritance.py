"""Online blocks that extend others: whose lines hold."""

from __future__ import annotations

from collections.abc import Mapping

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics


def chain_of(onlines: Mapping[str, tree.Online], online: tree.Online, diagnostics: Diagnostics) -> list[tree.Online]:
    """The blocks that a block extends, the oldest first, and itself; reports GSM1624."""
    chain = [online]
    while chain[0].extends is not None:
        name = chain[0].extends
        base = onlines.get(name.text)
        if base is None or base in chain:
            message = f"unknown online block `{name.text}`" if base is None else f"`{name.text}` extends itself"
            help = did_you_mean(name.text, onlines) if base is None else None
            diagnostics.error("GSM1624", message, name.span, "extended here", help=help)
            break
        chain.insert(0, base)
    return chain


def _key(statement: tree.Statement) -> str:
    """What a statement is about: of two about the same the one further down the chain holds."""
    match statement:
        case tree.Carry():
            return f"carry {statement.target.text}"
        case tree.World():
            return statement.verb
        case tree.Change():
            return f"on {statement.event.text}"
        case tree.Charge():
            return f"charge {statement.name.text}" if statement.value is not None else "charge"
        case tree.Outage():
            return f"outage {statement.index.domain.span.text}"
    return type(statement).__name__.lower()


def merge(chain: list[tree.Online], diagnostics: Diagnostics) -> list[tree.Statement]:
    """The lines that hold, those of the newest block for each thing; reports GSM1620."""
    kept: dict[str, tree.Statement] = {}
    for online in chain:
        own: dict[str, tree.Statement] = {}
        for statement in online.statements:
            key = _key(statement)
            if key in own:
                diagnostics.error(
                    "GSM1620",
                    f"`{key}` is repeated",
                    statement.span,
                    "again",
                    secondary=[Label(own[key].span, "first here")],
                    help="keep one of them",
                )
            own.setdefault(key, statement)
        kept.update(own)
    return list(kept.values())
