"""The part of a `Model` that drives its scenarios over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusched_dsl.interface.scenarios import ModelScenarios, Setting
from gpusched_dsl.solving.option_values import check_given, check_values, plain_number

if TYPE_CHECKING:
    from gpusched_dsl.online.loops.base import SimulationLoop
    from gpusched_dsl.online.loops.external import LiveEventLoop
    from gpusched_dsl.online.run_config import RunConfig
    from gpusched_dsl.reporting.runs.comparison import RunComparison
    from gpusched_dsl.reporting.runs.result import RunResult
    from gpusched_dsl.workflows.estimate import Estimate
    from gpusched_dsl.workflows.why import DecisionExplanation


class ModelRuns(ModelScenarios):
    """Runs over time, and questions about them."""

    def run(
        self,
        scenario: str | None = None,
        online: str | None = None,
        method: str | Sequence[str] = "highs",
        *,
        seed: int = 0,
        time_limit: float | None = None,
        gap: float = 1e-4,
        threads: int | None = None,
        fallback: str | None = None,
        settings: Mapping[str, Setting] | None = None,
        journal: str | Path | None = None,
        replay: bool = False,
        bound: bool = False,
        verify: str = "sample",
        stop: Callable[[], bool] | None = None,
        tell: Callable[[SimulationLoop], None] | None = None,
    ) -> RunResult | RunComparison:
        """Run a scenario over time by an online block (the only one if None), with every plan by `method`.

        A `RunResult`: `.metrics`, `.jobs`, `.schedule`, `.steps`, `.costs`, `.bound`, `.save(path)`; of several methods
        a `RunComparison` with all of them. `time_limit` is in seconds for each plan, which `fallback` makes where the
        method finds none; `seed` is that of all draws. `journal` records the run in a file, and goes on with the one
        that it has; with `replay` its plans are made again and compared. With `bound`, runs in windows are bounded by
        the relaxation of the whole horizon. `tell` is called with each plan. Ctrl-C, and `stop`, which is asked before
        each event and while plans are made, end the run without the plan at hand, resumable from its journal.
        With `verify` at "sample" some plans of policies are checked against the model, and a fast replay at some
        times; with "full" all plans are, and the replay is driven event by event too; with "none" nothing is.
        Values that have been `set` hold. Raises DiagnosticError as `solve` does, and for online blocks and journals;
        ValueError for a journal with several methods, or with values that were `set`, which it could not tell apart.
        """
        from gpusched_dsl.workflows.run import run_method, run_methods

        if not isinstance(method, str):
            check_values({"methods": method})
        if self._values.names and journal is not None:
            listed = ", ".join(f"`{name}`" for name in self._values.names)
            raise ValueError(f"a journal knows the files of a run, and {listed} was set: state it in the scenario")
        check_given(stop=stop, tell=tell)
        config = self._run_config(
            scenario, settings, online=online, method=method if isinstance(method, str) else "highs", seed=seed,
            time_limit=time_limit, gap=gap, threads=threads, fallback=fallback, journal=journal, replay=replay,
            bound=bound, verify=verify,
        )  # fmt: skip
        if isinstance(method, str):
            return run_method(self._workspace, config, stop=stop, tell=tell, warnings=self._warnings)
        methods = list(dict.fromkeys(method))
        return run_methods(self._workspace, methods, config, stop=stop, tell=tell, warnings=self._warnings)

    def estimate(
        self,
        job: str | int,
        scenario: str | None = None,
        *,
        method: str = "highs",
        online: str | None = None,
        at: float | None = None,
        samples: int = 100,
        seed: int = 0,
        time_limit: float | None = None,
        fallback: str | None = None,
        settings: Mapping[str, Setting] | None = None,
    ) -> Estimate:
        """When a job would start and end in a run, its share of the cost, and how likely it is late.

        The run goes to the time `at`, in the unit of its clock (None: when the job is submitted), and from there
        `samples` times to the end of the job, with what nobody can know by then drawn anew: `.quantile("end", 0.9)`,
        `.late`, `.to_dict()`. Raises DiagnosticError: GSM6021 for an unknown job, GSM6022 where nothing can be told.
        """
        from gpusched_dsl.workflows.estimate import estimate

        check_given(at=at, samples=samples)
        config = self._run_config(
            scenario, settings, method=method, online=online, seed=seed, time_limit=time_limit, fallback=fallback
        )
        return estimate(self._workspace, job, config, at=plain_number(at), samples=plain_number(samples))

    def why(
        self,
        job: str | int,
        at: float,
        scenario: str | None = None,
        *,
        method: str = "highs",
        online: str | None = None,
        seed: int = 0,
        time_limit: float | None = None,
        fallback: str | None = None,
        settings: Mapping[str, Setting] | None = None,
        journal: str | Path | None = None,
        judge: str = "highs",
    ) -> DecisionExplanation:
        """Explain why a job runs on its node, or waits, in the plan that is current at a time of a run.

        `.lines()` tells it in words, `.to_dict()` as plain data. `journal` gives the plans that it has, the others are
        made again. Raises DiagnosticError as `estimate` does.
        """
        from gpusched_dsl.workflows.why import why

        check_values({"at": at})
        check_given(judge=judge)
        config = self._run_config(
            scenario, settings, method=method, online=online, seed=seed, time_limit=time_limit, fallback=fallback,
            journal=journal,
        )  # fmt: skip
        return why(self._workspace, job, plain_number(at), config, judge=judge)

    def live(
        self,
        scenario: str | None = None,
        online: str | None = None,
        method: str = "highs",
        *,
        seed: int = 0,
        time_limit: float | None = None,
        fallback: str | None = None,
        settings: Mapping[str, Setting] | None = None,
    ) -> LiveEventLoop:
        """A loop that events drive: `loop.on_event({"kind": "arrival", "time": 1.5, "job": "j7", "values": {...}})`.

        Events are those of `gsdsl run --live` (docs/live.md), as dictionaries; each call gives what was decided. Values
        that have been `set` hold. `time_limit` is in seconds for each plan. Raises DiagnosticError as `run` does.
        """
        from gpusched_dsl.online.loops.external import LiveEventLoop
        from gpusched_dsl.online.open import open_run

        config = self._run_config(
            scenario, settings, online=online, method=method, seed=seed, time_limit=time_limit, fallback=fallback
        )
        loop = open_run(self._workspace, config, external=True)
        assert isinstance(loop, LiveEventLoop)
        return loop

    def _run_config(
        self,
        scenario: str | None,
        settings: Mapping[str, Setting] | None,
        journal: str | Path | None = None,
        **given: Any,
    ) -> RunConfig:
        """The options of a run, each checked (GSM4011), with the values that were set."""
        from gpusched_dsl.online.run_config import RunConfig

        check_given(scenario=scenario, settings=settings, journal=journal, **given)
        for name in {"seed", "time_limit", "gap", "threads"} & given.keys():
            given[name] = plain_number(given[name])
        selected = self._select(self._scenario(scenario, settings))
        return RunConfig(
            scenario=selected.scenario.name, settings=selected.settings, replaced=selected.replaced,
            journal=None if journal is None else Path(journal), permissions=self._permissions, **given,
        )  # fmt: skip
