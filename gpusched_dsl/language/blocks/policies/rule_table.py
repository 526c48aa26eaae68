"""The rules and moves that a policy may name, what they do in words, and the numbers that they take.

Each is known by its text: name, modifiers and what it goes by, as in `new_node exclusive` or `grow by speedup`. A row
here is all that checks, descriptions and listings need of a rule; `policies/rules.py` numbers the rows for compiled
loops. Other packages add rules by entry points of the group `gpusched_dsl.rules`: here only their names are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from gpusched_dsl.language.entry_points import points_of

GROUP = "gpusched_dsl.rules"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A whole number in `( )` behind a rule; `default` says what holds when it is left out."""

    name: str
    meaning: str
    default: str


@dataclass(frozen=True, slots=True)
class RuleShape:
    """What a rule does, as the end of a sentence, and its parameters in their order.

    `engine`: the kind of policy that has the rule. Of rules that follow `place`, `takes` says in which way a job gets a
    place: in the way that it is tried in, in any of its ways, or in none, as the rule only says what happens next.
    """

    words: str
    parameters: tuple[Parameter, ...] = ()
    engine: Literal["nodes", "slots", "queues"] = "nodes"
    takes: Literal["one way", "any way", "no way"] = "one way"


# Of models whose decisions have a slot: one of the first four, and what may stand with it.
SLOT_PLACE = {
    "start_now": RuleShape(
        "slot by slot, on the best node that is free and passes `reserve`, to its end", engine="slots"
    ),
    "start_now first_free": RuleShape(
        "slot by slot, on the best free node if that passes `reserve`, to its end", engine="slots"
    ),
    "by_performance by key": RuleShape(
        "slot by slot, jobs and services of `serve` take free nodes in turn, the one of least performance first",
        engine="slots",
    ),
    "cheapest_block": RuleShape(
        "in the run of slots of one node of least key that passes `reserve` throughout", engine="slots"
    ),
    "cheapest_slots": RuleShape(
        "where there is no such run, in single slots of one node, those of least key", engine="slots"
    ),
    "block": RuleShape("where a job cannot start, none behind it in the queue starts in that slot", engine="slots"),
}
# Whether the nodes that do not train can still take the loads. A default here is the unit in which a number is needed.
_CAPACITY = Parameter("capacity", "what one node takes of the load", "load")
RESERVE = {
    "all_services": RuleShape(
        "the nodes that do not train together take each load, all loads by themselves", (_CAPACITY,)
    ),
    "one_service_each": RuleShape("the nodes that do not train take all loads, each node a part of one", (_CAPACITY,)),
    "equal_parts": RuleShape("each load in equal parts fits on the nodes left, in the slot of starting", (_CAPACITY,)),
}
SERVE = {
    "equal_parts": RuleShape("each load goes in equal parts to all nodes that do not train"),
    "equal_parts one_service_each": RuleShape("nodes are dealt in turn to the loads, which split equally over theirs"),
    "cheapest_nodes": RuleShape(
        "nodes of least cost take the loads, each node a part of one; jobs start on other nodes",
        (
            _CAPACITY,
            Parameter("node", "what a node that serves costs", ""),
            Parameter("unit", "what one unit of the load costs", "cost per load"),
        ),
    ),
    "pools": RuleShape(
        "loads are split over the nodes that services took, so that mean response times are equal",
        (
            Parameter("rate", "service rate of a node", "load"),
            Parameter("bound", "largest mean response time", "per load"),
        ),
    ),
}

# Each says where a job goes; the first rule that finds a place is taken.
PLACE = {
    "best_fit": RuleShape(
        "on the node in use, of the family of the way, that has room and is left with the fewest GPUs"
    ),
    "first_fit": RuleShape("on the node in use, of the family of the way, that was opened first and has room"),
    "new_node": RuleShape("on a node not in use, of the largest kind of the family"),
    "new_node exclusive": RuleShape("alone on a node not in use, of exactly the kind of the way"),
    "best_suboptimal": RuleShape("in the best of the ways for which a node in use has room", takes="any way"),
    "first_suboptimal": RuleShape(
        "in the best of the ways for which the node in use that was opened first has room", takes="any way"
    ),
    "next_choice": RuleShape("in the next way of the list for which a rule before this one finds room", takes="no way"),
    "append": RuleShape("at the end of the queue of the chosen node", engine="queues"),
    "append by earliest_finish": RuleShape(
        "at the end of the queue in which it ends first, of all chosen nodes", engine="queues"
    ),
    **SLOT_PLACE,
    "wait": RuleShape("it waits for the next decision, and so do all jobs behind it", takes="no way"),
    "postpone": RuleShape("it is put off, at the price of postponing it", takes="no way"),
}
FINISH = {
    "smaller_type": RuleShape("each node becomes the smallest kind of its family that holds its jobs"),
    "grow by speedup": RuleShape("all GPUs that a node leaves idle go to the job that gains most speed by them"),
    "grow_by_one by speedup": RuleShape("idle GPUs go, one at a time, to the job of the node that gains most speed"),
    "sort by key": RuleShape("each queue is put in the order of an expression, small values first", engine="queues"),
    "grow_by_one by time": RuleShape("idle GPUs go, one at a time, to the job of the node whose time they cut most"),
    "grow_if_cheaper by time": RuleShape("the same, where the node costs no more by it than being late costs less"),
    "expand_parts": RuleShape("what is left of a shared GPU goes to those of its jobs that gain most time by it"),
}
KEEP = {
    "running": RuleShape("jobs that run keep their node and their GPUs until they end"),
    "nodes": RuleShape("equal nodes trade places in the plan, so that as many jobs as can be stay on their node"),
}

_WAITING = (Parameter("length", "how many postponed jobs are looked at, the dearest first (0: all)", "10"),)
_LENGTH = (Parameter("length", "how many jobs of its list a move looks at, the worst first", "10"),)
IMPROVE = {
    "swap_tardy_costly": RuleShape("a late job swaps places with a costly job that is on time", _LENGTH),
    "swap_tardy_any": RuleShape("a late job swaps places with any other job", _LENGTH),
    "swap_postponed_running": RuleShape("a postponed job takes the place of a less urgent one that runs", _LENGTH),
    "faster_type": RuleShape("the node of a late job becomes a faster kind of the same size", _LENGTH),
    "double_gpus": RuleShape("the node of a late job and all its jobs get twice the GPUs", _LENGTH),
    "halve_gpus": RuleShape("the node of a late job and all its jobs get half the GPUs", _LENGTH),
    "regroup_gpus": RuleShape("the GPUs of the node of a late job are shared out anew among its jobs", _LENGTH),
    "repack_node": RuleShape("a node is packed anew with the best of its jobs and the postponed ones", _WAITING),
    "repack_two": RuleShape("two nodes are packed anew with the best of their jobs and the postponed ones", _WAITING),
}  # fmt: skip
RULES = {"place": PLACE, "finish": FINISH, "keep": KEEP, "improve": IMPROVE}
ADDED_AFTER = ("place", "finish", "improve")  # where rules and moves of other packages may stand

# By what the best of several plans is told, besides the objectives and terms of the model.
PRICES = {
    "total": "all costs of the plan to the end of every job",
    "first_end": "costs of the plan until the first job ends",
    "node_first_end": "costs of the plan until, on each node, the first job ends",
}
# What one entry of a list is drawn by; without any of it all are equally likely.
WEIGHTS = {"choose": ("cost", "inverse cost"), "place": ("idle", "inverse idle")}
EVENTS = ("arrival", "completion")  # what an online loop may replan on, besides `every ...`


def of_engine(engine: str) -> frozenset[str]:
    """The first words of the rules of one kind of policy."""
    return frozenset(
        text.split()[0] for rules in RULES.values() for text, shape in rules.items() if shape.engine == engine
    )


@cache
def added_rules() -> tuple[str, ...]:
    """The texts of the rules and moves that other packages bring. Reads names only, imports none of them."""
    return tuple(sorted({" ".join(name.split()) for name in points_of(GROUP)}))


def known_rules(verb: str) -> tuple[str, ...]:
    """The texts of all rules that may stand after a verb: our own in the order of the table, then added ones."""
    own = tuple(RULES[verb])
    if verb not in ADDED_AFTER:
        return own
    return (*own, *(text for text in added_rules() if not any(text in rules for rules in RULES.values())))


def listed(names: Iterable[str], between: str = ", ") -> str:
    """Names as a message shows them."""
    return between.join(f"`{name}`" for name in names)
