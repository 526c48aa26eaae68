"""Policies that try the nodes of one kind only, although nodes may differ; GSM1690.

Without `choose` a job is tried in its first way, which is on the first kind of nodes in the data. Other nodes stay idle
unless a rule goes through the list, or they are of one family.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.names import Decisions
from gpusched_dsl.language.blocks.policies.rule_table import PLACE
from gpusched_dsl.language.checked import IndexRef, TypedExpr
from gpusched_dsl.language.checking.walk import walk
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Label, Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics

NEXT = "next_choice"


def warn_of_idle_kinds(
    decisions: Decisions, policy: tree.Policy, rules: Mapping[str, tree.PolicyRule], diagnostics: Diagnostics
) -> None:
    """Warn (GSM1690) of a policy without `choose` that tries one kind of nodes, where nodes may differ."""
    placement, node = decisions.placement, decisions.node
    place = rules.get("place")
    if place is None or node is None or decisions.place is not None or placement.item("family") is not None:
        return
    if placement.has_gangs or placement.index("slot") is not None or placement.index("node_type") is not None:
        return
    texts = [" ".join(word.text for word in rule.words) for rule in place.rules]
    shapes = [PLACE.get(text) for text in texts]  # None: a rule of another package, which may read all ways
    if NEXT in texts or any(s is None or s.plans != "nodes" or s.takes == "any way" for s in shapes):
        return
    items = placement.all("uses", "lasts", "costs", "late", "node_rate")
    told = [expr for item in items for expr in (item.value, item.of)]
    differing = next((expr for expr in told if expr is not None and _reads_node(expr, node.name)), None)
    if differing is None:
        return
    diagnostics.add(
        Diagnostic(
            "GSM1690",
            f"`{policy.name.text}` tries each job on the first kind of nodes in the data; other nodes stay idle",
            place.span,
            "lists no other node",
            (Label(differing.span, "differs between nodes"),),
            help="add `choose by ...;` and the rule `next_choice`, or `family` to the placement if the nodes are alike",
            severity=Severity.WARNING,
        )
    )


def _reads_node(expr: TypedExpr, node: str) -> bool:
    return any(isinstance(part, IndexRef) and part.variable.name == node for part in walk(expr))
