"""The words of blocks that may be names. Those of a statement are collected once, as long as it is the same object."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gpusched_dsl.language import tree


class BlockWords:
    """The words of the blocks of some files."""

    def __init__(self) -> None:
        self._blocks: dict[int, tuple[tree.TopLevelBlock, frozenset[str]]] = {}
        self._parts: dict[str, dict[int, tuple[object, frozenset[str]]]] = {}  # of the last block of this kind and name

    def of(self, block: tree.TopLevelBlock) -> frozenset[str]:
        """Return all words of a block that may be names."""
        known = self._blocks.get(id(block))
        if known is None:
            before = self._parts.get(_title(block), {})
            parts = {id(part): before.get(id(part)) or (part, frozenset(_words(part))) for part in _parts(block)}
            self._parts[_title(block)] = parts
            known = self._blocks[id(block)] = block, frozenset().union(*(words for _, words in parts.values()))
        return known[1]

    def keep(self, blocks: Collection[tree.TopLevelBlock]) -> None:
        """Drop what belongs to other blocks."""
        alive, titles = {id(block) for block in blocks}, {_title(block) for block in blocks}
        self._blocks = {key: words for key, words in self._blocks.items() if key in alive}
        self._parts = {title: parts for title, parts in self._parts.items() if title in titles}


def _title(block: tree.TopLevelBlock) -> str:
    name = getattr(block, "name", None)
    return f"{type(block).__name__} {name.text if isinstance(name, tree.Identifier) else ''}"


def _parts(block: tree.TopLevelBlock) -> Iterator[object]:
    """The statements of a block, and its other fields."""
    for name in _fields(block):
        value = getattr(block, name)
        if isinstance(value, tuple):
            yield from value
        else:
            yield value


def _words(part: object) -> Iterator[str]:
    pending: list[object] = [part]
    while pending:
        node = pending.pop()
        if isinstance(node, tree.Identifier | tree.Name):
            yield node.text
        elif isinstance(node, tree.Text):
            yield node.value
        elif isinstance(node, tuple):
            pending.extend(node)
        elif isinstance(node, tree.Node):
            pending.extend(getattr(node, name) for name in _fields(node))


def _fields(node: tree.Node) -> list[str]:
    """The names of the fields of a node that can hold names."""
    return [name for name in node.__struct_fields__ if name != "span"]
