"""Whether a run may be replayed in one go, or why it has to be planned anew at every event, in words.

It may where a plan can only ever add waiting jobs to those that run, by an order and by ways that stay what they are,
and where the world is the plan: then the run is a queue, and `kernel.py` gives what the loop over events would give.
Where there is doubt the answer is no.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusched_dsl.language.checked import Core, Element, IndexingCore, IndexRef, IndexVar, ParamRef
from gpusched_dsl.language.checked_online import EVENTS, CheckedCarry, CheckedOnline
from gpusched_dsl.language.checked_policy import NOW, REMAINING, CheckedPolicy
from gpusched_dsl.online.replay.constancy import Constancy
from gpusched_dsl.online.replay.trace import BEST_FIT, FIRST_FIT, FITS_NOWHERE, Rules
from gpusched_dsl.policies.reading import tells_apart

_FITS = {"best_fit": BEST_FIT, "first_fit": FIRST_FIT}
_EMPTY = {"new_node": False, "new_node exclusive": True}  # whether the job has the node for itself
_WAYS = ("node_type", "family", "uses", "lasts")  # roles of a placement that ways are made of
_KINDS = ("uses", "lasts", "costs", "node_rate", "late")  # roles by which nodes are told apart


@dataclass(frozen=True)
class Driven:
    """What an `online` block says, as far as it matters here.

    `carried` are the parameters that are given new values, other than `fractions`: those that are given the fraction of
    work left, which is 1 for a job that waits. `events` are those that a plan follows; `others` are words of lines that
    bring more into the run than jobs that come and go, such as `window` or `outage`.
    """

    carried: frozenset[str]
    events: frozenset[str]
    others: tuple[str, ...] = ()
    fractions: frozenset[str] = frozenset()


def driven_by(online: CheckedOnline) -> Driven:
    """What a block says, with those that it extends. Plans between events change nothing: they see the same queue."""
    others = {
        "window": online.window, "work": online.work, "speed": online.speed, "ends": online.ends,
        "stretch": online.stretch, "on": online.changes, "outage": online.outages, "charge": online.charges,
    }  # fmt: skip
    events = {t.event for t in online.triggers if t.event is not None}
    fractions = frozenset(c.target for c in online.carries if _is_fraction_left(c))
    return Driven(
        carried=frozenset(c.target for c in online.carries) - fractions,
        events=frozenset(events if online.triggers else EVENTS),
        others=tuple(name for name, value in others.items() if value),
        fractions=fractions,
    )


def _is_fraction_left(carry: CheckedCarry) -> bool:
    """Whether it is `carry p[j] = remaining[j];`."""
    value = carry.value
    if not isinstance(value, ParamRef) or value.name != REMAINING or len(carry.variables) != 1:
        return False
    [subscript] = value.subscripts
    return isinstance(subscript, IndexRef) and subscript.variable is carry.variables[0]


def why_not(policy: CheckedPolicy, driven: Driven) -> list[str]:
    """Every reason against a replay, each the end of `... because`; empty where there is none."""
    found = [f"`{word}` brings more into the run than jobs that come and go" for word in driven.others]
    found += [
        f"plans do not follow every {event}" for event in ("arrival", "completion") if event not in driven.events
    ]
    found += _of_lines(policy)
    rules = rules_of(policy)
    if isinstance(rules, str):
        found.append(rules)
    placement = policy.model.placement
    assert placement is not None, "the checker refuses policies for models without a placement"
    items = {item.role: item.value for item in reversed(placement.items)}
    job, node, kind = (_index_in(items.get(role)) for role in ("job", "node", "node_type"))
    if job is None or node is None or not isinstance(job.type, Element):
        return [*found, "the placement does not name the job and the node by an index"]
    if kind is not None:
        found.append("the kind of a node is chosen with the plan")
    if sum(item.role == "uses" for item in placement.items) > 1:
        found.append("jobs take more than one capacity of a node")
    return found + _of_expressions(policy, driven, job.type.root, node, items.get("node_type"))


def rules_of(policy: CheckedPolicy) -> Rules | str:
    """The rules of `place`, or why they are none that can be replayed."""
    words = [rule.text for rule in policy.place]
    places: list[str] = []
    while words and (words[0] in _FITS or words[0] in _EMPTY):
        places.append(words.pop(0))
    next_choice = bool(words) and words[0] == "next_choice"
    rest = words[1:] if next_choice else words
    waits = bool(rest) and rest[0] == "wait"
    fits, empty = [p for p in places if p in _FITS], [p for p in places if p in _EMPTY]
    strange = next((word for word in rest if word not in ("wait", "postpone")), None)
    if strange is not None:
        return f"`{strange}` stands where no rule that is replayed does"
    alone = any(_EMPTY[p] for p in empty)
    if not places or len(fits) > 1 or len(empty) > 1 or (alone and fits):
        return f"`place {', '.join(rule.text for rule in policy.place)}` is no list of rules that is replayed"
    return Rules(
        fit=_FITS[fits[0]] if fits else FITS_NOWHERE,
        opens=bool(empty),
        opens_first=places[0] in _EMPTY,
        alone=alone,
        next_choice=next_choice,
        waits=waits,
    )


def _of_lines(policy: CheckedPolicy) -> list[str]:
    """Lines that make a plan more than one pass over the queue."""
    found = []
    if not any(rule.name == "running" for rule in policy.keep):
        found.append("running jobs may be moved: the policy does not say `keep running`")
    told = {
        "slots": policy.slots, "profile or admit": policy.stages, "randomise": policy.draws, "repeat": policy.repeat,
        "improve": policy.improve, "split": policy.split, "finish": policy.finish,
    }  # fmt: skip
    found += [f"the policy has a line `{line}`" for line, value in told.items() if value]
    if any(rule.name != "running" for rule in policy.keep):
        found.append("the policy keeps more than running jobs")
    return found


def chooses_nodes(policy: CheckedPolicy) -> bool:
    """Whether `choose` lists nodes by name, so that each is a kind of its own."""
    assert policy.model.placement is not None
    node = next((_index_in(i.value) for i in policy.model.placement.items if i.role == "node"), None)
    rankings = [r for r in (policy.choose, policy.otherwise) if r is not None]
    return node is not None and any(v.name == node.name for r in rankings for v in r.indexing.variables)


def _of_expressions(
    policy: CheckedPolicy, driven: Driven, jobs: str, node: IndexVar, kind: Core | None
) -> list[str]:
    """Keys, conditions and numbers of ways that may change while a job waits, or that tell nodes of one type apart."""
    model = policy.model
    assert model.placement is not None
    still = Constancy(model, jobs, driven.carried, _own_clock(policy))
    variable = model.variables[model.placement.variable]
    found = []

    def look(what: str, indexing: IndexingCore | None, cores: Sequence[Core | None]) -> None:
        change = None if indexing is None else still.change_in_listed(indexing)
        for core in cores:
            change = change or (None if core is None else still.change_in(core))
        if change is not None:
            found.append(f"{what} may change while a job waits: {change}")

    for line, ranking in (("order", policy.order), ("choose", policy.choose), ("otherwise", policy.otherwise)):
        if ranking is not None:
            look(f"`{line}`", ranking.indexing, [key.value for key in ranking.keys])
    look(f"where `{variable.name}` exists", variable.indexing, ())
    told: list[tuple[str, Core]] = [(f"where `{variable.name}` exists", c) for c in variable.indexing.conditions]
    for item in model.placement.items:
        parts = [core for core in (item.value, item.of) if core is not None]
        if item.role in _WAYS:
            look(f"`{item.role}`", None, parts)
        if item.role in _KINDS:
            told += [(f"`{item.role}`", core) for core in parts]
    if not chooses_nodes(policy):
        apart = {what: None for what, core in told if tells_apart(core, node, kind)}
        found += [f"{what} differs between nodes of one type" for what in apart]
    return found


def _own_clock(policy: CheckedPolicy) -> bool:
    """Whether `now` is the time of the decision, and no name of the model."""
    clock = policy.model.lets.get(NOW)
    return clock is not None and clock.span == policy.span


def _index_in(core: Core | None) -> IndexVar | None:
    return core.variable if isinstance(core, IndexRef) else None
