"""Whether rows, bounds and objectives treat the elements of a set alike, but for the data that they read.

A grounded problem is a function of its data. It commutes with every renaming of the elements of a set as long as no
expression reads their order, their labels, or an element that the data single out. So it is enough to look at the text:
elements may only stand as subscripts, in memberships, and in comparisons with one another for equality.
"""

from __future__ import annotations

from collections.abc import Iterator as Iterates
from dataclasses import dataclass

from msgspec import Struct

from gpusched_dsl.language.checked import (
    CheckedModel,
    ComparisonChain,
    Element,
    IndexRef,
    LetRef,
    Membership,
    NamedSet,
    ParamRef,
    RandomRef,
    TypedExpr,
    TypedSet,
    VariableRef,
)
from gpusched_dsl.language.source import Span


@dataclass(eq=False)  # not frozen: Python notes where an exception was raised
class Obstacle(Exception):
    """Why elements of a set are not interchangeable, or may not be: the cause and its place."""

    what: str
    span: Span | None = None

    def __str__(self) -> str:
        return self.what

    def kept(self) -> Obstacle:
        """Return an equal obstacle without the frames that raised this one: they hold all data that they read."""
        return type(self)(self.what, self.span)


class OutOfBudget(Obstacle):
    """It is unknown whether elements can be aggregated: the budget of work ended first."""


def prefer(first: Obstacle | None, other: Obstacle) -> Obstacle:
    """Which of two obstacles is reported: the first, unless only the other is about the budget."""
    return other.kept() if first is None or isinstance(other, OutOfBudget) else first


class ReadNames(Struct, frozen=True):
    """The names of sets, parameters and random quantities that rows, bounds and objectives read, each at one place."""

    sets: dict[str, Span]
    params: dict[str, Span]
    randoms: dict[str, Span]


# What was found in the last models that were looked at: a re-solve asks again, with other data.
_KNOWN: dict[tuple[int, str], tuple[CheckedModel, ReadNames | Obstacle]] = {}
MOST_KNOWN = 64


def names_read_by_decisions(model: CheckedModel, root: str) -> ReadNames:
    """Return the data that the problem reads; raise Obstacle if an expression may distinguish elements of `root`."""
    key = (id(model), root)
    if key not in _KNOWN:
        try:
            found: ReadNames | Obstacle = _read(model, root)
        except Obstacle as obstacle:
            found = obstacle.kept()
        while len(_KNOWN) >= MOST_KNOWN:
            del _KNOWN[next(iter(_KNOWN))]
        _KNOWN[key] = (model, found)  # the model is kept, so that its id stays its own
    known = _KNOWN[key][1]
    if isinstance(known, Obstacle):
        raise Obstacle(known.what, known.span)
    return known


def _read(model: CheckedModel, root: str) -> ReadNames:
    reading = ReadNames({}, {}, {})
    lets: dict[str, None] = {}
    for variable in model.variables.values():
        _look(variable.indexing, root, reading, lets, None)
        for bound in variable.bounds:
            _look(bound.value, root, reading, lets, None)
    for constraint in model.constraints.values():
        _look(constraint.indexing, root, reading, lets, None)
        _look(constraint.body, root, reading, lets, None)
    for objective in model.objectives:
        for term in objective.terms:
            _look(term.value, root, reading, lets, None)
    waiting = list(lets)
    while waiting:
        let = model.lets[waiting.pop()]
        found: dict[str, None] = {}
        _look(let.indexing, root, reading, found, None)
        _look(let.value, root, reading, found, None)
        waiting += [name for name in found if name not in lets]
        lets.update(found)
    return reading


def is_element(node: object, root: str) -> bool:
    return isinstance(node, TypedExpr) and isinstance(node.type, Element) and node.type.root == root


def parts(node: object) -> Iterates[object]:
    """The nodes right below a node."""
    if isinstance(node, tuple):
        yield from node
    elif isinstance(node, Struct):
        for name in node.__struct_fields__:
            if name not in _NO_PARTS:
                yield getattr(node, name)


_NO_PARTS = {"span", "type", "types", "variable", "variables"}


def _look(node: object, root: str, reading: ReadNames, lets: dict[str, None], parent: object) -> None:
    if is_element(node, root):
        assert isinstance(node, TypedExpr)
        if not isinstance(node, IndexRef):
            raise Obstacle(f"`{node.span.text}` selects a single element", node.span)
        if not _keeps_elements_alike(parent, root):
            raise Obstacle(f"`{node.span.text}` is used by its order or its label", node.span)
    match node:
        case NamedSet():
            reading.sets.setdefault(node.name, node.span)
        case ParamRef():
            reading.params.setdefault(node.name, node.span)
        case RandomRef():
            reading.randoms.setdefault(node.name, node.span)
        case LetRef():
            lets[node.name] = None
    for part in parts(node):
        _look(part, root, reading, lets, parent if isinstance(node, tuple) else node)


def _keeps_elements_alike(parent: object, root: str) -> bool:
    if isinstance(parent, ComparisonChain):
        return all(is_element(o, root) for o in parent.operands) and set(parent.ops) <= {"==", "!="}
    return isinstance(parent, ParamRef | VariableRef | LetRef | RandomRef | Membership | TypedSet)
