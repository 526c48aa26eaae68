"""Where a job must not run: by its demands, and for a while where it was refused or has not started."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from gsdsl_clusters.drivers.protocol import Allocation, ObservedJob


@dataclass
class Exclusions:
    """`nodes` are those of the model. Nodes on which a job was tried in vain are excluded for it until a time."""

    nodes: Collection[str]
    _tried: dict[str, dict[str, tuple[float, str]]] = field(default_factory=dict)

    def exclude(self, job: str, nodes: Collection[str], until: float, why: str) -> None:
        """Do not place a job on some nodes for a while."""
        self._tried.setdefault(job, {}).update(dict.fromkeys(nodes, (until, why)))

    def expire(self, now: float, present: Collection[str]) -> bool:
        """Forget what is over, and jobs that are gone; return whether anything was."""
        before = sum(map(len, self._tried.values()))
        for job, tried in list(self._tried.items()):
            left = {node: entry for node, entry in tried.items() if entry[0] > now} if job in present else {}
            if left:
                self._tried[job] = left
            else:
                del self._tried[job]
        return sum(map(len, self._tried.values())) != before

    def tried(self, job: str) -> Mapping[str, tuple[float, str]]:
        return self._tried.get(job, {})

    def allowed(self, job: ObservedJob) -> frozenset[str]:
        """The nodes of the model on which a job may be placed now."""
        tried = self.tried(job.name)
        return frozenset(n for n in self.nodes if n not in job.misfits and n not in tried)

    def restricts(self, job: ObservedJob) -> bool:
        """Whether the demands of a job exclude nodes of the model."""
        return bool(job.misfits) and any(node in job.misfits for node in self.nodes)

    def hopeless(self, job: ObservedJob) -> str:
        """Why the demands of a job leave it no node of the model, "" if they leave enough."""
        if not self.restricts(job):
            return ""
        fitting = [node for node in self.nodes if node not in job.misfits]
        if len(fitting) >= max(job.nodes, 1):
            return ""
        why = next(job.misfits[node] for node in self.nodes if node in job.misfits)
        return f"it may run on {'too few nodes' if fitting else 'no node'} of the model: {why}"

    def objection(self, job: ObservedJob, allocation: Allocation) -> str:
        """Why a job must not run on these nodes now, "" if it may."""
        if wrong := wrong_shape(job, allocation):
            return wrong
        tried = self.tried(job.name)
        for node in allocation:
            if node in job.misfits:
                return f"not on `{node}`: {job.misfits[node]}"
            if node in tried:
                return f"not on `{node}` for a while: {tried[node][1]}"
        return ""


def wrong_shape(job: ObservedJob, allocation: Allocation) -> str:
    """Why a job cannot be divided like this, "" if it can: it requests a number of nodes, and of GPUs on each."""
    if job.nodes and len(allocation) != job.nodes:
        return f"it needs {job.nodes} node{'' if job.nodes == 1 else 's'}, not {len(allocation)}"
    if job.even and len(set(allocation.values())) > 1:
        return f"it needs the same number of GPUs on each node, not {', '.join(map(str, allocation.values()))}"
    return ""
