"""The rules and moves that a policy may name: what a heuristic does with a queue of jobs, told by words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RuleShape:
    """`modifiers` may follow the name (`new_node exclusive`), `by` words end it (`grow by speedup`), at most
    `arguments` numbers stand in `( )`."""

    modifiers: frozenset[str] = frozenset()
    by: frozenset[str] = frozenset()
    arguments: int = 0


_PLAIN = RuleShape()
_LISTED = RuleShape(arguments=1)  # the length of the list of jobs that a move looks at

PLACE = {
    "best_fit": _PLAIN,
    "first_fit": _PLAIN,
    "new_node": RuleShape(modifiers=frozenset({"exclusive"})),
    "best_suboptimal": _PLAIN,
    "first_suboptimal": _PLAIN,
    "wait": _PLAIN,
    "postpone": _PLAIN,
}
FINISH = {
    "smaller_type": _PLAIN,
    "grow": RuleShape(by=frozenset({"speedup"})),
}
KEEP = {"running": _PLAIN}
IMPROVE = {
    "swap_tardy_costly": _LISTED,
    "swap_tardy_any": _LISTED,
    "swap_postponed_running": _LISTED,
    "faster_type": _LISTED,
    "double_gpus": _LISTED,
    "halve_gpus": _LISTED,
    "regroup_gpus": _LISTED,
}
RULES = {"place": PLACE, "finish": FINISH, "keep": KEEP, "improve": IMPROVE}

WEIGHTS = ("cost", "idle")  # `randomise choose from 3 by inverse cost`
EVENTS = ("arrival", "completion")  # what an online loop may replan on, besides `every ...`
