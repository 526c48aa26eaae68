"""Runs a scenario over time with several methods and several seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.reporting.runs.comparison import RunComparison
from gpusched_dsl.reporting.runs.seeds import SeedComparison
from gpusched_dsl.workflows.run import Stop, Tell, run_methods


def run_seeds(
    workspace: Workspace,
    methods: Sequence[str],
    config: RunConfig,
    seeds: Sequence[int],
    *,
    stop: Stop | None = None,
    tell: Tell | None = None,
    warnings: Sequence[Diagnostic] = (),
    begin: Callable[[str], None] | None = None,
) -> SeedComparison:
    """Run every method once for each seed; at one seed, the random quantities are equal for all methods.

    Ctrl-C and `stop` keep the comparisons so far. Raises as `run_methods` does, KeyboardInterrupt before the first run.
    """
    found: list[tuple[int, RunComparison]] = []
    for seed in seeds:

        def begin_run(method: str, seed: int = seed) -> None:
            if begin is not None:
                begin(f"{method}, seed {seed}")

        try:
            comparison = run_methods(
                workspace,
                methods,
                replace(config, seed=seed),
                stop=stop,
                tell=tell,
                warnings=warnings,
                begin=begin_run,
            )
        except KeyboardInterrupt:
            if not found:
                raise
            return SeedComparison(tuple(found), interrupted=True)
        found.append((seed, comparison))
        if comparison.interrupted or any(result.ended == "interrupt" for result in comparison.results):
            return SeedComparison(tuple(found), interrupted=True)
    return SeedComparison(tuple(found))
