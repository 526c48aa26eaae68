"""Forgets the jobs of a live run that ended long ago, so that it can run for years.

A run that is driven from outside has no end at which each of its jobs would be reported; its records are in the
journal. Once `2 * KEPT` jobs have ended, all but the last `KEPT` are removed from the data and from the state, directly
before a plan. These remain as the past that futures and estimates draw arrivals from, whose draws differ from those of
a run that keeps all. Other plans, and costs, do not change: the other jobs keep their order, sums stay, and a run that
could read a job after its end keeps all (`reads_ended_jobs`). The number of ended jobs alone decides, so a run that is
resumed or read from its journal forgets at the same steps.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.checked import Element, TypedExpr, TypedIndexing, TypedLaw, ValueType
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checking.walk import Part
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.part_values import PartValues
from gpusched_dsl.online.data.past_jobs import reads_all_jobs
from gpusched_dsl.online.simulation.world import DONE, GONE, World

KEPT = 1000


def ended_long_ago(world: World) -> Ints:
    """Return the jobs to forget, none while fewer than `2 * KEPT` have ended."""
    ended = np.flatnonzero((world.status == DONE) | (world.status == GONE))
    if len(ended) < 2 * KEPT:
        return ended[:0]
    by_end = ended[np.argsort(world.end[ended], kind="stable")]
    return by_end[: len(ended) - KEPT]


def without_jobs(base: Base, root: str, jobs: Ints) -> tuple[Ints, InstanceView]:
    """Return the other jobs, in order, and the part of the data with them."""
    remains = np.ones(len(base.store.universes[root].labels), dtype=np.bool_)
    remains[jobs] = False
    kept = np.flatnonzero(remains)
    return kept, InstanceView(base.store.universes, {root: kept})


def reads_ended_jobs(online: CheckedOnline, base: Base) -> bool:
    """Whether something that is evaluated on all data of the run may depend on jobs that have ended.

    Those are pairs of jobs, jobs as values, positions of jobs in their order, and what the block reads of sets of jobs
    other than the present ones: the loop restricts only the root set, where the block itself names it.
    """
    root, model = online.jobs_root, online.model
    if not root or reads_all_jobs(online):
        return True
    indexings = [d.indexing for group in (model.sets, model.params, model.randoms) for d in group.values()]
    if any(_count(i, root) > 1 for i in indexings) or any(_is(p.type, root) for p in model.params.values()):
        return True
    if any(sum(_is(t, root) for t in d.types) + _count(d.indexing, root) > 1 for d in model.sets.values()):
        return True
    values = PartValues(model, base.input_names, {root}, present=root)
    return not all(map(values.stay, _parts_of(online)))


def _parts_of(online: CheckedOnline) -> Iterator[Part]:
    yield from (part for charge in online.charges for part in (charge.indexing, charge.value))
    yield from parts_without_charges(online)


def parts_without_charges(online: CheckedOnline) -> Iterator[Part]:
    """The expressions of a block that are evaluated on all data of the run, besides its charges."""
    yield from (carry.value for carry in online.carries)
    yield from (trigger.every for trigger in online.triggers if trigger.every is not None)
    if online.arrival is not None:
        yield online.arrival.at
    for value in (online.work, online.ends, online.speed, online.stretch):
        if isinstance(value, TypedExpr | TypedLaw):
            yield value


def _is(kind: ValueType, root: str) -> bool:
    return isinstance(kind, Element) and kind.root == root


def _count(indexing: TypedIndexing, root: str) -> int:
    return sum(_is(variable.type, root) for variable in indexing.variables)
