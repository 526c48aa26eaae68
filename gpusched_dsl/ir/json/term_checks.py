"""Checks of the definitions and conditions of a problem file, beyond the types of their fields."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.definitions.base import AffinesFile, Block
from gpusched_dsl.ir.json.arrays import Broken, check_length, check_sparse, finite_array, has_repeats, numbers
from gpusched_dsl.ir.json.terms import ConditionsFile


def check_definitions(definitions: Sequence[Block], laws: int, declared: int, binary: Bools) -> None:
    """Raise Broken unless every block reads declared columns and results of blocks before it only.

    There are `laws` laws. The first `declared` columns are declared; `binary` says which of all are 0 or 1.
    """
    made_by = np.full(len(binary), -1, dtype=np.int64)
    for k, block in enumerate(definitions):
        place = f"definitions[{k}].results"
        results = numbers(block.results, len(binary), place)
        if (results < declared).any():
            raise Broken(f"{place} names a declared column")
        if has_repeats(results) or (made_by[results] >= 0).any():
            raise Broken(f"{place} names a column that is defined already")
        made_by[results] = k
    for k, block in enumerate(definitions):
        place = f"definitions[{k}]"
        _check_arguments(block.arguments, len(binary), f"{place}.arguments")
        if (made_by[np.array(block.arguments.columns, dtype=np.int64)] >= k).any():
            raise Broken(f"{place}.arguments reads a column that this definition or a later definition defines")
        block.check(place, laws, binary)


def _check_arguments(arguments: AffinesFile, columns: int, place: str) -> None:
    check_sparse(arguments.starts, arguments.columns, arguments.values, columns, place)
    check_length(arguments.starts, len(arguments.constants) + 1, f"{place}.starts", f"{place}.constants, plus one")
    finite_array(arguments.constants, f"{place}.constants")


def check_conditions(conditions: ConditionsFile | None, rows: int, binary: Bools) -> None:
    """Raise Broken unless each is on one of the rows, in order, with a value of a binary column."""
    if conditions is None:
        return
    named = numbers(conditions.rows, rows, "conditions.rows", "row")
    if (np.diff(named) <= 0).any():
        raise Broken("conditions.rows does not increase")
    check_length(conditions.columns, len(named), "conditions.columns", "conditions.rows")
    check_length(conditions.values, len(named), "conditions.values", "conditions.rows")
    if not binary[numbers(conditions.columns, len(binary), "conditions.columns")].all():
        raise Broken("conditions.columns names a column that is not binary")
