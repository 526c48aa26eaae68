"""Jobs that run already: put where they are before a pass begins."""

from __future__ import annotations

from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.policies.kernels.compiled import compiled_in_place
from gpusched_dsl.policies.kernels.free_capacity import has_capacity_when_empty, has_room, put, tightest_gpu
from gpusched_dsl.policies.workload import Schedule, Workload


@compiled_in_place
def pin(work: Workload, plan: Schedule, jobs: Ints, nodes: Ints, ways: Ints) -> int:
    """Run jobs on nodes in the ways given, where there is room; gives how many found room."""
    put_down = 0
    for i in range(len(jobs)):
        n, w = nodes[i], ways[i]
        k, size = work.kind[w], work.size[w]
        if plan.jobs[n] == 0:
            if not has_capacity_when_empty(work.units, work.parts, work.needs, work.room, k, size, w):
                continue
        elif plan.kind[n] != k or not has_room(work, plan, n, w):
            continue
        put(work, plan, jobs[i], n, w, tightest_gpu(plan.spare, n, size), put_down)
        put_down += 1
    return put_down
