"""What must hold of the definitions and conditions of a problem file beyond the types of their fields."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.ir.json.arrays import (
    Broken,
    Codes,
    check_sparse,
    check_starts,
    finite,
    finite_sides,
    numbers,
    repeats,
    same_length,
)
from gpusched_dsl.ir.json.terms import (
    AffinesFile,
    ConditionsFile,
    CurvesFile,
    DefinitionFile,
    ExtremeBlock,
    HoldsBlock,
    PartialExpectationBlock,
    PiecewiseBlock,
    PowerBlock,
    ProductBlock,
)

Flags = NDArray[np.bool_]


def check_definitions(definitions: Sequence[DefinitionFile], laws: int, declared: int, binary: Flags) -> None:
    """Raise Broken unless every block reads declared columns and results of blocks before it only.

    There are `laws` laws. The first `declared` columns are declared; `binary` says which of all are 0 or 1.
    """
    made_by = np.full(len(binary), -1, dtype=np.int64)
    for k, block in enumerate(definitions):
        place = f"definitions[{k}].results"
        results = numbers(block.results, len(binary), place)
        if (results < declared).any():
            raise Broken(f"{place} names a declared column")
        if repeats(results) or (made_by[results] >= 0).any():
            raise Broken(f"{place} names a column that is defined already")
        made_by[results] = k
    for k, block in enumerate(definitions):
        place = f"definitions[{k}]"
        _check_arguments(block.arguments, len(binary), f"{place}.arguments")
        if (made_by[np.array(block.arguments.columns, dtype=np.int64)] >= k).any():
            raise Broken(f"{place}.arguments reads a column that this definition or a later one gives")
        _check_block(block, laws, binary, place)


def _check_arguments(arguments: AffinesFile, columns: int, place: str) -> None:
    check_sparse(arguments.starts, arguments.columns, arguments.values, columns, place)
    same_length(arguments.starts, len(arguments.constants) + 1, f"{place}.starts", f"{place}.constants, plus one")
    finite(arguments.constants, f"{place}.constants")


def _check_block(block: DefinitionFile, laws: int, binary: Flags, place: str) -> None:
    size, arguments = len(block.results), block.arguments.constants
    if isinstance(block, ProductBlock | ExtremeBlock):
        same_length(block.starts, size + 1, f"{place}.starts", "results, plus one")
        check_starts(block.starts, len(arguments), f"{place}.starts", least=1)
    else:
        same_length(arguments, size, f"{place}.arguments.constants", "results")
    match block:
        case PowerBlock():
            same_length(block.exponents, size, f"{place}.exponents", "results")
            finite(block.exponents, f"{place}.exponents")
        case PiecewiseBlock():
            _check_curves(block.curves, f"{place}.curves")
            _check_which(block.which, size, len(block.curves.starts) - 1, place, "curve")
        case PartialExpectationBlock():
            _check_which(block.which, size, len(block.laws), place, "law")
            numbers(block.laws, laws, f"{place}.laws", "law")
        case HoldsBlock():
            for name, sides in (("lower", block.lower), ("upper", block.upper)):
                same_length(sides, size, f"{place}.{name}", "results")
                finite_sides(sides, f"{place}.{name}")
            if not binary[np.array(block.results, dtype=np.int64)].all():
                raise Broken(f"{place}.results names a column that is not binary")


def _check_which(which: list[int], size: int, count: int, place: str, what: str) -> None:
    same_length(which, size, f"{place}.which", "results")
    numbers(which, count, f"{place}.which", what)


def _check_curves(curves: CurvesFile, place: str) -> None:
    starts = check_starts(curves.starts, len(curves.x), f"{place}.starts", least=1)
    same_length(curves.y, len(curves.x), f"{place}.y", f"{place}.x")
    for name, values in (("x", curves.x), ("y", curves.y)):
        finite(values, f"{place}.{name}")
    each = (("slope_before", curves.slope_before), ("slope_after", curves.slope_after), ("errors", curves.errors))
    for name, values in each:
        same_length(values, len(starts) - 1, f"{place}.{name}", f"{place}.starts, less one")
        finite(values, f"{place}.{name}")
    curve_of: Codes = np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))
    if ((np.diff(np.array(curves.x, dtype=np.float64)) <= 0) & (np.diff(curve_of) == 0)).any():
        raise Broken(f"{place}.x does not increase within a curve")


def check_conditions(conditions: ConditionsFile | None, rows: int, binary: Flags) -> None:
    """Raise Broken unless each is on one of the rows, in order, and asks for a value of a binary column."""
    if conditions is None:
        return
    named = numbers(conditions.rows, rows, "conditions.rows", "row")
    if (np.diff(named) <= 0).any():
        raise Broken("conditions.rows does not increase")
    same_length(conditions.columns, len(named), "conditions.columns", "conditions.rows")
    same_length(conditions.values, len(named), "conditions.values", "conditions.rows")
    if not binary[numbers(conditions.columns, len(binary), "conditions.columns")].all():
        raise Broken("conditions.columns names a column that is not binary")
