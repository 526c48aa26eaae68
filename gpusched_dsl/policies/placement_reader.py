"""Reads a cluster off a model's `placement`: jobs, nodes, kinds of nodes (`node_kinds.py`), ways to run, numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import Frame, ranges
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Codes, Floats, Ints, first_places, unique
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.checked import CheckedModel, IndexVar, TextType, TypedExpr
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.policies.cluster import Cluster, numbers
from gpusched_dsl.policies.node_kinds import NodeKindReader, NodeKinds, position_of
from gpusched_dsl.policies.workload import NONE, Workload

MOST_PARTS = 1000  # a GPU is given out in so many equal parts at most
WHOLE = ROUNDING


def cluster_of(
    model: CheckedModel,
    store: ValueStore,
    limits: MemoryLimits,
    *,
    nodes_differ: bool = False,
    keys: tuple[Sequence[TypedExpr], IndexVar] | None = None,
    priced: bool = True,
    tables: bool = True,
) -> Cluster:
    """The cluster of a built instance; with `nodes_differ` every node is a kind of its own.

    Without `priced` it costs nothing that jobs are late or wait, as for policies that do not compare plans. Without
    `tables`, `way_at` and `like_at` are empty: they have a cell for each job, kind of node and number of units, which
    only kernels read.

    Nodes for which one of the `keys` differs are of different kinds; the index is the job in them.

    Raises DiagnosticError: GSM3016 where the placement does not say what is needed, GSM3001 where the tables exceed the
    memory limit.
    """
    reader = _Reader(model, store, limits, priced, tables)
    return reader.cluster(NodeKindReader(reader, nodes_differ, keys).run())


def keys_of_ways(policy: CheckedPolicy) -> tuple[tuple[TypedExpr, ...], IndexVar]:
    """The keys of `choose by` and `otherwise by` lines without a list, and the index that they have for the job.

    Nodes for which they differ are of different kinds.
    """
    rankings = [r for r in (policy.choose, policy.otherwise) if r is not None and not r.indexing.iterators]
    return tuple(key.value for r in rankings for key in r.keys), policy.order.indexing.variables[0]


class _Reader(PlacementEvaluator):
    def __init__(
        self, model: CheckedModel, store: ValueStore, limits: MemoryLimits, priced: bool, tables: bool
    ) -> None:
        super().__init__(model, store, limits)
        self.priced = priced
        self.tables = tables

    def cluster(self, found: NodeKinds) -> Cluster:
        job_at, node_at = position_of(self.placement, "job"), position_of(self.placement, "node")
        columns, kind, job = found.columns, found.kind, numbers(found.jobs, found.columns[job_at])
        key = job * max(len(found.kinds), 1) + kind
        if (key[1:] < key[:-1]).any():
            order = np.argsort(key, kind="stable")
            columns, kind, job = tuple(c[order] for c in columns), kind[order], job[order]
        work = self._workload(columns, kind, job, found.kind_of_node, found.jobs, len(found.kinds), job_at)
        type_at = self.placement.position("node_type")
        return Cluster(
            work, found.jobs, found.nodes, found.kinds, columns, job_at, node_at, type_at, self.placement,
            found.type_texts,
        )  # fmt: skip

    # --- numbers ---------------------------------------------------------------------------------------------------

    def _workload(
        self,
        columns: tuple[Codes, ...],
        kind: Ints,
        job: Ints,
        kind_of_node: Ints,
        jobs: Codes,
        kinds: int,
        job_at: int,
    ) -> Workload:
        frame = self.frame(columns)
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
        form, way_at, like_at = self._tables(columns, job, kind, size, units, len(jobs), job_at)
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
            form=form,
            like_at=like_at,
        )

    def _tables(
        self, columns: tuple[Codes, ...], job: Ints, kind: Ints, size: Ints, units: Ints, jobs: int, job_at: int
    ) -> tuple[Ints, Ints, Ints]:
        """Return the form of each way, and the tables of ways by size and by form.

        Raises DiagnosticError (GSM3001) where they do not fit into memory.
        """
        sizes = int(max(units.max(initial=0), size.max(initial=0))) + 1
        if not self.tables:
            nothing = np.zeros((jobs, len(units), 0), dtype=np.int64)
            return size, nothing, nothing
        what = f"the table of {count_text(jobs, 'job')} by the units of the largest node"
        self.ev.budget.table(jobs * len(units) * sizes, self.placement.span, what)
        way_at = np.full((jobs, len(units), sizes), NONE)
        fits = np.flatnonzero(size <= units[kind])[::-1]  # where several ways have one size, the first one stands
        way_at[job[fits], kind[fits], size[fits]] = fits
        if (way_at[job[fits], kind[fits], size[fits]] == fits).all():
            return size, way_at, way_at
        form, like_at = self._forms(columns, job, kind, (jobs, len(units)), job_at)
        return form, way_at, like_at

    def _forms(
        self, columns: tuple[Codes, ...], job: Ints, kind: Ints, shape: tuple[int, int], job_at: int
    ) -> tuple[Ints, Ints]:
        """Return the form of each way, by all indices but those of job, node and type, and the table by form.

        Raises DiagnosticError (GSM3001) where the table does not fit into memory.
        """
        known = {job_at, *(self.placement.position(role) for role in ("node", "node_type"))}
        rest = [codes for at, codes in enumerate(columns) if at not in known]
        form = np.zeros(len(job), dtype=np.int64)
        for codes in rest:
            form = np.unique(form * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1].reshape(-1)
        forms = int(form.max(initial=0)) + 1
        span = self.placement.span
        self.ev.budget.problem(shape[0] * shape[1] * forms, span, "the ways of all jobs by their indices")
        like_at = np.full((*shape, forms), NONE)
        ways = np.arange(len(job))[::-1]
        like_at[job[ways], kind[ways], form[ways]] = ways
        return form.astype(np.int64), like_at

    @staticmethod
    def _by(kind: Ints, kinds: int, values: Floats) -> Floats:
        """The value of each kind, from values of ways."""
        found = np.zeros(kinds)
        found[kind] = values
        return found

    def _parts(self, used: Floats, capacity: Floats) -> int:
        """Return the number of parts of a GPU such that every way uses an integer number."""
        shares = unique(np.concatenate((used, capacity[np.isfinite(capacity)])))
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
        first = first_places(kind, kinds)
        for k in np.flatnonzero(first >= 0).tolist():
            names[k] = values[first[k]]
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
        first = first_places(kind, len(gpus))
        kinds = np.flatnonzero(first >= 0)
        first = first[kinds]
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
