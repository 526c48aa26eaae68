"""The result of a solve with the names of the model: values as tables, objective by term, placement, JSON and CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from msgspec import structs

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.ir.arrays import Floats, Values
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.ir.index_labels import nonzero_positions
from gpusched_dsl.ir.problem import Family
from gpusched_dsl.language.checked import IntervalType
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.reporting.index_names import VALUE, index_names, names_of_domain
from gpusched_dsl.reporting.report import Report
from gpusched_dsl.reporting.result_data import ResultData
from gpusched_dsl.reporting.tables import table

if TYPE_CHECKING:
    from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
    from gpusched_dsl.compiling.evaluation.frames import Frame
    from gpusched_dsl.compiling.evaluation.store import ValueStore
    from gpusched_dsl.language.checked import CheckedLet, CheckedModel, TypedIndexing
    from gpusched_dsl.reporting.figures.figure import Figure
    from gpusched_dsl.solving.sensitivity import Ranges


@dataclass(frozen=True, eq=False)
class Result(ResultData, Report):
    """The result of a solve. Numbers are in the units that the model declares.

    `result["run"]` is the table of the nonzero values, `result.table("run", zeros=True)` of all values; `rebuilt` is
    why a re-solve could not change the loaded problem in place, None if it could or for a first solve. After a solve
    with `alternatives` or `options_of`, `alternatives` and `job_options` have the other solutions, with a `table`.
    """

    # --- tables ------------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> pl.DataFrame:
        """Return the nonzero values of a variable, `let` or parameter; raise KeyError for another name."""
        return self.table(name, zeros=False)

    def table(self, name: str, *, zeros: bool = True) -> pl.DataFrame:
        """Return the values of a variable, `let` or parameter: a column per index and `value`, in the order of the
        sets.

        Without `zeros`, rows within 1e-9 of zero are omitted. Of an `interval`, the columns are `start` and `end` of
        those that are there, with `zeros` of all, and `present`. Raises KeyError for another name, and DiagnosticError
        (GSM6010) if the values depend on a solution and there is none.
        """
        model = self.provenance.model
        if (
            model is not None
            and isinstance(name, str)
            and name in model.lets
            and isinstance(model.lets[name].type, IntervalType)
        ):
            return self._interval_table(model.lets[name], zeros)
        domain, values, names = self._values(name)
        if zeros or values.dtype.kind not in "fi":
            return table(domain, values, names)
        positions = nonzero_positions(values)
        return table(domain, values[positions], names, positions=positions)

    def value(self, name: str, *labels: str | int) -> float:
        """Return one value: `result.value("run", "j1", "n1", "v1", 2)`; raise KeyError if the labels are not an
        element.
        """
        domain, values, _ = self._values(name)
        position = locate(domain, labels)
        if position is not None:
            return float(values[position])
        if self._is_omitted_column(name, labels):
            return 0.0
        raise KeyError(f"{name}[{', '.join(map(str, labels))}]")

    @property
    def members(self) -> pl.DataFrame:
        """Return a row for each solver that worked at once (`backend="concurrent"`), in the terms of each objective:
        `solver`, `objective_name`, `status`, `reason`, `objective`, `bound`, `seconds`, `gave_point`, `gave_bound`,
        `error`. Empty for a single solver.
        """
        from gpusched_dsl.reporting.members import members_table

        return members_table(self.solved.members)

    @property
    def reports(self) -> dict[str, pl.DataFrame]:
        """Return the tables of the model's `report` lines by name; empty without a point."""
        model = self.provenance.model
        return {name: self.table(name) for name in model.reports} if model is not None and self.has_point else {}

    def duals(self, constraint: str) -> pl.DataFrame:
        """Return, per row of a constraint, the change of the objective with its right-hand side; columns as in `table`.

        A constraint that is a chain has a column `part`. A problem with integers has duals if it was solved with
        `duals=True`: those of the linear program with fixed integers. Raises KeyError for another name, DiagnosticError
        (GSM6010) if there are no duals, such as for several objectives or without an optimum.
        """
        duals = self.solved.row_duals if self.sensitivity is None else self.sensitivity.row_duals
        self._families_named(self.problem.constraints, constraint, "constraint")  # a wrong name comes first
        return self._of_rows(constraint, {"dual": self._require(duals, "duals")})

    def slacks(self, constraint: str) -> pl.DataFrame:
        """Return the value of each row at the solution (`activity`), its sides, and the distance to the nearer one.

        Columns and errors as in `duals`, but every solution has slacks. Infinite sides are infinite.
        """
        problem = self.problem
        activity = problem.matrix.activity(self._require(self.solved.point, "values"))
        lower, upper = problem.row_lower, problem.row_upper
        slack = np.minimum(activity - lower, upper - activity)
        return self._of_rows(constraint, {"activity": activity, "lower": lower, "upper": upper, "slack": slack})

    def side_ranges(self, constraint: str) -> pl.DataFrame:
        """Return between which values, `lower` and `upper`, the side of each row may change while its dual stays.

        For a row with slack it is the side that it would reach first. Needs `duals=True`; columns and errors as in
        `duals`. Only linear problems have ranges.
        """
        ranges = self._ranges()
        return self._of_rows(constraint, {"lower": ranges.side_lower, "upper": ranges.side_upper})

    def reduced_costs(self, variable: str) -> pl.DataFrame:
        """Return the reduced cost of each column of a variable; raise as `duals` does."""
        costs = self.solved.reduced_costs if self.sensitivity is None else self.sensitivity.reduced_costs
        self._families_named(self.problem.variables, variable, "variable")
        return self._of_columns(variable, {"reduced_cost": self._require(costs, "reduced costs")})

    def cost_ranges(self, variable: str) -> pl.DataFrame:
        """Return between which values, `lower` and `upper`, the cost of a column may change while the solution stays.

        Integer columns, which are fixed, have NaN. Raises as `side_ranges` does.
        """
        ranges = self._ranges()
        return self._of_columns(variable, {"lower": ranges.cost_lower, "upper": ranges.cost_upper})

    # --- files -------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the result as in `docs/schema/result.schema.json`; NaN and infinite numbers are None."""
        from gpusched_dsl.reporting.document import document, finite
        from gpusched_dsl.reporting.values import dual_document, report_document

        duals = dual_document(self)
        own: dict[str, Any] = {"relaxed": True} if self.relaxed else {}
        if self.reports:
            own["reports"] = report_document(self)
        if self.waiting_jobs is not None:
            own["waiting"] = self.waiting_jobs.records()
        if self.alternatives is not None:
            own["alternatives"] = self.alternatives.to_dict()
        if self.job_options is not None:
            own["job_options"] = self.job_options.to_dict()
        return {**document(self), **finite(own if duals is None else {**own, "duals": duals})}

    def to_csv(self, folder: str | Path) -> list[Path]:
        """Write one CSV per variable (nonzeros) and report, and `placement.csv`, into a folder, created if necessary.

        Jobs that wait are in `waiting.csv`; alternative solutions in `alternatives.csv` and, with the values that
        differ, in `alternative_values.csv`; the options of a job in `job_options.csv`.

        A variable with the name `placement` keeps it, and the placement becomes `placement_2.csv`. Returns the files.
        Raises DiagnosticError: GSM6008 if a file cannot be written, GSM6010 without a point.
        """
        from gpusched_dsl.reporting.csv_files import write_csv_folder
        from gpusched_dsl.reporting.index_names import distinct

        tables = {family.name: self[family.name] for family in self.problem.variables}
        if self.placement is not None:
            (name,) = distinct(["placement"], tuple(tables))
            tables[name] = self.placement
        if self.waiting is not None and len(self.waiting):
            tables[distinct(["waiting"], tuple(tables))[0]] = self.waiting
        for name, frame in self.reports.items():
            tables[distinct([name], tuple(tables))[0]] = frame
        for name, frame in (self._alternative_tables() | self._sensitivity_tables()).items():
            tables[distinct([name], tuple(tables))[0]] = frame
        from gpusched_dsl.data.sources.writing import output_path

        return write_csv_folder(output_path(folder), tables)

    def figures(self) -> list[Figure]:
        """Return the figures of the page: schedule, utilisation, load, prices."""
        from gpusched_dsl.reporting.figures.solve_figures import solve_figures

        return solve_figures(self)

    def to_figures(self, folder: str | Path) -> list[Path]:
        """Write each figure as SVG and PNG into a folder, and return the files; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.reporting.figures.drawing.files import write_figures

        return write_figures({"": self.figures()}, folder)

    def html_text(self) -> str:
        """Return a page with the schedule, prices and tables."""
        from gpusched_dsl.reporting.pages.solve_page import page

        return page([(self.backend, self)])

    def to_html(self, path: str | Path) -> None:
        """Write a self-contained page with the schedule, prices and tables; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.data.sources.writing import output_path, write_text

        write_text(output_path(path), self.html_text())

    def _repr_html_(self) -> str:
        from gpusched_dsl.reporting.pages.fragment import result_fragment

        return result_fragment(self.backend, self)

    def __repr__(self) -> str:
        from gpusched_dsl.language.text.numbers import number_text

        value = f", objective {number_text(self.objective)}" if self.objective is not None else ""
        return f"<Result {self.problem.name}: {self.status}{value}, {self.backend}>"

    # --- inside ------------------------------------------------------------------------------------------------------

    def _values(self, name: str) -> tuple[Domain, Values, tuple[str, ...]]:
        if not isinstance(name, str):
            raise KeyError(name)
        family = next((f for f in self.problem.variables if f.name == name), None)
        model, store = self.provenance.model, self.provenance.store
        if family is not None:
            values = self._require(self.values, "values")[family.slice]
            if np.isnan(values).any():  # a plan that violates the model does not state them
                self._require(None, "values")
            indexing = model.variables[name].indexing if model else None
            return family.domain, values, self._names(indexing, family.domain)
        if model is not None and name in model.variables:  # its problem was not built in time
            self._require(None, "values")
        if model is not None and store is not None and name in model.params:
            param = store.params[name]
            return param.domain, _texts(store, model, name), self._names(model.params[name].indexing, param.domain)
        if model is not None and (name in model.lets or name in model.reports):
            return self._let({**model.lets, **model.reports}[name])
        names_of_model = [f.name for f in self.problem.variables]
        names_of_model += [*model.params, *model.lets, *model.reports] if model else []
        raise self._unknown(name, "variable, report, let or parameter", names_of_model)

    def _is_omitted_column(self, name: str, labels: tuple[str | int, ...]) -> bool:
        """Whether this is a column of a problem that has only its nonzero columns (`Solution.size`)."""
        size, store = self.solved.size, self.provenance.store
        if size is None or store is None or size.columns == self.problem.columns or name not in store.variables:
            return False
        return locate(store.variables[name].indexed_domain, labels) is not None

    def _let(self, declared: CheckedLet) -> tuple[Domain, Values, tuple[str, ...]]:
        if isinstance(declared.type, IntervalType):
            raise KeyError(f"`{declared.name}` is an interval without a value; its table has its start and end")
        evaluator, domain, frame = self._evaluation_of(declared)
        values = np.broadcast_to(evaluator.numbers(declared.value, frame), (domain.size,))
        return domain, values, self._names(declared.indexing, domain)

    def _interval_table(self, declared: CheckedLet, zeros: bool) -> pl.DataFrame:
        evaluator, domain, frame = self._evaluation_of(declared)
        parts = evaluator.interval(declared.value, frame)
        start, length, present = (np.broadcast_to(v, (domain.size,)) for v in parts)
        kept = np.arange(domain.size) if zeros else np.flatnonzero(present > 0.5)
        names = self._names(declared.indexing, domain)
        found = table(domain, start[kept], names, positions=kept).rename({VALUE: "start"})
        found = found.with_columns(pl.Series("end", (start + length)[kept]))
        return found.with_columns(pl.Series("present", present > 0.5)) if zeros else found

    def _evaluation_of(self, declared: CheckedLet) -> tuple[Evaluator, Domain, Frame]:
        """What evaluates a `let` at the solution, with its index domain."""

        from gpusched_dsl.compiling.evaluation.evaluator import Evaluator

        model, store = self.provenance.model, self.provenance.store
        assert model is not None
        assert store is not None
        if declared.value.decision:
            store = structs.replace(store, point=self._require(self.solved.point, "values"))
        evaluator = Evaluator(model, store, self.provenance.limits or MemoryLimits())
        domain = evaluator.index_domain(declared.indexing, declared.span)
        return evaluator, domain, evaluator.domain_frame(declared.indexing, domain)

    def _alternative_tables(self) -> dict[str, pl.DataFrame]:
        tables = {}
        if self.alternatives is not None:
            tables = {"alternatives": self.alternatives.table, "alternative_values": self.alternatives.differences}
        if self.job_options is not None:
            tables["job_options"] = self.job_options.table
        return tables

    def _sensitivity_tables(self) -> dict[str, pl.DataFrame]:
        if self.sensitivity is None:
            return {}
        from gpusched_dsl.reporting.values import column_table, row_table

        names = dict.fromkeys(family.name for family in self.problem.constraints)
        rows = {f"duals_{name}": row_table(self, name) for name in names}
        return {**rows, **{f"reduced_costs_{f.name}": column_table(self, f.name) for f in self.problem.variables}}

    def _ranges(self) -> Ranges:
        if self.sensitivity is not None and self.sensitivity.ranges is not None:
            return self.sensitivity.ranges
        help = "solve with `duals=True`; problems with nonlinear terms or conditions have no ranges"
        raise DiagnosticError([Diagnostic("GSM6010", "there are no ranges", help=help)])

    def _of_rows(self, constraint: str, columns: Mapping[str, Floats]) -> pl.DataFrame:
        """Return a table of values of the rows of a constraint."""
        families = self._families_named(self.problem.constraints, constraint, "constraint")
        declared = self.provenance.model.constraints.get(constraint) if self.provenance.model else None
        frames = []
        for family in families:
            frame = self._with_columns(family, declared.indexing if declared else None, columns)
            frames.append(frame.with_columns(pl.lit(family.part + 1).alias("part")) if len(families) > 1 else frame)
        return pl.concat(frames)

    def _of_columns(self, variable: str, columns: Mapping[str, Floats]) -> pl.DataFrame:
        """Return a table of values of the columns of a variable."""
        (family,) = self._families_named(self.problem.variables, variable, "variable")
        declared = self.provenance.model.variables.get(variable) if self.provenance.model else None
        return self._with_columns(family, declared.indexing if declared else None, columns)

    def _with_columns(
        self, family: Family, indexing: TypedIndexing | None, columns: Mapping[str, Floats]
    ) -> pl.DataFrame:
        (first, values), *others = columns.items()
        frame = table(family.domain, values[family.slice], self._names(indexing, family.domain), value_name=first)
        return frame.with_columns(pl.Series(name, other[family.slice]) for name, other in others)

    def _names(self, indexing: TypedIndexing | None, domain: Domain) -> tuple[str, ...]:
        if indexing is None or self.provenance.model is None:
            return names_of_domain(domain)
        return index_names(self.provenance.model, indexing)

    def _families_named(self, families: tuple[Family, ...], name: str, kind: str) -> tuple[Family, ...]:
        found = tuple(f for f in families if isinstance(name, str) and f.name == name)
        if not found:
            raise self._unknown(name, kind, [f.name for f in families])
        return found

    def _unknown(self, name: str, kind: str, known: Sequence[str]) -> KeyError:
        hint = did_you_mean(name, known)
        return KeyError(f"`{name}` is not a {kind} of {self.problem.name}" + (f"; {hint}" if hint else ""))

    def _require(self, values: Floats | None, what: str) -> Floats:
        if values is not None:
            return values
        if what == "values":
            help = "check `status` first" if self.reason == "" else "give the solver more time"
            message = f"there are no values: the solve ended as {self.status.value} without a point"
        else:
            message = f"there are no {what}"
            help = (
                "they exist for problems with one objective that are solved to optimality; with integers: `duals=True`"
            )
        raise DiagnosticError([Diagnostic("GSM6010", message, help=help)])


def locate(domain: Domain, labels: tuple[str | int, ...]) -> int | None:
    """Return the position of an index tuple of labels, None if it is not an element."""
    if len(labels) != domain.arity:
        return None
    if not labels:
        return 0
    codes = []
    for component, label in zip(domain.components, labels, strict=True):
        code = label if component is None else component.code_of.get(label)
        if not isinstance(code, int):
            return None
        codes.append(np.array([code], dtype=np.int64))
    position = int(domain.locate(codes)[0])
    return position if position >= 0 else None


def _texts(store: ValueStore, model: CheckedModel, name: str) -> Values:
    """Return a parameter's values, elements as labels."""
    from gpusched_dsl.language.checked import Element

    values = store.params[name].values
    type_ = model.params[name].type
    return store.universes[type_.root].label_array[values] if isinstance(type_, Element) else values
