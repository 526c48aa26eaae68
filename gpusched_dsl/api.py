"""The Python interface: load a text, solve its scenarios, change values and solve again."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from gpusched_dsl.compiling.build import (
    DEFAULT_MEMORY,
    Built,
    Permissions,
    build,
    check_solvable,
    choose_scenario,
    with_counts,
    with_problem,
)
from gpusched_dsl.compiling.passes.names import folds
from gpusched_dsl.ir.deadline import Deadline, StoppedEarly, limit
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import CheckedScenario
from gpusched_dsl.language.workspace import Workspace, load_workspace, workspace_from_text
from gpusched_dsl.policies.library import policy_named
from gpusched_dsl.solving.methods import means_policy, method_named

if TYPE_CHECKING:
    from gpusched_dsl.backends.protocol import Backend, Monitor, SolveOptions
    from gpusched_dsl.compiling.data.instance import Instance
    from gpusched_dsl.compiling.provenance import Provenance
    from gpusched_dsl.data.chunks import DataChunk
    from gpusched_dsl.explaining.explanation import Explanation
    from gpusched_dsl.ir.problem import Problem
    from gpusched_dsl.language.checked import CheckedModel
    from gpusched_dsl.online.loops.base import SimulationLoop
    from gpusched_dsl.online.loops.external import LiveEventLoop
    from gpusched_dsl.online.run_config import RunConfig
    from gpusched_dsl.policies.catalogue import ListedPolicy
    from gpusched_dsl.reporting.comparison import Comparison
    from gpusched_dsl.reporting.result import Result
    from gpusched_dsl.reporting.runs.comparison import RunComparison
    from gpusched_dsl.reporting.runs.result import RunResult
    from gpusched_dsl.solving.aggregated import Entries
    from gpusched_dsl.solving.solution import Solution
    from gpusched_dsl.workflows.estimate import Estimate
    from gpusched_dsl.workflows.why import DecisionExplanation

Setting: TypeAlias = str | int | float
ScenarioKey: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]
Checked: TypeAlias = tuple[CheckedScenario, tuple[Diagnostic, ...]]
WarmStart: TypeAlias = Any  # a Result, the path of a JSON result, the name of a policy, {"run": {("j1", "n1"): 1}}


def load(path: str | Path, *, allow_outside: bool = False, memory: int = DEFAULT_MEMORY) -> Model:
    """Read a `.gsm` file and all that it imports.

    Imports and data must lie in its folder unless `allow_outside`; `memory` is the most bytes that building a problem
    may take. Raises DiagnosticError with every syntax error.
    """
    began = time.perf_counter()
    _check_all(path=path, memory=memory)
    found = Diagnostics()
    workspace = load_workspace(Path(path), found, allow_outside=allow_outside)
    found.raise_if_errors()
    return Model(workspace, Permissions(memory, allow_outside), tuple(found), time.perf_counter() - began)


def loads(
    text: str,
    name: str = "<text>",
    *,
    base: str | Path | None = None,
    allow_outside: bool = False,
    memory: int = DEFAULT_MEMORY,
) -> Model:
    """Read a text; its imports and data are relative to the folder `base`. Raises DiagnosticError as `load` does."""
    began = time.perf_counter()
    _check_all(memory=memory)
    found = Diagnostics()
    folder = None if base is None else Path(base)
    workspace = workspace_from_text(text, name, found, folder, allow_outside=allow_outside)
    found.raise_if_errors()
    return Model(workspace, Permissions(memory, allow_outside), tuple(found), time.perf_counter() - began)


def compile(
    text: str,
    scenario: str | None = None,
    *,
    settings: Mapping[str, Setting] | None = None,
    base: str | Path | None = None,
    allow_outside: bool = False,
    memory: int = DEFAULT_MEMORY,
) -> Problem:
    """The problem that a text and one of its scenarios (the only one if None) state: arrays with the author's names.

    Raises DiagnosticError with everything wrong in text and data.
    """
    return loads(text, base=base, allow_outside=allow_outside, memory=memory).ground(scenario, settings=settings)


@dataclass(frozen=True, slots=True)
class _Planner:
    """The policy of the last solve, with the solver that completes its plans and whether that proves a bound."""

    policy: CheckedPolicy
    judge: str
    bound: bool


class Model:
    """A text with its scenarios, ready to be solved.

    `solve` checks, builds and solves a scenario; `set` gives sets and parameters other values, which hold for all that
    follows; `resolve` solves the last scenario again with them, without reading and checking the text anew. `run`
    drives a scenario over time.
    """

    def __init__(
        self,
        workspace: Workspace,
        permissions: Permissions | None = None,
        warnings: tuple[Diagnostic, ...] = (),
        parse_seconds: float = 0.0,
    ) -> None:
        self._workspace = workspace
        self._permissions = permissions or Permissions()
        self._warnings = warnings
        self._parse_seconds = parse_seconds
        self._values: dict[str, Any] = {}
        self._pieces: dict[str, tuple[CheckedModel, list[DataChunk]]] = {}  # the values as read for a model
        self._checked: dict[ScenarioKey, Checked] = {}
        self._instance: Instance | None = None  # of the last solve or re-solve
        self._last: tuple[str, dict[str, str]] | None = None
        self._solved: Solution | None = None
        self._planner: _Planner | None = None  # where the last solve was by a policy

    # --- what there is -----------------------------------------------------------------------------------------------

    @property
    def models(self) -> tuple[str, ...]:
        """The names of all models, those of imports too."""
        return tuple(self._workspace.models)

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The names of all scenarios, those of imports too."""
        return tuple(self._workspace.scenarios)

    def policies(self, model: str | None = None) -> list[ListedPolicy]:
        """The policies of the text, and those of the standard library for its models (or for one of them).

        `policy` of each has name, model, doc, lines and numbers. Raises DiagnosticError (GSM6018) for an unknown model.
        """
        from gpusched_dsl.policies.catalogue import listed_policies

        return listed_policies(self._workspace, model)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What was found when reading that is no error."""
        return self._warnings

    def check(self, *, strict: bool = True) -> tuple[Diagnostic, ...]:
        """Everything that can be wrong in the text and the data of its scenarios, found without a solver.

        These are the findings of `gsdsl check`: names, types and units of all blocks, with scenarios or without, then
        the data of each scenario that is complete. Returns the warnings; raises DiagnosticError if there is an error,
        unless `strict` is False: then errors are in the tuple. Values that have been `set` take no part.
        """
        from gpusched_dsl.workflows.check import check_all

        found = Diagnostics()
        found.extend(self._warnings)
        check_all(self._workspace, found, self._permissions)
        if strict:
            found.raise_if_errors()
        return tuple(found)

    def __repr__(self) -> str:
        main = self._workspace.main
        return f"<Model {main.source.name if main else ''}: scenarios {', '.join(self.scenarios) or 'none'}>"

    # --- problems ----------------------------------------------------------------------------------------------------

    def ground(self, scenario: str | None = None, *, settings: Mapping[str, Setting] | None = None) -> Problem:
        """The problem of a scenario (the only one if None), with the values that were set.

        `settings` are options and parameters without indices, written as in a scenario: `{"period": "30[min]",
        "node_rule": "force"}`. Raises DiagnosticError with everything wrong.
        """
        return self._build(choose_scenario(self._workspace, scenario), _texts(settings)).problem

    def solve(
        self,
        scenario: str | None = None,
        backend: str = "highs",
        *,
        gap: float = 1e-4,
        time_limit: float | None = None,
        threads: int | None = None,
        seed: int = 0,
        settings: Mapping[str, Setting] | None = None,
        solver_options: Mapping[str, bool | int | float | str] | None = None,
        warm_start: WarmStart = None,
        monitor: Monitor | None = None,
        heuristic: str = "auto",
        without: Collection[str] = (),
        decompose: str = "auto",
        bound: bool = False,
        judge: str = "highs",
    ) -> Result:
        """Build and solve a scenario (the only one if None) by a solver or a policy.

        `gap` is relative, `time_limit` in seconds, `settings` as in `ground`, `solver_options` go to the solver under
        its own names. `warm_start` is a `Result`, the path of a JSON result, or values by variable:
        `{"run": {("j1", "n1"): 1}}`, a scalar or a table; or the name of a policy, which makes a plan to start from.
        `monitor` receives progress and may stop what works. The time limit counts from the call and covers reading,
        building and solving; what it, the monitor or Ctrl-C ends has the best point that there is by then.
        `heuristic` is `auto`, `on` or `off`: a search for a good start before the solver's own.
        `without` names tightening passes to leave out, `("all",)` every one; `decompose` is `auto`, `on` or `off`.
        `judge` is the solver that completes and checks the plan of a policy; with `bound` it also proves a bound for it
        (within `time_limit`, or 60 seconds). A warm start is then the plan before, for policies that `keep running`.
        An infeasible or unbounded problem is a result, not an error, and so is a plan that breaks the model. Raises
        DiagnosticError with everything wrong in text, data, options and with what the solver claims; ValueError for
        `bound` with a solver, which proves one by itself.
        """
        clock = Deadline()
        from gpusched_dsl.backends.protocol import SolveOptions
        from gpusched_dsl.reporting.result import Result
        from gpusched_dsl.solving.option_values import plain_options

        _check(
            scenario=scenario, backend=backend, settings=settings, solver_options=solver_options, monitor=monitor,
            bound=bound, judge=judge,
        )  # fmt: skip
        name, texts = choose_scenario(self._workspace, scenario), _texts(settings)
        method = method_named(self._workspace, backend, self._scenario(name, texts)[0].model)
        planner = None if isinstance(method, str) else _Planner(method, judge, bound)
        if bound and planner is None:
            raise ValueError(f"`bound` goes with a policy: `{backend}` proves a bound by itself")
        options = SolveOptions(
            time_limit,
            gap,
            threads,
            seed,
            dict(solver_options or {}),
            heuristic=heuristic,
            without=_names(without),
            decompose=decompose,
        )
        options = plain_options(options)
        solved, origins = self._solve((name, texts), options, planner, backend, warm_start, monitor, clock)
        self.close()
        self._last, self._solved, self._planner = (name, texts), solved, planner
        return Result(solved, origins)

    def explain(
        self,
        scenario: str | None = None,
        backend: str = "highs",
        *,
        time_limit: float | None = 60.0,
        settings: Mapping[str, Setting] | None = None,
        monitor: Monitor | None = None,
        why: bool = True,
        without: Collection[str] = (),
    ) -> Explanation:
        """Sizes, class and reformulations of a scenario; with `why` also why it has no solution, or no end.

        For that it is solved for feasibility within `time_limit` seconds (None: no limit). `without` as in `solve`.
        Raises DiagnosticError with everything wrong in text and data.
        """
        from gpusched_dsl.explaining.explain import explain

        _check(scenario=scenario, backend=backend, time_limit=time_limit, settings=settings, monitor=monitor)
        fold = folds(_names(without))
        built = self._build(choose_scenario(self._workspace, scenario), _texts(settings), fold=fold)
        return explain(
            built.problem,
            backend,
            origins=built.origins(self._parse_seconds),
            time_limit=time_limit,
            monitor=monitor,
            why=why,
            without=_names(without),
            aggregation=built.aggregation,
        )

    def set(self, name: str, value: Any) -> None:
        """Give a set or parameter another value, for every solve from now on.

        A parameter takes a number in its declared unit (for every key if it has indices), a dictionary `{"j1": 3.0}` or
        `{("j1", "v1", 2): 0.5}`, or a polars or pandas table with a column per index and one of values; a set takes the
        list of its elements, or a table with a column per component. The value is read now: changing a dictionary later
        has no effect. All keys are given anew; those left out take the default or are reported.
        Raises DiagnosticError (GSM6012) when no model has a parameter or set of this name or the value has no readable
        form. Keys and values are checked with the other data by the next `resolve`, `solve` or `ground`.
        """
        from gpusched_dsl.data.sources.python_values import pieces_of

        first: DiagnosticError | None = None
        for scenario, settings in self._scenarios_for_set():
            try:
                model = self._scenario(scenario, settings)[0].model
                self._pieces[name] = (model, pieces_of(model, name, value))
                self._values[name] = value
                return
            except DiagnosticError as error:
                first = first or error
        assert first is not None
        raise first

    def reset(self, *names: str) -> None:
        """Take back what was set, for these names or for all."""
        for name in names or tuple(self._values):
            self._values.pop(name, None)
            self._pieces.pop(name, None)

    def resolve(
        self,
        *,
        gap: float | None = None,
        time_limit: float | None = None,
        warm_start: WarmStart = None,
        monitor: Monitor | None = None,
    ) -> Result:
        """Solve the last scenario again with the values that have been set, from its last solution.

        Text is not checked, data files are not read again, sets and parameters whose inputs did not change are taken
        over. Numbers are changed in the loaded problem; where elements came or went, its basis is carried over (HiGHS);
        else it is built anew and `rebuilt` of the result says why. Options are those of the last solve but for the ones
        given. After a policy, it plans anew; what runs is kept only where `warm_start` tells it.
        Raises DiagnosticError: GSM6010 when nothing has been solved yet, else as `solve` does.
        """
        clock = Deadline()
        from gpusched_dsl.reporting.result import Result
        from gpusched_dsl.solving.option_values import plain_options

        _check(monitor=monitor)
        if self._last is None or self._solved is None:
            message = "there is nothing to solve again: nothing has been solved yet"
            raise DiagnosticError([Diagnostic("GSM6010", message, help="call `solve` first")])
        before = self._solved
        options: SolveOptions = before.options
        options = replace(
            options,
            gap=options.gap if gap is None else gap,
            time_limit=options.time_limit if time_limit is None else time_limit,
        )
        options = plain_options(options)
        planner = self._planner
        self._solved, origins = self._solve(
            self._last, options, planner, before.backend, warm_start, monitor, clock, None if planner else before,
            again=True,
        )  # fmt: skip
        return Result(self._solved, origins, None if planner else _why_rebuilt(self._solved))

    def compare(
        self,
        methods: Sequence[str],
        scenario: str | None = None,
        *,
        gap: float = 1e-4,
        time_limit: float | None = None,
        threads: int | None = None,
        seeds: Sequence[int] = (0,),
        settings: Mapping[str, Setting] | None = None,
        judge: str = "highs",
        bound: bool = False,
        monitor: Monitor | None = None,
    ) -> Comparison:
        """A scenario (the only one if None) by several solvers and policies: `.table`, `.best`, `.to_dict()`.

        Policies that draw run once for each of `seeds`. With `bound`, the judge proves one where no solver is among the
        methods. The time limit is that of each method, and covers reading and building. Ctrl-C keeps the rows that are
        there; before the first it raises KeyboardInterrupt. Raises DiagnosticError as `solve` does for text, data and
        names;
        what a single method is refused for stands in its row.
        """
        from gpusched_dsl.backends.protocol import SolveOptions
        from gpusched_dsl.solving.option_values import plain_number, plain_options
        from gpusched_dsl.solving.solve import deadline_of
        from gpusched_dsl.workflows.compare import compare

        _check(scenario=scenario, settings=settings, judge=judge, bound=bound, monitor=monitor)
        _check_all(methods=methods)
        for seed in seeds:
            _check(seed=seed)
        clock = Deadline()
        options = plain_options(SolveOptions(time_limit, gap, threads))
        name, texts = choose_scenario(self._workspace, scenario), _texts(settings)
        model = self._scenario(name, texts)[0].model
        found = [method_named(self._workspace, method, model) for method in dict.fromkeys(methods)]
        try:
            with deadline_of(None, monitor):
                built = self._build(name, texts, whole=False)
                with limit(clock.rest_of(options.time_limit)):
                    built = with_counts(built, fold=True)
        except StoppedEarly:
            raise KeyboardInterrupt from None  # no method has run
        return compare(
            built,
            found,
            options=options,
            spent=clock.seconds,
            seeds=tuple(map(plain_number, seeds)),
            judge=judge,
            bound=bound,
            seconds_before=self._parse_seconds,
            monitor=monitor,
        )

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
        """Drive a scenario over time as an online block says (the only ones if None), every plan by `method`.

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
            _check_all(methods=method)
        if self._values and journal is not None:
            listed = ", ".join(f"`{name}`" for name in self._values)
            raise ValueError(f"a journal knows the files of a run, and {listed} was set: state it in the scenario")
        _check(stop=stop, tell=tell)
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
        from gpusched_dsl.solving.option_values import plain_number
        from gpusched_dsl.workflows.estimate import estimate

        _check(at=at, samples=samples)
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
        """Why a job runs where it does, or waits, by the plan that holds at a time of a run.

        `.lines()` tells it in words, `.to_dict()` as plain data. `journal` gives the plans that it has, the others are
        made again. Raises DiagnosticError as `estimate` does.
        """
        from gpusched_dsl.solving.option_values import check_values, plain_number
        from gpusched_dsl.workflows.why import why

        check_values({"at": at})
        _check(judge=judge)
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

    def close(self) -> None:
        """Free the solver that is kept for `resolve`; a later `resolve` loads the problem anew."""
        if self._solved is not None:
            self._solved.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- inside ------------------------------------------------------------------------------------------------------

    def _run_config(
        self,
        scenario: str | None,
        settings: Mapping[str, Setting] | None,
        journal: str | Path | None = None,
        **given: Any,
    ) -> RunConfig:
        """The options of a run, each checked (GSM4011), with the values that were set."""
        from gpusched_dsl.online.run_config import RunConfig
        from gpusched_dsl.solving.option_values import plain_number

        _check(scenario=scenario, settings=settings, journal=journal, **given)
        for name in {"seed", "time_limit", "gap", "threads"} & given.keys():
            given[name] = plain_number(given[name])
        name, texts = choose_scenario(self._workspace, scenario), _texts(settings)
        return RunConfig(
            scenario=name, settings=texts, journal=None if journal is None else Path(journal),
            replaced=self._replaced(name, texts), permissions=self._permissions, **given,
        )  # fmt: skip

    def _scenario(self, name: str, settings: Mapping[str, str]) -> Checked:
        key = (name, tuple(settings.items()))
        if key not in self._checked:
            self._checked[key] = check_solvable(self._workspace, name, settings)
        return self._checked[key]

    def _scenarios_for_set(self) -> list[tuple[str, dict[str, str]]]:
        """The scenarios whose models say what can be set: the last one solved, else any."""
        if self._last is not None:
            return [self._last]
        return [(name, {}) for name in self.scenarios or (choose_scenario(self._workspace),)]

    def _solve(
        self,
        wanted: tuple[str, dict[str, str]],
        options: SolveOptions,
        planner: _Planner | None,
        backend: Backend | str,
        warm_start: WarmStart,
        monitor: Monitor | None,
        clock: Deadline,
        before: Solution | None = None,
        *,
        again: bool = False,
    ) -> tuple[Solution, Provenance]:
        """Build and solve within the time limit, `again` from the last instance, in the session of `before` if any.

        `clock` began with the call.
        """
        from gpusched_dsl.compiling.provenance import Provenance
        from gpusched_dsl.solving.aggregated import solve_built
        from gpusched_dsl.solving.solve import deadline_of
        from gpusched_dsl.workflows.early_stop import stopped_solve, with_plan

        began = time.perf_counter()
        parsing = 0.0 if again else self._parse_seconds
        built: Built | None = None
        plan: Solution | None = None
        first: tuple[Diagnostic, ...] = ()
        fold = folds(options.without)
        # A policy always makes its first plan: no limit ends what it needs for that.
        with deadline_of(None if planner else clock.rest_of(options.time_limit), monitor):
            try:
                built = self._build(*wanted, self._instance if again else None, whole=False)
                self._instance = built.instance
                judge = "highs" if planner is None else planner.judge
                start, plan, first = self._start(built, warm_start, options, judge, monitor)
                if not again:
                    self.close()  # two solvers need the memory of two
                if planner is not None:
                    with limit(clock.rest_of(options.time_limit)):
                        built = with_counts(built, fold=fold)
                        solved, told = _plan(built, planner, options, start, monitor)
                else:
                    built = with_problem(built, fold=fold)
                    solved, told = solve_built(built, backend, options, start, monitor, before)
                    solved = with_plan(solved, plan)
            except StoppedEarly as stopped:
                scenario, told = self._scenario(*wanted)
                policy = None if planner is None else planner.policy
                solver = backend if planner is None else planner.judge
                solved = stopped_solve(scenario.model, policy, solver, options, stopped, plan)
                if built is None:
                    seconds = parsing + time.perf_counter() - began
                    return solved, Provenance(
                        model=scenario.model, scenario=scenario.name, build_seconds=seconds,
                        warnings=(*self._warnings, *told), settings=dict(wanted[1]),
                    )  # fmt: skip
                built, told = replace(built, seconds=clock.seconds), ()
        return solved, _with_warnings(built, (*first, *told), parsing)

    def _start(
        self, built: Built, given: WarmStart, options: SolveOptions, judge: str, monitor: Monitor | None
    ) -> tuple[Entries | None, Solution | None, tuple[Diagnostic, ...]]:
        """The values to start from, by name; the plan of a policy that they are, if it is one; and warnings."""
        if not isinstance(given, str) or not means_policy(self._workspace, given):
            return _entries(given), None, ()
        from gpusched_dsl.workflows.solve_by_policy import start_by_policy

        policy = policy_named(self._workspace, given, built.scenario.model)
        return start_by_policy(built, policy, judge, replace(options, extra={}), monitor)

    def _build(
        self,
        name: str,
        settings: dict[str, str],
        earlier: Instance | None = None,
        *,
        fold: bool = False,
        whole: bool = True,
    ) -> Built:
        began = time.perf_counter()
        scenario, warnings = self._scenario(name, settings)
        replaced = self._replaced(name, settings)
        before = time.perf_counter() - began
        built = build(
            self._workspace,
            scenario,
            warnings=(*self._warnings, *warnings),
            permissions=self._permissions,
            replaced=replaced,
            settings=settings,
            reader=None if earlier is None else earlier.reader,
            fold=fold,
            earlier=earlier,
            whole=whole,
        )
        return replace(built, seconds=built.seconds + before)

    def _replaced(self, name: str, settings: Mapping[str, str]) -> dict[str, list[DataChunk]]:
        """The values that were set, as read for the model of a scenario."""
        model = self._scenario(name, settings)[0].model
        return {value: self._pieces_for(model, value) for value in self._values}

    def _pieces_for(self, model: CheckedModel, name: str) -> list[DataChunk]:
        """A value that was set, as it was read for this model: the same objects until it is set again."""
        from gpusched_dsl.data.sources.python_values import pieces_of

        known = self._pieces.get(name)
        if known is None or known[0] is not model:
            known = self._pieces[name] = (model, pieces_of(model, name, self._values[name]))
        return known[1]


def _check(**given: Any) -> None:
    """Raise DiagnosticError (GSM4011) for options of the wrong kind; None is taken where it stands for nothing."""
    from gpusched_dsl.solving.option_values import check_values

    needed = ("gap", "seed", "samples", "method", "backend", "judge", "bound", "replay", "verify")
    check_values(given, optional=tuple(name for name in given if name not in needed))


def _texts(settings: Mapping[str, Setting] | None) -> dict[str, str]:
    from gpusched_dsl.solving.option_values import plain_number

    return {name: v if isinstance(v, str) else repr(plain_number(v)) for name, v in (settings or {}).items()}


def _names(without: Collection[str]) -> frozenset[str]:
    """The names of passes; raises DiagnosticError (GSM4011) for a text, which would be a collection of letters."""
    _check_all(without=without)
    return frozenset(without)


def _check_all(**given: Any) -> None:
    """As `_check`, with None taken nowhere."""
    from gpusched_dsl.solving.option_values import check_values

    check_values(given)


def _plan(
    built: Built, planner: _Planner, options: SolveOptions, start: Entries | None, monitor: Monitor | None
) -> tuple[Solution, tuple[Diagnostic, ...]]:
    """The plan of a policy, with the bound of a solver if that is asked for."""
    from gpusched_dsl.workflows.solve_by_policy import solve_by_policy, with_bound

    solved, told = solve_by_policy(built, planner.policy, planner.judge, options, start, monitor)
    if planner.bound and not (monitor is not None and monitor.stop_requested):
        solved = with_bound(built, solved, planner.judge, options, monitor)
    return solved, told


def _entries(given: WarmStart) -> Entries | None:
    """The values to start from, by name."""
    from gpusched_dsl.reporting.result import Result
    from gpusched_dsl.solving.starts import entries_of_file, entries_of_mapping, entries_of_point

    if given is None:
        return None
    if isinstance(given, Result):
        return {} if given.solved.point is None else entries_of_point(given.problem, given.solved.point)
    return entries_of_file(Path(given)) if isinstance(given, str | Path) else entries_of_mapping(given)


def _with_warnings(built: Built, told: tuple[Diagnostic, ...], seconds_before: float) -> Provenance:
    origins = built.origins(seconds_before)
    return replace(origins, warnings=(*origins.warnings, *told))


def _why_rebuilt(solved: Solution) -> str | None:
    from gpusched_dsl.solving.solution import Loading

    reasons = {
        Loading.TOO_MUCH_CHANGED: "too much changed: most columns and rows are new",
        Loading.TERMS_CHANGED: "the structure changed: other nonlinear terms, or other columns beside them",
        Loading.BACKEND_CANNOT_UPDATE: f"the backend `{solved.backend.name}` cannot change a loaded problem",
        Loading.SEVERAL_OBJECTIVES: "several objectives are solved one after the other, each from anew",
        Loading.NO_SESSION: "there was no loaded problem: it needed no solver, was solved by blocks, or was closed",
    }
    return reasons.get(solved.loading)
