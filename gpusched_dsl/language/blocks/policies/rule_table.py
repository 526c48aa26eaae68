"""The rules and moves of policies, their descriptions, and their parameters.

Each is known by its text: name, modifiers and what it goes by, as in `new_node exclusive` or `grow by speedup`. A row
here is all that checks, descriptions and listings need of a rule; `policies/rules.py` numbers the rows for compiled
loops. Other packages add rules by entry points of the group `gpusched_dsl.rules`: here only their names are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Literal

from msgspec import Struct

from gpusched_dsl.language.entry_points import entry_points

GROUP = "gpusched_dsl.rules"


class Parameter(Struct, frozen=True):
    """An integer in `( )` after a rule; `default` describes the value if it is omitted."""

    name: str
    meaning: str
    default: str


class RuleShape(Struct, frozen=True):
    """The description of a rule, as the end of a sentence, and its parameters in order; `optional` ones may follow.

    `plans`: the kind of policy that has the rule; a `standalone` one finds the places of all jobs by itself. Of rules
    that follow `place`, `takes` says in which way a job gets a place: in the way that it is tried in, in any of its
    ways, or in none, as the rule only says what happens next.
    """

    words: str
    parameters: tuple[Parameter, ...] = ()
    plans: Literal["nodes", "slots", "queues", "standalone", "gangs"] = "nodes"
    takes: Literal["one way", "any way", "no way"] = "one way"
    optional: tuple[Parameter, ...] = ()


# Of models whose decisions have a slot: one of the first four, and what may stand with it.
SLOT_PLACE = {
    "start_now": RuleShape(
        "slot by slot, on the best node that is free and passes `reserve`, until the job ends", plans="slots"
    ),
    "start_now first_free": RuleShape(
        "slot by slot, on the best free node if this node passes `reserve`, until the job ends", plans="slots"
    ),
    "by_performance by key": RuleShape(
        "slot by slot, jobs and services of `serve` take free nodes in turn, those of lowest performance first",
        plans="slots",
    ),
    "cheapest_block": RuleShape(
        "in consecutive slots of one node with the least sum of the key, if all of them pass `reserve`", plans="slots"
    ),
    "cheapest_slots": RuleShape(
        "if no consecutive slots are possible, in single slots of one node with the least key", plans="slots"
    ),
    "block": RuleShape("if a job cannot start in a slot, no later job of the queue starts in that slot", plans="slots"),
}
MAIN_SLOT_RULES = ("start_now", "by_performance", "cheapest_block")  # a policy for slots has one of these
# Of gangs in slots the same names say other things; the other rules do not place them.
GANG_SLOT_PLACE = {
    "start_now": RuleShape(
        "slot by slot, all workers at once, on the nodes with the least sum of the key over workers and slots",
        plans="slots",
    ),
    "cheapest_block": RuleShape(
        "all workers in consecutive slots, on one node, in one rack or in several, with the least sum of the key over "
        "workers and slots",
        plans="slots",
    ),
    "block": SLOT_PLACE["block"],
}
# Whether the nodes that do not train can still take the loads. A default here is the unit in which a number is needed.
_CAPACITY = Parameter("capacity", "load that one node can serve", "load")
_MOST = Parameter("most", "largest load of a node, in a model that need not serve all", "load")
RESERVE = {
    "all_services": RuleShape("the nodes without training jobs have capacity for each load separately", (_CAPACITY,)),
    "one_service_each": RuleShape(
        "the nodes without training jobs can serve all loads, with one service per node", (_CAPACITY,)
    ),
    "equal_parts": RuleShape(
        "each load, split equally over the remaining nodes, fits in the starting slot", (_CAPACITY,)
    ),
}
SERVE = {
    "equal_parts": RuleShape("each load is split equally over all nodes without training jobs", optional=(_MOST,)),
    "equal_parts one_service_each": RuleShape(
        "nodes are assigned to the loads in turn, and each load is split equally over its nodes", optional=(_MOST,)
    ),
    "cheapest_nodes": RuleShape(
        "the nodes of least total cost serve the loads, with one service per node; jobs start on other nodes",
        (
            _CAPACITY,
            Parameter("node", "cost of a node that serves", ""),
            Parameter("unit", "cost of one unit of load", "cost per load"),
        ),
        optional=(_MOST,),
    ),
    "pools": RuleShape(
        "each load is split over the nodes of its service, so that mean response times are equal",
        (
            Parameter("rate", "service rate of a node", "load"),
            Parameter("bound", "largest mean response time", "per load"),
        ),
        optional=(_MOST,),
    ),
}

# Each says where a job goes; the first rule that finds a place is taken.
PLACE = {
    "best_fit": RuleShape("on the node in use, of the family of the way, that then has the fewest free GPUs"),
    "first_fit": RuleShape("on the first node in use, of the family of the way, that has room"),
    "new_node": RuleShape(
        "on the smallest node not in use with room, of the family of the way; a node to rent becomes the largest type "
        "of the family that is in stock"
    ),
    "new_node exclusive": RuleShape("alone on a node not in use, of exactly the type of the way"),
    "best_suboptimal": RuleShape("on a node in use, in the best way for which a node has room", takes="any way"),
    "first_suboptimal": RuleShape(
        "on the first node in use that has room for the job, in the best way for which this node has room",
        takes="any way",
    ),
    "next_choice": RuleShape("in the next way of the list for which an earlier rule finds room", takes="no way"),
    "append": RuleShape("at the end of the queue of the chosen node", plans="queues"),
    "append by earliest_finish": RuleShape(
        "at the end of the queue, of all chosen nodes, in which the job ends first", plans="queues"
    ),
    "backfill": RuleShape(
        "on the node with the fewest free GPUs where it delays no reserved start; the first job without such a node "
        "reserves the earliest start",
        plans="standalone",
        takes="any way",
    ),
    "backfill conservative": RuleShape(
        "on the node with the fewest free GPUs where it delays no reserved start; each job without such a node "
        "reserves the earliest start",
        plans="standalone",
        takes="any way",
    ),
    "fair_share": RuleShape(
        "on the node with the fewest free GPUs; the users take turns, fewest GPUs for their share first, up to their "
        "quota",
        plans="standalone",
        takes="any way",
    ),
    "max_min": RuleShape(
        "by shares of time on each type of node that make the least normalised throughput of a job largest",
        plans="standalone",
        takes="any way",
    ),
    "fewest_racks": RuleShape(
        "a gang, on the node with the fewest free GPUs, else in the fewest racks and there on the fewest nodes",
        plans="gangs",
        takes="any way",
    ),
    **SLOT_PLACE,
    "wait": RuleShape("the job and all later jobs of the queue wait for the next decision", takes="no way"),
    "postpone": RuleShape("the job is postponed, at its cost of postponement", takes="no way"),
}
FINISH = {
    "smaller_type": RuleShape("each node becomes the smallest type of its family with room for its jobs"),
    "grow by speedup": RuleShape("all idle GPUs of a node go to the job with the largest speed-up"),
    "grow_by_one by speedup": RuleShape(
        "idle GPUs go, one at a time, to the job of the node with the largest speed-up"
    ),
    "sort by key": RuleShape("each queue is sorted by an expression, small values first", plans="queues"),
    "grow_by_one by time": RuleShape(
        "idle GPUs go, one at a time, to the job of the node with the largest reduction of its time"
    ),
    "grow_if_cheaper by time": RuleShape("the same, while the added node cost is at most the saved tardiness cost"),
    "expand_parts": RuleShape("the free part of a shared GPU goes to those of its jobs that gain most time"),
}
KEEP = {
    "running": RuleShape("running jobs keep their node and their GPUs until they end"),
    "nodes": RuleShape("equal nodes are exchanged in the plan, so that as many jobs as possible stay on their node"),
}

_WAITING = (Parameter("length", "number of examined postponed jobs, the most expensive first (0: all)", "10"),)
_LENGTH = (Parameter("length", "number of examined jobs of the list of a move, the worst first", "10"),)
_BOTH = (Parameter("length", "number of postponed and of running jobs, the most expensive first (0: all)", "10"),)
IMPROVE = {
    "swap_tardy_costly": RuleShape("a late job swaps places with a costly job that is on time", _LENGTH),
    "swap_tardy_any": RuleShape("a late job swaps places with any other job", _LENGTH),
    "swap_postponed_running": RuleShape("a postponed job replaces a less urgent running job", _LENGTH),
    "faster_type": RuleShape("the node of a late job becomes a faster type of the same size", _LENGTH),
    "double_gpus": RuleShape("the node of a late job and all its jobs get twice the GPUs", _LENGTH),
    "halve_gpus": RuleShape("the node of a late job and all its jobs get half the GPUs", _LENGTH),
    "regroup_gpus": RuleShape("the GPUs of the node of a late job are divided again among its jobs", _LENGTH),
    "repack_node": RuleShape("a node is packed again with the best of its jobs and the postponed jobs", _WAITING),
    "repack_two": RuleShape("two nodes are packed again with the best of their jobs and the postponed jobs", _WAITING),
    "insert_job": RuleShape(
        "a job takes a place of any node in any of its ways; jobs without room beside it go elsewhere, or wait", _BOTH
    ),
}  # fmt: skip
RULES = {"place": PLACE, "finish": FINISH, "keep": KEEP, "improve": IMPROVE}
ADDED_AFTER = ("place", "finish", "improve")  # verbs with rules and moves of other packages

# Prices that compare several plans, besides the objectives and terms of the model.
PRICES = {
    "total": "all costs of the plan to the end of every job",
    "first_end": "costs of the plan until the first job ends",
    "node_first_end": "costs of the plan until, on each node, the first job ends",
}
# Weights of the entries of a list in a draw; without a weight all are equally likely.
WEIGHTS = {"choose": ("cost", "inverse cost"), "place": ("idle", "inverse idle")}


def rules_of(plans: str) -> frozenset[str]:
    """Return the first words of the rules of a kind of policy."""
    return frozenset(
        text.split()[0] for rules in RULES.values() for text, shape in rules.items() if shape.plans == plans
    )


@cache
def rules_of_packages() -> tuple[str, ...]:
    """Return the texts of rules and moves of other packages; read only their names, without imports."""
    return tuple(sorted({" ".join(name.split()) for name in entry_points(GROUP)}))


def rules_after(verb: str) -> tuple[str, ...]:
    """Return the texts of all rules allowed after a verb: our own in the order of the table, then those of
    other packages.
    """
    own = tuple(RULES[verb])
    if verb not in ADDED_AFTER:
        return own
    return (*own, *(text for text in rules_of_packages() if not any(text in rules for rules in RULES.values())))


def list_names(names: Iterable[str], between: str = ", ") -> str:
    """Return names in quotes, for messages."""
    return between.join(f"`{name}`" for name in names)
