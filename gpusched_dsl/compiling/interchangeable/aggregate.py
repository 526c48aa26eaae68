"""Aggregates a model with its data before the full problem is grounded, or returns the reason why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.interchangeable.equivalence_classes import Classes, classes_of
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.quotient import candidates, quotient
from gpusched_dsl.ir.deadline import AGGREGATION, ShareOfTime, StoppedEarly, checkpoint, stage
from gpusched_dsl.language.checked import CheckedModel, CheckedSet
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

if TYPE_CHECKING:
    from gpusched_dsl.compiling.interchangeable.assembling import AggregatedProblem

TOO_LARGE = "GSM3001"
SHARE = 1 / 3  # of the time that is left
TOO_LONG = "the analysis takes more than a third of the time limit"


class AggregationAttempt(Struct, frozen=True, eq=False):
    """The attempt for one set: `obstacle` is why its elements were not aggregated, None if they were."""

    declared: CheckedSet
    elements: int
    classes: Classes | None
    obstacle: Obstacle | None


class Aggregation(Struct, frozen=True, eq=False):
    """The result of the search for interchangeable elements.

    `aggregated` is None if the problem must be solved directly.
    `abandoned`: the search took more than its share of the time limit, so its result is unknown.
    """

    aggregated: AggregatedProblem | None = None
    attempts: tuple[AggregationAttempt, ...] = ()
    abandoned: bool = False


def aggregate(model: CheckedModel, store: ValueStore, limits: MemoryLimits) -> Aggregation:
    """Aggregate the elements of the first set for which that is exact and fits into the memory.

    Sets declared `identical` are tried first, then those with the fewest classes for their elements. Only models with
    integer variables are looked at: without them solvers need no help. It is abandoned where it takes more than `SHARE`
    of what is left until the active deadline. Raises what grounding raises, except that the problem is too large.
    """
    if not any(v.kind in ("integer", "binary") for v in model.variables.values()):
        return Aggregation(None, ())
    attempts: list[AggregationAttempt] = []
    with stage(AGGREGATION), ShareOfTime(SHARE):
        for declared, elements, classes in _in_order(model, store):
            known = None if isinstance(classes, Obstacle) else classes
            try:
                checkpoint()
                if isinstance(classes, Obstacle):
                    raise classes
                if classes.count < elements:
                    aggregated = _aggregate(model, store, declared, classes, limits)
                    attempts.append(AggregationAttempt(declared, elements, classes, None))
                    return Aggregation(aggregated, tuple(attempts))
                if declared.identical and elements > 1:
                    raise Obstacle("no two elements have equal data")
            except Obstacle as obstacle:
                attempts.append(AggregationAttempt(declared, elements, known, obstacle.kept()))
            except StoppedEarly:
                attempts.append(AggregationAttempt(declared, elements, known, Obstacle(TOO_LONG)))
                raise
        return Aggregation(None, tuple(attempts))
    return Aggregation(None, tuple(attempts), abandoned=True)


def _in_order(model: CheckedModel, store: ValueStore) -> list[tuple[CheckedSet, int, Classes | Obstacle]]:
    """The sets to try with the numbers of their elements, and their classes or why there are none."""
    found: list[tuple[CheckedSet, int, Classes | Obstacle]] = []
    for declared in candidates(model):
        elements = len(store.universes[declared.name].labels)
        try:
            checkpoint()
            found.append((declared, elements, classes_of(model, store, declared.name)))
        except Obstacle as obstacle:
            found.append((declared, elements, obstacle.kept()))
        except StoppedEarly:  # the attempt to aggregate them ends at once, and says so
            found.append((declared, elements, Obstacle(TOO_LONG)))
    return sorted(
        found, key=lambda f: (not f[0].identical, 1.0 if isinstance(f[2], Obstacle) else f[2].count / max(f[1], 1))
    )


def _aggregate(
    model: CheckedModel, store: ValueStore, declared: CheckedSet, classes: Classes, limits: MemoryLimits
) -> AggregatedProblem:
    """Aggregate the elements of one set; raises Obstacle where that is not exact, or needs too much memory."""
    from gpusched_dsl.compiling.interchangeable.components import aggregate_components  # loads SciPy

    try:
        return aggregate_components(quotient(model, store, declared.name, classes, limits))
    except DiagnosticError as failure:
        if any(d.code != TOO_LARGE for d in failure.diagnostics):
            raise
        what = f"the problem with {classes.count:,} of {len(classes.of):,} elements is too large"
        raise Obstacle(what, declared.span) from None
