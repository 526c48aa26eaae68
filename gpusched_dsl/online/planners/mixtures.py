"""Mixtures of two plans: some jobs as in one plan, the others as in another, and no node with jobs of both.

Jobs that two plans place differently are linked to their nodes in both. Each connected component of this graph can be
exchanged by itself: all its jobs and nodes then are as in the other plan. So every limit of a single job or node is met
if both plans meet it. This is the partition crossover of D. Whitley, D. Hains, A. Howe, Tunneling between Optima:
Partition Crossover for the Traveling Salesman Problem, GECCO 2009, with jobs and nodes in place of edges.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Ints
from gpusched_dsl.ir.graph import connected_components
from gpusched_dsl.ir.tolerances import CHOSEN
from gpusched_dsl.language.checked import CheckedPlacement
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.policies.relabelling import relabel_values


def exchangeable_jobs(placement: CheckedPlacement, plan: Plan, other: Plan) -> list[Codes]:
    """Return the jobs of each component in which two plans differ, by their first jobs; codes of the instance.

    There are none where the placement names no jobs or places, and none if all differences are one component: exchanged
    it is the other plan.
    """
    job_at = placement.position("job")
    place_at = placement.position("node")
    place_at = placement.position("node_type") if place_at is None else place_at
    variable = placement.variable
    if job_at is None or place_at is None or variable not in plan.values or variable not in other.values:
        return []
    rows, others = _rows(placement, plan), _rows(placement, other)
    both = np.concatenate((rows, others))
    _, number, counts = np.unique(both, axis=0, return_inverse=True, return_counts=True)
    changed = np.unique(both[counts[number.reshape(-1)] == 1, job_at])
    if len(changed) < 2:
        return []
    linked = both[np.isin(both[:, job_at], changed)]
    component = _components(np.searchsorted(changed, linked[:, job_at]), linked[:, place_at], len(changed))
    found = [changed[component == number] for number in np.unique(component).tolist()]
    return sorted(found, key=lambda jobs: int(jobs[0])) if len(found) > 1 else []


def mixture(placement: CheckedPlacement, plan: Plan, other: Plan, jobs: Codes) -> Plan:
    """Return a plan with some jobs as in another one; what both remember and request is divided in the same way.

    It has values of the placement's variable alone, as the plan of a policy.
    """
    job_at = placement.position("job")
    assert job_at is not None
    name = placement.variable
    names = {*plan.remembered, *other.remembered}
    remembered = {n: _join_values(plan.remembered.get(n), other.remembered.get(n), jobs, 0) for n in sorted(names)}
    return Plan(
        {name: _join_values(plan.values[name], other.values[name], jobs, job_at)},
        f"{plan.method} with {count_text(len(jobs), 'job')} of {other.method}",
        again=None if plan.again is other.again is None else _join_values(plan.again, other.again, jobs, 0),
        remembered=remembered,
    )


def with_labels_of(instance: Instance, plan: Plan, other: Plan) -> Plan:
    """Return `other` with interchangeable nodes labelled such that most jobs are where `plan` has them."""
    return replace(other, values=relabel_values(instance.scenario.model, instance.store, other.values, plan.values))


def _rows(placement: CheckedPlacement, plan: Plan) -> Codes:
    """Return the chosen elements of the placement's variable with their values, a row for each."""
    given = plan.values[placement.variable]
    chosen = given.values > CHOSEN
    return np.stack([*(c[chosen] for c in given.codes), np.rint(given.values[chosen]).astype(np.int64)], axis=1)


def _components(job: Ints, place: Codes, jobs: int) -> Ints:
    """Return the connected component of each job, by edges of jobs and places."""
    return connected_components(jobs + int(place.max(initial=-1)) + 1, job, jobs + place)[:jobs]


def _join_values(
    ours: VariableValues | None, theirs: VariableValues | None, jobs: Codes, job_at: int
) -> VariableValues:
    """Return our values without some jobs, and their values of these jobs; at least one of both is there."""
    if ours is None or theirs is None:
        known = ours or theirs
        assert known is not None
        kept = np.isin(known.codes[job_at], jobs) == (ours is None)
        return VariableValues(tuple(column[kept] for column in known.codes), known.values[kept])
    left: Bools = ~np.isin(ours.codes[job_at], jobs)
    taken: Bools = np.isin(theirs.codes[job_at], jobs)
    codes = tuple(np.concatenate((a[left], b[taken])) for a, b in zip(ours.codes, theirs.codes, strict=True))
    values: Floats = np.concatenate((ours.values[left], theirs.values[taken]))
    order = np.lexsort(codes[::-1])
    return VariableValues(tuple(column[order] for column in codes), values[order])
