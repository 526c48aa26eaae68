"""Checks of rules that find the places of all jobs: `backfill`, `fair_share`, `max_min`; GSM1614."""

from __future__ import annotations

from collections.abc import Mapping

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.names import Decisions
from gpusched_dsl.language.blocks.policies.rule_table import rules_of
from gpusched_dsl.language.checked import Role
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span

_NEEDS: Mapping[str, tuple[Role, str, str]] = {
    "backfill": ("lasts", "the time that a job lasts", "`lasts TIME;`"),
    "max_min": ("lasts", "the time that a job lasts", "`lasts TIME;`"),
    "fair_share": ("user", "the user of a job", "`user USER;`"),
}
VERBS = ("order", "choose", "otherwise", "place", "keep", "remember", "again")


def check_standalone(decisions: Decisions, rules: Mapping[str, tree.PolicyRule], diagnostics: Diagnostics) -> None:
    """Report GSM1614 for lines that do not go with such a rule, or a placement that does not state what it needs."""
    place = rules.get("place")
    ours = [] if place is None else [r for r in place.rules if r.words[0].text in rules_of("standalone")]
    if place is None or not ours:
        return
    name, placement = f"`{ours[0].words[0].text}`", decisions.placement

    def report(span: Span, message: str, label: str, help: str, secondary: tuple[Label, ...] = ()) -> None:
        diagnostics.error("GSM1614", message, span, label, help=help, secondary=secondary)

    for rule in place.rules:
        if rule is not ours[0]:
            message = f"{name} must be the only rule of `place`: it also finds the nodes"
            report(rule.span, message, "one more rule", f"write `place {ours[0].span.text};`")
    for line in rules.values():
        if line.verb not in VERBS:
            report(line.span, f"`{line.verb}` is not allowed with {name}", "not with this rule", "remove it")
    role, what, help = _NEEDS[ours[0].words[0].text]
    if placement.item(role) is None:
        label = Label(placement.span, "does not state it")
        report(ours[0].span, f"{name} needs {what}", "not stated", f"add {help} to the placement", (label,))
