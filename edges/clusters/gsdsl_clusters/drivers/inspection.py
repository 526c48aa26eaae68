"""One look at a cluster: its nodes, and its jobs with the data that the mapping gives them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.reporting.grid import Grid, GridColumn
from gsdsl_clusters.drivers.drive import mapping_of, parts_of, start_of_run
from gsdsl_clusters.drivers.exclusions import Exclusions
from gsdsl_clusters.drivers.mapping import JobMapping
from gsdsl_clusters.drivers.protocol import ClusterUnavailable, DrivenCluster, JobState, ObservedJob, ObservedNode
from gsdsl_clusters.drivers.settings import DriveSettings
from gsdsl_clusters.drivers.value_source import NoValue


@dataclass(frozen=True)
class Inspection:
    """The nodes of the cluster and of the model, and the jobs that have not ended, with their data or None."""

    nodes: Sequence[ObservedNode]
    expected: Sequence[str]
    jobs: Sequence[tuple[ObservedJob, dict[str, Any] | None, str]]
    unread: Sequence[str]

    def node_lines(self) -> list[str]:
        up = [node for node in self.nodes if node.up]
        gpus = sum(node.gpus for node in up)
        lines = [f"nodes: {len(self.nodes)}, {len(up)} of them up with {gpus} GPUs"]
        lines += [f"down: {node.name}  {node.reason}".rstrip() for node in self.nodes if not node.up]
        return lines

    @property
    def warnings(self) -> list[Diagnostic]:
        """Nodes that only the cluster or only the model has, and objects that cannot be read."""
        real = {node.name for node in self.nodes}
        found = []
        if missing := [name for name in self.expected if name not in real]:
            message = f"the cluster has no node {_list_names(missing)}: the model has them, and they count as failed"
            found.append(Diagnostic("GSM5408", message, severity=Severity.WARNING))
        if extra := sorted(real - set(self.expected)):
            message = f"the model has no node {_list_names(extra)}: nothing is planned for them"
            found.append(Diagnostic("GSM5408", message, severity=Severity.WARNING))
        return found + [Diagnostic("GSM5406", what, severity=Severity.WARNING) for what in self.unread]

    def grid(self) -> Grid:
        """The jobs as a table."""
        return Grid(
            (
                GridColumn("job", [job.name for job, _, _ in self.jobs]),
                GridColumn("state", [f"{job.state}{', held' if job.held else ''}" for job, _, _ in self.jobs]),
                GridColumn("GPUs", [str(job.gpus) for job, _, _ in self.jobs], right=True),
                GridColumn("nodes", [",".join(job.allocation) for job, _, _ in self.jobs]),
                GridColumn("data", [why or _shown(values or {}) for _, values, why in self.jobs]),
            )
        )


def inspect(workspace: Workspace, settings: DriveSettings, cluster: DrivenCluster) -> Inspection:
    """Observe once. Raises DiagnosticError for errors in files, and GSM5405 if the cluster cannot be observed."""
    start = start_of_run(workspace, settings, time.time, create=False)
    parts = parts_of(workspace, settings, start)
    mapping = mapping_of(settings, parts, start)
    try:
        observation = cluster.observe()
    except ClusterUnavailable as failure:
        message = f"the cluster cannot be observed: {failure}"
        raise DiagnosticError([Diagnostic("GSM5405", message, help="see the section of the driver")]) from failure
    universe = parts.setup.base.store.universes[parts.setup.places_root]
    names = [str(label) for label in universe.labels]
    limits = Exclusions(names)
    jobs = [_with_data(mapping, limits, job) for job in observation.jobs.values() if not job.state.has_ended]
    return Inspection(list(observation.nodes.values()), names, jobs, observation.unread)


def _with_data(
    mapping: JobMapping, limits: Exclusions, job: ObservedJob
) -> tuple[ObservedJob, dict[str, Any] | None, str]:
    if why := job.unsupported or limits.hopeless(job):
        return job, None, f"left out: {why}"
    if job.state is JobState.BLOCKED:
        return job, None, f"not planned yet: {job.reason or 'it must not start now'}"
    try:
        return job, mapping.values(job), ""
    except NoValue as missing:
        return job, None, f"left out: {missing}"


def _shown(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {_short(value)}" for name, value in values.items())


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)} values"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _list_names(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
