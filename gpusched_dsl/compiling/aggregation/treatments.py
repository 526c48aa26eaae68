"""The treatments of components of interchangeable elements: the first that proves itself exact is taken."""

from __future__ import annotations

from collections.abc import Mapping

from gpusched_dsl.compiling.aggregation.assembling import AggregatedProblem, assemble
from gpusched_dsl.compiling.aggregation.components import components_of
from gpusched_dsl.compiling.aggregation.means import by_means
from gpusched_dsl.compiling.aggregation.parts import AggregatedComponent, Component, Treatment
from gpusched_dsl.compiling.aggregation.patterns import by_patterns
from gpusched_dsl.compiling.symmetry.generic import Obstacle, OutOfBudget
from gpusched_dsl.compiling.symmetry.quotient import Quotient
from gpusched_dsl.language.source import Span


def _by_counts(small: Quotient, component: Component) -> AggregatedComponent:
    from gpusched_dsl.compiling.aggregation.counts import by_counts  # the last resort, and a large one

    return by_counts(small, component)


# Tried in this order on every component.
TREATMENTS: Mapping[str, Treatment] = {
    "aggregated by means": by_means,
    "aggregated by patterns": by_patterns,
    "aggregated by counts per slot": _by_counts,
}


def aggregate_components(small: Quotient) -> AggregatedProblem:
    """Treat each component of the interchangeable elements, and assemble the results. Raises Obstacle."""
    # Neither terms nor rows under a condition: a plan by element has no truths that a solver chose.
    if not small.problem.is_linear:
        raise Obstacle("the problem has nonlinear terms", _nonlinear_place(small))
    return assemble(small, [_aggregate_component(small, component) for component in components_of(small)])


def _aggregate_component(small: Quotient, component: Component) -> AggregatedComponent:
    refused: dict[str, Obstacle] = {}
    for description, treatment in TREATMENTS.items():
        try:
            return treatment(small, component)
        except Obstacle as obstacle:
            refused[description] = obstacle.kept()
    if not small.problem.integer[component.columns].any():
        raise refused["aggregated by means"].kept()
    del refused["aggregated by means"]
    reasons = "; ".join(f"they cannot be {description} because {obstacle}" for description, obstacle in refused.items())
    kind = OutOfBudget if any(isinstance(o, OutOfBudget) for o in refused.values()) else Obstacle
    raise kind(reasons, next(reversed(refused.values())).span)


def _nonlinear_place(small: Quotient) -> Span | None:
    problem = small.problem
    guarded = (problem.row_family(int(row)).span for row in problem.conditions.rows[:1])
    return next((span for span in (*(d.span for d in problem.definitions), *guarded) if span is not None), None)
