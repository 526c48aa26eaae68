"""Drivers by name: ours, and entry points of the group `gpusched_dsl.drivers`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Any

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.entry_points import entry_points
from gpusched_dsl.language.source import Span
from gsdsl_clusters.drivers.protocol import ClusterFactory, DrivenCluster

GROUP = "gpusched_dsl.drivers"
BUILT_IN = {
    "kubernetes": "gsdsl_clusters.drivers.kubernetes.scheduler:PodScheduler.from_settings",
    "kueue": "gsdsl_clusters.drivers.kubernetes.kueue:KueueCluster.from_settings",
    "slurm": "gsdsl_clusters.drivers.slurm.cluster:SlurmCluster.from_settings",
}


def _known() -> dict[str, EntryPoint]:
    return entry_points(GROUP) | {name: EntryPoint(name, value, GROUP) for name, value in BUILT_IN.items()}


def driver_names() -> tuple[str, ...]:
    return tuple(sorted(_known()))


def driver(name: str, span: Span | None = None) -> ClusterFactory:
    """The driver of that name. Raises DiagnosticError (GSM5404) if there is none, or if it cannot be imported."""
    point = _known().get(name)
    if point is None:
        help = did_you_mean(name, driver_names()) or f"the drivers are {', '.join(driver_names())}"
        raise DiagnosticError([Diagnostic("GSM5404", f"unknown driver `{name}`", span, help=help)])
    try:
        found: ClusterFactory = point.load()
    except Exception as failure:  # another package's import may fail in any way
        raise _unusable(name, span, f"cannot be loaded: {failure}") from failure
    if not callable(found):
        raise _unusable(name, span, f"cannot be used: `{point.value}` is no function")
    return found


def make_cluster(name: str, section: Mapping[str, Any], span: Span | None = None) -> DrivenCluster:
    """The cluster of a driver and its section. Raises DiagnosticError (GSM5404), and ValueError for a wrong entry."""
    factory = driver(name, span)
    try:
        found = factory(section)
    except (DiagnosticError, ValueError):
        raise
    except Exception as failure:  # another package's code may fail in any way
        raise _unusable(name, span, f"cannot be used: {type(failure).__name__}: {failure}") from failure
    missing = [part for part in ("observe", "act", "fields") if not hasattr(found, part)]
    if missing:
        raise _unusable(name, span, f"cannot be used: its {type(found).__name__} has no `{missing[0]}`")
    return found


def _unusable(name: str, span: Span | None, why: str) -> DiagnosticError:
    help = "install or correct its package, or choose another driver"
    return DiagnosticError([Diagnostic("GSM5404", f"the driver `{name}` {why}", span, help=help)])
