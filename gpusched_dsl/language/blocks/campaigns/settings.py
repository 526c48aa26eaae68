"""The settings of a campaign: assignments, options of generators and paths of data, for given values of the factors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.campaigns.constants import NotConstant, Value, Word, evaluate, literal, value_text
from gpusched_dsl.language.scenarios.settings import DataPathArgument, GeneratorArgument, ReadSetting
from gpusched_dsl.language.tree_walk import nodes_in

N = TypeVar("N", bound=tree.Node)


@dataclass(frozen=True, slots=True)
class GridSetting:
    """One setting: its name as for `--set` (`period`, `deadline["j1"]`, `capacity_jobs.seed`, `"jobs.csv"`), its
    expression, and the statement or argument that gives it.
    """

    key: str
    value: tree.Expr
    node: tree.Assign | tree.NamedArgument | tree.DataPath
    generator: tree.Identifier | None = None

    def text(self, names: Mapping[str, Value]) -> str:
        """Return the value for these values of the factors, as it is written in a scenario."""
        try:
            return value_text(evaluate(self.value, names))
        except NotConstant:
            return _substituted_text(self.value, names)

    def statement(self, names: Mapping[str, Value]) -> ReadSetting:
        """Return the setting for these values of the factors, as a statement of a scenario at the same place."""
        value = _substitute(self.value, names)
        if not isinstance(self.value, tree.ArrayExpr):
            with suppress(NotConstant):
                value = literal(evaluate(self.value, names), self.value.span)
        node = self.node
        if isinstance(node, tree.DataPath):
            name = tree.Identifier(span=node.path.span, text=node.path.value)
            return DataPathArgument(span=node.span, name=name, value=value)
        if isinstance(node, tree.Assign):
            if node.subscripts or node.indexing is not None:
                return structs.replace(node, value=value)
            return tree.NamedArgument(span=node.span, name=node.target, value=value)
        if self.generator is None:
            return structs.replace(node, value=value)
        return GeneratorArgument(span=node.span, name=node.name, value=value, generator=self.generator)


def settings_of(statements: Sequence[tree.Statement]) -> tuple[GridSetting, ...]:
    """Return the settings of a campaign in the order of the text."""
    return tuple(setting for statement in statements for setting in _settings(statement))


def _settings(statement: tree.Statement) -> Iterator[GridSetting]:
    if isinstance(statement, tree.Assign):
        source, start = statement.span.source, statement.span.start
        head = source.text[start : statement.value.span.start].rsplit("=", 1)[0]
        yield GridSetting(" ".join(head.split()), statement.value, statement)
    elif isinstance(statement, tree.GeneratorOptions):
        for option in statement.options:
            key = f"{statement.generator.text}.{option.name.text}"
            yield GridSetting(key, option.value, option, statement.generator)
    elif isinstance(statement, tree.DataPath):
        yield GridSetting(Word(statement.path.value, quoted=True).text, statement.value, statement)


def used_names(expr: tree.Node) -> set[str]:
    return {name.text for name in nodes_in(expr, tree.Name)}


def _substituted_text(expr: tree.Expr, names: Mapping[str, Value]) -> str:
    """Return the text of an expression with the values of the factors in it."""
    start, text = expr.span.start, expr.span.text
    found = {name.span.start: name for name in nodes_in(expr, tree.Name) if name.text in names}
    for at in sorted(found, reverse=True):
        name = found[at]
        value = names[name.text]
        shown = value_text(value) if isinstance(value, Word | bool) else f"({value_text(value)})"
        text = text[: at - start] + shown + text[name.span.end - start :]
    return " ".join(text.split())


def _substitute(node: N, names: Mapping[str, Value]) -> Any:
    """Return a tree with the values of the factors in place of their names."""
    if isinstance(node, tree.Name) and node.text in names:
        return literal(names[node.text], node.span)
    changes: dict[str, Any] = {}
    for name in node.__struct_fields__:
        value = getattr(node, name)
        if isinstance(value, tree.Node):
            changes[name] = _substitute(value, names)
        elif isinstance(value, tuple):
            changes[name] = tuple(_substitute(v, names) if isinstance(v, tree.Node) else v for v in value)
    return structs.replace(node, **changes) if changes else node
