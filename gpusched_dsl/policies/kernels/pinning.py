"""Jobs that run already: put where they are before a pass begins."""

from __future__ import annotations

from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.policies.kernels.compiled import compiled_in_place
from gpusched_dsl.policies.kernels.free_capacity import fits_empty, has_room, put, shared_gpu
from gpusched_dsl.policies.workload import Schedule, Workload


@compiled_in_place
def pin(work: Workload, plan: Schedule, jobs: Ints, nodes: Ints, ways: Ints) -> int:
    """Run jobs on nodes in the ways given, where there is room; gives how many found room."""
    put_down = 0
    for i in range(len(jobs)):
        n, w = nodes[i], ways[i]
        empty = plan.jobs[n] == 0
        if empty and not fits_empty(work, work.kind[w], w):
            continue
        if not empty and (plan.kind[n] != work.kind[w] or not has_room(work, plan, n, w)):
            continue
        put(work, plan, jobs[i], n, w, shared_gpu(plan, n, work.size[w]), put_down)
        put_down += 1
    return put_down
