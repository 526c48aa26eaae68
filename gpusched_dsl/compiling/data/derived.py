"""Checks computed values of derived parameters and defaults against the declaration: within its set, or 0 or 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusched_dsl.data.reports import SHOWN, declaration_label, examples, keys_at, quote, tuple_text
from gpusched_dsl.data.sets import Enclosing
from gpusched_dsl.ir.arrays import Values
from gpusched_dsl.ir.domains import Component, Domain
from gpusched_dsl.language.checked import CheckedParam, CheckedSet, TypedExpr, TypedSet
from gpusched_dsl.language.diagnostics.errors import Diagnostics


def report_computed(
    checked: CheckedParam,
    formula: TypedExpr,
    domain: Domain,
    values: Values,
    within: Domain | None,
    diagnostics: Diagnostics,
) -> bool:
    """Report the values over `domain` that the declaration excludes; True when there are none.

    GSM2112: not in `within`, where an element that fell off the end of an ordered set is in no set; GSM2114: of a
    binary parameter, neither 0 nor 1. Whole numbers have been checked without data.
    """
    if within is not None and checked.within is not None:
        wrong = np.flatnonzero(within.locate([values.astype(np.int64)]) < 0)
        what = f"not in `{checked.within.span.text}`"
        return _report(checked, formula, domain, values, wrong, ("GSM2112", what), _names(within), diagnostics)
    if checked.kind == "binary":
        wrong = np.flatnonzero((values != 0) & (values != 1))
        return _report(checked, formula, domain, values, wrong, ("GSM2114", "neither 0 nor 1"), _number, diagnostics)
    return True


def report_elements(
    checked: CheckedSet, formula: TypedSet, domain: Domain, within: Enclosing, diagnostics: Diagnostics
) -> bool:
    """Report (GSM2112) the elements of a computed set that are not in `within`; True when there are none."""
    columns = domain.columns()
    wrong = np.flatnonzero(within.locate(columns) < 0)
    if not len(wrong):
        return True
    into = f"not in `{checked.within.span.text}`" if checked.within is not None else "outside"
    shown = [f"`{tuple_text(domain.components, columns, at)}`" for at in wrong[:SHOWN].tolist()]
    message = f"{shown[0]} of `{checked.name}` is {into}"
    if len(wrong) > 1:
        message = f"{len(wrong)} elements of `{checked.name}` are {into}, such as {shown[0]}"
    notes = examples(shown[1:], len(wrong) - 1)
    diagnostics.error("GSM2112", message, formula.span, secondary=[declaration_label(checked)], notes=notes)
    return False


def _report(
    checked: CheckedParam,
    formula: TypedExpr,
    domain: Domain,
    values: Values,
    wrong: Values,
    code_and_what: tuple[str, str],
    text_of: Callable[[float], str],
    diagnostics: Diagnostics,
) -> bool:
    if not len(wrong):
        return True
    code, what = code_and_what
    shown = wrong[:SHOWN].tolist()
    keys = keys_at(checked.name, domain, shown)
    descriptions = [f"`{key}` is {text_of(values[at])}" for key, at in zip(keys, shown, strict=True)]
    message = f"{descriptions[0]}, {what}"
    if len(wrong) > 1:
        message = f"{len(wrong)} values of `{checked.name}` are {what}; for instance {descriptions[0]}"
    notes = examples(descriptions[1:], len(wrong) - 1)
    diagnostics.error(code, message, formula.span, secondary=[declaration_label(checked)], notes=notes)
    return False


def _number(value: float) -> str:
    return f"{value:.10g}"


def _names(within: Domain) -> Callable[[float], str]:
    component: Component = within.components[0]

    def name(code: float) -> str:
        if component is None:
            return str(int(code))
        return f"`{quote(component.labels[int(code)])}`" if 0 <= code < len(component.labels) else "no element"

    return name
