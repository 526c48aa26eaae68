"""Numbers of rules, for compiled loops: the places of their rows in the tables of the language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from gpusched_dsl.language.blocks.policies.rule_table import (
    FINISH,
    IMPROVE,
    PLACE,
    RESERVE,
    SERVE,
    WEIGHTS,
    RuleShape,
)


def _number(names: Iterable[str], first: int = 0) -> dict[str, int]:
    return {name: number for number, name in enumerate(names, first)}


def _for_nodes(rules: Mapping[str, RuleShape]) -> dict[str, int]:
    """Without those of the policies for slots and for queues, which have no compiled loop of this kind."""
    return _number(text for text, shape in rules.items() if shape.plans == "nodes")


# A job that no rule places is postponed, and the queue goes on; `postpone` says the same. With `wait` it stops at
# the job: nobody behind it starts first. Where every job can have every free node, the two come to the same.
# With a list of nodes to draw from, `first_fit` draws as `best_fit` does. `idle` draws with odds 1 + idle GPUs,
# `inverse idle` with 1 / (1 + idle GPUs).
PLACE_CODES: Final = _for_nodes(PLACE)
FINISH_CODES: Final = _for_nodes(FINISH)
MOVE_CODES: Final = _number(IMPROVE)
NODE_ODDS: Final = _number(("", *WEIGHTS["place"]))
GUARD_CODES: Final = _number(RESERVE, 1)  # 0: there is no guard
SERVING_CODES: Final = _number(SERVE, 1)  # 0: nothing is served
