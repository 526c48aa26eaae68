"""Policies in plain English, and all policies of a workspace with their settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.inheritance import chain_of_policy, merge
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.blocks.policies.rule_table import RULES
from gpusched_dsl.language.blocks.policies.steps import DRAW_TARGETS, draw_line, steps_of, text_of
from gpusched_dsl.language.checked import TypedExpr
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.errors import Diagnostics


@dataclass(frozen=True, slots=True)
class Setting:
    """A number that tunes a policy: its name, source text, meaning, and the policy that states it."""

    name: str
    text: str
    meaning: str
    policy: str


@dataclass(frozen=True, slots=True)
class PolicyListing:
    """The entry of a policy in a list. `lines` are source texts with the policy that wrote each.

    `model` is None and `settings` are empty where the policy does not fit its model.
    """

    name: str
    model: str | None
    doc: str | None
    extends: str | None
    lines: tuple[tuple[str, str], ...]
    settings: tuple[Setting, ...]


def policy_in_words(policy: CheckedPolicy, after_steps: Sequence[str] = ()) -> list[str]:
    """The plan of a policy, step by step: numbered lines, further ones below them indented.

    Keys, conditions and numbers are shown as they are written; a line of another policy says which one. `after_steps`
    are lines between the steps and the names that they use.
    """
    words: list[str] = []
    for number, (step, details, line) in enumerate(steps_of(policy), 1):
        line_source = policy.lines.get(line)
        origin = (
            f" (from {line_source.policy})" if line_source is not None and line_source.policy != policy.name else ""
        )
        words.append(f"{number}. {step}{origin}{':' if details else '.'}")
        words += [f"   - {detail}{';' if detail is not details[-1] else '.'}" for detail in details]
    words += after_steps
    lets = [(name, line_source) for name, line_source in policy.lines.items() if name.startswith("let ")]
    if lets:
        words.append("where")
    for _, line_source in lets:
        text = text_of(line_source.span.text).removeprefix("let ").removesuffix(";")
        words.append(f"   {text}" + (f" (from {line_source.policy})" if line_source.policy != policy.name else ""))
    return words


def policies_of(workspace: Workspace) -> list[PolicyListing]:
    """All policies of a workspace and its imports, in the order in which they were read."""
    return [_make_listing(workspace, policy) for policy in workspace.policies.values()]


def settings_of(policy: CheckedPolicy) -> list[Setting]:
    """Return the numbers that tune a policy: scalar `let`s, numbers in lines, parameters of rules and moves."""
    found: list[Setting] = []

    def add(name: str, expr: TypedExpr | None, meaning: str, line: str) -> None:
        if expr is not None:
            found.append(Setting(name, text_of(expr.span.text), meaning, policy.lines[line].policy))

    for name, let in policy.lets.items():
        if not let.indexing.iterators:
            add(name, let.value, let.doc or "a number of the policy", f"let {name}")
    for target, draw in policy.draws.items():
        add(
            f"{target} swaps",
            draw.probability,
            "probability that a job is swapped with the next",
            draw_line(target),
        )
        meaning = f"number of best candidates from which the {DRAW_TARGETS.get(target, target)} is drawn"
        add(f"{target} list", draw.count, meaning, draw_line(target))
    add("repetitions", policy.repeat, "number of plans", "repeat")
    add("improved", policy.improve, "number of best plans that are improved", "improve")
    add("rounds", policy.rounds, "maximum number of changes of each plan", "improve")
    add("controllers", policy.split, "number of controllers that share jobs and nodes", "split")
    if policy.portfolio is not None:
        add("horizon", policy.portfolio.horizon, "time for which plans are simulated", "lookahead")
        if policy.portfolio.futures is not None:
            add("futures", policy.portfolio.futures.count, "number of simulated futures", "futures")
            add("seed", policy.portfolio.futures.seed, "seed of the futures", "futures")
        add("mixtures", policy.portfolio.mixtures, "number of mixtures of plans that are simulated", "mix")
        add("variations", policy.portfolio.variations, "number of variations of policies that are simulated", "vary")
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


# --- listing ---------------------------------------------------------------------------------------------------------


def _make_listing(workspace: Workspace, policy: tree.Policy) -> PolicyListing:
    checked = check_policy(workspace, policy, Diagnostics())
    chain = chain_of_policy(workspace, policy, Diagnostics()) or [policy]
    written = merge(chain, Diagnostics()).sources
    return PolicyListing(
        name=policy.name.text,
        model=checked.model.name if checked is not None else None,
        doc=policy.doc,
        extends=None if policy.extends is None else policy.extends.text,
        lines=tuple((text_of(line.span.text), line.policy) for line in written.values()),
        settings=tuple(settings_of(checked)) if checked is not None else (),
    )
