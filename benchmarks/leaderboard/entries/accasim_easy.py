"""EASY backfilling with the best-fit allocator, as AccaSim's own code decides it: `pip install accasim` (1.1.3, MIT).

C. Galleguillos, Z. Kiziltan, A. Netti, R. Soto: AccaSim: a customizable workload management simulator for job
dispatching research in HPC systems, Cluster Computing 23, 2020. Each decision calls the dispatcher of the simulator
with the queue in the order of arrival. Jobs ask for one number of GPUs on one node. In this version the dispatcher
passes no reserved nodes to its allocator, so jobs may overtake the head of the queue without any reservation.
"""

from __future__ import annotations

import collections
import collections.abc
import logging
from dataclasses import dataclass
from typing import Any

from sample import Scheduler, Way, main

for _name in ("Iterable", "Mapping", "MutableMapping", "Sequence"):  # where AccaSim imports them from
    setattr(collections, _name, getattr(collections.abc, _name))

from accasim.base.allocator_class import BestFit  # noqa: E402
from accasim.base.resource_manager_class import ResourceManager, Resources  # noqa: E402
from accasim.base.scheduler_class import EASYBackfilling  # noqa: E402

PARTS = 1000  # of a GPU: AccaSim counts in integers
logging.getLogger("accasim").trace = lambda *_: None  # type: ignore[attr-defined]


@dataclass
class Job:
    """What the dispatcher reads of a job."""

    id: str
    requested_resources: dict[str, int]
    expected_duration: float
    requested_nodes: int = 1
    start_time: float | None = None
    checked: bool = False

    def get_checked(self) -> bool:
        return self.checked

    def set_checked(self, checked: bool) -> None:
        self.checked = checked


class AccaSim(Scheduler):
    def __init__(self, cluster: dict[str, Any]) -> None:
        super().__init__(cluster)
        names = list(self.node_gpus)
        groups = {f"{name}": {"gpu": round(PARTS * gpus)} for name, gpus in self.node_gpus.items()}
        resources = Resources(groups, dict.fromkeys(groups, 1))
        self.node_of = dict(zip(resources.NODE_LIST, names, strict=True))
        self.manager = ResourceManager(resources)
        self.dispatcher = EASYBackfilling(BestFit())
        self.dispatcher.set_resource_manager(self.manager)
        self.events: dict[str, Job] = {}

    def see(self, event: dict[str, Any]) -> None:
        super().see(event)
        if event["kind"] == "job":
            [(gpus, lasts)] = {(way["gpus"], way["lasts"]) for way in event["ways"]}  # they differ in their nodes only
            self.events[event["job"]] = Job(event["job"], {"gpu": round(PARTS * gpus)}, lasts)
        elif event["kind"] == "completion":
            self.manager.remove_event(event["job"])

    def decide(self, now: float, *, keep: bool = True) -> dict[str, tuple[str, Way]]:
        """Return node and way of the running jobs, and of those that the dispatcher starts."""
        chosen = dict(self.running)
        queue = [job for job in self.jobs if job not in chosen]
        if queue:
            plan, _ = self.dispatcher.schedule(now, self.events, queue)
            for _, job, nodes in plan:
                if nodes:
                    self.events[job].start_time = now
                    self.manager.allocate_event(self.events[job], nodes)
                    node, ways = self.node_of[nodes[0]], self.jobs[job]["ways"]
                    chosen[job] = (node, next(way for way in ways if node in way.get("nodes", [node])))
        return chosen


if __name__ == "__main__":
    main(AccaSim)
