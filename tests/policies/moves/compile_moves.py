"""Compiles each move of local search once, as other kernels call it, and prints its name.

Started by `test_moves_compile.py` in a process of its own, with an empty cache and without optimisation.
"""

from __future__ import annotations

from move_clusters import workload

from gpusched_dsl.policies.kernels.compiled import Kernel
from gpusched_dsl.policies.kernels.moves.change import empty_change
from gpusched_dsl.policies.kernels.moves.delta_evaluation import empty_delta_evaluation
from gpusched_dsl.policies.kernels.pricing import PRICES
from gpusched_dsl.policies.local_search import BUILT_IN, shortest_minus_due
from gpusched_dsl.policies.workload import NONE, empty_schedule


def main() -> None:
    work = workload(
        kinds=[(2, 0, 1.0)], times=[{(0, 1): 8.0, (0, 2): 4.0}], due=[3.0], weight=[1.0], postponed=[9.0],
        node_kind=[NONE], idle=1.0,
    )  # fmt: skip
    delta = empty_delta_evaluation(work, next(iter(PRICES.values())), shortest_minus_due(work))
    arguments = (work, empty_schedule(work), delta, 10, empty_change(work))
    for move in BUILT_IN:
        assert isinstance(move, Kernel)
        move.inner.compile(move.signature(arguments))
        print(move.__name__, flush=True)


if __name__ == "__main__":
    main()
