"""Capacity planning with rent until the first end, without a solver: the cheapest schedule by enumeration."""

from __future__ import annotations

from dataclasses import dataclass, replace

from capacity_reference import Cost, Instance, Placement, conserves_work, evaluate, placements


@dataclass(frozen=True)
class Options:
    scope: str = "system"
    charge: str = "used"
    until: str = "first_end"
    node_rule: str = "paper"
    work_conserving: str = "no"


def rent(instance: Instance, placement: Placement, options: Options) -> float:
    """Time to the first end, of all or on each node, times the price of what runs, in $."""
    ends, rates = [], []
    for vm, jobs in placement:
        if jobs:
            ends.append(min(instance.left(job, vm, gpus) for job, gpus in jobs))
            used = 1.0 if options.charge == "whole" else sum(gpus for _, gpus in jobs) / instance.gpus[vm]
            rates.append(used * instance.price[vm])
    if options.scope == "system":
        ends = [min(ends)] * len(ends) if ends else []
    if options.until == "next_decision":
        ends = [min(end, instance.period) for end in ends]
    return sum(end * rate for end, rate in zip(ends, rates, strict=True))


def cost(instance: Instance, placement: Placement, options: Options) -> Cost:
    return replace(evaluate(instance, placement), rent=rent(instance, placement, options))


def cheapest(instance: Instance, options: Options) -> float:
    """The optimum in $; infinite when the rules allow nothing."""
    return min(
        (
            cost(instance, placement, options).total
            for placement in placements(instance, options.node_rule)
            if options.work_conserving == "no" or conserves_work(instance, placement)
        ),
        default=float("inf"),
    )
