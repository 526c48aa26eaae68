"""Problems after public reports of wrong results of solvers: every backend gives the value that enumeration gives."""

from __future__ import annotations

import pytest
from defect_table import Instance, enumerated, instances
from solvers import ALL

from gpusched_dsl import api
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions
from gsdsl_backends.registry import backend

INSTANCES = instances()
EXACT = SolveOptions(gap=0.0, threads=1)
ALWAYS = {"highs", "scip"}  # these two accept every problem of the table
REFUSALS = {"GSM3201", "GSM4003"}  # a term or a class of problems that a backend does not have


def test_the_table_is_long_and_names_its_sources() -> None:
    assert len(INSTANCES) >= 40
    assert len({one.source for one in INSTANCES}) == len(INSTANCES)
    assert {one.like for one in INSTANCES} == {"model", "kind"}


@pytest.mark.parametrize("one", INSTANCES, ids=lambda one: one.source.replace(" ", "_"))
def test_every_backend_gives_the_enumerated_value(one: Instance) -> None:
    right = enumerated(one)
    assert right == (one.value if isinstance(one.value, str) else pytest.approx(one.value, rel=1e-9, abs=1e-9))
    problem = api.loads(one.text()).ground()
    solved = set()
    for name in ALL:
        try:
            solution = solve_problem(problem, backend(name), EXACT)
        except DiagnosticError as refused:
            if {d.code for d in refused.diagnostics} <= REFUSALS:
                continue
            raise
        solved.add(name)
        expected = right if isinstance(right, str) else "optimal"
        assert (name, solution.status) == (name, expected)
        if expected == "optimal":
            assert solution.objective == pytest.approx(right, rel=1e-6, abs=1e-6), name
            assert solution.verification is not None
            assert solution.verification.feasible, name
        solution.close()
    assert solved >= ALWAYS
