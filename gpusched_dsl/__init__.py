"""gsdsl: a declarative modelling language and solver-agnostic compiler for scheduling jobs on GPU clusters.

    import gpusched_dsl as gs

    model = gs.load("capacity.gsm")
    result = model.solve("Figure1", backend="scip")
    result["run"]                                    # a table of what is not zero

Nothing heavy is imported until it is used.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from gpusched_dsl.version import __version__ as __version__

if TYPE_CHECKING:
    from gpusched_dsl.api import Model, compile, load, loads
    from gpusched_dsl.compiling.passes.steps import Analysis, Note, Pass, PassResult, Target
    from gpusched_dsl.data.formats.shape import Dropped, Format, FormatTable, Raw
    from gpusched_dsl.data.sources.settings_file import read_settings
    from gpusched_dsl.explaining.explanation import Explanation
    from gpusched_dsl.interface.live import LiveEventLoop
    from gpusched_dsl.interface.model import Setting
    from gpusched_dsl.interface.problems import problem_from_json, problem_to_json, solve
    from gpusched_dsl.ir.definitions.base import Definition
    from gpusched_dsl.ir.distributions import Distribution
    from gpusched_dsl.ir.distributions.named import NamedDistribution
    from gpusched_dsl.ir.problem import Problem
    from gpusched_dsl.ir.solver_result import SolverResult, Status
    from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
    from gpusched_dsl.language.diagnostics.errors import (
        DataError,
        DiagnosticError,
        LimitError,
        ModelError,
        SolverError,
        UsageError,
    )
    from gpusched_dsl.language.scenarios.formats import FormatColumn, Option
    from gpusched_dsl.policies.plug_ins import PlaceRule
    from gpusched_dsl.reporting.comparison import Comparison
    from gpusched_dsl.reporting.flexibility import Flexibility
    from gpusched_dsl.reporting.paired_differences import PairedDifferences, paired_differences
    from gpusched_dsl.reporting.report import Report
    from gpusched_dsl.reporting.reporters import Reporter
    from gpusched_dsl.reporting.result import Result
    from gpusched_dsl.reporting.runs.comparison import RunComparison
    from gpusched_dsl.reporting.runs.result import RunResult
    from gpusched_dsl.reporting.runs.seeds import SeedComparison
    from gpusched_dsl.workflows.estimate import Estimate
    from gpusched_dsl.workflows.why import DecisionExplanation
    from gsdsl_backends.exporters import Exporter
    from gsdsl_backends.protocol import Backend, Capabilities, Monitor, Session, SolveOptions, SolverProgress
    from gsdsl_clusters.inspecting.inspection import ClusterInspection
    from gsdsl_clusters.python import inspect

_HOMES = {
    "Analysis": "gpusched_dsl.compiling.passes.steps",
    "Backend": "gsdsl_backends.protocol",
    "Capabilities": "gsdsl_backends.protocol",
    "Comparison": "gpusched_dsl.reporting.comparison",
    "DataError": "gpusched_dsl.language.diagnostics.errors",
    "DecisionExplanation": "gpusched_dsl.workflows.why",
    "Definition": "gpusched_dsl.ir.definitions.base",
    "Diagnostic": "gpusched_dsl.language.diagnostics.diagnostic",
    "DiagnosticError": "gpusched_dsl.language.diagnostics.errors",
    "Distribution": "gpusched_dsl.ir.distributions",
    "Dropped": "gpusched_dsl.data.formats.shape",
    "Estimate": "gpusched_dsl.workflows.estimate",
    "Explanation": "gpusched_dsl.explaining.explanation",
    "Exporter": "gsdsl_backends.exporters",
    "Flexibility": "gpusched_dsl.reporting.flexibility",
    "Format": "gpusched_dsl.data.formats.shape",
    "FormatColumn": "gpusched_dsl.language.scenarios.formats",
    "FormatTable": "gpusched_dsl.data.formats.shape",
    "LimitError": "gpusched_dsl.language.diagnostics.errors",
    "LiveEventLoop": "gpusched_dsl.interface.live",
    "Model": "gpusched_dsl.api",
    "ModelError": "gpusched_dsl.language.diagnostics.errors",
    "Monitor": "gsdsl_backends.protocol",
    "NamedDistribution": "gpusched_dsl.ir.distributions.named",
    "Note": "gpusched_dsl.compiling.passes.steps",
    "Option": "gpusched_dsl.language.scenarios.formats",
    "PairedDifferences": "gpusched_dsl.reporting.paired_differences",
    "Pass": "gpusched_dsl.compiling.passes.steps",
    "PassResult": "gpusched_dsl.compiling.passes.steps",
    "PlaceRule": "gpusched_dsl.policies.plug_ins",
    "Problem": "gpusched_dsl.ir.problem",
    "Raw": "gpusched_dsl.data.formats.shape",
    "Report": "gpusched_dsl.reporting.report",
    "Reporter": "gpusched_dsl.reporting.reporters",
    "Result": "gpusched_dsl.reporting.result",
    "RunComparison": "gpusched_dsl.reporting.runs.comparison",
    "RunResult": "gpusched_dsl.reporting.runs.result",
    "SeedComparison": "gpusched_dsl.reporting.runs.seeds",
    "Session": "gsdsl_backends.protocol",
    "Setting": "gpusched_dsl.interface.model",
    "Severity": "gpusched_dsl.language.diagnostics.diagnostic",
    "SolveOptions": "gsdsl_backends.protocol",
    "SolverError": "gpusched_dsl.language.diagnostics.errors",
    "SolverProgress": "gsdsl_backends.protocol",
    "SolverResult": "gpusched_dsl.ir.solver_result",
    "Status": "gpusched_dsl.ir.solver_result",
    "Target": "gpusched_dsl.compiling.passes.steps",
    "UsageError": "gpusched_dsl.language.diagnostics.errors",
    "compile": "gpusched_dsl.api",
    "load": "gpusched_dsl.api",
    "loads": "gpusched_dsl.api",
    "paired_differences": "gpusched_dsl.reporting.paired_differences",
    "problem_from_json": "gpusched_dsl.interface.problems",
    "problem_to_json": "gpusched_dsl.interface.problems",
    "read_settings": "gpusched_dsl.data.sources.settings_file",
    "solve": "gpusched_dsl.interface.problems",
}

# Of packages beside the core, which loads them by entry points.
_OF_EDGES = {"ClusterInspection", "inspect"}

__all__ = [
    "Analysis",
    "Backend",
    "Capabilities",
    "ClusterInspection",
    "Comparison",
    "DataError",
    "DecisionExplanation",
    "Definition",
    "Diagnostic",
    "DiagnosticError",
    "Distribution",
    "Dropped",
    "Estimate",
    "Explanation",
    "Exporter",
    "Flexibility",
    "Format",
    "FormatColumn",
    "FormatTable",
    "LimitError",
    "LiveEventLoop",
    "Model",
    "ModelError",
    "Monitor",
    "NamedDistribution",
    "Note",
    "Option",
    "PairedDifferences",
    "Pass",
    "PassResult",
    "PlaceRule",
    "Problem",
    "Raw",
    "Report",
    "Reporter",
    "Result",
    "RunComparison",
    "RunResult",
    "SeedComparison",
    "Session",
    "Setting",
    "Severity",
    "SolveOptions",
    "SolverError",
    "SolverProgress",
    "SolverResult",
    "Status",
    "Target",
    "UsageError",
    "compile",
    "inspect",
    "load",
    "loads",
    "paired_differences",
    "problem_from_json",
    "problem_to_json",
    "read_settings",
    "solve",
]


def __getattr__(name: str) -> Any:
    """The public names, imported when they are first used."""
    home = _HOMES.get(name)
    if name in _OF_EDGES:
        value = _import_module("gpusched_dsl.language.entry_points").load_own("gpusched_dsl.names", name)
    elif home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    else:
        value = getattr(_import_module(home), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: Any) -> None:
    """Add `%%gsm` and `%gsm` to IPython and Jupyter: `%load_ext gpusched_dsl`."""
    _import_module("gpusched_dsl.language.entry_points").load_own("gpusched_dsl.notebook", "magics")(shell)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_OF_EDGES})
