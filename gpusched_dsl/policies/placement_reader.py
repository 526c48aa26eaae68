"""Reads a cluster off a model's `placement`: jobs, nodes, kinds of nodes, ways to run and their numbers.

The family of binaries that the placement explains is looked at for one node of every kind; a way is an element of it
without its node. What a model's variable leaves out by its own condition is no way to run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame, ranges
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.gangs import upper_bounds
from gpusched_dsl.compiling.placement import PlacementEvaluator, type_codes
from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.ir.domains import TupleDomain
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.checked import (
    CheckedModel,
    CheckedPlacement,
    Element,
    IndexRef,
    IndexVar,
    LetRef,
    NamedSet,
    ParamRef,
    Role,
    TextType,
    TypedExpr,
    TypedIndexing,
)
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.checking.walk import Part, children
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.workload import NONE, Workload

ONE_NODE_OF_EACH = "(one node of each kind)"  # no author can write this name
MOST_PARTS = 1000  # a GPU is given out in so many equal parts at most
WHOLE = ROUNDING
_MOST_KNOWN = 1000
_KNOWN: dict[tuple[int, ...], tuple[CheckedModel, Sequence[TypedExpr], list[TypedExpr]]] = {}


def cluster_of(
    model: CheckedModel,
    store: ValueStore,
    limits: MemoryLimits,
    *,
    nodes_differ: bool = False,
    keys: tuple[Sequence[TypedExpr], IndexVar] | None = None,
    priced: bool = True,
) -> Cluster:
    """The cluster of a built instance; with `nodes_differ` every node is a kind of its own.

    Without `priced` it costs nothing that jobs are late or wait, as for policies that do not compare plans.

    Nodes for which one of the `keys` differs are of different kinds; the index is the job in them.

    Raises DiagnosticError (GSM3016) where the placement does not say what is needed.
    """
    return _Reader(model, store, limits, nodes_differ, keys, priced).run()


def keys_of_ways(policy: CheckedPolicy) -> tuple[tuple[TypedExpr, ...], IndexVar]:
    """The keys of `choose by` and `otherwise by` lines without a list, and the index that they have for the job.

    Nodes for which they differ are of different kinds.
    """
    rankings = [r for r in (policy.choose, policy.otherwise) if r is not None and not r.indexing.iterators]
    return tuple(key.value for r in rankings for key in r.keys), policy.order.indexing.variables[0]


class _Reader(PlacementEvaluator):
    def __init__(
        self,
        model: CheckedModel,
        store: ValueStore,
        limits: MemoryLimits,
        nodes_differ: bool,
        keys: tuple[Sequence[TypedExpr], IndexVar] | None,
        priced: bool,
    ) -> None:
        super().__init__(model, store, limits)
        self.priced = priced
        self.nodes_differ = nodes_differ
        self.keys: Sequence[TypedExpr] = () if keys is None else keys[0]
        self.key_job: IndexVar | None = None if keys is None else keys[1]
        self.type_texts: tuple[str, ...] = ()

    def run(self) -> Cluster:
        job_at, node_at = position_of(self.placement, "job"), position_of(self.placement, "node")
        type_at = self.placement.position("node_type")
        jobs, nodes = self._elements(job_at), self._elements(node_at)
        if type_at is not None:
            kind_of_node = np.full(len(nodes), NONE)
            columns = self._family(node_at, nodes[:1])
            kinds, kind = np.unique(columns[type_at], return_inverse=True)
        else:
            kinds, kind_of_node, columns, kind = self._nodes_as_they_are(job_at, node_at, nodes)
        order = np.lexsort((kind.reshape(-1), np.searchsorted(jobs, columns[job_at])))  # of equal ones in their order
        columns, kind = tuple(c[order] for c in columns), kind.reshape(-1)[order]
        work = self._workload(columns, kind, kind_of_node, jobs, len(kinds), job_at)
        return Cluster(work, jobs, nodes, kinds, columns, job_at, node_at, type_at, self.placement, self.type_texts)

    # --- indices ---------------------------------------------------------------------------------------------------

    def _elements(self, at: int) -> Codes:
        """The elements that an index runs over, sorted by code."""
        variable = self.model.variables[self.placement.variable]
        place = 0
        for iterator in variable.indexing.iterators:
            if place <= at < place + len(iterator.variables):
                if isinstance(iterator.domain, NamedSet):
                    return _distinct(self.store.sets[iterator.domain.name].columns()[at - place])
                break
            place += len(iterator.variables)
        domain = self.ev.index_domain(variable.indexing, variable.span)
        return _distinct(domain.columns()[at])

    def _family(self, node_at: int, nodes: Codes) -> tuple[Codes, ...]:
        """The index codes of the family's elements on some nodes."""
        variable = self.model.variables[self.placement.variable]
        indexing = variable.indexing
        place = 0
        for number, iterator in enumerate(indexing.iterators):
            if place == node_at and len(iterator.variables) == 1 and isinstance(iterator.domain, NamedSet):
                only = structs.replace(iterator, domain=structs.replace(iterator.domain, name=ONE_NODE_OF_EACH))
                listed = (*indexing.iterators[:number], only, *indexing.iterators[number + 1 :])
                component = self.store.sets[iterator.domain.name].components[0]
                sets = self.store.sets | {ONE_NODE_OF_EACH: TupleDomain((component,), (nodes,))}
                small = Evaluator(self.model, structs.replace(self.store, sets=sets), self.limits)
                return small.index_domain(TypedIndexing(listed, indexing.conditions), variable.span).columns()
            place += len(iterator.variables)
        columns = self.ev.index_domain(indexing, variable.span).columns()
        kept = np.isin(columns[node_at], nodes)
        return columns if kept.all() else tuple(c[kept] for c in columns)

    def _nodes_as_they_are(
        self, job_at: int, node_at: int, nodes: Codes
    ) -> tuple[Codes, Ints, tuple[Codes, ...], Ints]:
        """Kinds of nodes that are there: those of one type on which all jobs have the same ways form a kind."""
        frame = Frame(len(nodes), {self.placement.indices[node_at]: nodes})
        node_type = self.placement.value("node_type")
        label = nodes
        if not self.nodes_differ:
            label = np.zeros_like(nodes)
            if node_type is not None:
                label, self.type_texts = type_codes(self.ev, node_type, frame)
        columns = self._family(node_at, nodes)
        signature = np.zeros(len(nodes), dtype=np.uint64)
        if not self.nodes_differ:
            place = np.searchsorted(nodes, columns[node_at])
            others = [c for at, c in enumerate(columns) if at != node_at]
            told = [i.value for i in self.placement.all("uses", "lasts", "costs", "node_rate", "late")]
            told += [i.of for i in self.placement.all("uses") if i.of is not None]
            told += self.keys
            node, rows = self.placement.indices[node_at], self.frame(columns)
            if self.key_job is not None:
                rows = rows.bind({self.key_job: columns[job_at]})
            numbers = [self.ev.number_column(c, rows) for c in self._apart(told, node, node_type)]
            numbers += self._bounds_of_workers(columns, node_at)
            np.add.at(signature, place, _hashes(others, numbers))
        table = np.stack((np.broadcast_to(label, nodes.shape).astype(np.int64), signature.astype(np.int64)), axis=1)
        _, first, kind_of_node = np.unique(table, axis=0, return_index=True, return_inverse=True)
        # In the order of their types in the data, as lines of policies list them; of one type, in that of their nodes.
        # Types that are numbers or texts are in the order of their first nodes.
        of_set = node_type is not None and isinstance(node_type.type, Element)
        order = np.lexsort((first, np.broadcast_to(label, nodes.shape)[first])) if of_set else np.argsort(first)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        kind_of_node = rank[kind_of_node.reshape(-1)]
        representatives = nodes[first[order]]
        kept = np.isin(columns[node_at], representatives)
        columns = tuple(c[kept] for c in columns)
        kind = kind_of_node[np.searchsorted(nodes, columns[node_at])]
        return np.broadcast_to(label, nodes.shape)[first[order]], kind_of_node, columns, kind

    def _apart(self, told: Sequence[TypedExpr], node: IndexVar, label: TypedExpr | None) -> list[TypedExpr]:
        """Those expressions that differ between nodes of one type; every plan of a run asks for the same."""
        key = (id(self.model), *map(id, told))
        if key not in _KNOWN:
            if len(_KNOWN) >= _MOST_KNOWN:
                _KNOWN.clear()
            apart = [c for c in told if distinguishes_nodes(c, node, label, self.model)]
            _KNOWN[key] = (self.model, told, apart)  # kept, so that no others get their identities
        return _KNOWN[key][2]

    def _bounds_of_workers(self, columns: tuple[Codes, ...], node_at: int) -> list[Floats]:
        """The bounds of the workers of gangs on a node that differ between nodes."""
        if not self.placement.has_gangs:
            return []
        variable = self.model.variables[self.placement.variable]
        indices = variable.indexing.variables
        frame = Frame(len(columns[0]), dict(zip(indices, columns, strict=True)))
        bounds = (bound.value for bound in upper_bounds(variable))
        return [self.ev.number_column(b, frame) for b in bounds if distinguishes_nodes(b, indices[node_at], None)]

    # --- numbers ---------------------------------------------------------------------------------------------------

    def _workload(
        self, columns: tuple[Codes, ...], kind: Ints, kind_of_node: Ints, jobs: Codes, kinds: int, job_at: int
    ) -> Workload:
        frame = self.frame(columns)
        job = np.searchsorted(jobs, columns[job_at])
        uses = self.placement.all("uses")
        if not uses:
            used, capacity = np.ones(len(kind)), np.ones(kinds)  # a job takes a whole node
        else:
            used = self.ev.number_column(uses[0].value, frame)
            capacity = self._by(kind, kinds, self.capacity(uses[0], frame))
            # Without a capacity a node has room for all jobs.
            capacity = np.where(np.isposinf(capacity), used.max(initial=0.0) * len(jobs), capacity)
        parts = self._parts(used, capacity)
        size, units = np.rint(used * parts).astype(np.int64), np.floor(capacity * parts + WHOLE).astype(np.int64)
        extra = uses[1:]
        needs = (
            np.stack([self.ev.number_column(i.value, frame) for i in extra], axis=1)
            if extra
            else np.zeros((len(kind), 0))
        )
        room = [self._by(kind, kinds, self.capacity(i, frame)) for i in extra]

        of_job = Frame(len(jobs), {self.placement.indices[job_at]: jobs})
        time = self.times("lasts", frame, 1.0)
        due = self.times("due", of_job, np.inf)
        weight = self.money_of("weight", of_job, per_time=True)
        first_way = np.searchsorted(job, np.arange(len(jobs) + 1))
        # Kernels look sizes up without asking how large nodes are: a way larger than any has a size that none holds.
        size = np.minimum(size, units.max(initial=0) + 1)
        way_at = np.full((len(jobs), kinds, int(max(units.max(initial=0), size.max(initial=0))) + 1), NONE)
        fits = np.flatnonzero(size <= units[kind])[::-1]  # where several ways have one size, the first one stands
        way_at[job[fits], kind[fits], size[fits]] = fits
        return Workload(
            parts=parts,
            node_kind=kind_of_node,
            units=units,
            family=self._families(kind, kinds, frame),
            stock=self._stock(kind, kinds, frame, len(kind_of_node)),
            price=self._by(kind, kinds, self.money_of("node_price", frame, per_time=True)),
            idle=self._by(kind, kinds, self.money_of("idle", frame)),
            node_rate=self._node_rates(kind, columns, units // parts),
            room=np.stack(room, axis=1) if room else np.zeros((kinds, 0)),
            due=due,
            weight=weight,
            postponed=self.money_of("postponed", of_job) if self.priced else np.zeros(len(jobs)),
            first_way=first_way,
            job=job,
            kind=kind.astype(np.int64),
            size=size,
            time=time,
            rate=self.rates(frame, time),
            late=self._late(frame, weight[job] * np.maximum(0.0, time - due[job])),
            needs=needs,
            way_at=way_at,
        )

    @staticmethod
    def _by(kind: Ints, kinds: int, values: Floats) -> Floats:
        """The value of each kind, from values of ways."""
        found = np.zeros(kinds)
        found[kind] = values
        return found

    def _parts(self, used: Floats, capacity: Floats) -> int:
        """Return the number of parts of a GPU such that every way uses an integer number."""
        shares = np.unique(np.concatenate((used, capacity[np.isfinite(capacity)])))
        for parts in range(1, MOST_PARTS + 1):
            if (np.abs(shares * parts - np.rint(shares * parts)) <= 1e-6).all():
                return parts
        item = self.placement.all("uses")[0]
        message = f"the use of jobs is not a multiple of 1/{MOST_PARTS} of a unit"
        raise DiagnosticError([Diagnostic("GSM3016", message, item.value.span, "not a multiple")])

    def _families(self, kind: Ints, kinds: int, frame: Frame) -> Ints:
        """Numbers of families; a kind without a family (or called \"\") is one of its own."""
        value = self.placement.value("family")
        own = np.arange(kinds)
        if value is None:
            return own
        values = np.broadcast_to(self.ev.values(value, frame), (frame.size,))
        names: list[object] = [None] * kinds
        first = np.unique(kind, return_index=True)
        for k, row in zip(first[0].tolist(), first[1].tolist(), strict=True):
            names[k] = values[row]
        unnamed = "" if isinstance(value.type, TextType) else None
        place: dict[object, int] = {}
        return np.array([k if n == unnamed else place.setdefault(n, k) for k, n in enumerate(names)], dtype=np.int64)

    def _late(self, frame: Frame, otherwise: Floats) -> Floats:
        """Money for being late in each way: as stated, else the weight times how late the planned time is."""
        if not self.priced:
            return np.zeros(frame.size)
        return otherwise if self.placement.item("late") is None else self.money_of("late", frame)

    def _node_rates(self, kind: Ints, columns: tuple[Codes, ...], gpus: Ints) -> Floats:
        """Money per time of a node by the number of its GPUs in use, shape (kinds, 0) where that is not stated.

        `node_rate` names, beside the node, one index of the placement: it stands for that number.
        """
        item = self.placement.item("node_rate")
        if item is None:
            return np.zeros((len(gpus), 0))
        counting = self.counting_indices(item)
        if len(counting) != 1:
            message = "`node_rate` must depend on the number of GPUs in use"
            help = "write it with one index of the placement for that number, such as `g`"
            found = Diagnostic("GSM3016", message, item.value.span, f"{len(counting)} such indices", help=help)
            raise DiagnosticError([found])
        kinds, first = np.unique(kind, return_index=True)
        count = ranges(gpus[kinds]) + 1
        frame = self.frame(columns).take(np.repeat(first, gpus[kinds]))
        rates = self.money_of("node_rate", frame.bind({counting[0]: count}), per_time=True)
        table = np.zeros((len(gpus), int(gpus.max(initial=0)) + 1))
        table[np.repeat(kinds, gpus[kinds]), count] = rates
        return table

    def _stock(self, kind: Ints, kinds: int, frame: Frame, nodes: int) -> Ints:
        value = self.placement.value("stock")
        if value is None:
            return np.full(kinds, nodes)
        return np.floor(self._by(kind, kinds, self.ev.number_column(value, frame)) + WHOLE).astype(np.int64)


def position_of(placement: CheckedPlacement, role: Role) -> int:
    """The position of the index that states a role; raises DiagnosticError (GSM3016) if no index does."""
    at = placement.position(role)
    if at is None:
        raise no_index(placement, role)
    return at


def no_index(placement: CheckedPlacement, role: Role) -> DiagnosticError:
    """The refusal (GSM3016) of a placement without an index for a role."""
    value = placement.value(role)
    span = placement.span if value is None else value.span
    message = f"policies cannot use this placement: it does not state the index of the {role.replace('_', ' ')}"
    help = f"state `{role}` as an index of `{placement.variable}`"
    return DiagnosticError([Diagnostic("GSM3016", message, span, f"no index for `{role}`", help=help)])


def _distinct(codes: Codes) -> Codes:
    """The codes that occur, sorted; by counting where they are small."""
    if len(codes) and codes.min() >= 0 and codes.max() < 4 * len(codes):
        return np.flatnonzero(np.bincount(codes))
    return np.unique(codes)


def distinguishes_nodes(
    part: Part, node: IndexVar, label: TypedExpr | None, formulas: CheckedModel | None = None
) -> bool:
    """Whether a value can differ between nodes of one type: whether it reads the node otherwise than for its type.

    `label` is the type of a node as an expression of the node. With `formulas`, the values of `let`s and derived
    parameters of this model count, not their names.
    """
    if not isinstance(label, ParamRef) or not _is_of(label, node):
        label = None
    return _distinguishes(part, node, None if label is None else label.name, formulas)


def _distinguishes(part: Part, node: IndexVar, label: str | None, formulas: CheckedModel | None) -> bool:
    if isinstance(part, IndexRef):
        return part.variable is node
    if isinstance(part, ParamRef) and part.name == label and _is_of(part, node):
        return False
    if formulas is not None and isinstance(part, ParamRef | LetRef):
        declared = (formulas.params if isinstance(part, ParamRef) else formulas.lets)[part.name]
        if declared.value is not None and not getattr(declared, "recursive", False):
            pairs = list(zip(part.subscripts, declared.indexing.variables, strict=True))
            own = [v for s, v in pairs if _is_index(s, node)]
            others = [s for s, _ in pairs if not _is_index(s, node)]
            if any(_distinguishes(s, node, label, formulas) for s in others):
                return True
            return any(_distinguishes(declared.value, v, label, formulas) for v in own)
    return any(_distinguishes(inner, node, label, formulas) for inner in children(part))


def _is_of(reference: ParamRef, node: IndexVar) -> bool:
    """Whether a reference has the node as its only subscript."""
    return len(reference.subscripts) == 1 and _is_index(reference.subscripts[0], node)


def _is_index(expr: TypedExpr, variable: IndexVar) -> bool:
    return isinstance(expr, IndexRef) and expr.variable is variable


def _hashes(codes: Sequence[Codes], numbers: Sequence[Floats]) -> Codes:
    """Return a hash of each row; sums of them identify sets of rows, with very high probability.

    The hash of zeros is not 0: that would be the sum over no rows.
    """
    found = np.ones(len(codes[0]) if codes else len(numbers[0]), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in (*codes, *numbers):
            bits = np.ascontiguousarray(column).view(np.uint64)
            found = (found ^ bits) * np.uint64(0x9E3779B97F4A7C15)
            found ^= found >> np.uint64(29)
    return found  # type: ignore[return-value]
