"""CP-SAT behind the backend protocol: integer problems, in a process of its own.

The packages of OR-Tools and HiGHS each bring a library `libhighs.so.1`, and one process loads only one of them. So this
process never imports OR-Tools: it hands problems to another process, where `solver.py` has the solver.
"""

from __future__ import annotations

import importlib.metadata
from functools import cached_property

from gpusched_dsl.compiling.passes.steps import INDICATOR
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.diagnostics.extras import require_extra
from gsdsl_backends.cpsat.intervals import NATIVE
from gsdsl_backends.isolation.backend import IsolatedBackend, is_supported
from gsdsl_backends.protocol import Capabilities, Session

SOLVER = "gsdsl_backends.cpsat.solver:CpsatSolver"
CAPABILITIES = Capabilities(duals=False, continuous=False, accepts=NATIVE | {INDICATOR})


class CpsatBackend:
    """Integer problems with intervals by CP-SAT; raises DiagnosticError (GSM4002) where OR-Tools is not installed."""

    name = "cpsat"
    capabilities = CAPABILITIES

    def __init__(self) -> None:
        require_extra("cpsat", "the backend `cpsat` needs", "GSM4002", "choose another backend")
        if not is_supported():
            message = "the backend `cpsat` needs a process of its own, which this platform does not support"
            raise DiagnosticError([Diagnostic("GSM4002", message, help="choose another backend, such as `scip`")])

    def versions(self) -> dict[str, str]:
        return {"OR-Tools": importlib.metadata.version("ortools")}

    @cached_property
    def _isolated(self) -> IsolatedBackend:
        return IsolatedBackend(self.name, SOLVER)

    def open(self, problem: Problem) -> Session:
        """Raises DiagnosticError (GSM4003, GSM4006) for problems that have no form in integers of 64 bits."""
        return self._isolated.open(problem)
