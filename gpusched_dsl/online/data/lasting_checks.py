"""Checks of a model that hold in every part of the data in which they held as a whole.

A check of the form `for all elements: condition` cannot fail in a part if its condition has the same value there for
the elements of the part. So it is evaluated once, with the data of the run, and not again for every plan.
"""

from __future__ import annotations

from collections.abc import Container

from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.online.data.part_values import PartValues


def lasting_checks(
    model: CheckedModel, given: Container[str], carried: Container[str], roots: Container[str]
) -> frozenset[int]:
    """Return the positions of these checks. `roots` are the root sets of which parts have only some elements."""
    values = PartValues(model, given, roots, changing=carried, decided_change=True)
    return frozenset(
        number
        for number, check in enumerate(model.checks)
        if values.index_list_stays(check.indexing) and values.stay(check.condition, in_data=True)
    )
