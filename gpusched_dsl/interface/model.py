"""The class `Model`: a text with its scenarios, and each task of a user as a method; see docs/python.md."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack, overload

from msgspec import structs

from gpusched_dsl.compiling.build import Built, Permissions, check_solvable, choose_scenario
from gpusched_dsl.compiling.passes.names import allows_aggregation
from gpusched_dsl.compiling.selection import SelectedScenario
from gpusched_dsl.data.sources.python_values import AssignedValues
from gpusched_dsl.data.sources.settings_file import merge_settings
from gpusched_dsl.engines.active import engine_in_use
from gpusched_dsl.ir.deadline import Deadline
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.solving.option_checks import (
    check_options,
    check_values,
    given_options,
    plain_number,
    plain_options,
    solve_options,
)
from gpusched_dsl.workflows.listener import Listener

if TYPE_CHECKING:
    from gpusched_dsl.compiling.data.instance import Instance
    from gpusched_dsl.engines.protocol import Engine
    from gpusched_dsl.explaining.explanation import Explanation
    from gpusched_dsl.interface.campaigns import ModelCampaign
    from gpusched_dsl.interface.live import LiveEventLoop
    from gpusched_dsl.ir.problem import Problem
    from gpusched_dsl.online.loops.base import SimulationLoop
    from gpusched_dsl.online.run_config import RunConfig
    from gpusched_dsl.policies.catalogue import ListedGeneric, ListedPolicy
    from gpusched_dsl.reporting.comparison import Comparison
    from gpusched_dsl.reporting.flexibility import Flexibility
    from gpusched_dsl.reporting.result import Result
    from gpusched_dsl.reporting.runs.comparison import RunComparison
    from gpusched_dsl.reporting.runs.result import RunResult
    from gpusched_dsl.reporting.runs.seeds import SeedComparison
    from gpusched_dsl.workflows.estimate import Estimate
    from gpusched_dsl.workflows.solve import SolvedScenario
    from gpusched_dsl.workflows.why import DecisionExplanation
    from gsdsl_backends.protocol import Monitor

Setting: TypeAlias = str | int | float
WarmStart: TypeAlias = Any  # a Result, the path of a JSON result, the name of a policy, {"run": {("j1", "n1"): 1}}


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


class Model:
    """A text with its scenarios, ready to be solved.

    `solve` checks, builds and solves a scenario; `set` gives sets and parameters other values for all later calls;
    `resolve` solves the last scenario again with them, without reading and checking the text again. `run` runs a
    scenario over time.
    """

    _solved: SolvedScenario | None = None  # the last solve or re-solve

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
        self._values = AssignedValues()
        self._checked: dict[tuple[str, tuple[tuple[str, str], ...]], SelectedScenario] = {}

    @property
    def models(self) -> tuple[str, ...]:
        """Return the names of all models, including those of imports."""
        return tuple(self._workspace.models)

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Return the names of all scenarios, including those of imports."""
        return tuple(self._workspace.scenarios)

    def policies(self, model: str | None = None) -> list[ListedPolicy]:
        """Return the policies of the text, and those of the standard library for its models (or for one of them).

        `policy` of each has name, model, doc, lines and numbers. Raises DiagnosticError (GSM6018) for an unknown model.
        """
        from gpusched_dsl.policies.catalogue import listed_policies

        check_values("policies", {"model": model})
        return listed_policies(self._workspace, model)

    def generic_policies(self, model: str | None = None) -> list[ListedGeneric]:
        """Return the policies for any model with a placement, for each model of the text (or for one of them).

        `policy` of each has name, doc and source. `applies` tells whether the model states what it needs: then `lines`
        are those of its text, else `reason` and `help` say what is missing. Models with errors are left out.
        """
        from gpusched_dsl.policies.catalogue import listed_generic

        check_values("policies", {"model": model})
        return listed_generic(self._workspace, model)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics of reading that are not errors."""
        return self._warnings

    def check(self, *, strict: bool = True, deep: bool = False, method: str | None = None) -> tuple[Diagnostic, ...]:
        """Return all diagnostics of the text and the data of its scenarios that need no solver.

        These are the diagnostics of `gsdsl check`: names, types and units of all blocks, with and without scenarios,
        then the data of each complete scenario. With `deep`, also the problem of each complete scenario is built for
        the solver `method` (by default HiGHS), without solving. Returns the warnings; raises DiagnosticError if there
        is an error, unless `strict` is False: then errors are in the tuple; and GSM6002 for `method` without `deep`.
        Values from `set` are ignored.
        """
        from gpusched_dsl.workflows.check import check_all

        values = check_values("check", locals())
        check_options("check", given_options("check", values))
        diagnostics = Diagnostics()
        diagnostics.extend(self._warnings)
        check_all(self._workspace, diagnostics, self._permissions, deep=(method or "highs") if deep else None)
        if strict:
            diagnostics.raise_if_errors()
        return tuple(diagnostics)

    def __repr__(self) -> str:
        main = self._workspace.main
        return f"<Model {main.source.name if main else ''}: scenarios {', '.join(self.scenarios) or 'none'}>"

    def _repr_html_(self) -> str:
        """Return the models of the text as mathematics, as notebooks show them; instead of errors, the errors."""
        from gpusched_dsl.interface.mathematics import model_html

        return model_html(self._workspace)

    # --- problems ----------------------------------------------------------------------------------------------------

    def ground(self, scenario: str | None = None, *, settings: Mapping[str, Setting] | None = None) -> Problem:
        """Return the problem of a scenario (the only one if None), with the values from `set`.

        `settings` are options, parameters without indices, single values and options of generators, written as in a
        scenario: `{"period": "30[min]", "node_rule": "force", "deadline[j1]": "20[h]", "seed": 2}`; `read_settings`
        reads them from a CSV file. Raises DiagnosticError with all errors.
        """
        return self._build(scenario, settings).problem

    def export(
        self,
        path: str | Path,
        scenario: str | None = None,
        *,
        to: str | None = None,
        settings: Mapping[str, Setting] | None = None,
        aggregated: bool = False,
    ) -> Path:
        """Write the problem of a scenario (the only one if None) for other tools; return the path.

        Interchangeable elements are named one by one, or `aggregated` as `solve` does; the head of the file says which.
        `to` is `lp`, `mps`, `json`, `python` (a script for HiGHS), `python-scip`, or a format of an installed package;
        by default the extension of the path. Terms that the format lacks are reformulated. Raises ValueError for an
        unknown format; DiagnosticError for errors in text and data, for terms that cannot be reformulated, and
        (GSM6008) if the file cannot be written, or has no aggregated form.
        """
        from gpusched_dsl.data.sources.writing import cannot_write, replace_file
        from gpusched_dsl.workflows.exported_form import exported_form
        from gsdsl_backends.export_names import BY_SUFFIX, Targets
        from gsdsl_backends.exporters import write_problem

        check_values("export", {"path": path, "to": to, "aggregated": aggregated})
        target, known = Path(path), Targets()
        suffix = target.suffix.removeprefix(".").lower()
        form = BY_SUFFIX.get(suffix, suffix) if to is None else to
        if form not in known:
            raise ValueError(f"`{form}` is not a format of problems: `to` is one of {', '.join(known)}")
        content = exported_form(self._build(scenario, settings, fold=True), aggregated)
        try:
            with replace_file(target) as beside, beside.open("wb", buffering=0) as file:
                write_problem(content.problem, form, file, content.comments)
        except OSError as failure:
            raise DiagnosticError([cannot_write(target, failure)]) from failure
        return target

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
        second_opinion: bool = True,
        bound: bool = False,
        judge: str = "highs",
        relax: bool = False,
        duals: bool = False,
        method: str | None = None,
        reasons: bool = True,
        engine: str | Engine | None = None,
        workers: int | None = None,
        alternatives: int | None = None,
        within: float | None = None,
        distinct_by: Collection[str] = (),
        options_of: str | None = None,
    ) -> Result:
        """Build and solve a scenario (the only one if None) by a solver or a policy.

        `gap` is relative, `time_limit` in seconds, `settings` as in `ground`, `solver_options` are the solver's own
        options. `warm_start` is a `Result`, the path of a JSON result, or values by variable: `{"run": {("j1", "n1"):
        1}}`, a scalar or a table; or the name of a policy, whose plan is the start. `monitor` receives progress and may
        stop the solve. The time limit counts from the call and covers reading, building and solving; after the time
        limit, a stop by the monitor or Ctrl-C, the result has the best point so far.

        `heuristic` is `auto`, `on` or `off`: a search for a good start before the solver's own. `without` names
        tightening passes to skip, `("all",)` every one; `decompose` is `auto`, `on` or `off`. With `second_opinion`,
        HiGHS without presolve confirms a proof for a linear problem with integers that took less than a second.

        `judge` is the solver that completes and verifies the plan of a policy; with `bound` it also proves a bound
        (within `time_limit`, or 60 seconds). For policies with `keep running`, the warm start is the previous plan.

        `method` is another name of `backend`, that of the command line.

        With `relax`, no variable needs to be integer. With `duals`, the result has duals, reduced costs and ranges:
        those of the linear program in which integer variables are fixed at the solution. With `reasons`, it has why
        jobs wait (`result.waiting`), as far as 3 more seconds show.

        `engine` is `local`, `inline`, `dask`, `dask://host:port`, `slurm`, or an engine: column generation and
        policies with several controllers use its `workers`, with the same result.

        `alternatives` is the number of solutions to find, with the best one: distinct in the variables `distinct_by`
        (default: that of the placement, or all integer variables) up to the names of interchangeable elements, and
        `within` this share (default: 0.01) of the best. `options_of` names a job, all of whose placements are ranked.
        The result has `alternatives` and `job_options`. The time limit covers them.

        An infeasible or unbounded problem is a result, not an error, and so is a plan that violates the model. Raises
        DiagnosticError with all errors in text, data and options and wrong claims of the solver; GSM6002 for `bound`
        with a solver, which proves a bound itself, for `alternatives` or `options_of` with a policy or `relax`, and for
        `within` or `distinct_by` without `alternatives`.
        """
        clock, values = Deadline(), check_values("solve", locals())
        from gpusched_dsl.workflows.method import choose_method
        from gpusched_dsl.workflows.solve import SolveConfig, solve_scenario

        name = backend if method is None else method
        checked = self._scenario(scenario, settings)
        chosen = choose_method(self._workspace, name, checked.scenario.model, judge=judge, relax=relax)
        check_options("solve", given_options("solve", values), name, chosen.proves)
        config = SolveConfig.of(self._select(checked), chosen, values)
        with engine_in_use(engine, workers):
            solved = solve_scenario(config, clock=clock, monitor=monitor, listener=_SolverRelease(self))
        self.close()
        self._solved = solved
        return solved.result

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
        method: str | None = None,
    ) -> Explanation:
        """Return sizes, class and reformulations of a scenario; with `why` also why it is infeasible or unbounded.

        `why` needs solves, within `time_limit` seconds (None: no limit). `without` and `method` as in `solve`. Raises
        DiagnosticError with all errors in text and data.
        """
        from gpusched_dsl.explaining.explain import explain

        check_values("explain", locals())
        skipped = frozenset(without)
        built = self._build(scenario, settings, fold=allows_aggregation(skipped))
        return explain(
            built.problem,
            backend if method is None else method,
            origins=built.provenance(),
            time_limit=time_limit,
            monitor=monitor,
            why=why,
            without=skipped,
            aggregation=built.aggregation,
        )

    def set(self, name: str, value: Any) -> None:
        """Give a set or parameter another value, for all later solves.

        A parameter accepts a number in its declared unit (for every key if it has indices), a dictionary `{"j1": 3.0}`
        or `{("j1", "v1", 2): 0.5}`, an array in the order of its index sets (lists, NumPy, a polars series; one axis
        per index set), or a polars or pandas table with a column per index and one of values; pandas may have the keys
        in the index. Numbers may be texts with units, such as `"2 h"` or `"90[min]"`, or a `timedelta`. A set
        accepts the list of its elements, or a table with a column per component. The value is read immediately: a later
        change of a dictionary has no effect. The value replaces all keys; missing keys get the default or are reported.
        Raises DiagnosticError (GSM6012) if no model has a parameter or set of this name or the value has an unsupported
        form. The next `resolve`, `solve` or `ground` checks keys and values with the other data.
        """
        if self._solved is not None:
            return self._values.assign(self._solved.config.scenario.scenario.model, name, value)
        refusals = []
        for scenario in self.scenarios or (None,):
            try:
                return self._values.assign(self._scenario(scenario, None).scenario.model, name, value)
            except DiagnosticError as error:
                refusals.append(error)
        raise refusals[0]

    def reset(self, *names: str) -> None:
        """Undo `set` for these names, or for all."""
        self._values.remove(names or self._values.names)

    def resolve(
        self,
        *,
        gap: float | None = None,
        time_limit: float | None = None,
        warm_start: WarmStart = None,
        monitor: Monitor | None = None,
    ) -> Result:
        """Solve the last scenario again with the values from `set`, from its last solution.

        The text is not checked and data files are not read again; sets and parameters with unchanged inputs are reused.
        Numbers are changed in the loaded problem; if elements were added or removed, its basis is kept (HiGHS);
        otherwise the problem is rebuilt and `rebuilt` of the result has the reason. Options are those of the last solve
        except for the given ones. A policy plans again; running jobs are kept only with `warm_start`. Before
        the first solve it is `solve` of the only scenario. Raises DiagnosticError as `solve` does.
        """
        clock = Deadline()
        from gpusched_dsl.workflows.solve import solve_scenario

        check_values("resolve", locals())
        earlier = self._solved
        if earlier is None:
            more = {"gap": gap, "time_limit": time_limit}
            given: dict[str, Any] = {name: value for name, value in more.items() if value is not None}
            return self.solve(warm_start=warm_start, monitor=monitor, **given)
        options = earlier.config.options
        options = structs.replace(
            options,
            gap=options.gap if gap is None else gap,
            time_limit=options.time_limit if time_limit is None else time_limit,
        )
        options = plain_options(options)
        # Nothing is read or checked anew.
        scenario = structs.replace(self._select(earlier.config.scenario), seconds=0.0)
        config = structs.replace(earlier.config, scenario=scenario, options=options, warm_start=warm_start)
        self._solved = solve_scenario(config, clock=clock, monitor=monitor, earlier=earlier)
        return self._solved.result

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
        without: Collection[str] = (),
        heuristic: str = "auto",
        decompose: str = "auto",
        monitor: Monitor | None = None,
    ) -> Comparison:
        """Compare solvers and policies on a scenario (the only one if None): `.table`, `.best`, `.to_dict()`.

        Randomised policies run once for each of `seeds`; `.paired` has their differences, with intervals. With `bound`,
        the judge proves one if no method is a solver. The time limit is that of each method, and covers reading and
        building. Ctrl-C keeps the finished rows; before the first row it raises KeyboardInterrupt. Raises
        DiagnosticError as `solve` does for text, data and names; errors of a single method are in its row.
        """
        clock, values = Deadline(), check_values("compare", locals())
        from gpusched_dsl.workflows.compare import CompareConfig, compare

        config = CompareConfig.of(self._select(self._scenario(scenario, settings)), values)
        return compare(config, clock=clock, monitor=monitor)

    def close(self) -> None:
        """Free the solver of `resolve`; a later `resolve` loads the problem again."""
        if self._solved is not None:
            self._solved.solution.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- runs over time -----------------------------------------------------------------------------------------------

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
        `why_gap` adds this bound, too, and divides the gap into myopia, forecast error and a rest (`.gap_parts`), by
        two more runs.
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

    # --- flexibility --------------------------------------------------------------------------------------------------

    def flexibility(
        self,
        event: str,
        scenario: str | None = None,
        *,
        days: Sequence[str | Mapping[str, Setting]] | str | Path | None = None,
        probability: float = 1.0,
        offers: Sequence[float] | None = None,
        steps: int = 4,
        power: str | None = None,
        notice: int | str | None = None,
        baseline: str | None = None,
        method: str = "highs",
        gap: float = 1e-4,
        time_limit: float | None = None,
        threads: int | None = None,
        seed: int = 0,
        settings: Mapping[str, Setting] | None = None,
        solver_options: Mapping[str, bool | int | float | str] | None = None,
        without: Collection[str] = (),
        monitor: Monitor | None = None,
    ) -> Flexibility:
        """Return how much power can be shed in the slots of `event`, at what cost, and which jobs move.

        `event` has the first and the last slot, `"68..75"`, or times from the start of slot 0, `"17:00..19:00"`. `days`
        are realised days: names of scenarios, settings (with `scenario` for another scenario and `day` for a label), or
        a text as in the command line: `"seed=1..20"`, or the path of a CSV file. By default there is one day, the
        scenario. On each day the shed is measured against the day's own plan without the event.

        `.guaranteed` is the largest shed in kW that at least the share `probability` of the days can keep in every
        slot of the event; `.table` has the cost of `offers` (in kW; by default `steps` equal parts of the
        guarantee) and their marginal prices, `.day_table` the days, `.moves` the decisions that differ. `power` names
        the variable or `let` of the power by slot, which is not needed if there is only one. With `notice`, a number
        of slots or a duration such as `"2h"`, decisions in earlier slots are those of the plan without the event.
        `baseline` is the policy or solver that makes this plan, by default `method`, at least cost.

        Time limit and gap are those of each solve. Raises DiagnosticError: GSM4025 for a model without slots or
        without a power by slot, without a day, or with a probability outside (0, 1], GSM4026 for an event outside of
        the horizon, GSM4027 for days that cannot be read; and as `solve` does.
        """
        values = check_values("flexibility", locals())
        from gpusched_dsl.workflows.flexibility.asked import FlexibilityConfig, plain_days, read_days
        from gpusched_dsl.workflows.flexibility.run import flexibility, solver_named

        if days is None or isinstance(days, str | Path):
            chosen = read_days(() if days is None else (str(days),))
        else:
            chosen = plain_days(day if isinstance(day, str) else _texts(day) for day in days)
        config = FlexibilityConfig.of(values, chosen)
        checked = self._select(self._scenario(chosen[0].scenario if scenario is None else scenario, settings))
        return flexibility(checked, config, solver_named(method), solve_options(values), monitor=monitor)

    # --- campaigns ----------------------------------------------------------------------------------------------------

    @property
    def campaigns(self) -> tuple[str, ...]:
        """Return the names of all campaigns, including those of imports."""
        return tuple(self._workspace.campaigns)

    def campaign(self, name: str | None = None) -> ModelCampaign:
        """Return a campaign (the only one if None), ready to run.

        Raises DiagnosticError with all errors of the campaign, GSM5311 if there is none of this name; ValueError after
        `set`, because workers read the values of the text.
        """
        from gpusched_dsl.campaigns.plan import make_plan
        from gpusched_dsl.interface.campaigns import ModelCampaign

        check_values("campaigns", {"name": name})
        if self._values.names:
            names = ", ".join(f"`{name}`" for name in self._values.names)
            raise ValueError(f"a campaign reads the values of the text, and {names} was set: state it in the scenario")
        return ModelCampaign(make_plan(self._workspace, name, self._permissions))

    # --- scenarios with the values from `set` -------------------------------------------------------------------------

    def _scenario(self, scenario: str | None, settings: Mapping[str, Setting] | None) -> SelectedScenario:
        """Return the checked scenario of that name (the only one if None), without the values from `set`."""
        check_values("ground", {"scenario": scenario, "settings": settings})
        name, texts = (
            choose_scenario(self._workspace, scenario, data_later=True),
            merge_settings(_texts(settings or {}).items()),
        )
        key = (name, tuple(texts.items()))
        if key not in self._checked:
            start = time.perf_counter()
            checked, warnings = check_solvable(self._workspace, name, texts)
            self._checked[key] = SelectedScenario(
                workspace=self._workspace,
                scenario=checked,
                settings=texts,
                warnings=(*self._warnings, *warnings),
                permissions=self._permissions,
                seconds=self._parse_seconds + time.perf_counter() - start,
            )
        return self._checked[key]

    def _select(self, checked: SelectedScenario) -> SelectedScenario:
        """Return the scenario with the values from `set`."""
        return structs.replace(checked, replaced=self._values.chunks(checked.scenario.model))

    def _build(
        self,
        scenario: str | None,
        settings: Mapping[str, Setting] | None,
        earlier: Instance | None = None,
        *,
        fold: bool = False,
    ) -> Built:
        return self._select(self._scenario(scenario, settings)).build(aggregated=fold, earlier=earlier)


def _texts(settings: Mapping[str, Setting]) -> dict[str, str]:
    """Settings as a scenario has them."""
    return {name: value if isinstance(value, str) else repr(plain_number(value)) for name, value in settings.items()}


class _SolverRelease(Listener):
    """Frees the solver of the last solve before the next solve starts: two solvers need twice the memory."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def has_read(self, built: Built) -> None:
        self.model.close()
