"""The history of a run as arrays: the place of each job over time, and the size of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Ints
from gpusched_dsl.language.checked import CheckedPlacement, Element, Numeric, Role, TypedExpr
from gpusched_dsl.language.units import UNITS, Unit, number_factor
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.online.simulation.world import FUTURE, World


@dataclass(frozen=True, eq=False)
class Stretches:
    """Job was on a place (a node of a kind), with so many GPUs, from `start` to `end`; by start, job, then place.

    A gang has a row for each of its nodes; the first of them `leads`.
    """

    job: Ints
    place: Ints
    kind: Ints
    uses: Floats
    start: Floats
    end: Floats

    def __len__(self) -> int:
        return len(self.job)

    @cached_property
    def leads(self) -> Bools:
        """Which rows are the only one of their job at that time, or the first."""
        found = np.ones(len(self.job), dtype=np.bool_)
        found[1:] = (self.job[1:] != self.job[:-1]) | (self.start[1:] != self.start[:-1])
        return found


def stretches_of(world: World) -> Stretches:
    """All stretches of a run, those of jobs that still run up to now; none is empty."""
    now = world.parts
    going = (now.job, now.place, now.kind, now.uses, world.since[now.job], np.full(len(now), world.now))
    columns = [np.concatenate(parts) for parts in zip(*world.stretches, going, strict=True)]
    order = np.lexsort((columns[1], columns[0], columns[4]))
    order = order[columns[5][order] > columns[4][order]]
    job, place, kind, uses, start, end = (c[order] for c in columns)
    return Stretches(job, place, kind, uses, start, end)


@dataclass(frozen=True, eq=False)
class RunHistory:
    """An outcome with the names and sizes of its placement. Times are in the unit of the run's clock."""

    outcome: RunOutcome

    @cached_property
    def stretches(self) -> Stretches:
        return stretches_of(self.outcome.world)

    @cached_property
    def came(self) -> Ints:
        """The jobs that arrived during the run."""
        return np.flatnonzero(self.outcome.world.status != FUTURE)

    # --- names -------------------------------------------------------------------------------------------------------

    @property
    def placement(self) -> CheckedPlacement:
        placement = self.outcome.online.base.placement
        assert placement is not None, "a run refuses models without a placement"
        return placement

    @property
    def jobs_root(self) -> str:
        return self.outcome.online.jobs_root

    @property
    def places_root(self) -> str:
        return self.placement.places_root

    @property
    def kinds_root(self) -> str:
        return self.placement.kinds_root

    @property
    def counts_nodes(self) -> bool:
        """Whether decisions count nodes of a type and do not name them: a place is then a type."""
        return not self.placement.root("node")

    @property
    def has_uses(self) -> bool:
        """Whether the placement states the number of GPUs of a job; otherwise a job uses a complete node."""
        return self.placement.item("uses") is not None

    def labels(self, root: str, codes: Codes) -> list[str]:
        """The names of elements; `""` for none."""
        if not root:
            return [""] * len(codes)
        known = codes >= 0
        texts = np.full(len(codes), "", dtype=object)
        texts[known] = [str(label) for label in self.outcome.base.labels(root, codes[known])]
        found: list[str] = texts.tolist()
        return found

    # --- units -------------------------------------------------------------------------------------------------------

    @cached_property
    def clock(self) -> Unit:
        """The unit of the run's clock."""
        return UNITS["h"] if self.outcome.online.window is not None else self.outcome.online.unit

    @cached_property
    def hours(self) -> float:
        """Hours in one unit of the clock; 1 where a text has no units of time."""
        return number_factor(self.clock, UNITS["h"])

    # --- sizes -------------------------------------------------------------------------------------------------------

    @cached_property
    def gpus(self) -> Floats:
        """Return the GPUs of a node of each kind, the capacity of `uses`; NaN if they depend on more than the kind.

        1 where the placement has no `uses`, for a job then takes a whole node.
        """
        kinds = len(self.outcome.world.gpu_time)
        item = self.placement.item("uses")
        if item is None:
            return np.ones(kinds)
        if item.of is None:
            return np.full(kinds, np.nan)
        by_kind = self._over("node_type", item.of, kinds)
        if by_kind is not None:
            return by_kind
        by_node, kind = self._over("node", item.of, len(self.outcome.world.place_kind)), self._kind_of_node
        found = np.full(kinds, np.nan)
        if by_node is not None and kind is not None:
            found[kind] = by_node
            if (found[kind] != by_node).any():  # nodes of one kind that differ
                return np.full(kinds, np.nan)
        return found

    @cached_property
    def nodes(self) -> Floats:
        """Nodes of each kind in the cluster; NaN where nodes are rented as one type or another."""
        kinds = len(self.outcome.world.gpu_time)
        if not self.counts_nodes:
            if self._kind_of_node is None:
                return np.full(kinds, np.nan)
            return np.bincount(self._kind_of_node, minlength=kinds).astype(np.float64)
        stock = self.placement.value("stock")
        found = None if stock is None else self._over("node_type", stock, kinds)
        return np.full(kinds, np.nan) if found is None else found

    @cached_property
    def _kind_of_node(self) -> Ints | None:
        """The kind of each node that is there; None where it is decided."""
        places = len(self.outcome.world.place_kind)
        node_type = self.placement.value("node_type")
        if node_type is None or not isinstance(node_type.type, Element):
            return np.arange(places, dtype=np.int64)
        bound = self._frame("node", node_type, places)
        return None if bound is None else np.asarray(np.broadcast_to(self._ev.codes(node_type, bound), (places,)))

    @cached_property
    def _ev(self) -> Evaluator:
        base = self.outcome.base
        return Evaluator(self.outcome.online.base, base.store, base.limits)

    def _frame(self, role: Role, expr: TypedExpr, count: int) -> Frame | None:
        """All elements of a role as its index, where the expression needs no other."""
        index, needed = self.placement.index(role), free_variables(expr)
        if needed - {index} or (index is None and needed):
            return None
        return Frame(count, {} if index is None else {index: np.arange(count, dtype=np.int64)})

    def _over(self, role: Role, expr: TypedExpr, count: int) -> Floats | None:
        frame = self._frame(role, expr, count)
        if frame is None or not isinstance(expr.type, Numeric):
            return None
        return self._ev.number_column(expr, frame)


def costs_of(history: RunHistory) -> dict[str, float]:
    """Money by term."""
    outcome = history.outcome
    return {n: v for n, v in outcome.world.ledger.totals.items() if n not in outcome.quantities}


def cost_of_jobs(history: RunHistory) -> Floats:
    """Return the money of each job: its own charges and its shares."""
    ledger, terms = history.outcome.world.ledger, costs_of(history)
    found = np.zeros(ledger.job_count)
    for term, amounts in ledger.jobs.items():
        if term in terms:
            found += amounts
    return found
