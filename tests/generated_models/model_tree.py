"""The tree of a generated model: its declarations, data, expressions and conditions. Nothing here uses the package.

`unit` is the unit in which a number or declaration is written; evaluation is in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

Key = tuple[Any, ...]
Tree = TypeVar("Tree")

# Seconds in one unit; a plain number has no unit.
UNITS = {"": Fraction(1), "s": Fraction(1), "min": Fraction(60), "h": Fraction(3600)}


class Node:
    """An expression, a condition, or a part of one."""


@dataclass(frozen=True)
class Num(Node):
    value: Fraction  # in `unit`
    unit: str = ""


@dataclass(frozen=True)
class At(Node):
    """The subscript or number `index + by`."""

    index: str
    by: int = 0
    ordered: str = ""  # the ordered set in which `by` counts positions; "" for integers


@dataclass(frozen=True)
class Ord(Node):
    """The position of an index in its ordered set, from 1 on."""

    index: str
    ordered: str


@dataclass(frozen=True)
class Label(Node):
    """An element named in the text."""

    element: str | int


@dataclass(frozen=True)
class Decided(Node):
    """A subscript that is an integer number of decisions or data."""

    number: Node


@dataclass(frozen=True)
class Ref(Node):
    """A parameter, variable, let or random at some key; `other` is its value where the key is outside."""

    name: str
    subs: tuple[At | Label | Decided, ...] = ()
    other: Node | None = None


@dataclass(frozen=True)
class Arith(Node):
    op: str  # + - *
    left: Node
    right: Node


@dataclass(frozen=True)
class Neg(Node):
    body: Node


@dataclass(frozen=True)
class Divided(Node):
    body: Node
    by: int


@dataclass(frozen=True)
class Square(Node):
    body: Node


@dataclass(frozen=True)
class Quotient(Node):
    """`body div by`, rounded down, or the remainder `body mod by`, of integers."""

    op: str  # div mod
    body: Node
    by: int


@dataclass(frozen=True)
class Piecewise(Node):
    """Piecewise linear: 0 at 0 with slopes between breakpoints, or through points."""

    body: Node
    at: tuple[Num, ...]  # breakpoints, or the arguments of the points
    slopes: tuple[Num, ...] = ()  # one more than breakpoints
    values: tuple[Num, ...] = ()  # of the points


@dataclass(frozen=True)
class Smooth(Node):
    """A convex function of integer decisions that has no exact value: see `SMOOTH` in `algebras`."""

    op: str  # norm entropy perspective ratio delay
    args: tuple[Node, ...]


@dataclass(frozen=True)
class PerHour(Node):
    """A time as the number of its hours."""

    body: Node


@dataclass(frozen=True)
class Extreme(Node):
    op: str  # max min abs
    args: tuple[Node, ...]


@dataclass(frozen=True)
class Iter(Node):
    """Indices of a set. One that is known already selects: the others are those of its tuples."""

    names: tuple[str, ...]
    source: str
    of: str = ""  # of an indexed set: the index of the set meant


@dataclass(frozen=True)
class Indexing(Node):
    iters: tuple[Iter, ...] = ()
    where: Node | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(n for part in self.iters for n in part.names)


@dataclass(frozen=True)
class Over(Node):
    """An aggregate: `sum`, `max`, `min` of a number, `count` of a condition."""

    op: str
    indexing: Indexing
    body: Node


@dataclass(frozen=True)
class Choice(Node):
    """`if condition then .. else ..`, of numbers or of conditions."""

    condition: Node
    then: Node
    other: Node


@dataclass(frozen=True)
class Truth(Node):
    """A condition as 1 or 0."""

    condition: Node


@dataclass(frozen=True)
class Expected(Node):
    body: Node


@dataclass(frozen=True)
class Compare(Node):
    """A chain of comparisons: one side more than there are operators."""

    ops: tuple[str, ...]
    sides: tuple[Node, ...]


@dataclass(frozen=True)
class Same(Node):
    """Whether two indices are (`==`) or are not (`!=`) the same element."""

    op: str
    left: At
    right: At | Label


@dataclass(frozen=True)
class Member(Node):
    subs: tuple[At | Label, ...]
    source: str
    negated: bool = False
    indexed: bool = False  # the first of two subscripts is that of the indexed set


@dataclass(frozen=True)
class Logic(Node):
    op: str  # and or => <=>
    left: Node
    right: Node


@dataclass(frozen=True)
class Not(Node):
    body: Node


@dataclass(frozen=True)
class Quantified(Node):
    op: str  # any all
    indexing: Indexing
    body: Node


@dataclass(frozen=True)
class Different(Node):
    """`all_different` of some numbers, or of one number over an index list."""

    args: tuple[Node, ...]
    indexing: Indexing | None = None


@dataclass(frozen=True)
class SpecialOrdered(Node):
    """`sos1`: at most one number is not 0; `sos2`: at most two neighbours."""

    op: str
    indexing: Indexing
    body: Node


@dataclass(frozen=True)
class Scheduled(Node):
    """`no_overlap`, or `cumulative` with demand and limit, of an interval declared for it, over one iterator."""

    name: str
    indexing: Indexing
    start: Node
    length: Node
    presence: Node | None
    demand: Node | None = None
    limit: Node | None = None


# --- declarations ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Set(Node):
    """A root set, the integers from 1 on (`numbers`), or tuples or a subset of other sets (`within`).

    An indexed set has pairs of its index and an element.
    """

    name: str
    elements: tuple[Key, ...]
    within: tuple[str, ...] = ()
    ordered: bool = False
    numbers: bool = False
    indexed: bool = False


@dataclass(frozen=True)
class Param(Node):
    name: str
    sets: tuple[str, ...]
    values: tuple[tuple[Key, Fraction], ...]  # in `unit`
    unit: str = ""
    integer: bool = False


@dataclass(frozen=True)
class RandomQuantity(Node):
    name: str
    indexing: Indexing
    outcomes: tuple[tuple[Node, Fraction], ...]  # value and probability


@dataclass(frozen=True)
class Var(Node):
    name: str
    indexing: Indexing
    kind: str  # binary, integer or "" for a continuous one
    lower: Node | None
    upper: Node | None
    unit: str = ""
    semicontinuous: bool = False


@dataclass(frozen=True)
class Let(Node):
    """A named expression; one of data is a derived parameter, which may read itself at earlier elements."""

    name: str
    indexing: Indexing
    body: Node
    unit: str = ""
    data: bool = False


@dataclass(frozen=True)
class Constraint(Node):
    name: str
    indexing: Indexing
    body: Node
    when: str = ""  # the choice of the option under which it is stated


@dataclass(frozen=True)
class Objective(Node):
    name: str
    sense: str
    terms: tuple[tuple[str, Node], ...]
    unit: str = ""


@dataclass(frozen=True)
class Model(Node):
    sets: tuple[Set, ...]
    params: tuple[Param, ...]
    randoms: tuple[RandomQuantity, ...]
    variables: tuple[Var, ...]
    lets: tuple[Let, ...]
    constraints: tuple[Constraint, ...]
    objectives: tuple[Objective, ...]
    option: str = ""  # the choice of `option rule in { first, second } default first`, "" without the option
    decompose: str = ""

    def declared(self, name: str) -> Any:
        for family in (self.params, self.randoms, self.variables, self.lets):
            for one in family:
                if one.name == name:
                    return one
        raise KeyError(name)

    def set_named(self, name: str) -> Set:
        return next(s for s in self.sets if s.name == name)

    @property
    def has_units(self) -> bool:
        return any(n.unit for n in walk(self) if isinstance(n, (Num, Param, Var, Let, Objective)))


CHOICES = ("first", "second")


# --- walking ---------------------------------------------------------------------------------------------------------


def walk(tree: Any) -> Iterator[Node]:
    """All nodes of a tree, itself first."""
    if isinstance(tree, Node):
        yield tree
        assert is_dataclass(tree)
        for field in fields(tree):
            yield from walk(getattr(tree, field.name))
    elif isinstance(tree, tuple):
        for one in tree:
            yield from walk(one)


def mapped(tree: Tree, change: Callable[[Node], Node]) -> Tree:
    """The tree with every node replaced by what `change` gives for it, from the leaves on."""
    if isinstance(tree, tuple):
        return tuple(mapped(one, change) for one in tree)  # type: ignore[return-value]
    if not isinstance(tree, Node):
        return tree
    assert is_dataclass(tree)
    parts = {f.name: mapped(getattr(tree, f.name), change) for f in fields(tree)}
    return change(replace(tree, **parts))  # type: ignore[arg-type,return-value]


def deciding_names(model: Model) -> set[str]:
    """The variables, and the lets that read some."""
    names = {v.name for v in model.variables}
    while True:
        more = {x.name for x in model.lets if any(isinstance(n, Ref) and n.name in names for n in walk(x.body))}
        if more <= names:
            return names
        names |= more


def number(value: int | str | Fraction, unit: str = "") -> Num:
    return Num(Fraction(value), unit)
