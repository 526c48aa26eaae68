"""What a policy plans for: gangs, slots or queues; the engine of each is loaded when one plans."""

from __future__ import annotations

from gpusched_dsl.language.checked_policy import CheckedPolicy


def has_gangs(policy: CheckedPolicy) -> bool:
    """Whether jobs are gangs."""
    placement = policy.model.placement
    return placement is not None and placement.has_gangs


def has_slots(policy: CheckedPolicy) -> bool:
    """Whether a policy is one for slots."""
    return policy.slots is not None


def appends(policy: CheckedPolicy) -> bool:
    """Whether a policy is one for queues."""
    return any(rule.name == "append" for rule in policy.place)
