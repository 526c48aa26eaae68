"""What `profile` and `admit` are told and what they tell: their parts and their results, in words and by units."""

from __future__ import annotations

from dataclasses import dataclass

# What a part may see: the job, the kind of node, both of them, or one choice of the pair.
JOB, KIND, PAIR, CHOICE = "job", "kind", "pair", "choice"


@dataclass(frozen=True, slots=True)
class Part:
    """A line in the braces. `unit` names its unit, `ordering` says that it orders by keys, `default` may be missing."""

    sees: str
    unit: str
    meaning: str
    default: str | None = None
    ordering: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """A result: `of` is what it is told of, and `unit` its unit."""

    of: str
    unit: str
    meaning: str


WORK, TIME, MONEY, SPEED, RATE, PLAIN, ANY = (
    "work", "time", "money", "work per time", "money per time", "a plain number", "anything",
)  # fmt: skip

PARTS: dict[str, dict[str, Part]] = {
    "profile": {
        "speed": Part(CHOICE, SPEED, "how fast the job works this way"),
        "rate": Part(CHOICE, RATE, "what running this way costs per time"),
        "work": Part(PAIR, WORK, "how much work the job takes in all, a random quantity"),
        "limit": Part(PAIR, WORK, "the most it can take"),
        "done": Part(PAIR, WORK, "what is done of it", "0"),
        "time_left": Part(PAIR, TIME, "the time until the job is due"),
        "shortest": Part(PAIR, WORK, "a way that would be left after no more than this is passed over", "0"),
    },
    "admit": {
        "queue": Part(JOB, ANY, "by what jobs are listed; where all else is equal later ones run", "", True),
        "kinds": Part(KIND, ANY, "by what kinds of node are gone through", "", True),
        "uses": Part(CHOICE, PLAIN, "how much of the kind's capacity the job takes this way"),
        "capacity": Part(KIND, PLAIN, "how much there is; written `uses ... of capacity`"),
        "run": Part(CHOICE, MONEY, "what it costs to run the job this way"),
        "wait": Part(JOB, MONEY, "what it costs to let it wait"),
    },
}
RESULTS: dict[str, dict[str, Told]] = {
    "profile": {
        "status": Told(PAIR, PLAIN, "0: the due date holds for sure, 1: it may be missed, 2: there is no way to run"),
        "cost": Told(PAIR, MONEY, "expected cost of the best profile"),
        "time": Told(PAIR, TIME, "expected time to the end of the job"),
        "late": Told(PAIR, TIME, "time by which the due date may be missed"),
        "price": Told(PAIR, RATE, "what one unit of time more until the due date would save"),
        "switch": Told(PAIR, TIME, "time until the first way is left for a faster one"),
        "first": Told(CHOICE, PLAIN, "1: the profile begins this way, else 0"),
        "leaves": Told(CHOICE, TIME, "time until the profile leaves this way, if the job begins with it"),
    },
    "admit": {
        "runs": Told(JOB, PLAIN, "1: the job runs, 0: it waits"),
        "amount": Told(PAIR, PLAIN, "how much of the capacity of this kind the job gets, 0 if it does not run there"),
        "taken": Told(CHOICE, PLAIN, "1: the job runs this way, else 0"),
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
