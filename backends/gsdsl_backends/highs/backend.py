"""HiGHS behind the backend protocol."""

from __future__ import annotations

from functools import cache

from gpusched_dsl.compiling.passes.steps import QUADRATIC_OBJECTIVE
from gpusched_dsl.ir.problem import Problem
from gsdsl_backends.highs.quiet import QuietHighs
from gsdsl_backends.highs.session import HighsSession
from gsdsl_backends.protocol import Capabilities


@cache
def _versions() -> dict[str, str]:
    import importlib.metadata

    return {"HiGHS": QuietHighs().version(), "highspy": importlib.metadata.version("highspy")}


class HighsBackend:
    """Linear and mixed-integer problems, and convex quadratic objectives without integers, by HiGHS."""

    name = "highs"
    capabilities = Capabilities(
        in_place_update=True,
        carries=True,
        tightens=True,
        accepts=frozenset({QUADRATIC_OBJECTIVE}),
        nonlinear_integers=False,
    )

    def versions(self) -> dict[str, str]:
        return dict(_versions())

    def open(self, problem: Problem) -> HighsSession:
        return HighsSession(problem)
