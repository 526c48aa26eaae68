"""What `profile` and `admit` are told and what they tell: their parts and their results, in words and by units."""

from __future__ import annotations

from dataclasses import dataclass

# What a part may see: the job, the kind of node, both of them, or one choice of the pair.
JOB, KIND, PAIR, CHOICE = "job", "kind", "pair", "choice"


@dataclass(frozen=True, slots=True)
class StageLine:
    """A line in the braces. `unit` names its unit, `ordering` says that it orders by keys, `default` may be missing."""

    sees: str
    unit: str
    meaning: str
    default: str | None = None
    ordering: bool = False


@dataclass(frozen=True, slots=True)
class StageResult:
    """A result: `of` is what it is told of, and `unit` its unit."""

    of: str
    unit: str
    meaning: str


WORK, TIME, MONEY, SPEED, RATE, PLAIN, ANY = (
    "work", "time", "money", "work per time", "money per time", "a plain number", "anything",
)  # fmt: skip

PARTS: dict[str, dict[str, StageLine]] = {
    "profile": {
        "speed": StageLine(CHOICE, SPEED, "how fast the job works this way"),
        "rate": StageLine(CHOICE, RATE, "what running this way costs per time"),
        "work": StageLine(PAIR, WORK, "how much work the job takes in all, a random quantity"),
        "limit": StageLine(PAIR, WORK, "the most it can take"),
        "done": StageLine(PAIR, WORK, "what is done of it", "0"),
        "time_left": StageLine(PAIR, TIME, "the time until the job is due"),
        "shortest": StageLine(PAIR, WORK, "a way that would be left after no more than this is passed over", "0"),
    },
    "admit": {
        "queue": StageLine(JOB, ANY, "by what jobs are listed; where all else is equal later ones run", "", True),
        "kinds": StageLine(KIND, ANY, "by what kinds of node are gone through", "", True),
        "uses": StageLine(CHOICE, PLAIN, "how much of the kind's capacity the job takes this way"),
        "capacity": StageLine(KIND, PLAIN, "how much there is; written `uses ... of capacity`"),
        "run": StageLine(CHOICE, MONEY, "what it costs to run the job this way"),
        "wait": StageLine(JOB, MONEY, "what it costs to let it wait"),
    },
}
RESULTS: dict[str, dict[str, StageResult]] = {
    "profile": {
        "status": StageResult(
            PAIR, PLAIN, "0: the due date holds for sure, 1: it may be missed, 2: there is no way to run"
        ),
        "cost": StageResult(PAIR, MONEY, "expected cost of the best profile"),
        "time": StageResult(PAIR, TIME, "expected time to the end of the job"),
        "late": StageResult(PAIR, TIME, "time by which the due date may be missed"),
        "price": StageResult(PAIR, RATE, "what one unit of time more until the due date would save"),
        "switch": StageResult(PAIR, TIME, "time until the first way is left for a faster one"),
        "first": StageResult(CHOICE, PLAIN, "1: the profile begins this way, else 0"),
        "leaves": StageResult(CHOICE, TIME, "time until the profile leaves this way, if the job begins with it"),
    },
    "admit": {
        "runs": StageResult(JOB, PLAIN, "1: the job runs, 0: it waits"),
        "amount": StageResult(
            PAIR, PLAIN, "how much of the capacity of this kind the job gets, 0 if it does not run there"
        ),
        "taken": StageResult(CHOICE, PLAIN, "1: the job runs this way, else 0"),
    },
}


# What each verb finds, as the end of a sentence.
GIVES = {
    "profile": "the way to begin and when to go faster: the due date holds for sure, at least expected cost",
    "admit": "who runs and who waits, so that all together cost least, one kind of node after another",
}


def result_name(stage: str, word: str) -> str:
    """`plan_cost` for `cost` of `profile plan ...`."""
    return f"{stage}_{word}"
