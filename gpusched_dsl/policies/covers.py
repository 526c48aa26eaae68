"""Which constraints of a model follow from the roles of its placement, so that every plan of a policy satisfies them.

The engines of policies obey the roles by construction: a job runs in one way on one node (`job`, `node`), and the jobs
of a node take no more than it has (`uses ... of ...`; without `uses` a job takes the whole node). A constraint is
explained by a role if its rows state just that, for all data. This is proved on the expressions of the constraint, with
every `let` replaced by its value: no name is compared, only coefficients, subscripts and right-hand sides.

Theorem. Let a row be sum a_e x_e <= b over elements e of the placement's family, each at most once. (1) If all e have
one job, and a_e = a <= b is a constant, the row holds: at most one x_e of the job is 1. (2) If all e have one node, a_e
is the amount that e uses of a capacity, and b is that capacity of the node, the row holds. A condition that leaves out
elements leaves a smaller sum, since amounts are not negative. A row sum x_e >= 0 holds.

Let y be binaries of nodes, or of nodes and their types, that are 1 where a job runs. (3) A row sum a x_e - b y <= 0
over elements of one job and of the node (and type) of y holds then, if 0 < a <= b are constants. (4) So does (2) with
b y on the larger side. Constraints of such rows are *links*: a plan is checked without them, with y at least 1 where it
has a job. Where rows are asked for each place, links are asked too.

Gangs have several nodes and several workers on each: of them only (2), its form (4) and `sum x_e >= 0` are used, with
the amounts that each worker uses. (5) A row sum x_e == w y over all elements of one job, with its `workers` w and a
binary y of the job that no other row reads, holds for y = 1 if the gang runs and y = 0 if not: it has all its workers
or none.

Everything else is a *side row*, even where it follows from something that is not recognised here: it is evaluated for
each plan. So other constraints with `==` are; their lower side is a demand. Side rows `x_e == number` are *pins*: they
state where some jobs run (`policies/gangs/pinned.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

from msgspec import Struct, structs

from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.language.checked import (
    Arithmetic,
    CheckedConstraint,
    CheckedModel,
    CheckedPlacement,
    ComparisonChain,
    Constant,
    IndexRef,
    IndexVar,
    LetRef,
    Logic,
    NamedSet,
    Negate,
    Reduction,
    TypedExpr,
    TypedIndexing,
    VariableRef,
)
from gpusched_dsl.language.checking.walk import Part, walk
from gpusched_dsl.language.source import Span

Key: TypeAlias = Hashable  # equal keys: equal values, whatever the data
Bindings: TypeAlias = Mapping[IndexVar, Key]


class Unexplained(Exception):
    """A constraint that is none of the forms that are recognised."""


@dataclass(frozen=True, slots=True)
class Covered:
    """`explained` has the role of each constraint that follows from one; `side` are the names of the others.

    `links` are those of `side` that only say that a binary is 1 where a job runs. `opening` has for the variables of
    these binaries the positions of their indices among those of the placement. `pins` are those of `side` whose rows
    state the value of one element each.
    """

    explained: Mapping[str, str]
    side: tuple[str, ...]
    links: frozenset[str] = frozenset()
    opening: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    pins: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Term:
    """The sum of `factor * scale * x[subscripts]` over the values of the tokens in `bound`."""

    variable: str
    subscripts: tuple[Key, ...]
    factor: float
    scale: Key
    bound: frozenset[Key]


@dataclass(slots=True)
class _Sums:
    """A linear expression: its terms with decisions, and those without, as keys with factors."""

    terms: list[_Term] = field(default_factory=list)
    data: list[tuple[float, Key]] = field(default_factory=list)


def covers(model: CheckedModel, placement: CheckedPlacement) -> Covered:
    """Return which constraints follow from roles of the placement.

    Decisions with slots or positions in queues have engines that read capacities in another way: all is left to rows.
    """
    if placement.item("slot") is not None or placement.item("place_from_end") is not None:
        return Covered({}, tuple(model.constraints))
    reader = _Reader(model, placement)
    explained = {}
    for name, constraint in model.constraints.items():
        try:
            explained[name] = reader.role_of(constraint)
        except Unexplained:
            if reader.is_all_or_none(constraint):
                explained[name] = "workers"
    side = tuple(name for name in model.constraints if name not in explained)
    links = frozenset(name for name in side if reader.is_link(model.constraints[name]))
    pins = frozenset(name for name in side if pin_of(model.constraints[name], placement) is not None)
    return Covered(explained, side, links, reader.opening, pins)


def pin_of(constraint: CheckedConstraint, placement: CheckedPlacement) -> tuple[VariableRef, TypedExpr] | None:
    """Return the element and its value where each row states the value of one element of the placement; else None."""
    body = constraint.body
    if not isinstance(body, ComparisonChain) or body.ops != ("==",):
        return None
    for one, other in (body.operands, body.operands[::-1]):
        if isinstance(one, VariableRef) and one.name == placement.variable and not other.decision:
            indices = [s.variable for s in one.subscripts if isinstance(s, IndexRef)]
            if len(indices) == len(set(indices)) == len(one.subscripts):
                return one, other
    return None


class _Reader:
    def __init__(self, model: CheckedModel, placement: CheckedPlacement) -> None:
        self.model, self.placement = model, placement
        self._tokens = count()
        self._job, self._node = placement.position("job"), placement.position("node")
        self.opening: dict[str, tuple[int, ...]] = {}
        self._one_place = not placement.has_gangs  # a gang has several nodes, and several workers on each of them

    # --- roles -------------------------------------------------------------------------------------------------------

    def role_of(self, constraint: CheckedConstraint) -> str:
        """Return the role that explains all rows of a constraint. Raises Unexplained."""
        roles = [self._role(sums) for sums in self._rows(constraint)]
        return roles[0] if len(set(roles)) == 1 else ", ".join(dict.fromkeys(roles))

    def is_link(self, constraint: CheckedConstraint) -> bool:
        """Whether all rows of a constraint hold where its binaries are 1 with every job; notes their variable."""
        found: dict[str, tuple[int, ...]] = {}
        try:
            for sums in self._rows(constraint):
                name, positions = self._link(sums)
                if found.setdefault(name, positions) != positions or self.opening.get(name, positions) != positions:
                    return False
        except Unexplained:
            return False
        self.opening.update(found)
        return True

    def is_all_or_none(self, constraint: CheckedConstraint) -> bool:
        """Whether each row states that a job has all of its workers or none, by a binary that no other row reads."""
        body, workers = constraint.body, self.placement.value("workers")
        if workers is None or self._job is None or not isinstance(body, ComparisonChain) or body.ops != ("==",):
            return False
        for left, right in (body.operands, body.operands[::-1]):
            if not isinstance(left, Reduction) or left.op != "sum" or not isinstance(left.body, VariableRef):
                continue
            rows, sums, needed = self._bind(constraint.indexing, {}), _Sums(), _Sums()
            try:
                self._add(left, 1.0, (), rows, frozenset(), sums)
                self._add(right, -1.0, (), rows, frozenset(), sums)
                if len(sums.terms) != 2 or _normal(sums.data):
                    continue
                x, y = sums.terms
                if x.variable != self.placement.variable or not self._runs_over_all(left.indexing, x):
                    continue
                elements = dict(zip(self.placement.indices, x.subscripts, strict=True))
                self._add(workers, 1.0, (), elements, frozenset(), needed)
            except Unexplained:
                continue
            amount = _normal([(-y.factor, y.scale)])
            if (
                y.subscripts == (x.subscripts[self._job],)
                and amount == _normal(needed.data)
                and self._is_free(y, constraint)
            ):
                return True
        return False

    def _runs_over_all(self, indexing: TypedIndexing, term: _Term) -> bool:
        """Whether a sum has all elements of one job: over whole sets, without a condition."""
        domains = [(i.domain, i.variables) for i in indexing.iterators]
        if indexing.conditions or any(len(own) != 1 or not isinstance(d, NamedSet) for d, own in domains):
            return False
        if any(self.model.sets[d.name].root != d.name for d, _ in domains if isinstance(d, NamedSet)):
            return False
        others = [key for at, key in enumerate(term.subscripts) if at != self._job]
        assert self._job is not None
        return (
            set(others) == term.bound
            and len(others) == len(term.bound)
            and term.subscripts[self._job] not in term.bound
        )

    def _is_free(self, term: _Term, own: CheckedConstraint) -> bool:
        """Whether a term is a binary of each job, of any value, that no other constraint reads."""
        declared = self.model.variables[term.variable]
        if declared.kind != "binary" or declared.bounds or declared.indexing.conditions or term.bound:
            return False
        return not any(
            term.variable in variables_read(self.model, name)
            for name, one in self.model.constraints.items()
            if one is not own
        )

    def _rows(self, constraint: CheckedConstraint) -> Iterator[_Sums]:
        """The rows of a constraint, each as a sum that is at most 0. Raises Unexplained."""
        for body in _conjuncts(constraint.body):
            if not isinstance(body, ComparisonChain):
                raise Unexplained
            rows = self._bind(constraint.indexing, {})
            for left, op, right in zip(body.operands, body.ops, body.operands[1:], strict=False):
                smaller, larger = {"<=": (left, right), ">=": (right, left)}.get(op, (None, None))
                if smaller is None or larger is None:
                    raise Unexplained
                sums = _Sums()
                self._add(smaller, 1.0, (), rows, frozenset(), sums)
                self._add(larger, -1.0, (), rows, frozenset(), sums)
                yield sums

    def _link(self, sums: _Sums) -> tuple[str, tuple[int, ...]]:
        """Return the variable of the binary of a row `terms - b y <= 0`, and the positions of its indices."""
        own = [term for term in sums.terms if term.variable == self.placement.variable]
        others = [term for term in sums.terms if term.variable != self.placement.variable]
        if len(own) != 1 or len(others) != 1 or _normal(sums.data) or self._job is None or self._node is None:
            raise Unexplained
        [x], [y] = own, others
        declared = self.model.variables[y.variable]
        types = (self.placement.position("node_type"),) if len(y.subscripts) == 2 else ()
        positions = (self._node, *(at for at in types if at is not None))
        if declared.kind != "binary" or y.bound or x.factor <= 0 or y.factor >= 0:
            raise Unexplained
        if not x.bound <= set(x.subscripts) or len(y.subscripts) != len(positions):
            raise Unexplained
        if sorted(map(repr, y.subscripts)) != sorted(repr(x.subscripts[at]) for at in positions):
            raise Unexplained
        positions = tuple(next(at for at in positions if x.subscripts[at] == key) for key in y.subscripts)
        if any(not self._is_of_row(key, x.bound) for key in y.subscripts):
            raise Unexplained
        one_job = self._one_place and self._is_of_row(x.subscripts[self._job], x.bound)
        if one_job and x.scale == y.scale == () and x.factor <= -y.factor:
            return y.variable, positions
        elements = dict(zip(self.placement.indices, x.subscripts, strict=True))
        self._capacity(x, [(y.factor, y.scale)], elements)
        return y.variable, positions

    def _role(self, sums: _Sums) -> str:
        """Return the role that explains `terms + data <= 0`."""
        if len(sums.terms) != 1:
            raise Unexplained
        [term] = sums.terms
        indices = self.placement.indices
        if term.variable != self.placement.variable or self._job is None or self._node is None:
            raise Unexplained
        if not term.bound <= set(term.subscripts):  # else an element may be counted twice
            raise Unexplained
        if term.factor < 0:
            if term.scale == () and not _normal(sums.data):
                return "job"  # sum x >= 0
            raise Unexplained
        if not self._is_of_row(term.subscripts[self._job], term.bound):
            return self._capacity(term, sums.data, dict(zip(indices, term.subscripts, strict=True)))
        if self._one_place and term.scale == () and all(key == () for _, key in sums.data):
            limit = -sum(factor for factor, _ in sums.data)
            if term.factor <= limit:
                return "job"
        return self._capacity(term, sums.data, dict(zip(indices, term.subscripts, strict=True)))

    def _capacity(self, term: _Term, data: Sequence[tuple[float, Key]], elements: Bindings) -> str:
        """Return the role of a row over one node whose coefficients and side are those of a capacity."""
        assert self._node is not None
        if not self._is_of_row(term.subscripts[self._node], term.bound):
            raise Unexplained
        amount, limit = (term.factor, term.scale), _normal([(-factor, key) for factor, key in data])
        items = self.placement.all("uses")
        if self._one_place and not items and amount == (1.0, ()) and limit == ((1.0, ()),):
            return "node"
        for item in items:
            if item.of is None:
                continue
            used, capacity = _Sums(), _Sums()
            self._add(item.value, 1.0, (), elements, frozenset(), used)
            self._add(item.of, 1.0, (), elements, frozenset(), capacity)
            same = _normal(used.data) == _normal([amount]) and _normal(capacity.data) == limit
            if same and self._is_of_row(_normal(capacity.data), term.bound):
                return "uses"
        raise Unexplained

    @staticmethod
    def _is_of_row(key: Key, bound: frozenset[Key]) -> bool:
        """Whether a key is the same for all elements of a row."""
        return not any(token in bound for token in _tokens_of(key))

    # --- linear expressions ------------------------------------------------------------------------------------------

    def _add(
        self, expr: TypedExpr, factor: float, scale: Key, known: Bindings, bound: frozenset[Key], into: _Sums
    ) -> None:
        """Add `factor * scale * expr` to a sum. Raises Unexplained for what is not linear in the decisions."""
        assert isinstance(scale, tuple)
        match expr:
            case LetRef():
                declared = self.model.lets.get(expr.name)
                if declared is None:
                    raise Unexplained
                inner = zip(declared.indexing.variables, expr.subscripts, strict=True)
                self._add(declared.value, factor, scale, {v: self.key(s, known) for v, s in inner}, bound, into)
            case Negate():
                self._add(expr.operand, -factor, scale, known, bound, into)
            case Arithmetic(op="+" | "-"):
                self._add(expr.left, factor, scale, known, bound, into)
                self._add(expr.right, factor if expr.op == "+" else -factor, scale, known, bound, into)
            case Arithmetic(op="*"):
                data, other = (expr.right, expr.left) if expr.left.decision else (expr.left, expr.right)
                if data.decision:
                    raise Unexplained
                for number, key in self._factors(data, known):
                    assert isinstance(key, tuple)
                    self._add(other, factor * number, _product(scale, key), known, bound, into)
            case VariableRef():
                subscripts = tuple(self.key(s, known) for s in expr.subscripts)
                into.terms.append(_Term(expr.name, subscripts, factor, scale, bound))
            case Reduction(op="sum") if expr.decision:
                inner_known = self._bind(expr.indexing, known)
                tokens = frozenset(t for v in expr.indexing.variables for t in _tokens_of(inner_known[v]))
                own = tokens - frozenset(t for key in known.values() for t in _tokens_of(key))
                self._add(expr.body, factor, scale, inner_known, bound | own, into)
            case Constant():
                into.data.append((factor * expr.value, scale))
            case _ if expr.decision:
                raise Unexplained
            case _:
                into.data.append((factor, _product(scale, (self._opaque(expr, known),))))

    def _factors(self, expr: TypedExpr, known: Bindings) -> list[tuple[float, Key]]:
        """Return an expression without decisions as a sum of products."""
        sums = _Sums()
        self._add(expr, 1.0, (), known, frozenset(), sums)
        return sums.data

    def _bind(self, indexing: TypedIndexing, known: Bindings) -> dict[IndexVar, Key]:
        """Return the known indices and a new token for each of the list; one that a condition sets equal to something
        else is that.
        """
        found: dict[IndexVar, Key] = {**known, **{v: ("index", next(self._tokens)) for v in indexing.variables}}
        own = set(indexing.variables)
        for condition in indexing.conditions:
            if not (isinstance(condition, ComparisonChain) and condition.ops == ("==",)):
                continue
            for one, other in (condition.operands, condition.operands[::-1]):
                if isinstance(one, IndexRef) and one.variable in own and not _reads(other, own):
                    found[one.variable] = self.key(other, found)
                    own.discard(one.variable)
                    break
        return found

    # --- keys --------------------------------------------------------------------------------------------------------

    def key(self, expr: TypedExpr, known: Bindings) -> Key:
        """Return the key of an expression without decisions: equal keys mean equal values."""
        if isinstance(expr, IndexRef):
            return known.get(expr.variable, ("free", id(expr.variable)))
        return _normal(self._factors(expr, known)) if _is_number(expr) else self._opaque(expr, known)

    def _opaque(self, expr: TypedExpr, known: Bindings) -> Key:
        """Return the key of an expression that is no sum or product: its class and the keys of its parts."""
        if isinstance(expr, IndexRef):
            return self.key(expr, known)
        parts: list[Key] = [type(expr).__name__]
        for name in expr.__struct_fields__:
            if name not in ("span", "type", "decision"):
                parts.append(self._part(getattr(expr, name), known))
        return tuple(parts)

    def _part(self, value: object, known: Bindings) -> Key:
        match value:
            case TypedExpr():
                return self.key(value, known)
            case TypedIndexing():  # indices of its own: the same only within itself
                return ("list", id(value), *(known[v] for v in known))
            case Span():
                return None
            case tuple() | list():
                return tuple(self._part(one, known) for one in value)
            case Struct():
                fields = (getattr(value, name) for name in value.__struct_fields__)
                return (type(value).__name__, *(self._part(one, known) for one in fields))
            case _:
                return value if isinstance(value, Hashable) else ("object", id(value))


def _conjuncts(body: TypedExpr) -> Iterator[TypedExpr]:
    """The parts of a body that all hold."""
    if isinstance(body, Logic) and body.op == "and":
        for operand in body.operands:
            yield from _conjuncts(operand)
    else:
        yield body


def _is_number(expr: TypedExpr) -> bool:
    return isinstance(expr, Arithmetic | Negate | LetRef | Constant)


def _reads(expr: TypedExpr, own: set[IndexVar]) -> bool:
    """Whether an expression may read one of some indices."""
    return bool(free_variables(expr) & own)


def _product(one: Key, other: Key) -> Key:
    assert isinstance(one, tuple)
    assert isinstance(other, tuple)
    return tuple(sorted((*one, *other), key=repr))


def _normal(data: Sequence[tuple[float, Key]]) -> tuple[tuple[float, Key], ...]:
    """Return a sum of products in one order, with the factors of equal products added."""
    total: dict[Key, float] = {}
    for factor, key in data:
        total[key] = total.get(key, 0.0) + factor
    return tuple(sorted(((factor, key) for key, factor in total.items() if factor), key=repr))


def _tokens_of(key: Key) -> Iterator[Key]:
    """The tokens of indices within a key."""
    if isinstance(key, tuple):
        if len(key) == 2 and key[0] == "index":
            yield key
        else:
            for part in key:
                yield from _tokens_of(part)


def only_demands(model: CheckedModel, name: str) -> bool:
    """Whether all rows of a constraint are of the form `sum >= data`: no job that runs breaks one."""
    if model.placement is None:
        return False
    try:
        rows = list(_Reader(model, model.placement)._rows(model.constraints[name]))
    except Unexplained:
        return False
    return all(term.factor < 0 for sums in rows for term in sums.terms)


def part_with(model: CheckedModel, names: Collection[str]) -> CheckedModel:
    """Return the model with some constraints alone, and the variables that these read."""
    constraints = {name: one for name, one in model.constraints.items() if name in names}
    read = {variable for name in constraints for variable in variables_read(model, name)}
    variables = {name: variable for name, variable in model.variables.items() if name in read}
    return structs.replace(model, variables=variables, constraints=constraints, objectives=(), decompose=None)


def variables_read(model: CheckedModel, constraint: str) -> set[str]:
    """Return the names of the variables that a constraint reads, also through `let`s."""
    one = model.constraints[constraint]
    waiting: list[Part] = [one.indexing, one.body]
    read: set[str] = set()
    lets: set[str] = set()
    while waiting:
        for part in walk(waiting.pop()):
            if isinstance(part, VariableRef):
                read.add(part.name)
            elif isinstance(part, LetRef) and part.name in model.lets and part.name not in lets:
                lets.add(part.name)
                waiting.append(model.lets[part.name].value)
    return read
