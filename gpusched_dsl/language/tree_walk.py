"""Generic traversal of syntax trees: all nodes of a kind, and equality except for places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from gpusched_dsl.language import tree

_Kind = TypeVar("_Kind", bound=tree.Node)


def children(node: tree.Node) -> Iterator[tree.Node]:
    """The nodes right below a node, in the order of its fields."""
    for name in node.__struct_fields__:
        value = getattr(node, name)
        if isinstance(value, tree.Node):
            yield value
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, tree.Node))


def nodes_in(node: tree.Node, kind: type[_Kind]) -> Iterator[_Kind]:
    """Yield a node and its descendants of a kind, parents first."""
    pending: list[tree.Node] = [node]
    while pending:
        found = pending.pop()
        if isinstance(found, kind):
            yield found
        pending.extend(reversed(list(children(found))))


def same_file(left: tree.File, right: tree.File) -> bool:
    """Whether two files are equal except for places."""
    return len(left.blocks) == len(right.blocks) and all(map(same_tree, left.blocks, right.blocks))


def same_tree(left: object, right: object) -> bool:
    """Whether two trees are equal but for their spans."""
    pending: list[tuple[object, object]] = [(left, right)]
    while pending:
        a, b = pending.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, tree.Node):
            pending.extend((getattr(a, name), getattr(b, name)) for name in a.__struct_fields__ if name != "span")
        elif isinstance(a, tuple) and isinstance(b, tuple):
            if len(a) != len(b):
                return False
            pending.extend(zip(a, b, strict=True))
        elif a != b:
            return False
    return True
