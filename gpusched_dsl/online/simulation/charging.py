"""Charges during a plan: rates of jobs, of nodes by GPUs in use, of complete nodes, and stated charges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Codes, Floats, Ints, unique
from gpusched_dsl.ir.domains import TupleDomain
from gpusched_dsl.language.checked_online import CheckedCharge, CheckedOnline
from gpusched_dsl.online.data.plan_columns import set_plan
from gpusched_dsl.online.simulation.assignments import AllocationReader
from gpusched_dsl.online.simulation.ledger import Ledger
from gpusched_dsl.online.simulation.world import World

SMALL = 1e-6  # of a GPU


def rates(online: CheckedOnline, world: World, reader: AllocationReader, columns: Sequence[Codes], jobs: Ints) -> None:
    """Set the rates of the world from the plan's entries of the jobs that run.

    `columns` are the entries in codes of the reader's part, `jobs` their jobs in codes of the whole, sorted; every
    running job has one.
    """
    running, parts = world.running, world.parts
    used = world.used_places
    at = np.searchsorted(used, parts.place)
    whole = online.charged == "nodes" or (online.charged == "" and reader.has_node_rates)
    if online.charges and online.charged == "":
        world.set_rates(np.zeros(len(running)), np.zeros(len(used)))
        return
    if not whole:
        of_places = np.bincount(at, weights=parts.rate, minlength=len(used)).astype(np.float64)
        world.set_rates(parts.sums(parts.rate, running), of_places)
        return
    share = parts.uses
    total = np.bincount(at, weights=share, minlength=len(used))
    if reader.has_node_rates and online.charged == "":
        gpus = gpus_in_use(at, share, len(used))
        rows = np.searchsorted(jobs, running)
        one = np.full(len(used), -1, dtype=np.int64)
        one[at] = rows
        of_places = reader.node_rates(columns, one, gpus) if len(used) else np.zeros(0)
    else:
        of_places = np.zeros(len(used))
        of_places[at] = parts.node_price
    with np.errstate(divide="ignore", invalid="ignore"):
        of_parts = of_places[at] * np.where(total[at] > 0, share / total[at], 0.0)
    world.set_rates(parts.sums(of_parts, running), of_places)


def gpus_in_use(at: Ints, share: Floats, places: int) -> Ints:
    """GPUs of each place in use, where entry e is at place `at[e]` and has `share[e]` GPUs, or a part of one.

    Parts are packed as well as can be: as many GPUs as they add up to, or as those of one size alone need. That is
    exact where parts divide one another and the whole, or are 2 and 3 twentieths.
    """
    whole = share > 1.0 - SMALL
    gpus = np.bincount(at, weights=np.where(whole, share, 0.0), minlength=places)
    shared = np.ceil(np.bincount(at, weights=np.where(whole, 0.0, share), minlength=places) - SMALL)
    for size in unique(np.round(share[~whole], 9)).tolist():
        alike = np.bincount(at[np.abs(share - size) <= SMALL], minlength=places)
        shared = np.maximum(shared, np.ceil(alike / np.floor(1.0 / size + SMALL)))
    found: Ints = np.rint(gpus + shared).astype(np.int64)
    return found


def plan_store(
    online: CheckedOnline,
    store: ValueStore,
    values: dict[str, VariableValues],
    limits: MemoryLimits,
    slots: tuple[str, Codes] | None,
) -> ValueStore:
    """A store in which variables have the values of a plan (codes of its instance), with some of the slots only."""
    sets = store.sets.copy()
    if slots is not None:
        name, codes = slots
        sets[name] = TupleDomain(store.sets[name].components, (codes,))
    found = structs.replace(store, sets=sets, variables={}, point=None)
    ev = Evaluator(online.base, store, limits)
    set_plan(found, ev, online.base.variables.values(), values)
    return found


def charge(
    charge: CheckedCharge,
    online: CheckedOnline,
    store: ValueStore,
    limits: MemoryLimits,
    part: InstanceView,
    ledger: Ledger,
    times: float,
    jobs_root: str,
    places_root: str,
) -> None:
    """Add a stated charge `times` (a span of time for rates, 1 for amounts) to the ledger, by job and place."""
    ev = Evaluator(online.base, store, limits)
    domain = ev.index_domain(charge.indexing, charge.span)
    frame = ev.domain_frame(charge.indexing, domain)
    amounts = ev.number_column(charge.value, frame) * times
    ledger.add(charge.name, float(amounts.sum()))
    outer = part.outer_codes(domain.components, domain.columns()) if domain.arity else ()
    for component, codes in zip(domain.components, outer, strict=True):
        if component is None:
            continue
        by = np.bincount(codes, weights=amounts).astype(np.float64)
        touched = np.flatnonzero(by)
        if component.name == jobs_root:
            ledger.share_jobs(charge.name, touched, by[touched])
        elif component.name == places_root:
            ledger.share_places(charge.name, touched, by[touched])
