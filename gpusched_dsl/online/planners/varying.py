"""Search among variations of policies by simulated runs: some jobs earlier or later, some ways preferred.

A list policy with other data than the real ones returns other plans, near its own and of about its quality: this is the
search in the spaces of problems and heuristics of R. H. Storer, S. D. Wu, R. Vaccari, New Search Spaces for Sequencing
Problems with Application to Job Shop Scheduling, Management Science 38, 1992. Here queue and choices are varied, from
now on for all later plans, so that a variation is a complete schedule. It is changed step by step; a step that does not
cost more is kept. Without unknown quantities the next plan of the run can follow the same variation again at the cost
that was simulated, so the search goes on from there, as in the fortified rollouts of D. P. Bertsekas, J. N. Tsitsiklis,
C. Wu, Rollout Algorithms for Combinatorial Optimization, Journal of Heuristics 3, 1997.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.online.planners.paired_costs import is_less
from gpusched_dsl.online.planners.protocol import VariedRollout
from gpusched_dsl.online.planners.variations import Variation

SHARES = (0.1, 0.3, 1.0)  # of the jobs that a step changes
SHIFTS = (0.02, 0.05, 0.1, 0.3, 1.0)  # standard deviations, by the number of jobs
FACTORS = (0.05, 0.1, 0.3)  # standard deviations of the logarithm
MOST_FACTOR = 4.0
QUEUE_ALONE, WAYS_ALONE = 0.4, 0.4  # probabilities; else a step changes both


class Varied(NamedTuple):
    """A policy, the variation of it that is followed, and its costs by future."""

    policy: str
    variation: Variation
    costs: Floats


def search(
    rollouts: Mapping[str, Sequence[VariedRollout]],
    before: Varied | None,
    steps: int,
    rng: np.random.Generator,
) -> Iterator[Varied]:
    """Yield variations that cost less and less, from the policies themselves or that of the plan `before` on.

    `rollouts` of each policy are one for each future.
    """
    best: Varied | None = None
    for name, futures in rollouts.items():
        starts = [futures[0].unchanged]
        if before is not None and before.policy == name:
            starts.insert(0, starts[0].changed_as_in(before.variation))
        for variation in starts:
            costs = _costs(futures, variation)
            if best is None or is_less(costs, best.costs):
                best = Varied(name, variation, costs)
                yield best
    for _ in range(steps if best is not None else 0):
        assert best is not None
        variation = _step(best.variation, rng)
        costs = _costs(rollouts[best.policy], variation)
        if is_less(best.costs, costs):
            continue
        is_better = is_less(costs, best.costs)
        if is_better or len(costs) == 1:  # of several futures only what is less with confidence
            best = Varied(best.policy, variation, costs)
        if is_better:
            yield best


def _costs(futures: Sequence[VariedRollout], variation: Variation) -> Floats:
    return np.array([rollout.cost(variation) for rollout in futures])


def _step(variation: Variation, rng: np.random.Generator) -> Variation:
    """Return a neighbour: some jobs at other places of the queue, or with other preferences among their ways, or both.

    The ways of a job change each by itself, or all on one kind of node together. Shifts of a length of the queue make
    any order; without a limit, steps that cost the same would carry jobs so far apart that no step exchanges them.
    """
    count, kinds = len(variation.jobs), int(variation.kind.max(initial=-1)) + 1
    changed: Bools = rng.random(count) < rng.choice(SHARES)
    which = rng.random()
    if which >= WAYS_ALONE:
        moves = rng.choice(SHIFTS) * count * rng.standard_normal(count)
        shift = np.clip(variation.shift + np.where(changed, moves, 0.0), -count, count)
        variation = replace(variation, shift=shift)
    if which < 1 - QUEUE_ALONE:
        owner = np.repeat(np.arange(count), np.diff(variation.first))
        scale = rng.choice(FACTORS)
        if rng.random() < 0.5:
            change = scale * rng.standard_normal((count, kinds))[owner, variation.kind]
        else:
            change = scale * rng.standard_normal(len(owner))
        factor = np.clip(variation.factor * np.exp(np.where(changed[owner], change, 0.0)), 1 / MOST_FACTOR, MOST_FACTOR)
        variation = replace(variation, factor=factor)
    return variation
