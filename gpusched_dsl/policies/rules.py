"""The rules and moves that a policy may name, with what they do in words; other packages may add to them.

An entry point of the group `gpusched_dsl.rules` names a `PlaceRule`, `FinishRule` or `Move`
(see `policies/plug_ins.py`).
"""

from __future__ import annotations

from typing import Final

# A job that no rule places is postponed, and the queue goes on; `postpone` says the same. With `wait` it stops at
# the job: nobody behind it starts first. Where every job can have every free node, the two come to the same.
# With a list of nodes to draw from, `first_fit` draws as `best_fit` does. `idle` draws with odds 1 + idle GPUs,
# `inverse idle` with 1 / (1 + idle GPUs).
PLACE_CODES: Final = {
    "best_fit": 0,
    "first_fit": 1,
    "new_node": 2,
    "new_node exclusive": 3,
    "best_suboptimal": 4,
    "first_suboptimal": 5,
    "next_choice": 6,
    "wait": 7,
    "postpone": 8,
}
FINISH_CODES: Final = {
    "smaller_type": 0,
    "grow by speedup": 1,
    "grow_by_one by speedup": 2,
    "expand_parts": 3,
    "grow_by_one by time": 4,
    "grow_if_cheaper by time": 5,
}
NODE_ODDS: Final = {"": 0, "inverse idle": 1, "idle": 2}
MOVE_NAMES: Final = (
    "swap_tardy_costly",
    "swap_tardy_any",
    "swap_postponed_running",
    "faster_type",
    "double_gpus",
    "halve_gpus",
    "regroup_gpus",
    "repack_node",
    "repack_two",
)
