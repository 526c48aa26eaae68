"""Whether a scenario is solved share by share of its jobs, as far as its size and the options say."""

from __future__ import annotations

from collections.abc import Callable

from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.passes.names import allows_aggregation
from gpusched_dsl.language.checked import Element
from gsdsl_backends.protocol import Backend, SolveOptions

LEAST_JOBS = 20_000  # of fewer jobs the problem is small enough to be grounded, and solved closer to the optimum


def jobs_of(built: Built) -> str | None:
    """The set of the jobs: that of the placement, else the largest one that indexes integer variables; None if none."""
    model, universes = built.scenario.model, built.instance.store.universes
    if model.placement is not None and model.placement.root("job"):
        return model.placement.root("job")
    found = {
        index.type.root
        for variable in model.variables.values()
        if variable.kind in ("integer", "binary")
        for index in variable.indexing.variables
        if isinstance(index.type, Element)
    }
    return max(sorted(found), key=lambda root: len(universes[root].labels), default=None)


def shares_root(built: Built, backend: Callable[[], Backend], options: SolveOptions) -> str | None:
    """The set whose elements are to be solved share by share; None for the ordinary way.

    That is tried with `decompose` `on`, or from `LEAST_JOBS` jobs on, where the model names no blocks.
    """
    if options.decompose == "off" or not allows_aggregation(options.without) or built.scenario.model.decompose:
        return None
    root = jobs_of(built)
    if root is None:
        return None
    large = len(built.instance.store.universes[root].labels) >= LEAST_JOBS
    if not large and options.decompose != "on":
        return None
    able = backend().capabilities
    return root if able.proves and able.continuous and not able.reformulates else None
