"""Whether a run allows fast replay, or why every event needs a new plan.

It may where a plan can only ever add waiting jobs to those that run, by an order and by ways that stay what they are,
and where the world is the plan: then the run is a queue, and `kernel.py` gives what the loop over events would give.
Where there is doubt the answer is no: every line of the policy and the block, every role of the placement and every
declaration that may refuse its data is looked at, and what is not known to leave the run as it is speaks against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field

from gpusched_dsl.language.checked import (
    CheckedPlacement,
    CheckedPlacementItem,
    Element,
    IndexRef,
    IndexVar,
    Numeric,
    ParamRef,
    Role,
    TypedExpr,
)
from gpusched_dsl.language.checked_online import CLOCK, EVENTS, CheckedCarry, CheckedOnline
from gpusched_dsl.language.checked_policy import ATTAINED, NOW, REMAINING, SHORTEST, CheckedPolicy, has_job_fact
from gpusched_dsl.language.money import costs_are_amounts
from gpusched_dsl.language.units import DIMENSIONLESS
from gpusched_dsl.online.replay.constancy import Constancy
from gpusched_dsl.online.replay.dependence import CONSTANT, FRACTION, Dependences
from gpusched_dsl.online.replay.failing import PartialValues, clock_values, refusals
from gpusched_dsl.online.replay.trace import BEST_FIT, FIRST_FIT, FITS_NOWHERE, Rules
from gpusched_dsl.online.run_record import CHOSEN, MOVED
from gpusched_dsl.policies.node_types import distinguishes_nodes
from gpusched_dsl.policies.placement_reader import keys_of_ways

# What the kernel of a replay can do. Any other rule speaks against a replay.
_FITS = {"best_fit": BEST_FIT, "first_fit": FIRST_FIT}
_EMPTY = {"new_node": False, "new_node exclusive": True}  # whether the job has the node for itself
_PRICED = ("late", "postponed", "idle", "node_price", "stock")  # roles that only price a plan: one pass needs no price
_KINDS: tuple[Role, ...] = ("uses", "lasts", "costs", "node_rate", "late")  # roles by which nodes are told apart
# Lines that leave a plan one pass over the queue and the run a queue. Every other line is a reason against a replay.
_POLICY_LINES = (
    "name", "span", "model", "order", "doc", "lets", "choose", "otherwise", "place", "keep", "kept", "lines",
)  # fmt: skip
_BLOCK_LINES = (
    "name", "span", "model", "base", "arrival", "unit", "doc", "triggers", "carries", "per_entry", "fallback",
    "brought",
)  # fmt: skip
_WORDS = {
    "draws": "randomise", "rounds": "improve", "all_rounds": "improve", "moves": "improve", "memories": "remember",
    "stages": "profile or admit", "prices": "price", "changes": "on", "outages": "outage", "charges": "charge",
    "charged": "charge", "clock_times": "replan at",
}  # fmt: skip


@dataclass(frozen=True)
class ReplayFacts:
    """The relevant facts of an `online` block.

    `carried` are the parameters that are given new values, other than `fractions`: those that are given the fraction of
    work left, which is 1 for a job that waits. `slopes`: those of `carried` that grow with the clock, by how much per
    unit of it. `events` are those that a plan follows; `others` are words of lines that bring more into the run than
    jobs that come and go, such as `window` or `outage`; `doubts` are reasons against a replay that carries give.
    """

    carried: frozenset[str]
    events: frozenset[str]
    others: tuple[str, ...] = ()
    fractions: frozenset[str] = frozenset()
    slopes: Mapping[str, float] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


def replay_facts(online: CheckedOnline) -> ReplayFacts:
    """Return the facts of a block, including inherited lines. Plans between events change nothing: the
    queue is the same.
    """
    by_jobs = ("charged",) if online.charged == "jobs" else ()  # `charge jobs` is what a replay charges
    others = _lines(online, (*_BLOCK_LINES, *by_jobs))
    events = {t.event for t in online.triggers if t.event is not None}
    fractions = frozenset(c.target for c in online.carries if _is_fraction_left(c))
    jobs = online.arrival.jobs if online.arrival is not None else ""
    clock = Constancy(online.model, jobs, CLOCK, own_clock=False)
    forms = Dependences(clock, (), {NOW: 1.0})
    slopes: dict[str, float] = {}
    for carry in online.carries:
        form = forms.of(carry.value, frozenset())
        if form is not None and form.slope and carry.target not in fractions:
            slopes[carry.target] = form.slope
    values = [carry.value for carry in online.carries if carry.target not in fractions]
    return ReplayFacts(
        carried=frozenset(c.target for c in online.carries) - fractions,
        events=frozenset(events if online.triggers else EVENTS),
        others=tuple(others),
        fractions=fractions,
        slopes=slopes,
        doubts=tuple(clock_values(online.model, values, jobs, CLOCK)),
    )


def _lines(declared: CheckedPolicy | CheckedOnline, known: Sequence[str]) -> list[str]:
    """Words of the lines that are stated and not among those that are known."""
    stated = [n for n in declared.__struct_fields__ if n not in known and _is_stated(getattr(declared, n))]
    return list(dict.fromkeys(_WORDS.get(name, name) for name in stated))


def _is_stated(value: object) -> bool:
    return bool(value) if isinstance(value, (bool, Sized)) else value is not None


def _is_fraction_left(carry: CheckedCarry) -> bool:
    """Whether it is `carry p[j] = remaining[j];`."""
    value = carry.value
    if not isinstance(value, ParamRef) or value.name != REMAINING or len(carry.variables) != 1:
        return False
    [subscript] = value.subscripts
    return isinstance(subscript, IndexRef) and subscript.variable is carry.variables[0]


def replay_obstacles(policy: CheckedPolicy, facts: ReplayFacts) -> list[str]:
    """Every reason against a replay, each the end of `... because`; empty where there is none."""
    found = [f"the run has `{word}`, not only arrivals and completions" for word in facts.others]
    found += [
        (f"there is no plan after every {event}") for event in ("arrival", "completion") if event not in facts.events
    ]
    found += facts.doubts
    found += _line_obstacles(policy)
    rules = rules_of(policy)
    if isinstance(rules, str):
        found.append(rules)
    placement = _placement(policy)
    job, node = placement.index("job"), placement.index("node")
    if job is None or node is None or not isinstance(job.type, Element):
        return [*found, "the placement does not state the job and the node by an index"]
    if placement.index("node_type") is not None:
        found.append(CHOSEN)
    if placement.has_gangs:
        found.append("jobs are gangs, with workers on several nodes")
    if len(placement.all("uses")) > 1:
        found.append("jobs use more than one capacity of a node")
    if sum(isinstance(v.type, Element) and v.type.root == job.type.root for v in placement.indices) > 1:
        found.append("a decision concerns several jobs")
    return list(dict.fromkeys(found + _expression_obstacles(policy, facts, job, node, placement.value("node_type"))))


def clock_of_due(policy: CheckedPolicy, facts: ReplayFacts) -> float | None:
    """By how much `due` of the placement grows per unit of the run's clock, in its own unit; None: in another way."""
    due, job = _placement(policy).value("due"), _placement(policy).index("job")
    if due is None or job is None or not isinstance(job.type, Element):
        return 0.0
    form = forms_of(policy, facts, job.type.root).of(due, frozenset({job}))
    return None if form is None or form.fraction else form.slope


def have_moving_keys(policy: CheckedPolicy, facts: ReplayFacts) -> bool:
    """Whether keys of the queue change while a job runs."""
    job = _placement(policy).index("job")
    assert job is not None
    assert isinstance(job.type, Element)
    still = forms_of(policy, facts, job.type.root).still
    return any(still.change_in(key.value) is not None for key in policy.order.keys)


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
        return f"fast replay does not support `{strange}` at this position"
    alone = any(_EMPTY[p] for p in empty)
    if not places or len(fits) > 1 or len(empty) > 1 or (alone and fits):
        return f"`place {', '.join(rule.text for rule in policy.place)}` is not supported by fast replay"
    return Rules(
        fit=_FITS[fits[0]] if fits else FITS_NOWHERE,
        opens=bool(empty),
        opens_first=places[0] in _EMPTY,
        alone=alone,
        next_choice=next_choice,
        waits=waits,
    )


def _line_obstacles(policy: CheckedPolicy) -> list[str]:
    """Return lines that make a plan more than one pass over the queue."""
    found = []
    if not any(rule.name == "running" for rule in policy.keep):
        found.append(MOVED)
    found += [f"the policy has a line `{line}`" for line in _lines(policy, _POLICY_LINES)]
    if any(rule.name != "running" for rule in policy.keep):
        found.append("the policy has other `keep` lines than `keep running`")
    return found


def chooses_nodes(policy: CheckedPolicy) -> bool:
    """Whether `choose` lists nodes by name, so that each is a kind of its own."""
    node = _placement(policy).index("node")
    rankings = [r for r in (policy.choose, policy.otherwise) if r is not None]
    return node is not None and any(v.name == node.name for r in rankings for v in r.indexing.variables)


def _expression_obstacles(
    policy: CheckedPolicy, facts: ReplayFacts, job: IndexVar, node: IndexVar, kind: TypedExpr | None
) -> list[str]:
    """Return everything that a run reads and that may change during it, or that distinguishes nodes of one type."""
    model, placement = policy.model, _placement(policy)
    assert isinstance(job.type, Element)
    jobs = job.type.root
    moving = facts.carried | {name for name in (ATTAINED, SHORTEST) if has_job_fact(policy, name)}
    waiting = Constancy(model, jobs, moving, own_clock(policy))  # a job that waits has all of its work left
    forms = forms_of(policy, facts, jobs)
    partial_values = PartialValues(forms.still)
    variable = model.variables[placement.variable]
    found = list(refusals(model, facts.fractions, forms))

    for line, ranking in (("order", policy.order), ("choose", policy.choose), ("otherwise", policy.otherwise)):
        if ranking is not None:
            keys = [key.value for key in ranking.keys]
            changes = [waiting.change_in_listed(ranking.indexing), *(waiting.change_in(key) for key in keys)]
            failures = [partial_values.first_in(part) for part in (*ranking.indexing.conditions, *keys)]  # of all jobs
            found += _first(f"`{line}` may change while a job waits: ", changes) or _first("", failures)
    found += _first(
        f"the index set of `{variable.name}` may change: ", [forms.still.change_in_listed(variable.indexing)]
    )
    if placement.item("lasts") is None:
        found.append("the placement has no duration of a job")
    for item in placement.items:
        found += role_obstacles(item, policy, forms, partial_values, job)
    if not chooses_nodes(policy):
        told = [(f"the index set of `{variable.name}`", expr) for expr in variable.indexing.conditions]
        for item in placement.all(*_KINDS):
            told += [(f"`{item.role}`", expr) for expr in (item.value, item.of) if expr is not None]
        told += [("`choose`", key) for key in keys_of_ways(policy)[0]]
        apart = {what: None for what, expr in told if distinguishes_nodes(expr, node, kind)}
        found += [f"{what} differs between nodes of one type" for what in apart]
    return found


def role_obstacles(
    item: CheckedPlacementItem, policy: CheckedPolicy, forms: Dependences, partial_values: PartialValues, job: IndexVar
) -> list[str]:
    """Return the reasons of a role of the placement against a replay. Unknown roles must not change."""
    parts = [expr for expr in (item.value, item.of) if expr is not None]
    changes = _first(f"`{item.role}` may change: ", [forms.still.change_in(expr) for expr in parts])
    found = _first("", [partial_values.first_in(expr) for expr in parts])
    if item.role in _PRICED:
        return found
    if item.role == "lasts":
        form = forms.of(item.value, frozenset({job}))
        if form == FRACTION:
            return found
        if form == CONSTANT:
            return [*found, "`lasts` does not depend on the remaining work: every plan restarts a job"]
        return found + (changes or ["`lasts` is not the remaining fraction of the work times a time"])
    if item.role == "due":
        form = forms.of(item.value, frozenset({job}))
        return found if form is not None and not form.fraction else found + changes
    if item.role == "costs" and _is_amount(item):
        # Divided by `lasts`, which is the fraction left times a time: so a rate that does not change.
        return found if forms.of(item.value, frozenset({job})) == FRACTION else [*found, _AMOUNT]
    return found + changes


_AMOUNT = "`costs` is not a rate and does not depend on the remaining work"


def _is_amount(item: CheckedPlacementItem) -> bool:
    """Whether `costs` is money for the rest of the job, not a rate."""
    unit = item.value.type.unit if isinstance(item.value.type, Numeric) else DIMENSIONLESS
    return costs_are_amounts(unit)


def _first(words: str, changes: Sequence[str | None]) -> list[str]:
    """Return the first of several changes, after a prefix."""
    found = next((change for change in changes if change is not None), None)
    return [] if found is None else [words + found]


def forms_of(policy: CheckedPolicy, facts: ReplayFacts, jobs: str) -> Dependences:
    """Return forms of quantities that change during the complete run of a job."""
    always = Constancy(policy.model, jobs, facts.carried | facts.fractions, own_clock(policy))
    return Dependences(always, facts.fractions, facts.slopes)


def _placement(policy: CheckedPolicy) -> CheckedPlacement:
    assert policy.model.placement is not None, "the checker refuses policies for models without a placement"
    return policy.model.placement


def own_clock(policy: CheckedPolicy) -> bool:
    """Whether `now` is the time of the decision, and no name of the model."""
    clock = policy.model.lets.get(NOW)
    return clock is not None and clock.span == policy.span
