"""Objectives, constraints and checks."""

from __future__ import annotations

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    CheckedCheck,
    CheckedConstraint,
    CheckedObjective,
    CheckedTerm,
    TypedExpr,
)
from gpusched_dsl.language.checking.conversion import fit, ratio_as_number, unit_in
from gpusched_dsl.language.checking.expressions import ExpressionChecker
from gpusched_dsl.language.checking.kinds import describe, is_truth, is_zero, numeric_type
from gpusched_dsl.language.checking.references import declaration_labels
from gpusched_dsl.language.checking.strict_comparisons import refuse_strict_comparisons
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS, Unit, unit_of


def check_constraint(checker: ExpressionChecker, decl: tree.ConstraintDecl) -> CheckedConstraint | None:
    indexing, scope = checker.indexing(decl.indexing)
    body = checker.check(decl.body, scope)
    if body is None or indexing is None:
        return None
    name = decl.name.text
    if not is_truth(body, checker.symbols):
        number = numeric_type(body) is not None
        checker.error(
            "GSM1218",
            f"constraint `{name}` has no comparison",
            body.span,
            describe(body.type),
            secondary=declaration_labels(checker, body),
            help="state a relation with `==`, `<=`, `>=` or `=>`" if number else None,
        )
        return None
    if not body.decision:
        checker.error(
            "GSM1219",
            f"constraint `{name}` has no variable",
            body.span,
            "only data",
            help="write a condition on the data as a `check`",
        )
        return None
    if not refuse_strict_comparisons(checker, body):
        return None
    return CheckedConstraint(name, decl.name.span, indexing, body, decl.doc)


def check_check(checker: ExpressionChecker, decl: tree.CheckDecl) -> CheckedCheck | None:
    indexing, scope = checker.indexing(decl.indexing)
    condition = checker.condition(decl.condition, scope)
    if condition is None or indexing is None or not checker.data_only(condition, "a `check`"):
        return None
    return CheckedCheck(decl.condition.span, indexing, condition, decl.message)


# --- objectives ------------------------------------------------------------------------------------------------------


def check_objectives(checker: ExpressionChecker, decls: list[tree.ObjectiveDecl]) -> tuple[CheckedObjective, ...]:
    """The objectives in the order of their priority; those in error are left out."""
    for number, decl in enumerate(decls):
        _check_priority(checker, decls, number, decl)
    checked = [check_objective(checker, decl) for decl in decls]
    return tuple(objective for objective in checked if objective is not None)


def _place(decl: tree.ObjectiveDecl) -> Span:
    return decl.name.span if decl.name is not None else decl.span


def _check_priority(
    checker: ExpressionChecker, decls: list[tree.ObjectiveDecl], number: int, decl: tree.ObjectiveDecl
) -> None:
    if number == 0 and decl.then:
        checker.error(
            "GSM1409",
            "`then` needs an objective before it",
            _place(decl),
            "no objective before this",
            help="remove `then`, or state the more important objective first",
        )
    elif number > 0 and not decl.then:
        checker.error(
            "GSM1409",
            "several objectives need an order",
            _place(decl),
            "second objective",
            secondary=[Label(_place(decls[number - 1]), "first objective")],
            help=f"write `then {decl.sense} ...` for the less important one, or add both into one objective",
        )


def check_objective(checker: ExpressionChecker, decl: tree.ObjectiveDecl) -> CheckedObjective | None:
    """All terms in the unit after `in`, or in that of the first term that has one."""
    name = decl.name.text if decl.name is not None else None
    unit = unit_of(decl.unit, checker.diagnostics) if decl.unit is not None else None
    values = [checker.number(term.value) for term in decl.terms]
    if decl.unit is None:
        values = [ratio_as_number(checker, value) for value in values]
    because: Label | None = None
    if unit is not None:
        because = Label(_place(decl), f"{f'`{name}`' if name else 'the objective'} is in `{unit}`")
    elif decl.unit is None:
        unit, because = _first_unit(values)
    terms = [_term(checker, t, v, unit, because) for t, v in zip(decl.terms, values, strict=True)]
    sound = [t for t in terms if t is not None]
    if unit is None or len(sound) < len(terms):
        return None
    return CheckedObjective(name, _place(decl), decl.sense, unit, tuple(sound), decl.doc)


def _first_unit(values: list[TypedExpr | None]) -> tuple[Unit, Label | None]:
    for value in values:
        if value is not None and not is_zero(value):
            unit = unit_in(value)
            return unit, Label(
                value.span, f"this term is {'a plain number' if unit == DIMENSIONLESS else f'in `{unit}`'}"
            )
    return DIMENSIONLESS, None


def _term(
    checker: ExpressionChecker,
    term: tree.ObjectiveTerm,
    value: TypedExpr | None,
    unit: Unit | None,
    because: Label | None,
) -> CheckedTerm | None:
    if value is None or unit is None:
        return None
    fitted = fit(checker, value, unit, because=because)
    if fitted is None or not refuse_strict_comparisons(checker, fitted):
        return None
    name = term.name.text if term.name is not None else None
    return CheckedTerm(name, term.name.span if term.name is not None else term.span, fitted, term.doc)
