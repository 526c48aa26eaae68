"""The checked model: names resolved, types known, units erased. The input of grounding; no data, no solver.

Typed expressions have no units left: where two units of one dimension met, the checker has put an
`Arithmetic("*", expr, Constant(factor))`, so the number of every expression is in its own `type.unit`. A `let` is kept
as a reference (`LetRef`) and evaluated like a function of its indices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from gpusched_dsl.language import tree
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS, Unit

# --- types ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Numeric:
    """A number in `unit`; `integer` if it is always integer. Indices over integer ranges are Numeric too."""

    integer: bool = False
    unit: Unit = DIMENSIONLESS


@dataclass(frozen=True, slots=True)
class Logical:
    """True or false; of a decision expression: a 0/1 value."""


@dataclass(frozen=True, slots=True)
class TextType:
    """A string from a `symbol` parameter."""


@dataclass(frozen=True, slots=True)
class Element:
    """An element of the root set `root` or of a subset of it: the nominal index type."""

    root: str


ValueType: TypeAlias = Numeric | Logical | TextType | Element


# --- index variables and sets -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class IndexVar:
    """One bound index. Compared by identity: two `j` of different iterators are different variables."""

    name: str
    type: ValueType
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedSet:
    """A set expression; `types` are the types of its components (its arity is their number)."""

    span: Span
    types: tuple[ValueType, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSet(TypedSet):
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerRange(TypedSet):
    """`low..high by step`, both included. Bounds may depend on earlier indices of the same index list."""

    low: TypedExpr
    high: TypedExpr
    step: TypedExpr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralSet(TypedSet):
    """Each row is one element, an expression per component."""

    rows: tuple[tuple[TypedExpr, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComprehensionSet(TypedSet):
    element: tuple[TypedExpr, ...]
    indexing: TypedIndexing


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedSetRef(ComprehensionSet):
    """`Pred[j]`, the elements of an indexed set at one index: those of `{ p : (i, p) in Pred where i == j }`."""

    name: str
    subscripts: tuple[TypedExpr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceSet(ComprehensionSet):
    """`(i, k) in Links` with a known `k`: `{ i : (i, m) in Links where m == k }`.

    The index list has one iterator, over all components, and one condition per fixed component.
    """

    @property
    def domain(self) -> TypedSet:
        """The set of complete tuples."""
        return self.indexing.iterators[0].domain

    @property
    def fixed(self) -> tuple[TypedExpr | None, ...]:
        """The value of each component of the complete tuples; None for the free ones."""
        known = {}
        for condition in self.indexing.conditions:
            assert isinstance(condition, ComparisonChain)
            own, value = condition.operands
            assert isinstance(own, IndexRef)
            known[own.variable] = value
        return tuple(map(known.get, self.indexing.variables))

    @property
    def free(self) -> tuple[int, ...]:
        """The places of the free components."""
        return tuple(at for at, expr in enumerate(self.fixed) if expr is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOperation(TypedSet):
    """`op` is `union`, `inter`, `diff` or `cross`."""

    op: str
    left: TypedSet
    right: TypedSet


@dataclass(frozen=True, slots=True)
class Iterator:
    """`(v, g) in Configs`: one variable per component of the set (generated if the model names none)."""

    variables: tuple[IndexVar, ...]
    domain: TypedSet
    span: Span


@dataclass(frozen=True, slots=True)
class TypedIndexing:
    """Iterators in order, later ones may use variables of earlier ones; `conditions` is the `where` split at `and`."""

    iterators: tuple[Iterator, ...] = ()
    conditions: tuple[TypedExpr, ...] = ()

    @property
    def variables(self) -> tuple[IndexVar, ...]:
        return tuple(v for i in self.iterators for v in i.variables)


# --- expressions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedExpr:
    """`decision` states whether a variable occurs in it (so it is not a number before the solve)."""

    span: Span
    type: ValueType
    decision: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant(TypedExpr):
    """A number, or a truth value as 1.0 / 0.0."""

    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StringLiteral(TypedExpr):
    """A string literal: an element of `type.root` (Element) or a plain text (TextType)."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRef(TypedExpr):
    variable: IndexVar


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamRef(TypedExpr):
    """One subscript expression per index position of the declaration; none for a scalar.

    Subscripts may be decisions, also those of variables and lets: integers, or elements with a decided label.
    """

    name: str
    subscripts: tuple[TypedExpr, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableRef(TypedExpr):
    name: str
    subscripts: tuple[TypedExpr, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LetRef(TypedExpr):
    name: str
    subscripts: tuple[TypedExpr, ...] = ()


def has_decided_subscripts(expr: TypedExpr) -> bool:
    """Whether an expression is a reference with a decision among its subscripts."""
    return isinstance(expr, ParamRef | VariableRef | LetRef) and any(s.decision for s in expr.subscripts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback(TypedExpr):
    """`(x[k, h-1] else was[k])`."""

    reference: ParamRef | VariableRef | LetRef
    fallback: TypedExpr


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift(TypedExpr):
    """The element `offset` places later (earlier when negative) in the ordered set `ordering`: `h - 1`, `next(h)`."""

    operand: TypedExpr
    offset: TypedExpr
    ordering: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementWithLabel(TypedExpr):
    """The element of an ordered set that has a number as its label: `price[start]` with an integer decision."""

    operand: TypedExpr


@dataclass(frozen=True, slots=True, kw_only=True)
class Negate(TypedExpr):
    operand: TypedExpr


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic(TypedExpr):
    """`op` is one of `+ - * / ^`."""

    op: str
    left: TypedExpr
    right: TypedExpr


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonChain(TypedExpr):
    """A chain of numbers, texts or elements, all already in the unit of the first operand. Ops: `== != <= >= < >`."""

    operands: tuple[TypedExpr, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Logic(TypedExpr):
    """`op` is `and`, `or`, `not`, `=>` or `<=>`."""

    op: str
    operands: tuple[TypedExpr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership(TypedExpr):
    """`(v, g) in Configs`, `v not in Fast`."""

    element: tuple[TypedExpr, ...]
    domain: TypedSet
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IfThenElse(TypedExpr):
    """`if condition then a else b`."""

    condition: TypedExpr
    then: TypedExpr
    otherwise: TypedExpr


@dataclass(frozen=True, slots=True, kw_only=True)
class Function(TypedExpr):
    """`min max abs floor ceil round exp log sqrt all_different` of scalar arguments; `div` and `mod` of two."""

    name: str
    arguments: tuple[TypedExpr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PiecewiseLinear(TypedExpr):
    """A piecewise-linear function of `operand`: through `points` (pairs), or 0 at 0 with `slopes` between `points`.

    With slopes, points are single numbers, the breakpoints, and there is one slope more.
    """

    operand: TypedExpr
    points: TypedList
    slopes: TypedList | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFunction(TypedExpr):
    """`count(S)`, `first(S)`, `last(S)`."""

    name: str
    domain: TypedSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordinal(TypedExpr):
    """`ord(s)`, `ord(s, S)`: the position of an element in an ordered set, 1 for the first."""

    operand: TypedExpr
    domain: TypedSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction(TypedExpr):
    """`sum prod min max any all all_different count` over `indexing`; `argmin argmax` give the element of the only
    iterator."""

    op: str
    indexing: TypedIndexing
    body: TypedExpr


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomRef(TypedExpr):
    """A reference to a `random`; only inside `Expected`."""

    name: str
    subscripts: tuple[TypedExpr, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownValue(TypedExpr):
    """A name that is not declared in the model but defined by its context.

    In an `expect`: an objective, a term, `status`, `bound`, `gap`; in an online block `now` or `remaining[j]`.
    """

    name: str
    subscripts: tuple[TypedExpr, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected(TypedExpr):
    """`E(body given condition)` or `P(condition given ...)`."""

    op: str
    body: TypedExpr
    given: TypedExpr | None = None


# --- laws of random quantities ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedList:
    """Numbers in braces, in their order and with repetitions: `{ (10[epoch], 0.3), ... }`, `{ w[s] : s in Samples }`.

    Without an index list each row is one item, else the only row is the item of each index tuple.
    """

    span: Span
    rows: tuple[tuple[TypedExpr, ...], ...]
    indexing: TypedIndexing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFile:
    """A column of a data file with samples, and the conversion of its values to the unit of the random quantity.

    `item` names the columns as an item of a data statement would: for each index of the random its key, then the values
    and, when there is one, the weights.
    """

    data: tree.Data
    item: tree.DataItem
    value: str
    keys: tuple[str, ...] = ()
    weight: str | None = None
    unit: TypedExpr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedLaw:
    """A distribution: `numbers` by the names of its arguments, quantities in the unit of the random.

    `points` holds the list of `discrete`, `empirical` and `survival_points`, `file` the file of `empirical`; `parts`
    are the laws that `mixture` (with `weights`), `truncate` and `censor` are made of.
    """

    span: Span
    name: str
    numbers: tuple[tuple[str, TypedExpr], ...] = ()
    points: TypedList | None = None
    file: SampleFile | None = None
    parts: tuple[TypedLaw, ...] = ()
    weights: tuple[TypedExpr, ...] = ()


# --- declarations -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CheckedBound:
    """`op` is one of `<= >= < > ==`; `value` in the unit of the declaration, may use the declaration's indices."""

    op: str
    value: TypedExpr
    span: Span


@dataclass(frozen=True, slots=True)
class CheckedSet:
    """`root` is the nominal root of a one-dimensional set that has one (itself when it is the root), else None.

    An indexed set has an `indexing`, and is a set of tuples: its indices, then its elements.
    """

    name: str
    span: Span
    types: tuple[ValueType, ...]
    root: str | None
    ordered: bool = False
    identical: bool = False
    identical_by: str | None = None
    within: TypedSet | None = None
    value: TypedSet | None = None
    doc: str | None = None
    indexing: TypedIndexing = TypedIndexing()

    @property
    def is_indexed(self) -> bool:
        return bool(self.indexing.iterators)

    @property
    def index_arity(self) -> int:
        """The number of components of an element that are indices of the set."""
        return len(self.indexing.variables)


@dataclass(frozen=True, slots=True)
class CheckedParam:
    """`type` is Numeric (in the declared unit), Element or TextType; `kind`: real, integer, binary, symbol, element.

    `recursive`: its value reads the parameter itself at other indices.
    """

    name: str
    span: Span
    type: ValueType
    kind: str
    indexing: TypedIndexing
    bounds: tuple[CheckedBound, ...] = ()
    within: TypedSet | None = None
    default: TypedExpr | None = None
    value: TypedExpr | None = None
    doc: str | None = None
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class CheckedLet:
    """A named expression: a `let`, or a `report`."""

    name: str
    span: Span
    type: ValueType
    indexing: TypedIndexing
    value: TypedExpr
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedVariable:
    name: str
    span: Span
    type: Numeric
    kind: str
    indexing: TypedIndexing
    bounds: tuple[CheckedBound, ...] = ()
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedRandom:
    """`law` is None when the scenario gives it."""

    name: str
    span: Span
    type: Numeric
    indexing: TypedIndexing
    law: TypedLaw | None = None
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedTerm:
    """`name` is None for the only term of an unnamed objective; `value` in the unit of the objective."""

    name: str | None
    span: Span
    value: TypedExpr
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedObjective:
    """Objectives are in the order of their priority."""

    name: str | None
    span: Span
    sense: str
    unit: Unit
    terms: tuple[CheckedTerm, ...]
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedConstraint:
    """`body` is a Comparison (a chain is kept) or a Logic."""

    name: str
    span: Span
    indexing: TypedIndexing
    body: TypedExpr
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedCheck:
    span: Span
    indexing: TypedIndexing
    condition: TypedExpr
    message: str | None


Role: TypeAlias = Literal[
    "job", "node", "node_type", "slot", "mode", "place_from_end", "family",
    "uses", "lasts", "costs", "due", "weight", "postponed", "idle", "node_price", "stock", "late", "node_rate",
    "user", "share", "quota", "workers", "rack", "across_nodes", "across_racks",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class CheckedPlacementItem:
    """`value` is in the unit that the item states."""

    role: Role
    span: Span
    value: TypedExpr
    of: TypedExpr | None = None


@dataclass(frozen=True, slots=True)
class CheckedPlacement:
    """The meaning of a family of variables in the cluster: binary, or with `workers` numbers of workers on nodes.

    `indices` are the variables of the family's index positions, bound in the items. A role has at most one item;
    only `uses` has several, one for each capacity. Of these, `item` and `value` return the first.
    """

    variable: str
    span: Span
    indices: tuple[IndexVar, ...]
    items: tuple[CheckedPlacementItem, ...]

    def all(self, *roles: Role) -> tuple[CheckedPlacementItem, ...]:
        """The items of some roles, in the order of the text."""
        return tuple(item for item in self.items if item.role in roles)

    def item(self, role: Role) -> CheckedPlacementItem | None:
        return next((item for item in self.items if item.role == role), None)

    def value(self, role: Role) -> TypedExpr | None:
        item = self.item(role)
        return None if item is None else item.value

    def index(self, role: Role) -> IndexVar | None:
        """The index that states a role; None if there is none, or if the role is stated by another expression."""
        value = self.value(role)
        return value.variable if isinstance(value, IndexRef) else None

    def position(self, role: Role) -> int | None:
        """The position of `index` among the indices of the family."""
        index = self.index(role)
        return None if index is None else self.indices.index(index)

    def root(self, role: Role) -> str:
        """The root set of the elements that state a role, "" if it is not stated by elements."""
        value = self.value(role)
        return value.type.root if value is not None and isinstance(value.type, Element) else ""

    @property
    def has_gangs(self) -> bool:
        """Whether a job may run on several nodes at once: its workers start, move and stop together."""
        return self.item("workers") is not None

    @property
    def places_root(self) -> str:
        """The root set of the places: nodes, or node types where decisions count the nodes of a type."""
        return self.root("node") or self.root("node_type")

    @property
    def kinds_root(self) -> str:
        """The root set of the node types, or of the nodes where no type is stated."""
        return self.root("node_type") or self.places_root


@dataclass(frozen=True, slots=True)
class CheckedModel:
    """A model with its inheritance and its options resolved.

    `data_order` names every set, parameter and random so that each comes after all that its definition reads.
    `options` are the choices this model was checked with; `decompose` is the root set of `decompose by ...;`. `reports`
    are evaluated at solutions only; nothing refers to them.
    """

    name: str
    span: Span
    sets: dict[str, CheckedSet]
    params: dict[str, CheckedParam]
    lets: dict[str, CheckedLet]
    variables: dict[str, CheckedVariable]
    constraints: dict[str, CheckedConstraint]
    objectives: tuple[CheckedObjective, ...]
    checks: tuple[CheckedCheck, ...]
    placement: CheckedPlacement | None
    options: dict[str, str]
    option_choices: dict[str, tuple[str, ...]]
    data_order: tuple[str, ...]
    randoms: dict[str, CheckedRandom] = field(default_factory=dict)
    doc: str | None = None
    decompose: str | None = None
    reports: dict[str, CheckedLet] = field(default_factory=dict)
