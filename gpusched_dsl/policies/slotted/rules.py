"""The rules of policies for slots by the words of the language."""

from __future__ import annotations

from typing import Final

from gpusched_dsl.language.checked_policy import CheckedRule
from gpusched_dsl.policies.kernels.slotted_cluster import (
    ALL_SERVICES,
    CHEAPEST,
    EQUAL,
    EQUAL_PARTS,
    IN_TURN,
    ONE_SERVICE_EACH,
    POOLS,
)
from gpusched_dsl.policies.slotted.planning import Placing

GUARD_CODES: Final = {
    "all_services": ALL_SERVICES,
    "one_service_each": ONE_SERVICE_EACH,
    "equal_parts": EQUAL_PARTS,
}
SERVING_CODES: Final = {
    "equal_parts": EQUAL,
    "equal_parts one_service_each": IN_TURN,
    "cheapest_nodes": CHEAPEST,
    "pools": POOLS,
}
PLACE_RULES: Final = ("start_now", "by_performance", "cheapest_block")


def placing_of(rules: tuple[CheckedRule, ...]) -> Placing:
    """How the rules of a line `place` place jobs."""
    names = {rule.name for rule in rules}
    return Placing(
        rule=next(name for name in PLACE_RULES if name in names),
        blocking="block" in names,
        first_only=any("first_free" in rule.modifiers for rule in rules),
        singly="cheapest_slots" in names,
    )
