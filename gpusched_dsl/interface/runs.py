"""The part of a `Model` that runs its scenarios over time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from gpusched_dsl.interface.scenarios import ModelScenarios, Setting
from gpusched_dsl.solving.option_checks import check_options, check_values, given_options

if TYPE_CHECKING:
    from gpusched_dsl.interface.live import LiveEventLoop
    from gpusched_dsl.online.loops.base import SimulationLoop
    from gpusched_dsl.online.run_config import RunConfig
    from gpusched_dsl.reporting.runs.comparison import RunComparison
    from gpusched_dsl.reporting.runs.result import RunResult
    from gpusched_dsl.reporting.runs.seeds import SeedComparison
    from gpusched_dsl.workflows.estimate import Estimate
    from gpusched_dsl.workflows.why import DecisionExplanation


class RunOptions(TypedDict, total=False):
    """The keyword arguments of `Model.run`, for type checkers."""

    seed: int
    time_limit: float | None
    gap: float
    threads: int | None
    controllers: int
    fallback: str | None
    settings: Mapping[str, Setting] | None
    journal: str | Path | None
    replay: bool
    bound: bool
    why_gap: bool
    verify: str
    solver_options: Mapping[str, bool | int | float | str] | None
    without: Collection[str]
    stop: Callable[[], bool] | None
    tell: Callable[[SimulationLoop], None] | None


class ModelRuns(ModelScenarios):
    """Runs over time, and questions about them."""

    @overload
    def run(  # type: ignore[overload-overlap]  # a str is a sequence of str too
        self,
        scenario: str | None = None,
        online: str | None = None,
        method: str = "highs",
        **options: Unpack[RunOptions],
    ) -> RunResult: ...

    @overload
    def run(
        self,
        scenario: str | None = None,
        online: str | None = None,
        *,
        method: Sequence[str],
        **options: Unpack[RunOptions],
    ) -> RunComparison: ...

    @overload
    def run(
        self, scenario: str | None, online: str | None, method: Sequence[str], **options: Unpack[RunOptions]
    ) -> RunComparison: ...

    @overload
    def run(
        self,
        scenario: str | None = None,
        online: str | None = None,
        method: str | Sequence[str] = "highs",
        *,
        seeds: Sequence[int],
        **options: Unpack[RunOptions],
    ) -> SeedComparison: ...

    def run(
        self,
        scenario: str | None = None,
        online: str | None = None,
        method: str | Sequence[str] = "highs",
        *,
        seed: int = 0,
        seeds: Sequence[int] | None = None,
        time_limit: float | None = None,
        gap: float = 1e-4,
        threads: int | None = None,
        controllers: int = 1,
        fallback: str | None = None,
        settings: Mapping[str, Setting] | None = None,
        journal: str | Path | None = None,
        replay: bool = False,
        bound: bool = False,
        why_gap: bool = False,
        verify: str = "rows",
        solver_options: Mapping[str, bool | int | float | str] | None = None,
        without: Collection[str] = (),
        stop: Callable[[], bool] | None = None,
        tell: Callable[[SimulationLoop], None] | None = None,
    ) -> RunResult | RunComparison | SeedComparison:
        """Run a scenario over time by an online block (the only one if None), with every plan by `method`.

        Returns a `RunResult`: `.metrics`, `.jobs`, `.schedule`, `.steps`, `.costs`, `.bound`, `.save(path)`; for
        several methods a `RunComparison`; with `seeds` a `SeedComparison` of one run per method and seed, with means,
        and differences with intervals (`.paired`). `time_limit` is in seconds per plan; `fallback` plans if the
        method finds no plan in time; `seed` is the seed of all random draws. `journal` records the run in a file, or
        continues the run in that file; with `replay` its plans are computed again and compared. `bound` adds a bound
        by a linear relaxation: of the complete horizon of windows, or over time with the capacity of the cluster.
        `why_gap` divides the gap into myopia, forecast error and heuristic loss (`.gap_parts`), by two more runs.
        `without` names passes to skip. Each of several `controllers` plans for its own jobs and nodes.
        `tell` is called with each plan. Ctrl-C and `stop` (called before each event
        and during planning) end the run without the current plan; its journal can resume it.

        With `verify` "rows", all plans are verified against the rows that no role of the placement implies, with
        "sample" some plans; a fast replay at some times. With "full" all rows of all plans are verified, and the
        replay is also simulated by events; with "none" nothing is verified.
        Values from `set` apply. Raises DiagnosticError as `solve` does, and for online blocks and journals: GSM6002 for
        a journal with several methods or seeds, and `replay` without one; ValueError for a journal with values from
        `set`, which it could not distinguish.
        """
        given = locals()
        from gpusched_dsl.workflows.run import run_method, run_methods, run_seeds

        if not isinstance(method, str):
            check_values("compare", {"methods": method})
            given["method"] = "highs"
        if self._values.names and journal is not None:
            names = ", ".join(f"`{name}`" for name in self._values.names)
            raise ValueError(f"a journal knows the files of a run, and {names} was set: state it in the scenario")
        values = check_values("run", given)
        several = set() if isinstance(method, str) else {"methods"}
        check_options("run", given_options("run", values) | several)
        config = self._run_config(values)
        methods = [method] if isinstance(method, str) else list(dict.fromkeys(method))
        config = config.allowing(*methods)
        if seeds is not None:
            return run_seeds(
                self._workspace, methods, config, values["seeds"], stop=stop, tell=tell, warnings=self._warnings
            )
        if isinstance(method, str):
            return run_method(self._workspace, config, stop=stop, tell=tell, warnings=self._warnings)
        return run_methods(self._workspace, methods, config, stop=stop, tell=tell, warnings=self._warnings)

    def estimate(
        self,
        job: str | int,
        scenario: str | None = None,
        *,
        method: str = "highs",
        online: str | None = None,
        at: float | str | None = None,
        samples: int = 100,
        alternatives: bool = False,
        changes: Sequence[Mapping[str, Any]] = (),
        seed: int = 0,
        time_limit: float | None = None,
        gap: float = 1e-4,
        threads: int | None = None,
        solver_options: Mapping[str, bool | int | float | str] | None = None,
        without: Collection[str] = (),
        fallback: str | None = None,
        settings: Mapping[str, Setting] | None = None,
    ) -> Estimate:
        """Estimate the start and end of a job in a run, its share of the cost, and the probability that it is late.

        The run is simulated up to the time `at`, in the unit of its clock or as a text with a unit such as "11.7h"
        (None: the submission of the job), and from there `samples` times to the end of the job, with unknown
        quantities drawn again: `.quantile("end", 0.9)`, `.late`, `.to_dict()`. With `alternatives`, and for a waiting
        job, `.alternatives` are the changes that would start it earlier; `changes` adds values of its parameters, such
        as [{"needs": 2, "exec_time": 5}]. Raises DiagnosticError: GSM6021 for an unknown job, GSM6022 if the job is not
        in any plan at that time, GSM5207 for values that the job cannot have.
        """
        values = check_values("estimate", locals())
        from gpusched_dsl.workflows.estimate import estimate

        wanted = list(changes) if alternatives or changes else None
        return estimate(
            self._workspace, job, self._run_config(values), at=values["at"], samples=values["samples"], changes=wanted
        )

    def why(
        self,
        job: str | int,
        at: float | str,
        scenario: str | None = None,
        *,
        method: str = "highs",
        online: str | None = None,
        seed: int = 0,
        time_limit: float | None = None,
        gap: float = 1e-4,
        threads: int | None = None,
        solver_options: Mapping[str, bool | int | float | str] | None = None,
        without: Collection[str] = (),
        fallback: str | None = None,
        settings: Mapping[str, Setting] | None = None,
        journal: str | Path | None = None,
        judge: str = "highs",
    ) -> DecisionExplanation:
        """Explain why a job runs on its node, or waits, in the plan that is current at a time of a run.

        `.lines()` returns text, `.to_dict()` plain data. Recorded plans come from `journal`, all others are computed
        again. Raises DiagnosticError as `estimate` does.
        """
        values = check_values("why", locals())
        from gpusched_dsl.workflows.why import why

        return why(self._workspace, job, values["at"], self._run_config(values), solver=judge)

    def live(
        self,
        scenario: str | None = None,
        online: str | None = None,
        method: str = "highs",
        *,
        seed: int = 0,
        time_limit: float | None = None,
        gap: float = 1e-4,
        threads: int | None = None,
        solver_options: Mapping[str, bool | int | float | str] | None = None,
        without: Collection[str] = (),
        fallback: str | None = None,
        settings: Mapping[str, Setting] | None = None,
    ) -> LiveEventLoop:
        """Return a loop driven by events: `loop.on_event({"kind": "arrival", "time": 1.5, "job": "j7", "values":
        {...}})`.

        Events are those of `gsdsl run --live` (docs/live.md), as dictionaries; each call returns the decisions. Values
        from `set` apply. `time_limit` is in seconds per plan. Raises DiagnosticError as `run` does.
        """
        config = self._run_config(check_values("live", locals()))
        from gpusched_dsl.interface.live import LiveEventLoop
        from gpusched_dsl.online.loops.external_slots import AnyExternalLoop
        from gpusched_dsl.online.open import open_run

        loop = open_run(self._workspace, config, external=True)
        assert isinstance(loop, AnyExternalLoop)
        return LiveEventLoop(loop)

    def _run_config(self, values: Mapping[str, Any]) -> RunConfig:
        """Return the configuration with checked values of options, and the values from `set`."""
        from gpusched_dsl.online.open import run_scenario
        from gpusched_dsl.online.run_config import RunConfig

        name = run_scenario(self._workspace, values["scenario"], values["online"], data_later=True)
        selected = self._select(self._scenario(name, values["settings"]))
        config = RunConfig.of(
            values, scenario=selected.scenario.name, settings=selected.settings, replaced=selected.replaced,
            permissions=self._permissions,
        )  # fmt: skip
        return config.allowing(config.method, config.fallback)
