"""gsdsl: a declarative modelling language and solver-agnostic compiler for scheduling jobs on GPU clusters.

    import gpusched_dsl as gs

    model = gs.load("capacity.gsm")
    result = model.solve("Figure1", backend="scip")
    result["run"]                                    # a table of what is not zero

Nothing heavy is imported until it is used.
"""

from importlib import import_module as _import_module
from pathlib import Path as _Path
from typing import TYPE_CHECKING, Any

from gpusched_dsl.version import __version__ as __version__

# backends/, grammar/ and models/ lie beside this folder in the repository. Wheels and editable installs map them into
# the package (pyproject.toml); in a plain checkout the symbolic links in this folder do. A checkout without links is
# helped here.
_here = _Path(__file__).resolve().parent
if not (_here / "backends").is_dir() and (_here.parent / "backends" / "__init__.py").is_file():
    __path__.append(str(_here.parent))

if TYPE_CHECKING:
    from gpusched_dsl.api import Model, compile, load, loads
    from gpusched_dsl.data.sources.settings_file import read_settings
    from gpusched_dsl.ir.problem import Problem
    from gpusched_dsl.ir.solver_result import Status
    from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
    from gpusched_dsl.language.diagnostics.errors import DiagnosticError
    from gpusched_dsl.reporting.comparison import Comparison
    from gpusched_dsl.reporting.result import Result

_HOMES = {
    "Comparison": "gpusched_dsl.reporting.comparison",
    "Model": "gpusched_dsl.api",
    "compile": "gpusched_dsl.api",
    "load": "gpusched_dsl.api",
    "loads": "gpusched_dsl.api",
    "read_settings": "gpusched_dsl.data.sources.settings_file",
    "Status": "gpusched_dsl.ir.solver_result",
    "Problem": "gpusched_dsl.ir.problem",
    "Diagnostic": "gpusched_dsl.language.diagnostics.diagnostic",
    "DiagnosticError": "gpusched_dsl.language.diagnostics.errors",
    "Result": "gpusched_dsl.reporting.result",
}

__all__ = [
    "Comparison",
    "Diagnostic",
    "DiagnosticError",
    "Model",
    "Problem",
    "Result",
    "Status",
    "compile",
    "load",
    "loads",
    "read_settings",
]


def __getattr__(name: str) -> Any:
    """The public names, imported when they are first used."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
