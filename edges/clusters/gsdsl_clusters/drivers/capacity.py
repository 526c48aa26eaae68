"""How many GPUs of each node a plan may use: those of the model, without what others occupy.

A plan sees the GPUs of a node as a parameter of the model, where its placement states one (`uses ... of gpus[n]`). In
other models a node of which others occupy a part is not used, unless jobs of the plan run there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from gpusched_dsl.language.checked import CheckedPlacement, IndexRef, Numeric, ParamRef
from gpusched_dsl.language.units import DIMENSIONLESS
from gpusched_dsl.online.data.base import Base
from gsdsl_clusters.drivers.protocol import Allocation, JobState, Observation

ENDING = 3  # observations after which GPUs of a job that has ended count as occupied


@dataclass(frozen=True)
class ModelCapacity:
    """The GPUs of each node of the model, by name. `parameter` gives them to plans; "" where no parameter does."""

    nodes: tuple[str, ...]
    parameter: str = ""
    gpus: Mapping[str, int] = field(default_factory=dict)


def capacity_of(placement: CheckedPlacement, base: Base) -> ModelCapacity:
    """The capacity that a placement states. Nodes that are declared `identical` must have equal numbers of GPUs."""
    nodes = tuple(str(label) for label in base.store.universes[placement.places_root].labels)
    item, node = placement.item("uses"), placement.index("node")
    stated = None if item is None else item.of
    if (
        base.model.sets[placement.places_root].identical
        or not isinstance(stated, ParamRef)
        or len(stated.subscripts) != 1
        or node is None
    ):
        return ModelCapacity(nodes)
    [subscript] = stated.subscripts
    declared, param = base.model.params[stated.name], base.store.params[stated.name]
    is_number = isinstance(declared.type, Numeric) and declared.type.unit == DIMENSIONLESS
    by_node = isinstance(subscript, IndexRef) and subscript.variable == node and param.domain.size == len(nodes)
    if declared.value is not None or not is_number or not by_node:
        return ModelCapacity(nodes)
    return ModelCapacity(nodes, stated.name, {n: int(v) for n, v in zip(nodes, param.values.tolist(), strict=True)})


@dataclass
class Occupied:
    """Counts what others occupy. A job that has ended keeps its GPUs for some observations without a word."""

    _ending: Counter[str] = field(default_factory=Counter)

    def by_others(self, observation: Observation, own: Collection[str]) -> Counter[str]:
        """The GPUs of each node that jobs occupy which are not `own`."""
        found: Counter[str] = Counter()
        ending = [name for name, job in observation.jobs.items() if job.state.has_ended and job.allocation]
        self._ending = Counter({name: self._ending[name] + 1 for name in ending})
        for name, job in observation.jobs.items():
            if job.allocation and name not in own and (name not in self._ending or self._ending[name] > ENDING):
                found.update(job.allocation)
        return found


def targets(
    model: ModelCapacity, observation: Observation, others: Mapping[str, int], kept: Mapping[str, int],
    masked: Collection[str], planned: Mapping[str, int],
) -> dict[str, int | None]:  # fmt: skip
    """The GPUs of each node that a plan may use: None for all that the model has, 0 for a node that is down.

    A node without GPUs is down. `kept` are the GPUs of jobs that go on where a node drains, `planned` those that the
    plan uses. Of `masked` nodes the plan may use no more than it does.
    """
    found: dict[str, int | None] = {}
    for name in model.nodes:
        node, full = observation.nodes.get(name), model.gpus.get(name)
        left: int | None = None
        if node is None or not node.up or not node.gpus:
            left = kept.get(name, 0) if node is not None and node.drains else 0
        elif others.get(name):
            left = max(0, node.gpus - others[name])
        if name in masked:
            left = planned.get(name, 0) if left is None else min(left, planned.get(name, 0))
        if left is not None and full is None:  # only all or nothing can be told
            left = None if left and planned.get(name) else 0
        found[name] = None if left is None or full is None or left >= full else left
        if left == 0:
            found[name] = 0
    return found


def used_by(allocations: Iterable[Allocation]) -> Counter[str]:
    """The GPUs of each node in some allocations."""
    used: Counter[str] = Counter()
    for allocation in allocations:
        used.update(allocation)
    return used


def running_in(observation: Observation, names: Collection[str]) -> Counter[str]:
    """The GPUs of each node that jobs of these names occupy while they run."""
    jobs = observation.jobs
    return used_by(jobs[n].allocation for n in names if n in jobs and jobs[n].state is JobState.RUNNING)
