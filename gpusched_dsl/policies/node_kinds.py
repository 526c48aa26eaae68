"""The jobs, nodes and kinds of nodes of a placement, and the ways of the jobs to run on one node of each kind.

The family of binaries that the placement explains is looked at for one node of every kind; a way is an element of it
without its node. What a model's variable leaves out by its own condition is no way to run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.gangs import upper_bounds
from gpusched_dsl.compiling.interchangeable.equivalence_classes import classes_of
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.placement import PlacementEvaluator, type_codes
from gpusched_dsl.ir.arrays import Codes, Floats, Ints, numbered_by_first, unique
from gpusched_dsl.ir.domains import TupleDomain
from gpusched_dsl.language.checked import (
    CheckedBound,
    CheckedModel,
    CheckedPlacement,
    Element,
    IndexVar,
    Iterator,
    NamedSet,
    Role,
    TypedExpr,
    TypedIndexing,
)
from gpusched_dsl.language.checked_policy import NOW
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.cluster import numbers
from gpusched_dsl.policies.node_types import distinguishes_nodes, name_of_type, ways_are_alike, with_node_set
from gpusched_dsl.policies.workload import NONE

SOME_NODES = "(some nodes)"  # no author can write this name
_MOST_KNOWN = 1000
EMPTY = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class NodeKinds:
    """Codes of jobs, nodes and kinds (types, where nodes have them); `type_texts` of the kinds, where these are texts.

    `kind_of_node` is a number of `kinds`, NONE where nodes are not there yet. `columns` are the index codes of the ways
    on one node of each kind, `kind` the number of the kind of each way.
    """

    jobs: Codes
    nodes: Codes
    kinds: Codes
    kind_of_node: Ints
    columns: tuple[Codes, ...]
    kind: Ints
    type_texts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Analysis:
    """What a model says of nodes of one type: expressions that differ between them, and the index list of the ways.

    `alike`: that list, over a set of some nodes, if the ways are the same on all nodes of one type; None if not.
    `reads` is a model that reads no more than what makes nodes differ: the family, its bounds and `apart`.
    """

    model: CheckedModel
    told: Sequence[TypedExpr]  # kept, as well as the model, so that no others get their identities
    apart: Sequence[TypedExpr]
    alike: TypedIndexing | None
    reads: CheckedModel


_KNOWN: dict[tuple[int, ...], _Analysis] = {}  # by identity: every plan of a run asks for the same


class NodeKindReader:
    """Reads them by the evaluator of a placement; `nodes_differ` and `keys` as for `cluster_of`."""

    def __init__(
        self, reader: PlacementEvaluator, nodes_differ: bool, keys: tuple[Sequence[TypedExpr], IndexVar] | None
    ) -> None:
        self.model, self.store, self.limits, self.ev = reader.model, reader.store, reader.limits, reader.ev
        self.placement, self.frame = reader.placement, reader.frame
        self.nodes_differ = nodes_differ
        self.keys: Sequence[TypedExpr] = () if keys is None else keys[0]
        self.key_job: IndexVar | None = None if keys is None else keys[1]
        self.job_at, self.node_at = position_of(self.placement, "job"), position_of(self.placement, "node")
        self.node = self.placement.indices[self.node_at]
        variable = self.model.variables[self.placement.variable]
        self.indexing, self.span = variable.indexing, variable.span

    def run(self) -> NodeKinds:
        type_at = self.placement.position("node_type")
        if type_at is not None:
            return self._nodes_to_rent(type_at)
        label = None if self.nodes_differ else self.placement.value("node_type")
        analysis = self._analysis(label)
        if analysis.alike is not None and not analysis.apart and not self.placement.has_gangs:
            assert label is not None
            return self._one_node_of_each_type(label, analysis.alike)
        return self._nodes_as_they_are(label, analysis.apart, analysis.reads)

    # --- elements --------------------------------------------------------------------------------------------------

    def _iterator(self, at: int) -> tuple[Iterator, int]:
        """The iterator that binds an index, and the place of the index in it."""
        place = 0
        for iterator in self.indexing.iterators:
            if at < place + len(iterator.variables):
                return iterator, at - place
            place += len(iterator.variables)
        raise AssertionError("an index of the placement is one of its variable")

    def _elements(self, at: int) -> Codes:
        """The elements that an index runs over, sorted by code."""
        iterator, place = self._iterator(at)
        if isinstance(iterator.domain, NamedSet):
            return _distinct(self.store.sets[iterator.domain.name].columns()[place])
        return _distinct(self.ev.index_domain(self.indexing, self.span).columns()[at])

    def _family(self, nodes: Codes) -> tuple[Codes, ...]:
        """The index codes of the family's elements on some nodes."""
        iterator, _ = self._iterator(self.node_at)
        if _set_of_one(iterator) is not None:
            only = structs.replace(iterator, domain=structs.replace(iterator.domain, name=SOME_NODES))
            listed = tuple(only if i is iterator else i for i in self.indexing.iterators)
            return self._listed(structs.replace(self.indexing, iterators=listed), nodes)
        columns = self.ev.index_domain(self.indexing, self.span).columns()
        kept = np.isin(columns[self.node_at], nodes)
        return columns if kept.all() else tuple(c[kept] for c in columns)

    def _listed(self, indexing: TypedIndexing, nodes: Codes) -> tuple[Codes, ...]:
        """The index codes of a list that goes through SOME_NODES."""
        some = TupleDomain((self.store.component(self.node.type),), (nodes,))
        store = structs.replace(self.store, sets=self.store.sets | {SOME_NODES: some})
        return Evaluator(self.model, store, self.limits).index_domain(indexing, self.span).columns()

    # --- kinds -----------------------------------------------------------------------------------------------------

    def _nodes_to_rent(self, type_at: int) -> NodeKinds:
        """Any node can be of any type, which is an index of the family."""
        jobs, nodes = self._elements(self.job_at), self._elements(self.node_at)
        columns = self._family(nodes[:1])
        kinds = _distinct(columns[type_at])
        return NodeKinds(jobs, nodes, kinds, np.full(len(nodes), NONE), columns, numbers(kinds, columns[type_at]))

    def _one_node_of_each_type(self, label: TypedExpr, indexing: TypedIndexing) -> NodeKinds:
        """Nodes of one type form a kind. Nothing is made for every node but its type."""
        iterator, _ = self._iterator(self.node_at)
        assert isinstance(self.node.type, Element)
        named = _set_of_one(iterator)
        nodes = _distinct(self.store.sets[named or self.node.type.root].columns()[0])
        labels, texts = type_codes(self.ev, label, Frame(len(nodes), {self.node: nodes}))
        labels = np.broadcast_to(labels, nodes.shape)
        kinds, first, kind_of_node = np.unique(labels, return_index=True, return_inverse=True)
        columns = self._listed(indexing, nodes[first])
        if named is None:  # only nodes with ways are nodes of the family
            used = np.isin(nodes[first], columns[self.node_at])
            kept = used[kind_of_node]
            kinds, first, kind_of_node = kinds[used], first[used], (np.cumsum(used) - 1)[kind_of_node[kept]]
            first = (np.cumsum(kept) - 1)[first]
            nodes = nodes[kept]
        of_job, _ = self._iterator(self.job_at)
        apart = of_job is not iterator and isinstance(of_job.domain, NamedSet)
        jobs = self._elements(self.job_at) if apart else _distinct(columns[self.job_at])
        return self._in_order(NodeKinds(jobs, nodes, kinds, kind_of_node, columns, EMPTY, texts), label, first)

    def _nodes_as_they_are(self, label: TypedExpr | None, apart: Sequence[TypedExpr], reads: CheckedModel) -> NodeKinds:
        """Kinds of nodes that are there: those of one type on which all jobs have the same ways form a kind."""
        jobs, nodes = self._elements(self.job_at), self._elements(self.node_at)
        labels = nodes
        texts: tuple[str, ...] = ()
        if not self.nodes_differ:
            labels = np.zeros_like(nodes)
            if label is not None:
                labels, texts = type_codes(self.ev, label, Frame(len(nodes), {self.node: nodes}))
        labels = np.broadcast_to(labels, nodes.shape)
        shown, alike = self._one_of_alike(nodes, labels, reads)
        columns = self._family(nodes[shown])
        signature = np.zeros(len(shown), dtype=np.uint64)
        if not self.nodes_differ:
            place = numbers(nodes[shown], columns[self.node_at])
            others = [c for at, c in enumerate(columns) if at != self.node_at]
            rows = self.frame(columns)
            if self.key_job is not None:
                rows = rows.bind({self.key_job: columns[self.job_at]})
            keys = [self.ev.number_column(c, rows) for c in apart] + self._bounds_of_workers(columns)
            np.add.at(signature, place, _hashes(others, keys))
        table = np.stack((labels[shown].astype(np.int64), signature.astype(np.int64)), axis=1)
        _, first, kind_of_shown = np.unique(table, axis=0, return_index=True, return_inverse=True)
        first = shown[first]
        kept = np.isin(columns[self.node_at], nodes[first])
        columns = tuple(c[kept] for c in columns)
        found = NodeKinds(jobs, nodes, labels[first], kind_of_shown.reshape(-1)[alike], columns, EMPTY, texts)
        return self._in_order(found, label, first)

    def _one_of_alike(self, nodes: Codes, labels: Codes, reads: CheckedModel) -> tuple[Ints, Ints]:
        """The first node of each class that data do not tell apart, in the order of nodes, and the class of each node.

        One node shows the ways on all nodes of its class: those of each node need not be made. Every node is a class
        where the text may distinguish nodes.
        """
        every = np.arange(len(nodes))
        if self.nodes_differ or not isinstance(self.node.type, Element) or not len(nodes):
            return every, every
        try:
            classes = classes_of(reads, self.store, self.node.type.root)
        except Obstacle:
            return every, every
        return numbered_by_first(np.stack((labels.astype(np.int64), classes.of[nodes]), axis=1))

    def _in_order(self, found: NodeKinds, label: TypedExpr | None, first: Codes) -> NodeKinds:
        """The same with kinds in the order of their types in the data, as lines of policies list them.

        Kinds of one type, and those whose types are numbers or texts, are in the order of their first nodes.
        """
        by_type = label is not None and isinstance(label.type, Element)
        order = np.lexsort((first, found.kinds)) if by_type else np.argsort(first)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        kind_of_node = rank[found.kind_of_node]
        kind = kind_of_node[numbers(found.nodes, found.columns[self.node_at])]
        return replace(found, kinds=found.kinds[order], kind_of_node=kind_of_node, kind=kind)

    def _analysis(self, label: TypedExpr | None) -> _Analysis:
        """What the model says of nodes of one type."""
        told = [i.value for i in self.placement.all("uses", "lasts", "costs", "node_rate", "late")]
        told += [i.of for i in self.placement.all("uses") if i.of is not None]
        told += self.keys
        # The model of each plan has a clock of its own, which is the same for all nodes.
        model = self.model
        lets = (value for name, value in model.lets.items() if name != NOW)
        key = tuple(map(id, (model.params, model.sets, model.variables, label, *told, *lets)))
        if key not in _KNOWN:
            if len(_KNOWN) >= _MOST_KNOWN:
                _KNOWN.clear()
            apart = [c for c in told if distinguishes_nodes(c, self.node, label, self.model)]
            alike = None
            # Of a set of tuples all nodes and jobs count, whatever conditions are put on the tuples.
            tuples = any(len(i.variables) > 1 for i in self.indexing.iterators) and self.indexing.conditions
            name = name_of_type(label, self.node)
            if name is not None and not tuples and ways_are_alike(self.indexing, self.node_at, name, self.model):
                alike = with_node_set(self.indexing, self.node_at, SOME_NODES, self.model)
            variable = self.model.variables[self.placement.variable]
            asked = tuple(CheckedBound("<=", value, self.span) for value in apart)
            family = {variable.name: structs.replace(variable, bounds=(*upper_bounds(variable), *asked))}
            reads = structs.replace(self.model, variables=family, constraints={}, objectives=())
            _KNOWN[key] = _Analysis(self.model, told, apart, alike, reads)
        return _KNOWN[key]

    def _bounds_of_workers(self, columns: tuple[Codes, ...]) -> list[Floats]:
        """The bounds of the workers of gangs on a node that differ between nodes."""
        if not self.placement.has_gangs:
            return []
        variable = self.model.variables[self.placement.variable]
        indices = variable.indexing.variables
        frame = Frame(len(columns[0]), dict(zip(indices, columns, strict=True)))
        bounds = (bound.value for bound in upper_bounds(variable))
        return [self.ev.number_column(b, frame) for b in bounds if distinguishes_nodes(b, indices[self.node_at], None)]


def _set_of_one(iterator: Iterator) -> str | None:
    """The named set that an iterator with one index goes through: its elements count whether they have ways or not."""
    return iterator.domain.name if len(iterator.variables) == 1 and isinstance(iterator.domain, NamedSet) else None


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
    return unique(codes)


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
