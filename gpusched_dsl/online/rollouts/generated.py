"""Jobs that arrive in a drawn future: those that the generators of the scenario draw by another seed.

The scenario states by generators what its jobs are like. Another seed gives other jobs of the same kind, which arrive
at other times; those that would come after now are the arrivals of a future. The data that do not depend on jobs are
those of the run. Each future has one seed for the whole run, so its data are read once, and all plans of a run are
judged by the same arrivals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.scenarios.assignments import Assignment, FileAssignment
from gpusched_dsl.language.scenarios.scenario import CheckedScenario
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.updates import with_jobs_of
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.simulation.realisation import Realisation, realisation_of
from gpusched_dsl.online.simulation.world import FUTURE

SEED = "seed"


class GeneratedJobs:
    """The jobs of the futures of one run, by seed: data with only these jobs, and when each arrives."""

    def __init__(self) -> None:
        self._drawn: dict[int, tuple[Base, Realisation]] = {}
        self._joined: dict[int, tuple[Base, Base]] = {}

    def loop_with(self, loop: EventLoop, seed: int) -> EventLoop:
        """Return a copy of a run in which drawn jobs that arrive after now replace those that really arrive.

        Raises DiagnosticError (GSM7016) for a scenario without such generators, and as reading data does.
        """
        if seed not in self._drawn:
            drawn = _drawn_base(loop, seed)
            self._drawn[seed] = drawn, realisation_of(loop.online, drawn, seed, loop.setup.slot_length)
        drawn, real = self._drawn[seed]
        before, joined = self._joined.get(seed, (None, None))
        if joined is None or before is not loop.base:
            joined = with_jobs_of(loop.base, loop.jobs_root, drawn)
            self._joined[seed] = loop.base, joined
        other = copy(loop)
        other.look_ahead = None
        other.world, other.memory = deepcopy(loop.world), loop.memory.copy()
        other.use_data(joined)
        world = other.world
        world.arrival[world.status == FUTURE] = np.inf
        world.grow(replace(real, arrival=np.where(real.arrival > world.now, real.arrival, np.inf)))
        for _ in range(len(real.arrival)):
            other.memory.add_jobs(1)
        return other


def seeds_of(scenario: CheckedScenario) -> list[int]:
    """Return the seeds of the generators of a scenario. Raises DiagnosticError (GSM7016) if there are none."""
    seeds = {value for use in _uses(scenario) for name, value in use if name == SEED and isinstance(value, int)}
    if not seeds:
        message = f"the scenario `{scenario.name}` has no generator with a seed to draw arrivals by"
        help = "take its jobs from a generator (`generate capacity_jobs (seed = 1) { ... }`), or write `with arrivals`"
        raise DiagnosticError([Diagnostic("GSM7016", message, help=help)])
    return sorted(seeds)


def _drawn_base(loop: EventLoop, seed: int) -> Base:
    """Return the data of the scenario with other seeds of its generators."""
    base = loop.base
    scenario = base.instance.scenario
    seeds = seeds_of(scenario)
    others = np.random.SeedSequence([seed, 0x6E5]).generate_state(len(seeds)) % 2**31
    other = dict(zip(seeds, others.tolist(), strict=True))  # statements with the same seed keep the same seed
    assignments = {
        name: tuple(_with_seed(given, other) for given in givens) for name, givens in scenario.assignments.items()
    }
    instance = build_instance(
        structs.replace(scenario, assignments=assignments),
        folder=base.instance.reader.folder,
        limits=base.limits,
        files=base.instance.reader.limits,
        roots=base.instance.reader.roots,
        replaced=loop.config.replaced,
    )
    instance.reader.forget()
    return Base(instance, base.limits)


def _uses(scenario: CheckedScenario) -> Iterator[Sequence[tuple[str, object]]]:
    for givens in scenario.assignments.values():
        for given in givens:
            if isinstance(given, FileAssignment) and given.use is not None and given.use.generated:
                yield given.use.options


def _with_seed(given: Assignment, other: Mapping[int, int]) -> Assignment:
    if not isinstance(given, FileAssignment) or given.use is None or not given.use.generated:
        return given
    options = tuple((name, other[v] if name == SEED and isinstance(v, int) else v) for name, v in given.use.options)
    return replace(given, use=structs.replace(given.use, options=options))
