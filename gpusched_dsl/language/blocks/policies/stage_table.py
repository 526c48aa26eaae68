"""The inputs and results of `profile` and `admit`: their parts, descriptions and units."""

from __future__ import annotations

from msgspec import Struct

# What a part may see: the job, the kind of node, both of them, or one choice of the pair.
JOB, KIND, PAIR, CHOICE = "job", "kind", "pair", "choice"


class StageLine(Struct, frozen=True):
    """A line in the braces. `unit` names its unit, `ordering` marks lines with keys, those with `default`
    may be missing.
    """

    sees: str
    unit: str
    meaning: str
    default: str | None = None
    ordering: bool = False


class StageResult(Struct, frozen=True):
    """A result: `of` is its subject, and `unit` its unit."""

    of: str
    unit: str
    meaning: str


WORK, TIME, MONEY, SPEED, RATE, PLAIN, ANY = (
    "work", "time", "money", "work per time", "money per time", "a plain number", "anything",
)  # fmt: skip

PARTS: dict[str, dict[str, StageLine]] = {
    "profile": {
        "speed": StageLine(CHOICE, SPEED, "speed of the job in this way"),
        "rate": StageLine(CHOICE, RATE, "cost per time of this way"),
        "work": StageLine(PAIR, WORK, "total work of the job, a random quantity"),
        "limit": StageLine(PAIR, WORK, "largest possible work"),
        "done": StageLine(PAIR, WORK, "finished work", "0"),
        "time_left": StageLine(PAIR, TIME, "time until the job is due"),
        "shortest": StageLine(
            PAIR, WORK, "ways are skipped if the profile would leave them after at most this work", "0"
        ),
        "tardiness": StageLine(
            PAIR, RATE, "tardiness cost per time; without it the due date is met even if all work is needed", ""
        ),
    },
    "admit": {
        "queue": StageLine(JOB, ANY, "keys that sort the jobs; later jobs run if all else is equal", "", True),
        "kinds": StageLine(KIND, ANY, "keys that sort the types of nodes", "", True),
        "uses": StageLine(CHOICE, PLAIN, "capacity of the node type that the job uses in this way"),
        "capacity": StageLine(KIND, PLAIN, "total capacity; written `uses ... of capacity`"),
        "run": StageLine(CHOICE, MONEY, "cost of the job in this way"),
        "wait": StageLine(JOB, MONEY, "cost if the job waits"),
    },
}
RESULTS: dict[str, dict[str, StageResult]] = {
    "profile": {
        "status": StageResult(
            PAIR, PLAIN, "0: the due date is certainly met, 1: it may be missed, 2: there is no way to run"
        ),
        "cost": StageResult(PAIR, MONEY, "expected cost of the best profile, with that of tardiness if stated"),
        "time": StageResult(PAIR, TIME, "expected time to the end of the job"),
        "late": StageResult(PAIR, TIME, "largest possible tardiness"),
        "price": StageResult(PAIR, RATE, "cost saved by one more unit of time until the due date"),
        "switch": StageResult(PAIR, TIME, "time until the first change to a faster way"),
        "first": StageResult(CHOICE, PLAIN, "1: the profile begins this way, else 0"),
        "leaves": StageResult(CHOICE, TIME, "time until the profile leaves this way, if the job begins with this way"),
    },
    "admit": {
        "runs": StageResult(JOB, PLAIN, "1: the job runs, 0: it waits"),
        "amount": StageResult(PAIR, PLAIN, "capacity of this node type that the job gets, 0 if it does not run there"),
        "taken": StageResult(CHOICE, PLAIN, "1: the job runs this way, else 0"),
    },
}


# What each verb finds, as the end of a sentence.
GIVES = {
    "profile": (
        "the first way and the times of changes to faster ways, at least expected cost such "
        "that the due date is certainly met"
    ),
    "admit": "the running and the waiting jobs of least total cost, one node type after another",
}
GIVES_WITH_TARDINESS = (
    "the first way and the times of changes to faster ways, at least expected cost, that of tardiness included"
)


def result_name(stage: str, word: str) -> str:
    """`plan_cost` for `cost` of `profile plan ...`."""
    return f"{stage}_{word}"
