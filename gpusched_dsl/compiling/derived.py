"""Elements that are computed, by a derived parameter or a default, must be in the set the declaration names."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.store import Values, is_element
from gpusched_dsl.data.reports import SHOWN, declared, examples, keys_at, quoted
from gpusched_dsl.ir.domains import Codes, Component, Domain
from gpusched_dsl.language.checked import CheckedParam, Core
from gpusched_dsl.language.diagnostics import Diagnostics


def report_outside(
    checked: CheckedParam,
    value: Core,
    domain: Domain,
    values: Values,
    within: Domain,
    diagnostics: Diagnostics,
) -> bool:
    """Report (GSM2112) the values, computed from `value` over `domain`, that are not in `within`; True without any.

    A value that fell off the end of an ordered set is in no set.
    """
    assert checked.within is not None
    codes = values.astype(np.int64)
    wrong = np.flatnonzero(within.locate([codes]) < 0)
    if not len(wrong):
        return True
    shown = wrong[:SHOWN]
    told = [
        f"`{key}` is {label}"
        for key, label in zip(
            keys_at(checked.name, domain, shown.tolist()), _labels(codes[shown], within.components[0]), strict=True
        )
    ]
    into = f"not in `{checked.within.span.text}`"
    message = f"{told[0]}, {into}"
    if len(wrong) > 1:
        message = f"{len(wrong)} values of `{checked.name}` are {into}; for instance {told[0]}"
    notes = examples(told[1:], len(wrong) - 1)
    diagnostics.error("GSM2112", message, value.span, secondary=[declared(checked)], notes=notes)
    return False


def _labels(codes: Codes, component: Component) -> list[str]:
    return [
        "no element" if not known else str(code) if component is None else f"`{quoted(component.labels[code])}`"
        for code, known in zip(codes.tolist(), is_element(codes).tolist(), strict=True)
    ]
