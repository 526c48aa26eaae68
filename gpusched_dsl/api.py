"""The Python interface: load a text, solve its scenarios, change values and solve again."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import structs

from gpusched_dsl.compiling.build import DEFAULT_MEMORY, Built, Permissions
from gpusched_dsl.compiling.passes.names import allows_aggregation
from gpusched_dsl.engines.active import engine_in_use
from gpusched_dsl.interface.campaigns import ModelCampaigns
from gpusched_dsl.interface.scenarios import Setting
from gpusched_dsl.ir.deadline import Deadline
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import load_workspace, workspace_from_text
from gpusched_dsl.solving.option_checks import check_options, check_values, given_options, plain_options
from gpusched_dsl.workflows.listener import Listener

if TYPE_CHECKING:
    from gpusched_dsl.engines.protocol import Engine
    from gpusched_dsl.explaining.explanation import Explanation
    from gpusched_dsl.ir.problem import Problem
    from gpusched_dsl.reporting.comparison import Comparison
    from gpusched_dsl.reporting.result import Result
    from gpusched_dsl.workflows.solve import SolvedScenario
    from gsdsl_backends.protocol import Monitor

WarmStart: TypeAlias = Any  # a Result, the path of a JSON result, the name of a policy, {"run": {("j1", "n1"): 1}}


def load(path: str | Path, *, allow_outside: bool = False, memory: int = DEFAULT_MEMORY) -> Model:
    """Read a `.gsm` file and all of its imports.

    Imports and data must be in its folder unless `allow_outside`; `memory` is the largest number of bytes for building
    a problem. Raises DiagnosticError with every syntax error.
    """
    start = time.perf_counter()
    check_values("load", {"path": path, "memory": memory, "allow_outside": allow_outside})
    diagnostics = Diagnostics()
    workspace = load_workspace(Path(path), diagnostics, allow_outside=allow_outside)
    diagnostics.raise_if_errors()
    return Model(workspace, Permissions(memory, allow_outside), tuple(diagnostics), time.perf_counter() - start)


def loads(
    text: str,
    name: str = "<text>",
    *,
    base: str | Path | None = None,
    allow_outside: bool = False,
    memory: int = DEFAULT_MEMORY,
) -> Model:
    """Read a text; its imports and data are relative to the folder `base`. Raises DiagnosticError as `load` does."""
    start = time.perf_counter()
    check_values("loads", {"text": text, "name": name, "memory": memory, "base": base, "allow_outside": allow_outside})
    diagnostics = Diagnostics()
    folder = None if base is None else Path(base)
    workspace = workspace_from_text(text, name, diagnostics, folder, allow_outside=allow_outside)
    diagnostics.raise_if_errors()
    return Model(workspace, Permissions(memory, allow_outside), tuple(diagnostics), time.perf_counter() - start)


def compile(
    text: str,
    scenario: str | None = None,
    *,
    settings: Mapping[str, Setting] | None = None,
    base: str | Path | None = None,
    allow_outside: bool = False,
    memory: int = DEFAULT_MEMORY,
) -> Problem:
    """Return the problem of a text and one of its scenarios (the only one if None): arrays with the names of the model.

    Raises DiagnosticError with all errors in text and data.
    """
    return loads(text, base=base, allow_outside=allow_outside, memory=memory).ground(scenario, settings=settings)


class Model(ModelCampaigns):
    """A text with its scenarios, ready to be solved.

    `solve` checks, builds and solves a scenario; `set` gives sets and parameters other values for all later calls;
    `resolve` solves the last scenario again with them, without reading and checking the text again. `run` runs a
    scenario over time.
    """

    _solved: SolvedScenario | None = None  # the last solve or re-solve

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


class _SolverRelease(Listener):
    """Frees the solver of the last solve before the next solve starts: two solvers need twice the memory."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def has_read(self, built: Built) -> None:
        self.model.close()
