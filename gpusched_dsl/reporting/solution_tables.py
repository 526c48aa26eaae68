"""A solution as tables, with the names of the model: values, duals, slacks, reduced costs and ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.provenance import Provenance
from gpusched_dsl.ir.arrays import Floats, Values
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.ir.index_labels import nonzero_positions
from gpusched_dsl.ir.problem import Family
from gpusched_dsl.language.checked import IntervalType
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.reporting.index_names import VALUE, index_names, names_of_domain
from gpusched_dsl.reporting.tables import table

if TYPE_CHECKING:
    import polars as pl

    from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
    from gpusched_dsl.compiling.evaluation.frames import Frame
    from gpusched_dsl.compiling.evaluation.store import ValueStore
    from gpusched_dsl.language.checked import CheckedLet, CheckedModel, TypedIndexing
    from gpusched_dsl.solving.sensitivity import Ranges, Sensitivity
    from gpusched_dsl.solving.solution import Solution


class SolutionTables(Struct, frozen=True, eq=False):
    """The tables of a `Result`, whose methods of the same names describe them and what they raise."""

    solved: Solution
    provenance: Provenance
    sensitivity: Sensitivity | None

    def table(self, name: str, *, zeros: bool = True) -> pl.DataFrame:
        """Return the values of a variable, `let` or parameter, as `Result.table` describes."""
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

    def value(self, name: str, labels: tuple[str | int, ...]) -> float:
        """Return one value; raise KeyError if the labels are not an element."""
        domain, values, _ = self._values(name)
        position = locate(domain, labels)
        if position is not None:
            return float(values[position])
        if self._is_omitted_column(name, labels):
            return 0.0
        raise KeyError(f"{name}[{', '.join(map(str, labels))}]")

    def duals(self, constraint: str) -> pl.DataFrame:
        duals = self.solved.row_duals if self.sensitivity is None else self.sensitivity.row_duals
        self._families_named(self.solved.problem.constraints, constraint, "constraint")  # a wrong name comes first
        return self._of_rows(constraint, {"dual": self._require(duals, "duals")})

    def slacks(self, constraint: str) -> pl.DataFrame:
        problem = self.solved.problem
        activity = problem.matrix.activity(self._require(self.solved.point, "values"))
        lower, upper = problem.row_lower, problem.row_upper
        slack = np.minimum(activity - lower, upper - activity)
        return self._of_rows(constraint, {"activity": activity, "lower": lower, "upper": upper, "slack": slack})

    def side_ranges(self, constraint: str) -> pl.DataFrame:
        ranges = self._ranges()
        return self._of_rows(constraint, {"lower": ranges.side_lower, "upper": ranges.side_upper})

    def reduced_costs(self, variable: str) -> pl.DataFrame:
        costs = self.solved.reduced_costs if self.sensitivity is None else self.sensitivity.reduced_costs
        self._families_named(self.solved.problem.variables, variable, "variable")
        return self._of_columns(variable, {"reduced_cost": self._require(costs, "reduced costs")})

    def cost_ranges(self, variable: str) -> pl.DataFrame:
        ranges = self._ranges()
        return self._of_columns(variable, {"lower": ranges.cost_lower, "upper": ranges.cost_upper})

    def _values(self, name: str) -> tuple[Domain, Values, tuple[str, ...]]:
        if not isinstance(name, str):
            raise KeyError(name)
        family = next((f for f in self.solved.problem.variables if f.name == name), None)
        model, store = self.provenance.model, self.provenance.store
        if family is not None:
            values = self._require(self.solved.values, "values")[family.slice]
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
        names_of_model = [f.name for f in self.solved.problem.variables]
        names_of_model += [*model.params, *model.lets, *model.reports] if model else []
        raise self._unknown(name, "variable, report, let or parameter", names_of_model)

    def _is_omitted_column(self, name: str, labels: tuple[str | int, ...]) -> bool:
        """Whether this is a column of a problem that has only its nonzero columns (`Solution.size`)."""
        size, store = self.solved.size, self.provenance.store
        if size is None or store is None or size.columns == self.solved.problem.columns or name not in store.variables:
            return False
        return locate(store.variables[name].indexed_domain, labels) is not None

    def _let(self, declared: CheckedLet) -> tuple[Domain, Values, tuple[str, ...]]:
        if isinstance(declared.type, IntervalType):
            raise KeyError(f"`{declared.name}` is an interval without a value; its table has its start and end")
        evaluator, domain, frame = self._evaluation_of(declared)
        values = np.broadcast_to(evaluator.numbers(declared.value, frame), (domain.size,))
        return domain, values, self._names(declared.indexing, domain)

    def _interval_table(self, declared: CheckedLet, zeros: bool) -> pl.DataFrame:
        import polars as pl

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

    def _ranges(self) -> Ranges:
        if self.sensitivity is not None and self.sensitivity.ranges is not None:
            return self.sensitivity.ranges
        help = "solve with `duals=True`; problems with nonlinear terms or conditions have no ranges"
        raise DiagnosticError([Diagnostic("GSM6010", "there are no ranges", help=help)])

    def _of_rows(self, constraint: str, columns: Mapping[str, Floats]) -> pl.DataFrame:
        """Return a table of values of the rows of a constraint."""
        import polars as pl

        families = self._families_named(self.solved.problem.constraints, constraint, "constraint")
        declared = self.provenance.model.constraints.get(constraint) if self.provenance.model else None
        frames = []
        for family in families:
            frame = self._with_columns(family, declared.indexing if declared else None, columns)
            frames.append(frame.with_columns(pl.lit(family.part + 1).alias("part")) if len(families) > 1 else frame)
        return pl.concat(frames)

    def _of_columns(self, variable: str, columns: Mapping[str, Floats]) -> pl.DataFrame:
        """Return a table of values of the columns of a variable."""
        (family,) = self._families_named(self.solved.problem.variables, variable, "variable")
        declared = self.provenance.model.variables.get(variable) if self.provenance.model else None
        return self._with_columns(family, declared.indexing if declared else None, columns)

    def _with_columns(
        self, family: Family, indexing: TypedIndexing | None, columns: Mapping[str, Floats]
    ) -> pl.DataFrame:
        import polars as pl

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
        return KeyError(f"`{name}` is not a {kind} of {self.solved.problem.name}" + (f"; {hint}" if hint else ""))

    def _require(self, values: Floats | None, what: str) -> Floats:
        if values is not None:
            return values
        if what == "values":
            help = "check `status` first" if self.solved.reason == "" else "give the solver more time"
            message = f"there are no values: the solve ended as {self.solved.status.value} without a point"
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
