"""The rules of policies for slots by the words of the language."""

from __future__ import annotations

from typing import Final

from gpusched_dsl.language.checked_policy import CheckedRule
from gpusched_dsl.policies.slotted.planning import Placing

PLACE_RULES: Final = ("start_now", "by_performance", "cheapest_block")


def placing_of(rules: tuple[CheckedRule, ...]) -> Placing:
    """Return how the rules of a line `place` place jobs."""
    names = {rule.name for rule in rules}
    return Placing(
        rule=next(name for name in PLACE_RULES if name in names),
        blocking="block" in names,
        first_only=any("first_free" in rule.modifiers for rule in rules),
        singly="cheapest_slots" in names,
    )
