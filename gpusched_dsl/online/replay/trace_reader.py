"""From a built instance to the input of a replay: the policy's lines evaluated for all jobs of the run at once.

The cluster is read off the placement for some jobs at a time: arrays of all jobs and nodes would not fit otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryBudget, MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Codes, Floats, Ints, unique
from gpusched_dsl.ir.domains import TupleDomain
from gpusched_dsl.language.checked import NamedSet, Numeric
from gpusched_dsl.language.checked_policy import ARRIVED, CheckedPolicy, has_job_fact
from gpusched_dsl.language.checking.conversion import unit_in
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.language.units import number_factor
from gpusched_dsl.online.replay.eligibility import chooses_nodes, rules_of
from gpusched_dsl.online.replay.queue_order import NoOneOrder, queue_order
from gpusched_dsl.online.replay.trace import ArrivalTrace
from gpusched_dsl.policies.job_facts import with_job_facts
from gpusched_dsl.policies.placement_reader import cluster_of, keys_of_ways
from gpusched_dsl.policies.workload import NONE, Workload

_FIRST_JOBS = 64  # of the first part, which shows how large the next ones may be
_ENTRIES = 400_000  # of the arrays of one part, about
_ENTRIES_OF_WAY = 16
# Numbers of the complete run, with its data and report: 500,000 jobs of one way use 490 MB.
_CELLS_OF_JOB = 110
_CELLS_OF_WAY = 12


class NoReplay(Exception):
    """The data do not allow a replay; the reason is the end of `... because`."""


@dataclass(frozen=True, eq=False)
class NamedTrace:
    """A trace and the elements of its numbers: `jobs` and `nodes` are codes, in the order of the arrays.

    `ways` are the index codes of the placement's family for each way, with a node of its kind in place of the node.
    """

    trace: ArrivalTrace
    jobs: Codes
    nodes: Codes
    ways: tuple[Codes, ...]
    job_at: int
    node_at: int

    def selected_elements(self, node: Ints, way: Ints) -> tuple[Codes, ...]:
        """The index codes of the family's elements that are 1, for the nodes and ways of jobs (NONE: does not run)."""
        runs = np.flatnonzero(node >= 0)
        codes = [column[way[runs]] for column in self.ways]
        codes[self.node_at] = self.nodes[node[runs]]
        return tuple(codes)


def read_trace(
    policy: CheckedPolicy, store: ValueStore, limits: MemoryLimits, submitted: Floats, fractions: Collection[str] = (),
    keys_move: bool = False,
) -> NamedTrace:  # fmt: skip
    """Return the input of a replay; `submitted` has the arrival of every job, by code, in the unit of `lasts`.

    For policies without `replay_obstacles`. `store` has all jobs of the run with their values at arrival. `fractions`
    are the parameters for the fraction of work left (`ReplayFacts.fractions`), which must be 1 for all of them.
    `keys_move`: keys of running jobs change, so the order of two waiting jobs must not depend on the running jobs.
    Raises NoReplay where the data do not allow it, DiagnosticError as evaluation does.
    """
    for name in sorted(fractions):
        if not (np.asarray(store.params[name].values) == 1).all():
            raise NoReplay(f"some jobs arrive with finished work: `{name}` is not 1")
    store = with_job_facts(policy, store, limits, {ARRIVED: submitted * _clock_factor(policy)})
    rules = rules_of(policy)
    assert not isinstance(rules, str), "the policy may not be replayed"
    parts = list(_parts(policy, store, limits, len(submitted)))
    first = parts[0]
    jobs = np.concatenate([part.jobs for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    ends = np.cumsum([0, *(len(part.kind) for part in parts)])
    for part in parts:
        if not np.array_equal(part.node_kind, first.node_kind):
            raise NoReplay("nodes have the same kind for some jobs and not for others")
        if part.pieces != 1:
            raise NoReplay("jobs use parts of GPUs")
    ranked = [np.where(part.ranked == NONE, NONE, part.ranked + at) for part, at in zip(parts, ends, strict=False)]
    size = np.concatenate([part.size for part in parts])
    time = np.concatenate([part.time for part in parts])
    if len(submitted) != len(jobs):
        raise ValueError(f"{len(submitted)} arrivals of {len(jobs)} jobs")
    if not np.isfinite(submitted).all():
        raise NoReplay("some jobs never arrive")
    if (submitted < 0).any():
        raise NoReplay("some jobs arrive before the run begins")
    if len(size) and (size.min() < 1 or not (time > 0).all()):
        raise NoReplay("some jobs use no GPU or no time")
    trace = ArrivalTrace(
        submitted=np.asarray(submitted, dtype=np.float64),
        rank=_ranks(policy, store, limits, jobs, keys_move),
        first_way=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        ranked=np.concatenate(ranked).astype(np.int64),
        kind=np.concatenate([part.kind for part in parts]),
        size=size,
        time=time,
        node_kind=first.node_kind,
        units=np.max([part.units for part in parts], axis=0),
        family=_families(parts),
        rules=rules,
    )
    ways = tuple(np.concatenate(columns) for columns in zip(*(part.ways for part in parts), strict=True))
    return NamedTrace(trace, jobs, first.nodes, ways, first.job_at, first.node_at)


def _clock_factor(policy: CheckedPolicy) -> float:
    """The factor from the unit of `lasts` to that of `arrived`."""
    placement, arrived = policy.model.placement, policy.model.params.get(ARRIVED)
    lasts = None if placement is None else placement.value("lasts")
    if arrived is None or lasts is None or not has_job_fact(policy, ARRIVED):
        return 1.0
    assert isinstance(arrived.type, Numeric)
    return number_factor(unit_in(lasts), arrived.type.unit)


@dataclass(frozen=True, eq=False)
class _JobGroup:
    """Some of the jobs: the needed part of their cluster, and their ways as listed by the policy."""

    jobs: Codes
    nodes: Codes
    ways: tuple[Codes, ...]
    job_at: int
    node_at: int
    pieces: int  # of one GPU
    node_kind: Ints
    units: Ints
    family: Ints
    counts: Ints  # of ways, by job
    kind: Ints
    size: Ints
    time: Floats
    ranked: Ints


def _parts(policy: CheckedPolicy, store: ValueStore, limits: MemoryLimits, jobs: int) -> Iterator[_JobGroup]:
    """All jobs, some at a time where the placement and the queue go through one set of them.

    Raises DiagnosticError (GSM3001) before so much is read that the run of all `jobs` does not fit into memory.
    """
    name, ways = _jobs_set(policy), 0
    _refuse_too_large(policy, limits, jobs, ways)
    if name is None:
        yield _part(policy, store, limits)[0]
        return
    domain = store.sets[name]
    codes = np.sort(domain.columns()[0])
    at, length = 0, min(_FIRST_JOBS, len(codes))
    while at < len(codes) or at == 0:
        some = TupleDomain((domain.components[0],), (codes[at : at + length],))
        part, entries = _part(policy, structs.replace(store, sets={**store.sets, name: some}), limits)
        ways += len(part.kind)
        _refuse_too_large(policy, limits, jobs, ways)
        yield part
        at += max(length, 1)
        length = max(_FIRST_JOBS, _ENTRIES * length // max(entries, 1))


def _refuse_too_large(policy: CheckedPolicy, limits: MemoryLimits, jobs: int, ways: int) -> None:
    placement = policy.model.placement
    assert placement is not None
    cells = _CELLS_OF_JOB * jobs + _CELLS_OF_WAY * ways
    MemoryBudget(limits).table(cells, placement.span, f"the replay of {count_text(jobs, 'job')}")


def _part(policy: CheckedPolicy, store: ValueStore, limits: MemoryLimits) -> tuple[_JobGroup, int]:
    """Return a part, and about the number of entries of the arrays that it is made of, which are freed."""
    cluster = cluster_of(
        policy.model, store, limits, nodes_differ=chooses_nodes(policy), keys=keys_of_ways(policy), tables=False
    )
    if _lists_all(policy):
        ranked = np.arange(len(cluster.work.job))
    else:
        from gpusched_dsl.policies.instructions import instructions_of  # with the compiler's package

        ranked = instructions_of(policy, cluster, store, limits).ranked
    work = cluster.work
    if _has_ways_of_one_size(work):
        raise NoReplay("a job has several ways to run with equally many GPUs on a node")
    part = _JobGroup(
        cluster.jobs, cluster.nodes, cluster.ways, cluster.job_at, cluster.node_at, work.parts, work.node_kind,
        work.units, work.family, np.diff(work.first_way), work.kind, work.size, work.time, ranked,
    )  # fmt: skip
    return part, _ENTRIES_OF_WAY * len(work.job) + len(cluster.jobs) * len(cluster.nodes)


def _has_ways_of_one_size(work: Workload) -> bool:
    """Whether a job has several ways with equally many units on one kind of node."""
    fits = work.size <= work.units[work.kind]
    key = (work.job * len(work.units) + work.kind) * (int(work.size.max(initial=0)) + 1) + work.size
    return len(unique(key[fits])) < int(fits.sum())


def _lists_all(policy: CheckedPolicy) -> bool:
    """Whether the policy lists all ways of a job, in their order."""
    choose = policy.choose
    if policy.otherwise is not None or choose is None:
        return False
    return not (choose.indexing.iterators or choose.indexing.conditions or choose.keys)


def _jobs_set(policy: CheckedPolicy) -> str | None:
    """The set that both the placement's family and the queue go through for their jobs; None where there is none."""
    placement = policy.model.placement
    assert placement is not None
    at = placement.position("job")
    assert at is not None, "`replay_obstacles` refuses placements without a job"
    names = []
    for indexing in (policy.model.variables[placement.variable].indexing, policy.order.indexing):
        place = at if indexing is not policy.order.indexing else 0
        for iterator in indexing.iterators:
            if place < len(iterator.variables):
                alone = len(iterator.variables) == 1 and isinstance(iterator.domain, NamedSet)
                names.append(iterator.domain.name if alone and isinstance(iterator.domain, NamedSet) else None)
                break
            place -= len(iterator.variables)
    return names[0] if names[0] == names[1] else None


def _ranks(policy: CheckedPolicy, store: ValueStore, limits: MemoryLimits, jobs: Codes, keys_move: bool) -> Ints:
    """The place of every job in the queue, NONE where it is not in it."""
    ev = Evaluator(policy.model, store, limits)
    indexing = policy.order.indexing
    codes = ev.index_domain(indexing, policy.order.span).columns()[0]
    frame = Frame(len(codes), {indexing.variables[0]: codes})
    keys = np.zeros((len(codes), len(policy.order.keys)))
    for column, key in enumerate(policy.order.keys):
        keys[:, column] = ev.numbers(key.value, frame) * (-1.0 if key.descending else 1.0)
    try:
        order = queue_order(keys, exact=keys_move)
    except NoOneOrder:
        raise NoReplay("keys of the queue are so close that their order depends on the waiting jobs") from None
    rank = np.full(len(jobs), NONE)
    rank[np.searchsorted(jobs, codes[order])] = np.arange(len(order))
    return rank


def _families(parts: list[_JobGroup]) -> Ints:
    """Merge families: kinds of one family in any part are one family; kinds without ways in a part are
    unknown to it.
    """
    family = np.arange(len(parts[0].units))
    for part in parts:
        for kind in np.unique(part.kind).tolist():
            ours, theirs = family[kind], family[part.family[kind]]
            family[family == max(ours, theirs)] = min(ours, theirs)
    return family
