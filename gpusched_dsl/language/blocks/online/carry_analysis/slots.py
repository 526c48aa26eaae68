"""Slot indices of a model: their positions, the distance of a subscript from an index, and the read names."""

from __future__ import annotations

from collections.abc import Iterator as Iterates
from dataclasses import dataclass, field
from functools import cached_property

from gpusched_dsl.language.checked import (
    Arithmetic,
    CheckedLet,
    CheckedModel,
    CheckedParam,
    CheckedVariable,
    ComprehensionSet,
    Constant,
    Element,
    Fallback,
    IfThenElse,
    IndexRef,
    IndexVar,
    IntegerRange,
    LetRef,
    NamedSet,
    Negate,
    Ordinal,
    ParamRef,
    SetFunction,
    SetOperation,
    Shift,
    TypedExpr,
    TypedIndexing,
    TypedSet,
    VariableRef,
)
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checking.walk import Part, children, walk
from gpusched_dsl.language.source import Span

Reference = ParamRef | VariableRef | LetRef


@dataclass(frozen=True, slots=True)
class SlotReference:
    """A slot subscript: `offset` slots after `base` (None: unknown); without a base a fixed slot."""

    base: IndexVar | None
    offset: int | None


@dataclass(frozen=True, slots=True)
class Owner:
    """A constraint or a term of an objective; `indexing` is empty for a term."""

    name: str
    span: Span
    indexing: TypedIndexing
    body: TypedExpr
    constraint: bool


@dataclass
class WindowView:
    """A model seen from a window over the set `slots` ("" without a window).

    `carried` are the parameters that the block carries.
    """

    model: CheckedModel
    slots: str
    carried: frozenset[str]
    _sets: dict[str, tuple[bool, ...]] = field(default_factory=dict)
    _slot_variables: set[IndexVar] = field(default_factory=set)
    _reads: dict[tuple[str, bool], frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, online: CheckedOnline) -> WindowView:
        slots = "" if online.window is None else online.window.slots
        return cls(online.base, slots, frozenset(c.target for c in online.carries))

    # --- parts of the model ------------------------------------------------------------------------------------------

    @cached_property
    def owners(self) -> tuple[Owner, ...]:
        """Return all constraints and terms."""
        rows = (Owner(c.name, c.span, c.indexing, c.body, True) for c in self.model.constraints.values())
        terms = (
            Owner(t.name or o.name or "objective", t.span, TypedIndexing(), t.value, False)
            for o in self.model.objectives
            for t in o.terms
        )
        return (*rows, *terms)

    @cached_property
    def used_lets(self) -> tuple[CheckedLet, ...]:
        """Return the `let`s that constraints, terms and declarations of variables read."""
        waiting: list[Part] = [p for o in self.owners for p in (o.indexing, o.body)]
        waiting += [v.indexing for v in self.model.variables.values()]
        waiting += [b.value for v in self.model.variables.values() for b in v.bounds]
        found: dict[str, CheckedLet] = {}
        while waiting:
            for part in walk(waiting.pop()):
                if isinstance(part, LetRef) and part.name not in found:
                    found[part.name] = self.model.lets[part.name]
                    waiting += [found[part.name].indexing, found[part.name].value]
        return tuple(found.values())

    # --- slots -------------------------------------------------------------------------------------------------------

    @cached_property
    def _root(self) -> str | None:
        return self.model.sets[self.slots].root if self.slots else None

    def positions(self, domain: TypedSet) -> tuple[bool, ...]:
        """Return which components of a set are slots."""
        match domain:
            case NamedSet(name=name):
                found = self._positions_of_set(name, len(domain.types))
            case ComprehensionSet(element=element, indexing=indexing):
                own_slots = set(self.slot_variables(indexing))
                found = tuple(self.reach(e).base in own_slots for e in element)
            case SetOperation(op="cross", left=left, right=right):
                found = (*self.positions(left), *self.positions(right))
            case SetOperation(left=left, right=right):
                found = tuple(a or b for a, b in zip(self.positions(left), self.positions(right), strict=True))
            case _:
                found = (False,) * len(domain.types)
        root = self._root
        return tuple(
            f or (root is not None and isinstance(t, Element) and t.root == root)
            for f, t in zip(found, domain.types, strict=True)
        )

    def _positions_of_set(self, name: str, arity: int) -> tuple[bool, ...]:
        if name == self.slots:
            return (True,)
        if name not in self._sets:
            self._sets[name] = (False,) * arity
            declared = self.model.sets[name]
            inner = declared.value if declared.value is not None else declared.within
            if inner is not None:
                self._sets[name] = self.positions(inner)
        return self._sets[name]

    def slot_variables(self, indexing: TypedIndexing) -> tuple[IndexVar, ...]:
        """Return the variables of an index list that are slots; process outer lists first."""
        found: list[IndexVar] = []
        for iterator in indexing.iterators:
            of_slots = self.positions(iterator.domain)
            if isinstance(iterator.domain, IntegerRange):  # in `q in h-2..h`, `q` is a slot because `h` is
                of_slots = (bool(variables_in(iterator.domain) & self._slot_variables),)
            found += [v for v, slot in zip(iterator.variables, of_slots, strict=True) if slot]
            self._slot_variables.update(found)
        return tuple(found)

    def subscripts(self, reference: Reference) -> tuple[TypedExpr, ...]:
        """Return the subscripts of a reference that are slots."""
        declared: CheckedParam | CheckedVariable | CheckedLet
        match reference:
            case ParamRef(name=name):
                declared = self.model.params[name]
            case VariableRef(name=name):
                declared = self.model.variables[name]
            case LetRef(name=name):
                declared = self.model.lets[name]
        where = [p for i in declared.indexing.iterators for p in self.positions(i.domain)]
        return tuple(s for s, slot in zip(reference.subscripts, where, strict=True) if slot)

    def reach(self, subscript: TypedExpr) -> SlotReference:
        """Return the distance of a subscript from an index."""
        match subscript:
            case IndexRef(variable=variable):
                return SlotReference(variable, 0)
            case Shift(operand=operand, offset=offset):
                return _plus(self.reach(operand), _constant(offset))
            case Arithmetic(op="+", left=left, right=right) if isinstance(left, Constant):
                return _plus(self.reach(right), _constant(left))
            case Arithmetic(op="+" | "-" as op, left=left, right=right):
                times = _constant(right)
                return _plus(self.reach(left), times if op == "+" or times is None else -times)
        return SlotReference(None, None)

    def is_first(self, part: Part) -> bool:
        """Whether this is `first(Slots)` or `ord(h)`: of a window, its own first slot, and places counted from it."""
        match part:
            case Ordinal(domain=domain) | SetFunction(name="first", domain=domain):
                return any(self.positions(domain))
        return False

    # --- read names --------------------------------------------------------------------------------------------------

    def params(self, part: Part, *, edges: bool = True) -> frozenset[str]:
        """Return the parameters that a part reads, also through `let`s, derived parameters and sets of memberships.

        Without `edges`, skip alternatives for values before the window: fallbacks of `else`, and choices by slots.
        """
        found: set[str] = set()
        waiting: list[Part] = [part]
        while waiting:
            each = waiting.pop()
            if isinstance(each, ParamRef | LetRef | NamedSet):
                found |= self._reads_of(each.name, edges)
            if not edges and isinstance(each, Fallback):
                waiting.append(each.reference)
            elif not edges and isinstance(each, IfThenElse) and any(self.is_first(p) for p in walk(each.condition)):
                continue
            elif isinstance(each, TypedIndexing):
                waiting += each.conditions  # the sets of iterators are not the subject of a rule
            else:
                waiting += children(each)
        return frozenset(found)

    def _reads_of(self, name: str, edges: bool) -> frozenset[str]:
        key = (name, edges)
        if key in self._reads:
            return self._reads[key]
        self._reads[key] = frozenset()  # a circular definition was reported
        parts: list[Part | None] = []
        found: set[str] = set()
        if name in self.model.params:
            param = self.model.params[name]
            found.add(name)
            parts = [param.value, param.default]
        elif name in self.model.lets:
            parts = [self.model.lets[name].value]
        elif name in self.model.sets:
            value = self.model.sets[name].value
            parts = [value]
            if isinstance(value, ComprehensionSet):
                parts += value.indexing.conditions
        for part in parts:
            if part is not None:
                found |= self.params(part, edges=edges)
        self._reads[key] = frozenset(found)
        return self._reads[key]

    def carried_params(self, *parts: Part, edges: bool = True) -> frozenset[str]:
        """Return the carried parameters that parts read."""
        return frozenset().union(*(self.params(p, edges=edges) for p in parts)) & self.carried

    def families(self, part: Part) -> frozenset[str]:
        """Return the variables that a part reads, also through `let`s."""
        return frozenset(p.name for p in self.with_lets(part) if isinstance(p, VariableRef))

    def with_lets(self, part: Part) -> Iterates[Part]:
        """Yield all nodes of a part and of its `let`s, each once."""
        waiting, visited = [part], set()
        while waiting:
            for each in walk(waiting.pop()):
                yield each
                if isinstance(each, LetRef) and each.name not in visited:
                    visited.add(each.name)
                    waiting.append(self.model.lets[each.name].value)


def variables_in(part: Part) -> frozenset[IndexVar]:
    """Return the index variables in a part."""
    return frozenset(p.variable for p in walk(part) if isinstance(p, IndexRef))


def _constant(expr: TypedExpr) -> int | None:
    match expr:
        case Constant(value=value):
            return int(value)
        case Negate(operand=operand):
            inner = _constant(operand)
            return None if inner is None else -inner
    return None


def _plus(reach: SlotReference, offset: int | None) -> SlotReference:
    is_known = reach.offset is not None and offset is not None
    return SlotReference(reach.base, (reach.offset or 0) + (offset or 0) if is_known else None)
