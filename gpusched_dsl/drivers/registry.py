"""Drivers by name: ours, and entry points of the group `gpusched_dsl.drivers`."""

from __future__ import annotations

from importlib.metadata import EntryPoint

from gpusched_dsl.drivers.protocol import ClusterFactory
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.entry_points import entry_points
from gpusched_dsl.language.source import Span

GROUP = "gpusched_dsl.drivers"
BUILT_IN = {
    "kubernetes": "gpusched_dsl.drivers.kubernetes.scheduler:PodScheduler.from_settings",
    "kueue": "gpusched_dsl.drivers.kubernetes.kueue:KueueCluster.from_settings",
    "slurm": "gpusched_dsl.drivers.slurm.cluster:SlurmCluster.from_settings",
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
        message = f"the driver `{name}` cannot be loaded: {failure}"
        help = "install its package, or choose another driver"
        raise DiagnosticError([Diagnostic("GSM5404", message, span, help=help)]) from failure
    return found
