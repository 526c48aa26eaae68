"""The rules and moves that a policy may name, what they do in words, and the numbers that they take.

Each is known by its text: name, modifiers and what it goes by, as in `new_node exclusive` or `grow by speedup`. Other
packages add to them by entry points of the group `gpusched_dsl.rules`: here only the names of those are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

GROUP = "gpusched_dsl.rules"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A whole number in `( )` behind a rule; `default` says what holds when it is left out."""

    name: str
    meaning: str
    default: str


@dataclass(frozen=True, slots=True)
class RuleShape:
    """What a rule does, as the end of a sentence, and its parameters in their order."""

    words: str
    parameters: tuple[Parameter, ...] = ()


# Each says where a job goes; the first rule that finds a place is taken.
PLACE = {
    "best_fit": RuleShape("on the open node of the chosen family that has room and the fewest GPUs left over"),
    "first_fit": RuleShape("on the first opened node of the chosen family that has room"),
    "new_node": RuleShape("on a new node of the largest kind of the chosen family"),
    "new_node exclusive": RuleShape("alone on a new node of exactly the chosen kind"),
    "best_suboptimal": RuleShape("in the best other way for which any open node has room"),
    "first_suboptimal": RuleShape("in the best other way on the first opened node that has room for one"),
    "next_choice": RuleShape("in the next way of the ranking, by all these rules again"),
    "wait": RuleShape("nowhere: it waits for the next decision"),
    "postpone": RuleShape("nowhere: it goes back to the queue, at the price of postponing it"),
}
FINISH = {
    "smaller_type": RuleShape("each node becomes the smallest kind of its family that holds its jobs"),
    "grow by speedup": RuleShape("all GPUs that a node leaves idle go to the job that gains most speed by them"),
    "grow_by_one by speedup": RuleShape("idle GPUs go, one at a time, to the job of the node that gains most speed"),
    "expand_parts": RuleShape("jobs with a part of a GPU share out what is left of it"),
}
KEEP = {
    "running": RuleShape("jobs that run keep their node and their GPUs until they end"),
    "nodes": RuleShape("equal nodes trade places in the plan, so that as many jobs as can be stay on their node"),
}

_LENGTH = (Parameter("length", "how many jobs of its list a move looks at, the worst first", "all of them"),)
IMPROVE = {
    "swap_tardy_costly": RuleShape("a late job swaps places with a costly job that is on time", _LENGTH),
    "swap_tardy_any": RuleShape("a late job swaps places with any other job", _LENGTH),
    "swap_postponed_running": RuleShape("a postponed job takes the place of a less urgent one that runs", _LENGTH),
    "faster_type": RuleShape("the node of a late job becomes a faster kind of the same size", _LENGTH),
    "double_gpus": RuleShape("the node of a late job and all its jobs get twice the GPUs", _LENGTH),
    "halve_gpus": RuleShape("the node of a late job and all its jobs get half the GPUs", _LENGTH),
    "regroup_gpus": RuleShape("the GPUs of the node of a late job are shared out anew among its jobs", _LENGTH),
}  # fmt: skip
RULES = {"place": PLACE, "finish": FINISH, "keep": KEEP, "improve": IMPROVE}
ADDED_AFTER = ("place", "finish", "improve")  # where rules and moves of other packages may stand

# By what the best of several plans is told, besides the objectives and terms of the model, which come first.
PRICES = {
    "total": "all costs of the plan to the end of every job",
    "first_end": "costs of the plan until the first job ends",
    "node_first_end": "costs of the plan until, on each node, the first job ends",
}
# What one entry of a list is drawn by; without any of it all are equally likely.
WEIGHTS = {"choose": ("cost", "inverse cost"), "place": ("idle", "inverse idle")}
EVENTS = ("arrival", "completion")  # what an online loop may replan on, besides `every ...`


@cache
def added_rules() -> tuple[str, ...]:
    """The texts of the rules and moves that other packages bring. Reads names only, imports none of them."""
    from importlib.metadata import entry_points

    return tuple(sorted({" ".join(point.name.split()) for point in entry_points(group=GROUP)}))


def known_rules(verb: str) -> tuple[str, ...]:
    """The texts of all rules that may stand after a verb: our own in the order of the table, then added ones."""
    own = tuple(RULES[verb])
    if verb not in ADDED_AFTER:
        return own
    return (*own, *(text for text in added_rules() if not any(text in rules for rules in RULES.values())))
