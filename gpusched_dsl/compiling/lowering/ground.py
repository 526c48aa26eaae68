"""Grounding: the declarations of a checked model over the arrays of a store, as one `Problem`."""

from __future__ import annotations

from collections.abc import Iterator as Iterates
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME, Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.sizes import entries_at_least
from gpusched_dsl.compiling.evaluation.store import Columns, ValueStore
from gpusched_dsl.compiling.lowering.affine import assemble
from gpusched_dsl.compiling.lowering.auxiliaries import AuxiliaryColumns
from gpusched_dsl.compiling.lowering.constraints import Assertion, Assertions, Condition
from gpusched_dsl.compiling.lowering.entries import Entries
from gpusched_dsl.compiling.lowering.linear import Linearizer
from gpusched_dsl.compiling.lowering.unused import drop_unused
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Values
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.ir.definitions import Conditions
from gpusched_dsl.ir.domains import Domain, TupleDomain
from gpusched_dsl.ir.granularity import with_steps
from gpusched_dsl.ir.problem import Family, Matrix, Objective, Problem, Term
from gpusched_dsl.language.checked import (
    CheckedConstraint,
    CheckedModel,
    CheckedObjective,
    CheckedVariable,
    ComparisonChain,
    Logic,
    Numeric,
    TypedExpr,
    ValueType,
)
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.source import Span

if TYPE_CHECKING:
    from gpusched_dsl.compiling.lowering.fixing import PlanValues


INFINITY = float("inf")


def ground(
    model: CheckedModel, store: ValueStore, limits: MemoryLimits | None = None, fixed: PlanValues | None = None
) -> Problem:
    """Return the problem of a model and its data. `store` has every set and parameter and gets the variables' columns.

    Variables named in `fixed` have the values given there; those that are 0 are left out, and read as 0, of binaries
    and of variables whose bounds are known to admit 0.
    Raises DiagnosticError with everything found: subscripts outside their sets, terms that are not linear, numbers
    that are not finite (GSM30xx), families too large for `limits` (GSM3001), expressions whose `let`s need each other
    in too long a chain (GSM1004).
    """
    try:
        with np.errstate(all="ignore"):  # what is not finite is reported with its place
            return _Grounding(model, store, limits or MemoryLimits(), fixed or {}).run()
    except RecursionError:
        message = f"the expressions of model `{model.name}` are nested too deeply, with the `let`s that they use"
        help = "shorten chains in which each `let` uses the one before, with an indexed `let` or a sum over a set"
        raise DiagnosticError([Diagnostic("GSM1004", message, model.span, help=help)]) from None


class _Rows(Struct, frozen=True, eq=False):
    """The rows of one part of a constraint."""

    family: Family
    starts: Codes
    lower: Floats
    upper: Floats
    condition: Condition | None


class _Bounds(Struct, frozen=True, eq=False):
    lower: Floats
    upper: Floats
    integer: Bools


class _Grounding:
    def __init__(self, model: CheckedModel, store: ValueStore, limits: MemoryLimits, fixed: PlanValues) -> None:
        self.model = model
        self.store = store
        self.fixed = fixed
        self.ev = Evaluator(model, store, limits)
        self.found = Diagnostics()
        self.next_row = 0

    def run(self) -> Problem:
        # All index sets first: what is too large is refused before any row is made.
        families = self._variable_families()
        domains: dict[str, Domain] = {}
        for constraint in self.model.constraints.values():
            with self._collect_errors():
                domains[constraint.name] = self._domain(constraint)
        self.found.raise_if_errors()
        self.entries = Entries(self._refuse_too_large(domains))

        bounds: list[_Bounds] = []
        for variable in self.model.variables.values():
            with self._collect_errors():
                bounds.append(self._bounds(variable))
        self.found.raise_if_errors()
        lower, upper = _join([b.lower for b in bounds], np.float64), _join([b.upper for b in bounds], np.float64)
        integer = _join([b.integer for b in bounds], np.bool_)
        self.terms = AuxiliaryColumns(families, integer & (lower >= 0) & (upper <= 1), integer, (lower, upper))
        self.linear = Linearizer(self.ev, self.terms)
        self.assertions = Assertions(self.linear)
        rows: list[_Rows] = []
        for constraint in self.model.constraints.values():
            with self._collect_errors():
                self.terms.owner = constraint.name
                rows.extend(self._constraint(constraint, domains[constraint.name]))
        objectives: list[Objective] = []
        for objective in self.model.objectives:
            with self._collect_errors():
                objectives.append(self._objective(objective))
        self.found.raise_if_errors()
        added = self.terms.bounds()
        integer = _extended(integer, added[2])
        problem = Problem(
            name=self.model.name,
            variables=families,
            lower=_extended(lower, added[0]),
            upper=_extended(upper, added[1]),
            integer=integer,
            constraints=tuple(r.family for r in rows),
            matrix=Matrix(_starts_of(rows), *self.entries.arrays()),
            row_lower=_join([r.lower for r in rows], np.float64),
            row_upper=_join([r.upper for r in rows], np.float64),
            objectives=tuple(objectives),
            auxiliary=tuple(self.terms.families),
            definitions=with_steps(self.terms.definitions, integer),
            conditions=_conditions(rows),
            decompose=self.model.decompose,
        )
        return drop_unused(problem)

    def _refuse_too_large(self, domains: dict[str, Domain]) -> int:
        """Refuse a problem that cannot fit before any row is built, and name the largest family.

        Return the expected number of entries, a lower bound.
        """
        sizes = [
            (entries_at_least(self.ev, c.body, c.indexing, domains[c.name].size), c.span, f"constraint `{c.name}`")
            for c in self.model.constraints.values()
        ]
        expected = sum(s[0] for s in sizes)
        if sizes:
            largest, span, name = max(sizes, key=lambda s: s[0])
            self.ev.budget.total(expected, span, name, largest)
        return expected

    @contextmanager
    def _collect_errors(self) -> Iterates[None]:
        """Go on with the next declaration after an error, so that one run reports many."""
        checkpoint()
        try:
            yield
        except DiagnosticError as error:
            self.found.extend(error.diagnostics)

    def _domain(self, declared: CheckedVariable | CheckedConstraint) -> Domain:
        kind = "variable" if isinstance(declared, CheckedVariable) else "constraint"
        domain = self.ev.index_domain(declared.indexing, declared.span)
        self.ev.budget.problem(domain.size, declared.span, f"{kind} `{declared.name}`")
        return domain

    # --- variables ---------------------------------------------------------------------------------------------------

    def _variable_families(self) -> tuple[Family, ...]:
        families: list[Family] = []
        first = 0
        for variable in self.model.variables.values():
            with self._collect_errors():
                domain = indexed = self._variable_domain(variable)
                if variable.indexing.conditions or self._is_cut(variable):
                    indexed = self.ev.index_domain(variable.indexing, variable.span, conditions=False)
                self.store.variables[variable.name] = Columns(domain, first, indexed)
                families.append(
                    Family(variable.name, first, domain, variable.span, _unit(variable.type), doc=variable.doc)
                )
                first += domain.size
        return tuple(families)

    def _is_cut(self, variable: CheckedVariable) -> bool:
        """Whether only the given nonzero elements of a family get columns."""
        if variable.name not in self.fixed or not variable.indexing.iterators:
            return False
        from gpusched_dsl.compiling.lowering.fixing import may_be_zero

        return variable.kind == "binary" or may_be_zero(self.ev, variable)

    def _variable_domain(self, variable: CheckedVariable) -> Domain:
        if self._is_cut(variable):
            from gpusched_dsl.compiling.lowering.fixing import domain_given

            return domain_given(self.ev, variable, self.fixed[variable.name])
        return self._domain(variable)

    def _bounds(self, variable: CheckedVariable) -> _Bounds:
        domain = self.store.variables[variable.name].domain
        frame = self.ev.domain_frame(variable.indexing, domain)
        integer = variable.kind in ("integer", "binary")
        lower = np.full(domain.size, 0.0 if variable.kind == "binary" else -INFINITY)
        upper = np.full(domain.size, 1.0 if variable.kind == "binary" else INFINITY)
        for bound in variable.bounds:
            value = self.ev.numbers(bound.value, frame)
            wrong = ~np.isfinite(value)
            self.ev.refuse_where(wrong, "GSM3004", "the bound is not a finite number", bound.value, frame, "not finite")
            assert bound.op in ("<=", ">=", "=="), "the checker rejects strict bounds of variables"
            if bound.op in (">=", "=="):
                lower = np.maximum(lower, value)
            if bound.op in ("<=", "=="):
                upper = np.minimum(upper, value)
        if variable.name in self.fixed:
            from gpusched_dsl.compiling.lowering.fixing import values_at

            value = values_at(domain, self.fixed[variable.name])
            lower, upper = np.maximum(lower, value), np.minimum(upper, value)
        return _Bounds(lower, upper, np.full(domain.size, integer))

    # --- constraints -------------------------------------------------------------------------------------------------

    def _constraint(self, constraint: CheckedConstraint, domain: Domain) -> list[_Rows]:
        frame = self.ev.domain_frame(constraint.indexing, domain)
        parts: list[_Rows] = []
        for part in self.assertions.of(constraint.body, frame):
            checkpoint()
            part_domain = domain
            if part.rows is not None and domain.arity:
                part_domain = TupleDomain(domain.components, tuple(c[part.rows] for c in domain.columns()))
            elif part.rows is not None and not len(part.rows):
                continue
            parts.append(self._rows(constraint, len(parts), part_domain, part))
        return parts

    def _rows(self, constraint: CheckedConstraint, part: int, domain: Domain, sides: Assertion) -> _Rows:
        blocks, frame = sides.expression.blocks, sides.frame
        name = f"constraint `{constraint.name}`"
        entries = sum(frame.size if b.rows is None else len(b.rows) for b in blocks)
        self.ev.budget.problem(entries, constraint.span, name)
        starts, _, values = assemble(frame.size, blocks, self.entries)
        not_numbers = np.isnan(sides.lower) | np.isnan(sides.upper) | (np.isinf(sides.lower) & np.isinf(sides.upper))
        self._refuse_not_finite(constraint.span, name, frame, starts, values, not_numbers)
        unit = _unit_of_sides(constraint.body)
        family = Family(constraint.name, self.next_row, domain, constraint.span, unit, part, constraint.doc)
        self.next_row += frame.size
        return _Rows(family, starts, sides.lower, sides.upper, sides.condition)

    def _refuse_not_finite(
        self, span: Span, name: str, frame: Frame, starts: Codes, values: Floats, bad: Bools
    ) -> None:
        is_finite = np.isfinite(values)
        if not is_finite.all():
            entries = np.flatnonzero(~is_finite)
            bad = bad.copy()
            bad[np.searchsorted(starts, entries, side="right") - 1] = True
        if bad.any():
            where = self.ev.row_text(frame, int(np.flatnonzero(bad)[0]))
            message = f"{name} has a number that is not finite" + (f" for {where}" if where else "")
            raise self.ev.failure("GSM3004", message, span, help="values are too large, or in the wrong unit")

    # --- objectives --------------------------------------------------------------------------------------------------

    def _objective(self, objective: CheckedObjective) -> Objective:
        terms: list[Term] = []
        for term in objective.terms:
            self.terms.owner = term.name or "objective"
            affine = self.linear.affine(term.value, EMPTY_FRAME)
            entries = sum(1 if b.rows is None else len(b.rows) for b in affine.blocks)
            name = f"term `{term.name}`" if term.name else "the objective"
            self.ev.budget.problem(entries, term.span, name)
            starts, columns, values = assemble(1, affine.blocks)
            total = affine.constant.reshape(-1)
            self._refuse_not_finite(term.span, name, EMPTY_FRAME, starts, values, ~np.isfinite(total))
            terms.append(Term(term.name, columns, values, float(total[0]), term.span))
        unit = _unit_text(objective.unit.text)
        return Objective(objective.sense, tuple(terms), objective.name, unit, objective.span)


def _unit(type_: ValueType) -> str:
    return _unit_text(type_.unit.text) if isinstance(type_, Numeric) else ""


def _unit_text(text: str) -> str:
    return "" if text == "1" else text


def _unit_of_sides(body: TypedExpr) -> str:
    while isinstance(body, Logic):
        body = body.operands[-1]
    return _unit(body.operands[0].type) if isinstance(body, ComparisonChain) else ""


def _join(parts: Sequence[Values], dtype: type) -> Values:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=dtype)


def _extended(declared: Values, added: Values) -> Values:
    return np.concatenate((declared, added)) if len(added) else declared


def _conditions(rows: list[_Rows]) -> Conditions:
    guarded = [(r.family, *r.condition) for r in rows if r.condition is not None]
    if not guarded:
        return Conditions.none()
    return Conditions(
        np.concatenate([np.arange(f.first, f.stop, dtype=np.int64) for f, _, _ in guarded]),
        np.concatenate([columns for _, columns, _ in guarded]),
        np.concatenate([values for _, _, values in guarded]),
    )


def _starts_of(rows: list[_Rows]) -> Codes:
    """Where the entries of each row start, for the rows of all parts together."""
    starts = np.zeros(1 + sum(len(r.starts) - 1 for r in rows), dtype=np.int64)
    row = 0
    for part in rows:
        count = len(part.starts) - 1
        np.add(part.starts[1:], starts[row], out=starts[row + 1 : row + count + 1])
        row += count
    return starts
