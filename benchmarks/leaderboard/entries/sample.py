"""First come, first served with overtaking, each job in its cheapest way that ends in time: copy it for your own entry.

Events come on standard input, one JSON object a line; after every `tick` this program writes one decision, which
replaces the one before. A job that a decision leaves out waits, or is halted. docs/live.md, "Programs as methods".
"""

from __future__ import annotations

import json
import sys
from typing import Any

Way = dict[str, Any]  # index, gpus, lasts (from the arrival to the end), costs, and `type` or `nodes`


class Scheduler:
    def __init__(self, cluster: dict[str, Any]) -> None:
        self.variable = cluster["variable"]
        self.node_gpus = {node["node"]: node["gpus"] for node in cluster["nodes"]}  # None: the plan chooses the type
        self.type_gpus = {each["type"]: each["gpus"] for each in cluster.get("types", [])}
        self.type_stock = {each["type"]: each["stock"] for each in cluster.get("types", [])}
        self.down: set[str] = set()
        self.jobs: dict[str, dict[str, Any]] = {}  # in the order of arrival
        self.done: dict[str, float] = {}  # fractions of their work
        self.running: dict[str, tuple[str, Way]] = {}  # node and way

    def see(self, event: dict[str, Any]) -> None:
        """Note an event."""
        match event["kind"]:
            case "job":
                self.jobs[event["job"]] = event
            case "completion":
                self.jobs.pop(event["job"])
                self.running.pop(event["job"], None)
            case "progress":
                self.done[event["job"]] = event["fraction"]
            case "node_down":
                self.down.add(event["node"])
                self.running = {job: at for job, at in self.running.items() if at[0] != event["node"]}
            case "node_up":
                self.down.discard(event["node"])

    def order(self, now: float) -> list[str]:
        """Return the queue: here in the order of arrival, and running jobs keep their places."""
        return list(self.jobs)

    def ways(self, job: str, now: float) -> list[Way]:
        """Return the ways of a job, the best first: the cheapest in time, else the fastest."""
        left = 1 - self.done.get(job, 0.0)
        due = self.jobs[job]["due"]

        def key(way: Way) -> tuple[bool, float, float]:
            late = due is not None and now + left * way["lasts"] > due + 1e-9
            return (late, way["lasts"] if late else way["costs"] * way["lasts"], way["lasts"])

        return sorted(self.jobs[job]["ways"], key=key)

    def decide(self, now: float, *, keep: bool = True) -> dict[str, tuple[str, Way]]:
        """Return node and way of the jobs that run from now on."""
        free = Free(self)
        chosen = dict(self.running) if keep else {}
        for node, way in chosen.values():
            free.take(node, way)
        for job in self.order(now):
            if job in chosen:
                continue
            for way in self.ways(job, now):
                node = free.node_for(way)
                if node is not None:
                    free.take(node, way)
                    chosen[job] = (node, way)
                    break
        return chosen

    def answer(self, now: float) -> str:
        """Return the line of a decision."""
        self.running = self.decide(now)
        entries = [{"index": _with_node(way["index"], node), "value": 1} for node, way in self.running.values()]
        return json.dumps({"kind": "decision", "entries": {self.variable: entries}})


class Free:
    """The GPUs that are left while a decision is made."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.nodes = {node: gpus for node, gpus in scheduler.node_gpus.items() if node not in scheduler.down}
        self.type_gpus, self.stock = scheduler.type_gpus, dict(scheduler.type_stock)
        self.type_of: dict[str, str] = {}

    def node_for(self, way: Way) -> str | None:
        """Return the node with the fewest free GPUs on which a way fits; a new one of its type if there is none."""
        if "nodes" in way:
            fits = [node for node in way["nodes"] if self.nodes.get(node, -1) >= way["gpus"] - 1e-9]
        else:
            fits = [n for n, kind in self.type_of.items() if kind == way["type"] and self.nodes[n] >= way["gpus"]]
            if not fits and self.stock[way["type"]] > 0:
                fits = [node for node in self.nodes if self.nodes[node] is None][:1]
        return min(fits, key=lambda node: self.nodes[node] or 0, default=None)

    def take(self, node: str, way: Way) -> None:
        if self.nodes[node] is None:  # open the node with this type
            self.type_of[node] = way["type"]
            self.stock[way["type"]] -= 1
            self.nodes[node] = self.type_gpus[way["type"]]
        self.nodes[node] -= way["gpus"]


def _with_node(index: list[Any], node: str) -> list[Any]:
    return [node if label is None else label for label in index]


def main(kind: type[Scheduler] = Scheduler) -> None:
    scheduler: Scheduler | None = None
    for line in sys.stdin:
        event = json.loads(line)
        if event["kind"] == "cluster":
            scheduler = kind(event)
        elif event["kind"] == "end":
            break
        elif event["kind"] == "tick":
            assert scheduler is not None
            print(scheduler.answer(event["time"]), flush=True)
        elif scheduler is not None:
            scheduler.see(event)


if __name__ == "__main__":
    main()
