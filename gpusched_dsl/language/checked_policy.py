"""A policy with its inheritance resolved and its expressions checked against a model.

Two names belong to the time of the decision: `now`, and `remaining[j]`, the fraction of a job's work that is left.
They are `let`s of `CheckedPolicy.model` with the constants 0 and 1, unless model or policy declare them, so the
ordinary evaluator knows them; `at` gives the same policy at another time. Three more belong to a job: `arrived[j]`,
`attained[j]` and `shortest[j]` (`JOB_FACTS`), parameters of `CheckedPolicy.model` that `policies/job_facts.py` fills.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field, structs

from gpusched_dsl.language.checked import (
    CheckedLet,
    CheckedModel,
    CheckedParam,
    Constant,
    IndexVar,
    TypedExpr,
    TypedIndexing,
)
from gpusched_dsl.language.source import Span

NOW, REMAINING = "now", "remaining"
ARRIVED, ATTAINED, SHORTEST = "arrived", "attained", "shortest"
JOB_FACTS = (ARRIVED, ATTAINED, SHORTEST)


class CheckedKey(Struct, frozen=True):
    value: TypedExpr
    descending: bool = False


class CheckedRanking(Struct, frozen=True):
    """`order`, `choose`, `otherwise`: the listed elements, their condition, and the keys, most important first.

    The indices that the indexing binds have the names and types of the placement's, except for `node_type`: an index
    beside those, which is the type of node that a way is for. An indexing that binds nothing lists all ways of the
    placement; the keys then use the placement's own indices.
    """

    span: Span
    indexing: TypedIndexing
    keys: tuple[CheckedKey, ...]
    node_type: IndexVar | None = None


class CheckedRule(Struct, frozen=True):
    """`new_node exclusive`, `grow by speedup`, `swap_tardy_any(5)`, or with an expression: `sort by time[j, g]`."""

    name: str
    span: Span
    modifiers: tuple[str, ...] = ()
    arguments: tuple[TypedExpr, ...] = ()
    by: str | None = None
    key: CheckedKey | None = None

    @property
    def text(self) -> str:
        """Name, modifiers and `by`, as the tables of `policies/rules.py` list them."""
        words = " ".join((self.name, *self.modifiers))
        by = "key" if self.key is not None else self.by
        return words if by is None else f"{words} by {by}"


class CheckedDraw(Struct, frozen=True):
    """`randomise order|choose|place`: `probability` of a swap, or `count` of the list drawn from and its `odds`.

    `probability` and the `count` of `choose` are for one job, bound as by `order`; that of `place` is one number.
    """

    target: str
    span: Span
    count: TypedExpr | None = None
    probability: TypedExpr | None = None
    odds: str = ""  # such as `inverse cost`


class CheckedMemory(Struct, frozen=True):
    """`remember target = value;`: `target` is a parameter of jobs, which has this value in the policy's next plan.

    `value` is in the declared unit of the target, of the way that the rules chose for a job before `finish` changed it.
    It sees the job by the name that `order` has for it, the indices of the placement, and `node_types`: names that
    `choose` and `otherwise` have for the type of node.
    """

    target: str
    span: Span
    value: TypedExpr
    node_types: tuple[IndexVar, ...] = ()


class CheckedAgain(Struct, frozen=True):
    """`again after time where condition;`: in how long, in the unit of `now`, a job that runs wants a new plan.

    It sees what `CheckedMemory` sees, of the way in which the job is placed in the end.
    """

    span: Span
    after: TypedExpr
    condition: TypedExpr | None = None
    node_types: tuple[IndexVar, ...] = ()


class CheckedStage(Struct, frozen=True):
    """`profile` or `admit`: a problem solved for all jobs at once before the queue.

    `verb` is one of these words, `indexing` lists the pairs of job and kind of node, `over` the choices of each pair,
    which see it. `parts` holds the numbers by their role, `keys` those roles that order something, the first key first.
    `results` are parameters of the policy's model by the word that follows the name: `cost` for `plan_cost`.
    """

    verb: str
    name: str
    span: Span
    indexing: TypedIndexing
    over: TypedIndexing
    parts: Mapping[str, TypedExpr]
    keys: Mapping[str, tuple[CheckedKey, ...]]
    results: Mapping[str, CheckedParam]
    doc: str | None = None


class CheckedPrice(Struct, frozen=True):
    """`price(capacity[v])`: the dual value of a constraint in the linear relaxation of the model.

    `price(run[j, n])`: what a decision of the placement costs with the prices of all rows that it shares with other
    jobs; `constraint` is then empty and `variable` the name.

    `param` stands for it in the policy's model, in the unit of the objective per unit of the constraint. `span` is its
    first use. `omitted` is the position of the node among the indices of the constraint, if the price omits it: it is
    then the mean over all nodes, of a decision the least.
    """

    param: CheckedParam
    constraint: str
    span: Span
    omitted: int | None = None
    variable: str = ""


class CheckedLoads(Struct, frozen=True):
    """`reserve ... of LOAD with RULE`, `serve x[...] of LOAD with RULE`: loads of services, and their rule.

    `indexing` binds the service, the node and the slot, in any order. `arguments` of the rule are in the units in which
    they meet the load. `variable` is the family that receives what nodes serve; `reserve` has none.
    """

    span: Span
    indexing: TypedIndexing
    service: IndexVar
    node: IndexVar
    slot: IndexVar
    load: TypedExpr
    rule: CheckedRule
    variable: str | None = None


class CheckedFix(Struct, frozen=True):
    """`fix on[k in Nodes, h in Slots] = 1;`: `value` in the unit of the variable; it may read earlier decisions."""

    variable: str
    span: Span
    indexing: TypedIndexing
    value: TypedExpr


class CheckedSlots(Struct, frozen=True):
    """The lines of a policy for a model with slots besides the queue and the choice.

    `occupies` is seen for one job on one node; `node` and `slot` are the names of the placement's indices.
    """

    node: IndexVar
    slot: IndexVar
    occupies: TypedExpr
    reserve: CheckedLoads | None = None
    serve: CheckedLoads | None = None
    fixes: tuple[CheckedFix, ...] = ()


class CheckedMember(Struct, frozen=True):
    """A method of a portfolio by name, a policy or a solver, with the seconds that it may take for a plan."""

    name: str
    span: Span
    seconds: float | None = None


class CheckedFutures(Struct, frozen=True):
    """`futures 4 with arrivals seed 7;`: how many futures are drawn, by which seed (None: that of the run).

    With `arrivals`, jobs arrive in them: as they did in the `past` of the run, or as the generators of the scenario
    draw them (`generated`). `over`: plans are compared only while no arrivals are expected, or the `condition` is
    false.
    """

    span: Span
    count: TypedExpr
    arrivals: str = ""
    seed: TypedExpr | None = None
    condition: TypedExpr | None = None


class CheckedPortfolio(Struct, frozen=True):
    """`portfolio Greedy, EDF;`: the plans of `members` are simulated, and the one with the least cost is followed.

    A simulation ends with the last job, or `horizon` (in the unit of `now`) after the plan. Without `futures` there is
    one, with the planned times of the present jobs. `continuing` are the policies of the later plans; without them each
    plan is continued by its own. `mixtures`: the most mixtures of the best plan with the others that are simulated;
    `variations`: the most variations of the best policy.
    """

    span: Span
    members: tuple[CheckedMember, ...]
    horizon: TypedExpr | None = None
    futures: CheckedFutures | None = None
    continuing: tuple[CheckedMember, ...] = ()
    mixtures: TypedExpr | None = None
    variations: TypedExpr | None = None


class PolicyLine(Struct, frozen=True):
    """Where a line of a policy is written: its text, and the name of the policy that has it, be it an inherited one."""

    span: Span
    policy: str


class CheckedPolicy(Struct, frozen=True):
    """The lines of a policy after inheritance. `model` also has the policy's `let`s.

    Jobs are bound by `order` (the name of the placement's job index); `choose` and `otherwise` see it. A policy that
    has neither, since only nodes are left to choose, has a `choose` that binds nothing: any way will do.
    `lines` tells of each line where it comes from, by its words: `order`, `randomise place`, `let pressure`.
    """

    name: str
    span: Span
    model: CheckedModel
    order: CheckedRanking
    doc: str | None = None
    lets: Mapping[str, CheckedLet] = field(default_factory=dict)
    prices: tuple[CheckedPrice, ...] = ()  # known before `lets` and stages; `model.params` has them
    stages: tuple[CheckedStage, ...] = ()  # in the order in which they are solved; `model.params` has their results
    choose: CheckedRanking | None = None
    otherwise: CheckedRanking | None = None
    place: tuple[CheckedRule, ...] = ()
    finish: tuple[CheckedRule, ...] = ()
    keep: tuple[CheckedRule, ...] = ()
    draws: Mapping[str, CheckedDraw] = field(default_factory=dict)
    repeat: TypedExpr | None = None
    kept: str = ""  # `keep best KEPT`: an objective or term of the model, else a price of the engine
    improve: TypedExpr | None = None  # how many of the best schedules
    rounds: TypedExpr | None = None  # how often moves are tried on each; None: once, or `all_rounds`
    all_rounds: bool = False  # until no move improves
    moves: tuple[CheckedRule, ...] = ()
    split: TypedExpr | None = None  # how many controllers share jobs and nodes, dealt round robin
    slots: CheckedSlots | None = None  # where decisions have a slot
    memories: tuple[CheckedMemory, ...] = ()
    again: CheckedAgain | None = None
    portfolio: CheckedPortfolio | None = None  # then the policy has no other lines, and an empty `order`
    lines: Mapping[str, PolicyLine] = field(default_factory=dict)


def has_job_fact(policy: CheckedPolicy, name: str) -> bool:
    """Whether a name is that of the decision, not one that the model or the policy declares."""
    param = policy.model.params.get(name)
    return param is not None and param.span == policy.span


def time_of(policy: CheckedPolicy) -> float:
    """The time of the decision, as `at` set it; 0 where the model has a `now` of its own."""
    clock = policy.model.lets.get(NOW)
    own = clock is not None and clock.span == policy.span and isinstance(clock.value, Constant)
    return clock.value.value if own and clock is not None and isinstance(clock.value, Constant) else 0.0


def at(policy: CheckedPolicy, now: float) -> CheckedPolicy:
    """The policy at another time than 0, in the unit of its `now`; the same where the model has a `now` of its own."""
    clock = policy.model.lets.get(NOW)
    if clock is None or clock.span != policy.span or not isinstance(clock.value, Constant):
        return policy
    lets = {**policy.model.lets, NOW: structs.replace(clock, value=structs.replace(clock.value, value=float(now)))}
    return structs.replace(policy, model=structs.replace(policy.model, lets=lets))
