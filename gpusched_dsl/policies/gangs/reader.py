"""Reads gangs off a model's `placement`: the cluster of single workers, and how many of them are a job."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.gangs import most_workers
from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.ir.tolerances import CHOSEN
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.gangs.workload import GangSchedule, GangWorkload
from gpusched_dsl.policies.workload import NEVER, Instructions


@dataclass(frozen=True, eq=False)
class GangCluster:
    """A workload of gangs, and the elements of its numbers: those of the cluster of single workers."""

    work: GangWorkload
    cluster: Cluster

    def empty_schedule(self) -> GangSchedule:
        """A schedule without jobs, with space for all."""
        work = self.work
        jobs, ways = len(work.first_way) - 1, np.zeros(len(work.first_way) - 1, dtype=np.int64)
        np.maximum.at(ways, work.job, np.minimum(work.workers, len(work.node_kind)))
        most = int(ways.sum())
        job, node, way, workers = np.zeros((4, most), dtype=np.int64)
        return GangSchedule(np.zeros(jobs, dtype=np.bool_), job, node, way, workers, np.zeros(1, dtype=np.int64))

    def schedule_from(self, plan: PlanValues) -> GangSchedule:
        """The schedule of an earlier plan. Gangs of unknown jobs, or with workers on unknown nodes, are skipped."""
        found, given = self.empty_schedule(), plan.get(self.cluster.placement.variable)
        if given is None:
            return found
        chosen = given.values > CHOSEN
        codes, workers = [c[chosen] for c in given.codes], np.rint(given.values[chosen]).astype(np.int64)
        job, node, way = self.cluster.places_of(codes)
        here = way >= 0
        placed = np.bincount(job[here], weights=workers[here], minlength=len(found.runs))
        here[here] = placed[job[here]] == self.work.workers[way[here]]  # all or none
        order = np.lexsort((node[here], job[here]))
        count = len(order)
        rows = (job[here], node[here], way[here], workers[here])
        for column, values in zip((found.job, found.node, found.way, found.workers), rows, strict=True):
            column[:count] = values[order]
        found.runs[job[here]] = True
        found.rows[0] = count
        return found


def gang_cluster(
    policy: CheckedPolicy, cluster: Cluster, lines: Instructions, store: ValueStore, limits: MemoryLimits
) -> GangCluster:
    """The gangs of a built instance, from the cluster of single workers and the lines of the policy.

    Raises DiagnosticError (GSM3020) for numbers of workers and factors that cannot be, and workers with parts of GPUs.
    """
    read, work = PlacementEvaluator(policy.model, store, limits), cluster.work
    frame = read.frame(cluster.ways)
    nodes, racks = read.gang_factors(frame)
    of_nodes = Frame(len(cluster.nodes), {read.placement.indices[cluster.node_at]: cluster.nodes})
    rack = read.racks(of_nodes)
    rest = np.stack([work.job, *(cluster.ways[at] for at in cluster.rest_at)], axis=1)
    mode = np.unique(rest, axis=0, return_inverse=True)[1] if len(rest) else np.zeros(0, dtype=np.int64)
    if work.parts > 1 and ((work.size % work.parts) != 0).any():
        item = read.placement.all("uses")[0]
        message = "a worker of a gang uses a part of a GPU"
        help = "policies place gangs of whole GPUs; a solver can plan with parts"
        raise DiagnosticError([Diagnostic("GSM3020", message, item.value.span, "not an integer", help=help)])
    return GangCluster(
        GangWorkload(
            node_kind=work.node_kind,
            rack=np.zeros(len(cluster.nodes), dtype=np.int64) if rack is None else _number_codes(rack),
            units=work.units // work.parts,
            room=work.room,
            first_way=work.first_way,
            ranked=lines.ranked,
            job=work.job,
            kind=work.kind,
            mode=mode.reshape(-1).astype(np.int64),
            level=_levels(lines),
            size=work.size // work.parts,
            needs=work.needs,
            workers=read.gang_workers(frame),
            most=most_workers(policy.model, store, limits, cluster.ways),
            time=work.time,
            across_nodes=nodes,
            across_racks=racks,
        ),
        cluster,
    )


def _levels(lines: Instructions) -> Ints:
    """Levels of ways: those that the keys of the policy do not distinguish have one; of `choose` before `otherwise`."""
    return np.where(lines.choose_rank != NEVER, lines.choose_rank, -1 - lines.otherwise_rank)


def _number_codes(codes: Ints) -> Ints:
    return np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
