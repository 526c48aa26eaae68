"""Checks between the parts of a problem file, beyond the types of its fields."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.ir.definitions.base import AffinesFile, Block
from gpusched_dsl.ir.domains import Packing
from gpusched_dsl.ir.json.arrays import (
    Broken,
    check_length,
    check_sides,
    check_sparse,
    finite_array,
    has_repeats,
    infinite_from_none,
    numbers,
)
from gpusched_dsl.ir.json.domains import DomainFile, IntervalFile, ProductFile, ScalarsFile, UniverseFile
from gpusched_dsl.ir.json.schema import FamilyFile, ProblemFile
from gpusched_dsl.ir.json.terms import ConditionsFile

LARGEST = 2**62  # leaves room for sums of two codes
MOST_COLUMNS = 2**31 - 1


def check_file(file: ProblemFile) -> None:
    """Raise `Broken` unless the file describes a problem."""
    for k, universe in enumerate(file.universes):
        _check_universe(universe, f"universes[{k}]")
    sizes: list[int] = []
    for k, domain in enumerate(file.domains):
        sizes.append(_domain_size(domain, file, sizes, f"domains[{k}]"))
    if file.decompose is not None and file.decompose not in (u.name for u in file.universes):
        raise Broken(f"decompose names the universe `{file.decompose}`, which is not among the universes")
    columns, rows = len(file.lower), len(file.rows.lower)
    if columns > MOST_COLUMNS:
        raise Broken("there are more columns than can be counted with 32 bits")
    declared = _total_size(file.variables, sizes, "variables")
    if declared + _total_size(file.auxiliary, sizes, "auxiliary") != columns:
        raise Broken(f"variables and auxiliary do not add up to the {columns} columns")
    if _total_size(file.constraints, sizes, "constraints") != rows:
        raise Broken(f"constraints do not add up to the {rows} rows")
    check_length(file.upper, columns, "upper", "lower")
    check_length(file.rows.upper, rows, "rows.upper", "rows.lower")
    check_sides(file.lower, "lower")
    check_sides(file.upper, "upper")
    check_sides(file.rows.lower, "rows.lower")
    check_sides(file.rows.upper, "rows.upper")
    check_length(file.rows.starts, rows + 1, "rows.starts", "rows.lower, plus one")
    check_sparse(file.rows.starts, file.rows.columns, file.rows.values, columns, "rows")
    binary = _binary(file, columns)
    check_definitions(file.definitions, len(file.laws), declared, binary)
    check_conditions(file.conditions, rows, binary)
    for k, objective in enumerate(file.objectives):
        for i, term in enumerate(objective.terms):
            place = f"objectives[{k}].terms[{i}]"
            check_length(term.coefficients, len(term.columns), f"{place}.coefficients", "columns")
            finite_array([*term.coefficients, term.constant], f"{place}.coefficients")
            if has_repeats(numbers(term.columns, columns, f"{place}.columns")):
                raise Broken(f"{place}.columns names a column twice")


def _check_universe(universe: UniverseFile, place: str) -> None:
    if len(set(universe.labels)) < len(universe.labels):
        raise Broken(f"{place} has a repeated label")
    if len({type(label) for label in universe.labels}) > 1:
        raise Broken(f"{place} has both strings and integers as labels")
    if any(isinstance(label, int) and abs(label) >= LARGEST for label in universe.labels):
        raise Broken(f"{place} has an integer that is too large")


def _domain_size(domain: DomainFile, file: ProblemFile, sizes: list[int], place: str) -> int:
    if isinstance(domain, ScalarsFile):
        return 1
    if isinstance(domain, IntervalFile):
        if max(abs(domain.low), abs(domain.high), domain.step) >= LARGEST:
            raise Broken(f"{place} has a bound that is too large")
        size = max(0, (domain.high - domain.low) // domain.step + 1)
        if domain.universe is not None:
            elements = _universe_size(domain.universe, file, place)
            if size and not 0 <= domain.low <= domain.high < elements:
                raise Broken(f"{place} exceeds the {elements} elements of its universe")
        return size
    if isinstance(domain, ProductFile):
        size = 1
        for factor in domain.factors:
            if factor >= len(sizes):
                raise Broken(f"{place} has the factor {factor}, which is not an earlier domain")
            size *= sizes[factor]
        return size
    if not domain.codes or len(domain.codes) != len(domain.components):
        raise Broken(f"{place} needs one column of codes per component, and at least one")
    size = len(domain.codes[0])
    columns = []
    for k, (component, codes) in enumerate(zip(domain.components, domain.codes, strict=True)):
        check_length(codes, size, f"{place}.codes[{k}]", "the first column")
        limit = None if component is None else _universe_size(component, file, place)
        columns.append(_codes(codes, limit, f"{place}.codes[{k}]"))
    if size and has_repeats(Packing.of(columns).keys(columns)):
        raise Broken(f"{place} has a repeated tuple")
    return size


def _universe_size(number: int, file: ProblemFile, place: str) -> int:
    if number >= len(file.universes):
        raise Broken(f"{place} refers to universe {number}; there are {len(file.universes)}")
    return len(file.universes[number].labels)


def _codes(codes: list[int], limit: int | None, place: str) -> Codes:
    values = np.array(codes, dtype=np.int64)
    low, high = (0, limit) if limit is not None else (-LARGEST, LARGEST)
    if ((values < low) | (values >= high)).any():
        raise Broken(f"{place} has a code outside its universe")
    return values


def _total_size(families: list[FamilyFile], sizes: list[int], place: str) -> int:
    """Return the total number of columns or rows of the families."""
    total = 0
    for k, family in enumerate(families):
        if family.domain >= len(sizes):
            raise Broken(f"{place}[{k}] refers to domain {family.domain}; there are {len(sizes)}")
        total += sizes[family.domain]
    return total


def _binary(file: ProblemFile, columns: int) -> Bools:
    """Which columns are 0 or 1; raises Broken for runs of integer columns that are none."""
    binary = np.zeros(columns, dtype=np.bool_)
    last = 0
    for k, (first, stop) in enumerate(file.integer):
        if not last <= first < stop <= columns:
            raise Broken(f"integer[{k}] is not a run after the previous run and within the {columns} columns")
        binary[first:stop] = True
        last = stop
    binary &= (infinite_from_none(file.lower, -np.inf) >= 0) & (infinite_from_none(file.upper, np.inf) <= 1)
    return binary


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
