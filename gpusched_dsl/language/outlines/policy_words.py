"""A policy told in plain English, and all policies of a workspace with what can be changed in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import Constant, Core
from gpusched_dsl.language.checked_policy import CheckedPolicy, CheckedRanking, CheckedRule
from gpusched_dsl.language.diagnostics import Diagnostics
from gpusched_dsl.language.outlines.policies import check_policy
from gpusched_dsl.language.outlines.policy_lines import HasPolicies, chain_of, merged
from gpusched_dsl.language.outlines.rules import PRICES, RULES

_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|#[^\r\n]*')


@dataclass(frozen=True, slots=True)
class Setting:
    """A number that tunes a policy: its name, its source text, what it means, and the policy that states it."""

    name: str
    text: str
    meaning: str
    policy: str


@dataclass(frozen=True, slots=True)
class PolicyListing:
    """What is told of a policy in a list. `lines` are source texts with the policy that wrote each.

    `model` is None and `settings` are empty where the policy does not fit its model.
    """

    name: str
    model: str | None
    doc: str | None
    extends: str | None
    lines: tuple[tuple[str, str], ...]
    settings: tuple[Setting, ...]


def policy_in_words(policy: CheckedPolicy) -> list[str]:
    """The plan of a policy, step by step: numbered lines, further ones below them indented.

    Keys, conditions and numbers are shown as they are written; a line of another policy says which one.
    """
    words: list[str] = []
    for number, (step, details, line) in enumerate(_steps(policy), 1):
        written = policy.lines.get(line)
        origin = f" (from {written.policy})" if written is not None and written.policy != policy.name else ""
        words.append(f"{number}. {step}{origin}{':' if details else '.'}")
        words += [f"   - {detail}{';' if detail is not details[-1] else '.'}" for detail in details]
    lets = [(name, written) for name, written in policy.lines.items() if name.startswith("let ")]
    if lets:
        words.append("where")
    for _, written in lets:
        text = text_of(written.span.text).removeprefix("let ").removesuffix(";")
        words.append(f"   {text}" + (f" (from {written.policy})" if written.policy != policy.name else ""))
    return words


def policies_of(workspace: HasPolicies) -> list[PolicyListing]:
    """All policies of a workspace and its imports, in the order in which they were read."""
    return [_listing(workspace, policy) for policy in workspace.policies.values()]


def settings_of(policy: CheckedPolicy) -> list[Setting]:
    """The numbers that tune a policy: its scalar `let`s, those in its lines, the parameters of its rules and moves."""
    found: list[Setting] = []

    def add(name: str, core: Core | None, meaning: str, line: str) -> None:
        if core is not None:
            found.append(Setting(name, text_of(core.span.text), meaning, policy.lines[line].policy))

    for name, let in policy.lets.items():
        if not let.indexing.iterators:
            add(name, let.value, let.doc or "a number of the policy", f"let {name}")
    for target, draw in policy.draws.items():
        add(f"{target} swaps", draw.probability, "probability that a job changes places with the next", _draw(target))
        meaning = f"how many of the best the {_DRAWN.get(target, target)} is drawn from"
        add(f"{target} list", draw.count, meaning, _draw(target))
    add("repetitions", policy.repeat, "how many plans are made", "repeat")
    add("improved", policy.improve, "how many of the best plans are improved", "improve")
    add("rounds", policy.rounds, "how often each of them is changed at most", "improve")
    add("controllers", policy.split, "how many controllers share jobs and nodes", "split")
    for line, rules in (("place", policy.place), ("finish", policy.finish), ("improve", policy.moves)):
        for rule in rules:
            shape = RULES[line].get(rule.text)
            for at, parameter in enumerate(shape.parameters if shape is not None else ()):
                if at < len(rule.arguments):
                    add(f"{rule.text} {parameter.name}", rule.arguments[at], parameter.meaning, line)
                else:
                    origin = policy.lines[line].policy
                    found.append(Setting(f"{rule.text} {parameter.name}", parameter.default, parameter.meaning, origin))
    return found


def text_of(source: str) -> str:
    """A stretch of source text on one line, without comments."""
    kept = _COMMENT.sub(lambda m: "" if m[0].startswith("#") else m[0], source)
    return " ".join(kept.split())


# --- steps ------------------------------------------------------------------------------------------------------------

_DRAWN = {"choose": "way", "place": "node"}


def _draw(target: str) -> str:
    return f"randomise {target}"


def _steps(policy: CheckedPolicy) -> Iterator[tuple[str, list[str], str]]:
    """Each step with its details and the words of the line that it tells of."""
    for words in policy.lines:
        verb, _, name = words.partition(" ")
        if verb in ("profile", "admit"):
            yield f"Solve `{verb} {name}` for all jobs: {_stage(policy, name)}", [], words
    if policy.split is not None:
        count = f"`{text_of(policy.split.span.text)}`"
        yield f"Deal jobs and nodes round robin to {count} controllers; each plans for its own", [], "split"
    for rule in policy.keep:
        yield _sentence("keep", rule), [], "keep"
    if policy.repeat is not None:
        count = f"`{text_of(policy.repeat.span.text)}`"
        best = f"keep the best by {_kept(policy.kept)}"
        yield f"Make a plan by the steps below without drawing, then {count} more with it, and {best}", [], "repeat"
    yield f"Put the jobs in a queue, {_ranked(policy.order)}", [], "order"
    yield from _swaps(policy)
    if policy.choose is not None:
        yield f"For each job in turn, list the ways to run it, {_ranked(policy.choose)}", [], "choose"
    if policy.otherwise is not None:
        yield f"If that lists none, list {_ranked(policy.otherwise)}", [], "otherwise"
    yield from _way_draw(policy)
    yield (
        "Place the job by the first of these rules that finds room",
        [_detail("place", r) for r in policy.place],
        "place",
    )
    yield from _node_draw(policy)
    if policy.finish:
        yield "When every job has had its turn", [_detail("finish", r) for r in policy.finish], "finish"
    if policy.improve is not None:
        count = text_of(policy.improve.span.text)
        rounds = "until none is for the better" if policy.all_rounds else _times(policy.rounds)
        step = f"Take the best `{count}` plans and make the best of these changes in each, {rounds}"
        yield step, [_detail("improve", m) for m in policy.moves], "improve"


def _stage(policy: CheckedPolicy, name: str) -> str:
    stage = next((s for s in policy.stages if s.name == name), None)
    return "see its line" if stage is None else stage.doc or ", ".join(f"`{r.name}`" for r in stage.results.values())


def _swaps(policy: CheckedPolicy) -> Iterator[tuple[str, list[str], str]]:
    draw = policy.draws.get("order")
    if draw is not None and draw.probability is not None:
        chance = f"with probability `{text_of(draw.probability.span.text)}`"
        yield f"Go through the queue and let each job change places with the next {chance}", [], _draw("order")


def _way_draw(policy: CheckedPolicy) -> Iterator[tuple[str, list[str], str]]:
    draw = policy.draws.get("choose")
    if draw is not None and draw.count is not None:
        count = f"`{text_of(draw.count.span.text)}`"
        yield f"Draw the way from the first {count} of the list, {_ODDS[draw.odds]}", [], _draw("choose")


def _node_draw(policy: CheckedPolicy) -> Iterator[tuple[str, list[str], str]]:
    draw = policy.draws.get("place")
    if draw is not None and draw.count is not None:
        count = f"`{text_of(draw.count.span.text)}`"
        yield f"Where several nodes have room, draw one of the best {count}, {_ODDS[draw.odds]}", [], _draw("place")


_ODDS = {
    "": "all equally likely",
    "cost": "dearer ones more likely",
    "inverse cost": "cheaper ones more likely",
    "idle": "those that leave more GPUs idle more likely",
    "inverse idle": "those that leave fewer GPUs idle more likely",
}


def _times(rounds: Core | None) -> str:
    if rounds is None or (isinstance(rounds, Constant) and rounds.value == 1):
        return "once"
    return f"up to `{text_of(rounds.span.text)}` times"


def _kept(name: str) -> str:
    return f"`{name}`, {PRICES[name]}" if name in PRICES else f"`{name}`"


def _ranked(ranking: CheckedRanking) -> str:
    """``(v, g) in Configs` where `...`, smallest `a` first, then largest `b``."""
    listed = f"`{', '.join(text_of(i.span.text) for i in ranking.indexing.iterators)}`"
    conditions = " and ".join(f"`{text_of(c.span.text)}`" for c in ranking.indexing.conditions)
    keys = [f"{'largest' if k.descending else 'smallest'} `{text_of(k.value.span.text)}`" for k in ranking.keys]
    first = f"{keys[0]} first" if keys else "in the order of the data"
    rest = "".join(f", then {key}" for key in keys[1:])
    return f"{listed}{f' where {conditions}' if conditions else ''}, {first}{rest}"


def _sentence(verb: str, rule: CheckedRule) -> str:
    words = RULES[verb][rule.text].words if rule.text in RULES[verb] else f"`{rule.text}`, a rule of another package"
    return words[:1].upper() + words[1:]


def _detail(verb: str, rule: CheckedRule) -> str:
    shape = RULES[verb].get(rule.text)
    if shape is None:
        given = ", ".join(f"`{text_of(a.span.text)}`" for a in rule.arguments)
        return f"`{rule.text}`: a rule of another package{f', with {given}' if given else ''}"
    values = [text_of(a.span.text) for a in rule.arguments]
    told = [
        f"{p.name} `{values[at]}`" if at < len(values) else f"{p.name} {p.default}"
        for at, p in enumerate(shape.parameters)
    ]
    return f"`{rule.text}`: {shape.words}" + (f" ({', '.join(told)})" if told else "")


# --- listing ----------------------------------------------------------------------------------------------------------


def _listing(workspace: HasPolicies, policy: tree.Policy) -> PolicyListing:
    checked = check_policy(workspace, policy, Diagnostics())
    chain = chain_of(workspace, policy, Diagnostics()) or [policy]
    written = merged(chain, Diagnostics()).written
    return PolicyListing(
        name=policy.name.text,
        model=checked.model.name if checked is not None else None,
        doc=policy.doc,
        extends=None if policy.extends is None else policy.extends.text,
        lines=tuple((text_of(line.span.text), line.policy) for line in written.values()),
        settings=tuple(settings_of(checked)) if checked is not None else (),
    )
