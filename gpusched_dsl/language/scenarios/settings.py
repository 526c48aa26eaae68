"""Settings from outside a text, such as `--set period=30[min]`, read like the assignments of a scenario."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.parser import parse
from gpusched_dsl.language.source import Source, Span

N = TypeVar("N", bound=tree.Node)
SOURCE_NAME = "--set"


def read_setting(name: str, text: str, diagnostics: Diagnostics) -> tree.NamedArgument | None:
    """`name` and the expression `text`, with spans in a source that reads `name=text`; reports GSM1513."""
    source = Source(SOURCE_NAME, f"{name}={text}")
    head = f"scenario s {{ {name} = "
    found = Diagnostics()
    blocks = parse(Source(SOURCE_NAME, f"{head}{text}\n; }}"), found).blocks
    statements = blocks[0].statements if len(blocks) == 1 and isinstance(blocks[0], tree.Scenario) else ()
    statement = statements[0] if len(statements) == 1 else None
    whole = source.span(0, len(source.text))
    one_value = isinstance(statement, tree.Assign) and not statement.subscripts and statement.indexing is None
    if found.has_errors or not one_value or not isinstance(statement, tree.Assign):
        notes = [diagnostic.message for diagnostic in found][:1]
        diagnostics.error(
            "GSM1513",
            f"malformed setting `{source.text}`",
            whole,
            notes=notes,
            help="write `name=value`, such as `period=30[min]`",
        )
        return None
    value = _move(statement.value, source, len(name) + 1 - len(head))
    return tree.NamedArgument(
        span=whole, name=tree.Identifier(span=source.span(0, len(name)), text=statement.target.text), value=value
    )


def _move(node: N, source: Source, by: int) -> N:
    """The same tree with its spans in another source."""
    changes: dict[str, Any] = {"span": Span(source, node.span.start + by, node.span.end + by)}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, tree.Node):
            changes[field.name] = _move(value, source, by)
        elif isinstance(value, tuple):
            changes[field.name] = tuple(_move(v, source, by) if isinstance(v, tree.Node) else v for v in value)
    return replace(node, **changes)
