"""Measures the work from an event to its action: of the driver, of its commands, and of the servers that answer it.

CPU time is measured, so that other work on the machine does not count.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gsdsl_clusters.drivers.drive import DriveOptions, drive
from gsdsl_clusters.drivers.protocol import Action, DrivenCluster, Observation
from gsdsl_clusters.drivers.settings import read_settings

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(servers: Iterable[int]) -> float:
    """The CPU time of this process, of its ended children, and of processes by id."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = time.process_time() + children.ru_utime + children.ru_stime
    for pid in servers:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += (int(words[11]) + int(words[12])) / TICKS
    return total


def action_delay(path: Path, servers: Iterable[int], rounds: int, before: Callable[[int], object]) -> float:
    """Drive the cluster of a file for some observations, and call `before` with the number of each one before it.

    Return the CPU seconds from the begin of the last observation to the end of the only action after it.
    """
    settings, cluster = read_settings(path)
    diagnostics = Diagnostics()
    workspace = load_workspace(settings.model, diagnostics)
    diagnostics.raise_if_errors()
    watched = _Watched(cluster, tuple(servers), rounds, before)
    told: list[Diagnostic] = []
    drive(workspace, settings, watched, DriveOptions(acts=True, rounds=rounds), report=told.append)
    assert len(watched.acted) == 1, (watched.acted, told)
    return watched.acted[0] - watched.began


class _Watched:
    """A cluster that notes the CPU time of its last observation and of the actions after it."""

    def __init__(
        self, cluster: DrivenCluster, servers: tuple[int, ...], rounds: int, before: Callable[[int], object]
    ) -> None:
        self.cluster, self.servers, self.rounds, self.before = cluster, servers, rounds, before
        self.fields = cluster.fields
        self.number, self.began = 0, 0.0
        self.acted: list[float] = []

    def observe(self) -> Observation:
        self.number += 1
        self.before(self.number)
        self.began = cpu_seconds(self.servers)
        return self.cluster.observe()

    def act(self, action: Action) -> None:
        self.cluster.act(action)
        if self.number == self.rounds:
            self.acted.append(cpu_seconds(self.servers))
