"""Bounds of parameters and `check` conditions against the data: every violation counted, the first ones shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.data.params import ParamOrigin
from gpusched_dsl.data.reports import SHOWN, examples, keys_at, place_text, quote
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Values
from gpusched_dsl.ir.domains import Component, Domain, decode
from gpusched_dsl.language.checked import CheckedBound, CheckedCheck, CheckedParam, Numeric
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics

_HOLDS = {
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "<": np.less,
    ">": np.greater,
    "==": np.equal,
}


def in_range(bound: CheckedBound, values: Values, limits: Values | float) -> Bools:
    """Which values a bound allows."""
    holds: Bools = _HOLDS[bound.op](values, limits)
    return holds


def report_out_of_range(
    checked: CheckedParam,
    domain: Domain,
    values: Values,
    bound_values: Floats | float,
    bound: CheckedBound,
    origin: ParamOrigin | None,
    diagnostics: Diagnostics,
) -> bool:
    """Report (GSM2109) the values that break a bound; True when there are none.

    `bound_values` is a number or one for each position; `origin` is None for a derived parameter. A value that is NaN
    breaks no bound: it has been reported as such.
    """
    limits = np.broadcast_to(np.asarray(bound_values, dtype=np.float64), values.shape)
    wrong = np.flatnonzero(~in_range(bound, values, limits) & ~np.isnan(values.astype(np.float64)))
    if not len(wrong):
        return True
    shown = wrong[:SHOWN].tolist()
    keys = keys_at(checked.name, domain, shown)
    unit = _unit(checked)
    texts = [f"`{key}` is {values[at]:.10g}{unit}" for key, at in zip(keys, shown, strict=True)]
    message = f"{texts[0]}, but must be {bound.op} {limits[shown[0]]:.10g}{unit}"
    if len(wrong) > 1:
        stated = f"{bound.op} {bound.value.span.text}"
        message = f"{len(wrong)} values of `{checked.name}` are not `{stated}`; for instance {texts[0]}"
    primary = bound.span if origin is None else origin.place(shown[0])
    places = [""] * len(shown) if origin is None else [f" ({place_text(origin.place(at))})" for at in shown]
    diagnostics.error(
        "GSM2109",
        message,
        primary,
        secondary=[] if origin is None else [Label(bound.span, "bound declared here")],
        notes=examples([t + p for t, p in zip(texts[1:], places[1:], strict=True)], len(wrong) - 1),
    )
    return False


def _unit(checked: CheckedParam) -> str:
    if isinstance(checked.type, Numeric) and checked.type.unit.text != "1":
        return f" {checked.type.unit.text}"
    return ""


def report_failed_check(
    check: CheckedCheck,
    components: Sequence[Component],
    columns: Sequence[Codes],
    holds: Bools,
    diagnostics: Diagnostics,
) -> bool:
    """Report (GSM2201) the violations of a `check`; return True if there are none.

    `columns` are the codes of the indices of the check, `holds` one truth value for each row of them (a single one
    when the check has no indices).
    """
    wrong = np.flatnonzero(~np.asarray(holds, dtype=np.bool_))
    if not len(wrong):
        return True
    names = [variable.name for variable in check.indexing.variables]
    shown = [column[wrong[:SHOWN]] for column in columns]
    texts = [
        ", ".join(f"{name} = {quote(label)}" for name, label in zip(names, labels, strict=True))
        for labels in (decode(components, shown) if names else [])
    ]
    condition = " ".join(check.condition.span.text.split())
    message = f"the data violate `{condition}`" if check.message is None else f"a check failed: {check.message}"
    count = len(holds)
    notes: tuple[str, ...] = ()
    if texts:
        notes = (f"violated for {texts[0]}", *examples([f"and for {t}" for t in texts[1:]], len(wrong) - 1))
        if len(wrong) > 1:
            notes = (f"violated in {len(wrong)} of {count} cases", *notes)
    diagnostics.error("GSM2201", message, check.condition.span, "condition of the check", notes=notes)
    return False
