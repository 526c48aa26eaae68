"""Variables with given values: a plan inserted into the problem that evaluates it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME, Frame
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.domains import Domain, ScalarDomain, TupleDomain
from gpusched_dsl.ir.problem import Family
from gpusched_dsl.language.checked import CheckedVariable, Constant
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


class VariableValues(Struct, frozen=True, eq=False):
    """The values of a family of variables: index codes, one array per index, and a value for each; others are 0."""

    codes: tuple[Codes, ...]
    values: Floats


def nonzero_values(family: Family, point: Floats) -> VariableValues:
    """Return the values of a family in a point of its problem that are not 0."""
    values = point[family.slice]
    used = np.flatnonzero(values)
    return VariableValues(tuple(codes[used] for codes in family.domain.columns()), values[used])


def given_elements(store: ValueStore, variable: CheckedVariable, given: VariableValues | None) -> tuple[Domain, Floats]:
    """Return the elements that values are given for, in the codes of a store, and the value of each.

    A variable without an index has one element always: its value may have been left out as a 0.
    """
    components = tuple(store.component(v.type) for v in variable.indexing.variables)
    if not components:
        return ScalarDomain(), np.zeros(1) if given is None or not len(given.values) else given.values
    if given is None:
        return TupleDomain(components, tuple(np.zeros(0, dtype=np.int64) for _ in components)), np.zeros(0)
    return TupleDomain(components, given.codes), given.values


PlanValues = Mapping[str, VariableValues]  # by the name of the variable: a plan


def may_be_zero(ev: Evaluator, variable: CheckedVariable) -> bool:
    """Whether the bounds of all elements of a variable that is at least 0 admit 0, as far as few values tell.

    Upper bounds count that are constants or depend on one index: they are evaluated for its whole set.
    """
    lower = [bound.value for bound in variable.bounds if bound.op == ">="]
    if not any(isinstance(value, Constant) and value.value == 0 for value in lower):
        return False
    for bound in variable.bounds:
        value = bound.value
        if bound.op == ">=":
            if not (isinstance(value, Constant) and value.value <= 0):
                return False
            continue
        indices = free_variables(value) & set(variable.indexing.variables)
        if bound.op != "<=" or len(indices) > 1:
            return False
        frame = EMPTY_FRAME
        for index in indices:
            component = ev.store.component(index.type)
            if component is None:
                return False
            frame = Frame(len(component.labels), {index: np.arange(len(component.labels))})
        try:
            known = ev.numbers(value, frame)
        except DiagnosticError:  # elements outside the family may have no value
            return False
        if not (np.isfinite(known) & (known >= 0)).all():
            return False
    return True


def domain_given(ev: Evaluator, variable: CheckedVariable, given: VariableValues) -> Domain:
    """The elements of a family that are not 0, in the order of their codes.

    Raises DiagnosticError (GSM4014) for an element that the variable does not have.
    """
    used = np.flatnonzero(given.values)
    codes = tuple(c[used] for c in given.codes)
    order = np.lexsort(codes[::-1]) if codes else np.zeros(0, dtype=np.int64)
    columns = tuple(c[order] for c in codes)
    frame = Frame(len(order), dict(zip(variable.indexing.variables, columns, strict=True)))
    inside = ev.in_index_list(variable.indexing, frame)
    if not inside.all():
        element = ev.row_text(frame, int(np.flatnonzero(~inside)[0]))
        message = f"the plan sets `{variable.name}` at an index that the model excludes: {element}"
        raise DiagnosticError([Diagnostic("GSM4014", message, variable.span, "declared for other indices")])
    components = tuple(ev.store.component(v.type) for v in variable.indexing.variables)
    return TupleDomain(components, columns)


def values_at(domain: Domain, given: VariableValues) -> Floats:
    """The value of each element of a domain, 0 where none is given."""
    found = np.zeros(domain.size)
    if not given.codes:  # a variable without an index
        found[: len(given.values)] = given.values
        return found
    place = domain.locate(given.codes)
    found[place[place >= 0]] = given.values[place >= 0]
    return found
