"""The steps of a policy in the order of their execution, each with its details."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from gpusched_dsl.language.blocks.policies.rule_table import GANG_SLOT_PLACE, PRICES, RESERVE, RULES, SERVE, RuleShape
from gpusched_dsl.language.blocks.policies.stage_table import GIVES, GIVES_WITH_TARDINESS
from gpusched_dsl.language.checked import Constant, TypedExpr, TypedIndexing
from gpusched_dsl.language.checked_policy import CheckedPolicy, CheckedPortfolio, CheckedRanking, CheckedRule

Step: TypeAlias = tuple[str, list[str], str]  # a sentence without its full stop, details, the words of its line
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|#[^\r\n]*')


def text_of(source: str) -> str:
    """A stretch of source text on one line, without comments."""
    code = _COMMENT.sub(lambda m: "" if m[0].startswith("#") else m[0], source)
    return " ".join(code.split())


_AT_THE_END = ("nodes",)  # of `keep`: done with the plan, not before it is made
ARRIVE = {
    "": "no job arrives",
    "past": "jobs arrive as in the past of the run",
    "generated": "jobs arrive as the generators of the scenario draw them by other seeds",
    "over": "no job arrives",
}
DRAW_TARGETS = {"choose": "way", "place": "node"}


def draw_line(target: str) -> str:
    return f"randomise {target}"


def steps_of(policy: CheckedPolicy) -> Iterator[Step]:
    """All steps, in the order in which they are done."""
    if policy.portfolio is not None:
        yield from _portfolio_steps(policy.portfolio)
        return
    for stage in policy.stages:
        parts = [f"`{role}`: `{text_of(expr.span.text)}`" for role, expr in stage.parts.items()]
        parts += [
            f"`{role}`: {_keys_text([(k.value, k.descending) for k in keys])}" for role, keys in stage.keys.items()
        ]
        parts += [f"gives `{param.name}`, {param.doc}" for param in stage.results.values()]
        gives = GIVES_WITH_TARDINESS if "tardiness" in stage.parts else GIVES[stage.verb]
        purpose = f"for `{_list_sets(stage.indexing)}` over `{_list_sets(stage.over)}`, which gives {gives}"
        yield f"Solve `{stage.verb} {stage.name}` {purpose}", parts, f"{stage.verb} {stage.name}"
    if policy.split is not None:
        count = f"`{text_of(policy.split.span.text)}`"
        yield (
            f"Distribute jobs and nodes round robin to {count} controllers; each controller plans its own jobs",
            [],
            "split",
        )
    for rule in policy.keep:
        if rule.name not in _AT_THE_END:
            yield _sentence("keep", rule), [], "keep"
    if policy.repeat is not None:
        count = f"`{text_of(policy.repeat.span.text)}`"
        best = f"keep the best by {_describe_price(policy.kept)}"
        yield (
            f"Plan by the steps below once without random draws and {count} times with random draws, and {best}",
            [],
            "repeat",
        )
    yield f"Put the jobs in a queue, {_describe_ranking(policy.order)}", [], "order"
    yield from _swaps(policy)
    if policy.choose is not None and (policy.choose.indexing.iterators or policy.choose.keys):
        yield f"For each job in turn, list the ways to run it, {_describe_ranking(policy.choose)}", [], "choose"
    if policy.otherwise is not None:
        yield f"If that lists none, list {_describe_ranking(policy.otherwise)}", [], "otherwise"
    yield from _way_draw(policy)
    yield from _occupancy(policy)
    if _has_only_first_ways(policy):
        yield _FIRST_WAY, [], ""
    rules = [_detail(GANG_SLOT_PLACE if _has_slotted_gangs(policy) else RULES["place"], r) for r in policy.place]
    yield "Place the job by the first of these rules that finds room", rules, "place"
    yield from _node_draw(policy)
    yield from _decided_values(policy)
    if policy.finish:
        yield "After all jobs have been placed", [_detail(RULES["finish"], r) for r in policy.finish], "finish"
    if policy.improve is not None:
        count = text_of(policy.improve.span.text)
        rounds = "until no change improves it" if policy.all_rounds else _times(policy.rounds)
        step = f"Take the best `{count}` plans and apply the best of these changes to each, {rounds}"
        yield step, [_detail(RULES["improve"], m) for m in policy.moves], "improve"
    for rule in policy.keep:
        if rule.name in _AT_THE_END:
            yield _sentence("keep", rule), [], "keep"
    for memory in policy.memories:
        value = f"`{text_of(memory.value.span.text)}`"
        step = f"Remember {value} of the way chosen for a job as `{memory.target}` of the next plan"
        yield step, [], f"remember {memory.target}"
    if policy.again is not None:
        which = "" if policy.again.condition is None else f" where `{text_of(policy.again.condition.span.text)}`"
        yield f"Plan again `{text_of(policy.again.after.span.text)}` from now, for each job{which}", [], "again"


def _has_only_first_ways(policy: CheckedPolicy) -> bool:
    """Whether jobs without a list of ways are placed in the first of them only, and not all nodes are one family."""
    placement = policy.model.placement
    if placement is None or isinstance(placement.value("family"), Constant):
        return False
    listed = policy.choose is None or policy.choose.indexing.iterators or policy.choose.keys or policy.otherwise
    shapes = [RULES["place"].get(rule.text) for rule in policy.place]
    one = all(shape is not None and shape.plans == "nodes" and shape.takes != "any way" for shape in shapes)
    return one and not listed and all(rule.text != "next_choice" for rule in policy.place)


_FIRST_WAY = (
    "Take only the first way of each job in the data, as there is no `choose` and no `next_choice`: a job may wait "
    "although a node of another type is empty, unless both types are of one family"
)


def _portfolio_steps(portfolio: CheckedPortfolio) -> Iterator[Step]:
    names = [f"`{member.name}`" for member in portfolio.members]
    if portfolio.futures is not None and portfolio.futures.arrivals == "over":
        where = portfolio.futures.condition
        and_ = "" if where is None else f" and `{text_of(where.span.text)}`"
        alone = f"Follow the plan of one method alone while arrivals are expected{and_}"
        yield f"{alone}: {names[0]}, or the one that would have cost least for the jobs so far", [], "futures"
    yield f"Plan by each of {', '.join(names)}", [], "portfolio"
    until = "until all jobs have ended"
    if portfolio.horizon is not None:
        until = f"for `{text_of(portfolio.horizon.span.text)}`, or until all jobs have ended"
    by = "the method that made it"
    if portfolio.continuing:
        by = " or ".join(f"`{member.name}`" for member in portfolio.continuing) + ", whichever costs less"
    yield f"Simulate each plan {until}; later plans are by {by}", [], "lookahead" if portfolio.horizon else "continue"
    futures = portfolio.futures
    if futures is None or (futures.arrivals == "over" and _is_one(futures.count)):
        which = "in one future, in which the present jobs take the planned times and no job arrives"
    else:
        count = f"`{text_of(futures.count.span.text)}`"
        arrive = ARRIVE[futures.arrivals]
        which = f"in the same {count} futures, with unknown quantities drawn; {arrive}"
    yield f"Simulate all plans {which}", [], "futures"
    if portfolio.mixtures is not None:
        count = f"`{text_of(portfolio.mixtures.span.text)}`"
        yield f"Simulate up to {count} mixtures of the best plan with the others, keep better ones", [], "mix"
    if portfolio.variations is not None:
        count = f"`{text_of(portfolio.variations.span.text)}`"
        vary = f"Simulate up to {count} variations of the best policy, jobs earlier or later and other ways preferred"
        yield f"{vary}, keep better ones", [], "vary"
    yield "Follow the plan with the least mean cost; of equal plans the first of the list", [], "portfolio"


def _is_one(count: TypedExpr) -> bool:
    return isinstance(count, Constant) and count.value == 1


def _occupancy(policy: CheckedPolicy) -> Iterator[Step]:
    """Yield the time that a job occupies a node, and the capacity reserved for services, if decisions have a slot."""
    if policy.slots is None:
        return
    slots = f"`{text_of(policy.slots.occupies.span.text)}`"
    if _has_slotted_gangs(policy):
        spread = "on several nodes the most of them times the factor of the placement for its nodes and racks"
        yield f"A gang on one node occupies {slots} slots, {spread}, rounded up", [], "occupies"
        return
    yield f"A job occupies a node for {slots} slots", [], "occupies"
    if policy.slots.reserve is not None:
        loads = policy.slots.reserve
        loads_text = f"`{text_of(loads.load.span.text)}` of {_indexing_text(loads.indexing)}"
        yield (
            f"It may run only if the remaining nodes satisfy this rule for the loads {loads_text}",
            [_detail(RESERVE, loads.rule)],
            "reserve",
        )


def _has_slotted_gangs(policy: CheckedPolicy) -> bool:
    placement = policy.model.placement
    return policy.slots is not None and placement is not None and placement.has_gangs


def _decided_values(policy: CheckedPolicy) -> Iterator[Step]:
    """Yield the treatment of services, and the other variables that the plan decides."""
    if policy.slots is None:
        return
    if policy.slots.serve is not None:
        loads = policy.slots.serve
        name = "" if loads.variable is None else f" {loads.variable}"
        loads_text = f"`{text_of(loads.load.span.text)}` of {_indexing_text(loads.indexing)}"
        yield f"Serve the loads {loads_text}", [_detail(SERVE, loads.rule)], f"serve{name}"
    for fix in policy.slots.fixes:
        value = f"`{text_of(fix.value.span.text)}`"
        yield f"Set `{fix.variable}[{_list_sets(fix.indexing)}]` to {value}", [], f"fix {fix.variable}"


def _swaps(policy: CheckedPolicy) -> Iterator[Step]:
    draw = policy.draws.get("order")
    if draw is not None and draw.probability is not None:
        chance = f"with probability `{text_of(draw.probability.span.text)}`"
        yield f"Go through the queue and swap each job with the next {chance}", [], draw_line("order")


def _way_draw(policy: CheckedPolicy) -> Iterator[Step]:
    draw = policy.draws.get("choose")
    if draw is not None and draw.count is not None:
        count = f"`{text_of(draw.count.span.text)}`"
        yield f"Draw the way from the first {count} of the list, {_ODDS[draw.odds]}", [], draw_line("choose")


def _node_draw(policy: CheckedPolicy) -> Iterator[Step]:
    draw = policy.draws.get("place")
    if draw is not None and draw.count is not None:
        count = f"`{text_of(draw.count.span.text)}`"
        yield f"If several nodes have room, draw one of the best {count}, {_ODDS[draw.odds]}", [], draw_line("place")


_ODDS = {
    "": "all equally likely",
    "cost": "expensive ones more likely",
    "inverse cost": "cheaper ones more likely",
    "idle": "nodes with more idle GPUs more likely",
    "inverse idle": "nodes with fewer idle GPUs more likely",
}


def _times(rounds: TypedExpr | None) -> str:
    if rounds is None or (isinstance(rounds, Constant) and rounds.value == 1):
        return "once"
    return f"up to `{text_of(rounds.span.text)}` times"


def _describe_price(name: str) -> str:
    return f"`{name}`, {PRICES[name]}" if name in PRICES else f"`{name}`"


def _describe_ranking(ranking: CheckedRanking) -> str:
    """``(v, g) in Configs` where `...`, smallest `a` first, then largest `b``."""
    return f"{_indexing_text(ranking.indexing)}, {_keys_text([(k.value, k.descending) for k in ranking.keys])}"


def _indexing_text(indexing: TypedIndexing) -> str:
    if not indexing.iterators:
        return "all of the placement"
    conditions = " and ".join(f"`{text_of(c.span.text)}`" for c in indexing.conditions)
    return f"`{_list_sets(indexing)}`" + (f" where {conditions}" if conditions else "")


def _list_sets(indexing: TypedIndexing) -> str:
    return ", ".join(text_of(iterator.span.text) for iterator in indexing.iterators)


def _keys_text(keys: Sequence[tuple[TypedExpr, bool]]) -> str:
    """Return keys in order, each with its direction."""
    parts = [f"{'largest' if descending else 'smallest'} `{text_of(expr.span.text)}`" for expr, descending in keys]
    first = f"{parts[0]} first" if parts else "in the order of the data"
    return first + "".join(f", then {key}" for key in parts[1:])


def _sentence(verb: str, rule: CheckedRule) -> str:
    words = RULES[verb][rule.text].words if rule.text in RULES[verb] else f"`{rule.text}`, a rule of another package"
    return words[:1].upper() + words[1:]


def _detail(table: Mapping[str, RuleShape], rule: CheckedRule) -> str:
    """Return a rule by its name, its description, and its parameters by name."""
    shape = table.get(rule.text)
    values = [f"`{text_of(a.span.text)}`" for a in rule.arguments]
    if shape is None:
        arguments_text = f", with {', '.join(values)}" if values else ""
        return f"`{rule.text}`: a rule of another package{arguments_text}"
    parameters = [f"{p.name} {values[at] if at < len(values) else p.default}" for at, p in enumerate(shape.parameters)]
    given = values[len(shape.parameters) :]
    parameters += [f"{p.name} {value}" for p, value in zip(shape.optional, given, strict=False)]
    name = rule.text
    if rule.key is not None:
        name = f"{name.removesuffix('key')}{text_of(rule.key.value.span.text)}"
        parameters = [*parameters, "large values first"] if rule.key.descending else parameters
    return f"`{name}`: {shape.words}" + (f" ({', '.join(parameters)})" if parameters else "")
