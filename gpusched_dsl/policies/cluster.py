"""A model's decisions as a cluster: jobs, nodes, kinds of nodes and ways to run, with their elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Ints
from gpusched_dsl.ir.domains import TupleDomain
from gpusched_dsl.language.checked import (
    CheckedPlacement,
)
from gpusched_dsl.policies.workload import NONE, Workload

MANY = 1000  # codes from which a table is faster than a search


@dataclass(frozen=True, eq=False)
class Cluster:
    """A workload and the elements of its numbers.

    `jobs`, `nodes`, `kinds` are codes of elements; `kinds` those of the placement's `node_type` (of nodes, where a
    placement has none). `ways` are the index codes of the family, one array per index, with one node of the way's kind
    in place of the node that a plan will name; `job_at`, `node_at`, `type_at` are index positions (`type_at` None where
    nodes are there with their types). `type_texts`: of the codes `kinds`, where types are texts.
    """

    work: Workload
    jobs: Codes
    nodes: Codes
    kinds: Codes
    ways: tuple[Codes, ...]
    job_at: int
    node_at: int
    type_at: int | None
    placement: CheckedPlacement
    type_texts: tuple[str, ...] = ()

    @cached_property
    def rest_at(self) -> tuple[int, ...]:
        """Return the positions of the indices that distinguish ways of one job on one kind."""
        known = {self.job_at, self.node_at, self.type_at}
        return tuple(at for at in range(len(self.ways)) if at not in known)

    @cached_property
    def _by_way(self) -> TupleDomain:
        columns = (self.work.job, self.work.kind, *(self.ways[at] for at in self.rest_at))
        return TupleDomain((None,) * len(columns), columns)

    def way_of(self, job: Ints, kind: Ints, rest: Sequence[Codes]) -> Ints:
        """The way of a job (its number) on a kind with the other indices, NONE where there is none."""
        given, own = (job, kind, *rest), (self.work.job, self.work.kind, *(self.ways[at] for at in self.rest_at))
        if len(job) == len(self.work.job) and all(map(np.array_equal, given, own)):
            return np.arange(len(job))  # a policy usually lists the ways of all jobs in their order
        return self._by_way.locate(given)

    def places_of(self, codes: Sequence[Codes]) -> tuple[Ints, Ints, Ints]:
        """Jobs, nodes and ways of elements of the family; a way is NONE where its job or node is not here."""
        job, node = numbers(self.jobs, codes[self.job_at]), numbers(self.nodes, codes[self.node_at])
        if self.type_at is None:
            kind = np.where(node >= 0, self.work.node_kind[np.maximum(node, 0)], NONE)
        else:
            kind = numbers(self.kinds, codes[self.type_at])
        way = self.way_of(job, kind, [codes[at] for at in self.rest_at])
        return job, node, np.where((job >= 0) & (node >= 0), way, NONE)

    def running_jobs(self, codes: Sequence[Codes]) -> tuple[Ints, Ints, Ints]:
        """Jobs, nodes and ways of the elements of the family whose jobs and nodes are here."""
        job, node, way = self.places_of(codes)
        here = np.flatnonzero(way >= 0)
        return job[here], node[here], way[here]

    def selected_elements(self, node: Ints, way: Ints) -> tuple[Codes, ...]:
        """The index codes of the family's elements that are 1, for nodes and ways of jobs (NONE: does not run)."""
        runs = np.flatnonzero(node >= 0)
        codes = [column[way[runs]] for column in self.ways]
        codes[self.node_at] = self.nodes[node[runs]]
        return tuple(codes)


def numbers(elements: Codes, codes: Codes) -> Ints:
    """The places of codes among sorted elements, NONE for those that are not there."""
    if not len(elements):
        return np.full(len(codes), NONE)
    first, end = int(elements[0]), int(elements[-1]) + 1
    if first >= 0 and end <= len(codes) >= MANY:  # reading a table takes less time than searching for each code
        table = np.full(end + 1, NONE)
        table[elements] = np.arange(len(elements))
        found: Ints = table[np.clip(codes, -1, end)]
        return found
    place = np.minimum(np.searchsorted(elements, codes), len(elements) - 1)
    return np.where(elements[place] == codes, place, NONE)
