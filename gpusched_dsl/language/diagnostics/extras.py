"""The diagnostic of a missing optional package: what needs it, and the command that installs it.

The project is on no package index, so the command is that of a checkout. Every place that needs an extra takes its
message from here.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

NOT_INSTALLED: Final = "GSM6023"
FIGURES_NEED: Final = "figures need"  # `need` of the extra `figures`
# The packages of each extra of pyproject.toml that code asks for, by the module that code imports.
EXTRAS: Final = {
    "cpsat": {"ortools": "ortools"},
    "dask": {"distributed": "distributed"},
    "excel": {"fastexcel": "fastexcel"},
    "figures": {"matplotlib": "matplotlib"},
    "kubernetes": {"kubernetes": "kubernetes"},
    "lsp": {"pygls": "pygls"},
    "mcp": {"mcp": "mcp"},
    "predict": {"sklearn": "scikit-learn"},
    "serve": {"starlette": "starlette", "uvicorn": "uvicorn", "prometheus_client": "prometheus-client"},
    "slurm": {"distributed": "distributed", "dask_jobqueue": "dask-jobqueue"},
}


def require_extra(
    extra: str, need: str, code: str = NOT_INSTALLED, otherwise: str = "", modules: tuple[str, ...] = ()
) -> None:
    """Raise DiagnosticError with `missing_extra(...)` unless the modules, by default those of the extra, are found."""
    if _absent(extra, modules):
        raise DiagnosticError([missing_extra(extra, need, code, otherwise, modules)])


def missing_extra(
    extra: str, need: str, code: str = NOT_INSTALLED, otherwise: str = "", modules: tuple[str, ...] = ()
) -> Diagnostic:
    """Return the diagnostic of an extra that is not installed.

    `need` begins the message, such as `figures need`; `otherwise` is another way out. Without `modules`, all of the
    extra count.
    """
    names = [EXTRAS[extra][module] for module in _absent(extra, modules) or modules or EXTRAS[extra]]
    packages = f"package {names[0]}, which is" if len(names) == 1 else f"packages {', '.join(names)}, which are"
    help = f"`{install_command(extra)}` in the folder of gsdsl{otherwise and f', or {otherwise}'}"
    return Diagnostic(code, f"{need} the {packages} not installed", help=help)


def is_installed(extra: str) -> bool:
    """Whether the packages of an extra are installed."""
    return not _absent(extra, ())


def install_command(extra: str) -> str:
    """Return the command that installs an extra, in the folder of a checkout."""
    return f"pip install '.[{extra}]'"


def _absent(extra: str, modules: tuple[str, ...]) -> list[str]:
    """Return the modules that cannot be found."""
    return [module for module in modules or EXTRAS[extra] if find_spec(module) is None]
