"""Policies that append jobs to the queues of nodes: only for models with the position in the placement."""

from __future__ import annotations

from collections.abc import Mapping

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.names import Decisions
from gpusched_dsl.language.blocks.policies.rule_table import rules_of
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span

VERBS = ("order", "choose", "otherwise", "place", "finish")  # of policies for queues


def check_queues(decisions: Decisions, rules: Mapping[str, tree.PolicyRule], diagnostics: Diagnostics) -> None:
    """Report GSM1632 for lines that do not go with queues, or with a model that has none."""
    named = [(line.verb, rule) for line in rules.values() for rule in line.rules]
    queued = rules_of("queues")
    ours = [r for _, r in named if r.words[0].text in queued]
    if decisions.place is None:
        if ours:
            _report(
                diagnostics, ours[0].span, f"`{ours[0].words[0].text}` needs queues, but the model has none",
                Label(decisions.placement.span, "has no position in a queue"),
                "state the index of the position in the placement: `place_from_end p;`",
            )  # fmt: skip
        return
    label = Label(decisions.place.span, "a position in a queue")
    for verb, rule in named:
        if verb in ("place", "finish") and rule.words[0].text not in queued:
            wanted = "`place append;`" if verb == "place" else "`finish sort by ...;`"
            _report(diagnostics, rule.span, f"`{rule.words[0].text}` does not support queues", label, f"write {wanted}")
    for line in rules.values():
        if line.verb not in VERBS:
            message = f"`{line.verb}` is not allowed in a policy that appends to queues"
            _report(diagnostics, line.span, message, label, "remove it")


def _report(diagnostics: Diagnostics, span: Span, message: str, label: Label, help: str) -> None:
    diagnostics.error("GSM1632", message, span, "not with queues", secondary=[label], help=help)
