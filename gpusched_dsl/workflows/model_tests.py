"""Runs `test` blocks: every `solve` with each of its methods, and evaluates every `expect` on each result."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from msgspec import structs

from gpusched_dsl.compiling.build import Built, Permissions, build
from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.tests.test_block import (
    CheckedExpect,
    CheckedMethod,
    CheckedSolve,
    CheckedTest,
    check_test,
)
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.solving.methods import known_methods
from gpusched_dsl.solving.option_checks import solve_options, stated_values
from gpusched_dsl.workflows.assertions import failed_assertions
from gpusched_dsl.workflows.method import choose_method
from gpusched_dsl.workflows.solve_by_policy import with_own_columns
from gsdsl_backends.isolation.backend import guard
from gsdsl_backends.registry import WITHOUT_PROOFS, backend_names, solver_names

DEFAULT_METHOD = "highs"
# Codes of a backend that does not support a problem.
REFUSAL_CODES = ("GSM3201", "GSM3202", "GSM3203", "GSM4003")
COMMON_SETTINGS = ("gap", "time_limit")  # options of every backend


class Verdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"  # an expectation is not met
    BROKEN = "broken"  # the test, its data or its solve has errors
    SKIPPED = "skipped"


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """One `solve` of a test with one method. `diagnostics` has the failures, `reason` the cause of a skip."""

    test: str
    solve: str
    method: str
    outcome: Verdict
    seconds: float = 0.0
    diagnostics: tuple[Diagnostic, ...] = ()
    reason: str = ""

    @property
    def title(self) -> str:
        if not self.solve:
            return self.test
        return f"{self.test}: {self.solve} with {self.method}" if self.method else f"{self.test}: {self.solve}"


def run_tests(
    workspace: Workspace,
    *,
    permissions: Permissions | None = None,
    containing: str = "",
    backend: str | None = None,
    every: bool = False,
) -> Iterator[Run]:
    """Run the tests of the main file with names that contain a text, and report each run when it ends.

    With `backend`, only runs with that method. With `every`, all backends that prove results also run the problems that
    they support, even if a test does not name them; policies run only if they are named. Tests of imported files do
    not run. Raises KeyboardInterrupt if Ctrl-C stops a solve.
    """
    for block in workspace.main_blocks():
        if isinstance(block, tree.Test) and containing in block.name.text:
            yield from _run_test(workspace, block, permissions or Permissions(), backend, every)


def _run_test(
    workspace: Workspace, block: tree.Test, permissions: Permissions, backend: str | None, every: bool
) -> Iterator[Run]:
    found = Diagnostics()
    test = check_test(workspace, block, found, known_methods(workspace))
    if test is None:
        yield Run(block.name.text, "", "", Verdict.BROKEN, diagnostics=tuple(found))
        return
    for solve in test.solves:
        yield from _run_solve(workspace, test, solve, permissions, backend, every)


def _run_solve(
    workspace: Workspace,
    test: CheckedTest,
    solve: CheckedSolve,
    permissions: Permissions,
    backend: str | None,
    every: bool,
) -> Iterator[Run]:
    title = _title(solve)
    methods = solve.methods or (CheckedMethod(DEFAULT_METHOD, solve.span, {}),)
    named = {m.name for m in methods}
    if every:
        methods = (*methods, *_other_backends(methods))
    running = [m for m in methods if backend in (None, m.name)]
    if not running:
        return
    try:
        solvers = set(solver_names())
        whole = any(method.name in solvers for method in running)
        built = build(workspace, solve.scenario, permissions=permissions, aggregated=True, full=whole)
    except DiagnosticError as error:
        yield Run(test.name, title, "", Verdict.BROKEN, diagnostics=error.diagnostics)
        return
    for method in running:
        run, exact = _run_method(test.name, title, solve, method, workspace, built)
        reason = "" if method.name in named else _skip_reason(run, exact)
        yield replace(run, outcome=Verdict.SKIPPED, diagnostics=(), reason=reason) if reason else run


def _skip_reason(run: Run, exact: bool) -> str:
    """Return why a test without a backend does not apply to this one, empty if it does."""
    if run.outcome is Verdict.BROKEN and all(d.code in REFUSAL_CODES for d in run.diagnostics):
        return run.diagnostics[0].message
    if run.outcome is Verdict.FAILED and not exact:
        return f"`{run.method}` uses an approximation of a term that is less accurate than the test requires"
    return ""


def _other_backends(methods: tuple[CheckedMethod, ...]) -> Iterator[CheckedMethod]:
    """Return the backends that prove results and that a `solve` does not name, as its first method is limited."""
    first = methods[0]
    settings = {n: v for n, v in first.settings.items() if n in COMMON_SETTINGS}
    for name in backend_names():
        if name not in {m.name for m in methods} and name not in WITHOUT_PROOFS:
            yield CheckedMethod(name, first.span, settings)


def _run_method(
    test: str, title: str, solve: CheckedSolve, method: CheckedMethod, workspace: Workspace, shared: Built
) -> tuple[Run, bool]:
    """Return the run, and whether the problem was solved as stated (without an approximated term)."""
    began = time.perf_counter()
    exact = True
    try:
        built = with_own_columns(shared)
        values = stated_values("solve", method.settings, "test")
        judge = values.get("judge", DEFAULT_METHOD)
        chosen_method = choose_method(workspace, method.name, built.scenario.model, judge=judge, load=guard)
        solved, _ = chosen_method.solve(built, solve_options(values))
        solved.close()
        exact = solved.reformulated.bound_error == 0.0
        if solved.reason == "interrupt":
            raise KeyboardInterrupt
        result = Result(solved, built.provenance())
        diagnostics = tuple(f for e in solve.expects for f in _failures(e, result, f"{title} with {method.name}"))
        outcome = Verdict.FAILED if diagnostics else Verdict.PASSED
    except DiagnosticError as error:
        diagnostics = tuple(
            d if d.primary is not None else structs.replace(d, primary=method.span) for d in error.diagnostics
        )
        outcome = Verdict.BROKEN
    return Run(test, title, method.name, outcome, time.perf_counter() - began, diagnostics), exact


def _failures(expect: CheckedExpect, result: Result, title: str) -> Iterator[Diagnostic]:
    for failed in failed_assertions(expect, result):
        yield Diagnostic(
            "GSM6015", failed.message, failed.expr.span, "expected", notes=(*failed.notes, f"in `{title}`")
        )


def _title(solve: CheckedSolve) -> str:
    """`solve CP6 (node_rule = force)`."""
    settings = ", ".join(" ".join(s.span.text.split()) for s in solve.settings)
    return f"solve {solve.scenario.name}" + (f" ({settings})" if settings else "")
