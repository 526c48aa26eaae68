"""What must hold between the parts of a problem file beyond the types of its fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.ir.domains import Packing
from gpusched_dsl.ir.problem import Floats

if TYPE_CHECKING:
    from gpusched_dsl.ir.serial import DomainFile, FamilyFile, ProblemFile, UniverseFile

LARGEST = 2**62  # leaves room for sums of two codes
MOST_COLUMNS = 2**31 - 1


class Broken(Exception):
    """What is wrong, with the place in the file."""


def infinite_from_none(sides: Sequence[float | None], infinity: float) -> Floats:
    values = np.array(sides, dtype=np.float64)  # None becomes NaN, which JSON cannot hold otherwise
    return np.where(np.isnan(values), infinity, values)


def check_file(file: ProblemFile) -> None:
    """Raise `Broken` unless the file describes a problem."""
    for k, universe in enumerate(file.universes):
        _check_universe(universe, f"universes[{k}]")
    sizes: list[int] = []
    for k, domain in enumerate(file.domains):
        sizes.append(_domain_size(domain, file, sizes, f"domains[{k}]"))
    columns, rows = len(file.lower), len(file.rows.lower)
    if columns > MOST_COLUMNS:
        raise Broken("there are more columns than can be counted with 32 bits")
    _check_families(file.variables, sizes, columns, "variables", "columns")
    _check_families(file.constraints, sizes, rows, "constraints", "rows")
    _same_length(file.upper, columns, "upper", "lower")
    _same_length(file.rows.upper, rows, "rows.upper", "rows.lower")
    _finite(infinite_from_none(file.lower, 0.0), "lower")
    _finite(infinite_from_none(file.upper, 0.0), "upper")
    _finite(infinite_from_none(file.rows.lower, 0.0), "rows.lower")
    _finite(infinite_from_none(file.rows.upper, 0.0), "rows.upper")
    last = 0
    for k, (first, stop) in enumerate(file.integer):
        if not last <= first < stop <= columns:
            raise Broken(f"integer[{k}] is not a run behind the one before and within the {columns} columns")
        last = stop
    _check_matrix(file, columns, rows)
    for k, objective in enumerate(file.objectives):
        for i, term in enumerate(objective.terms):
            place = f"objectives[{k}].terms[{i}]"
            _same_length(term.coefficients, len(term.columns), f"{place}.coefficients", "columns")
            _finite(np.array([*term.coefficients, term.constant], dtype=np.float64), f"{place}.coefficients")
            places = _numbers(term.columns, columns, f"{place}.columns")
            if _repeats(places):
                raise Broken(f"{place}.columns names a column twice")


def _check_universe(universe: UniverseFile, place: str) -> None:
    if len(set(universe.labels)) < len(universe.labels):
        raise Broken(f"{place} has a label twice")
    if len({type(label) for label in universe.labels}) > 1:
        raise Broken(f"{place} has both strings and integers as labels")
    if any(isinstance(label, int) and abs(label) >= LARGEST for label in universe.labels):
        raise Broken(f"{place} has an integer that is too large")


def _domain_size(domain: DomainFile, file: ProblemFile, sizes: list[int], place: str) -> int:
    from gpusched_dsl.ir.serial import IntervalFile, ProductFile, ScalarsFile

    if isinstance(domain, ScalarsFile):
        return 1
    if isinstance(domain, IntervalFile):
        if max(abs(domain.low), abs(domain.high), domain.step) >= LARGEST:
            raise Broken(f"{place} has a bound that is too large")
        size = max(0, (domain.high - domain.low) // domain.step + 1)
        if domain.universe is not None:
            elements = _universe_size(domain.universe, file, place)
            if size and not 0 <= domain.low <= domain.high < elements:
                raise Broken(f"{place} reaches beyond the {elements} elements of its universe")
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
        _same_length(codes, size, f"{place}.codes[{k}]", "the first column")
        limit = None if component is None else _universe_size(component, file, place)
        columns.append(_codes(codes, limit, f"{place}.codes[{k}]"))
    if size and _repeats(Packing.of(columns).keys(columns)):
        raise Broken(f"{place} has a tuple twice")
    return size


def _universe_size(number: int, file: ProblemFile, place: str) -> int:
    if number >= len(file.universes):
        raise Broken(f"{place} mentions the universe {number}; there are {len(file.universes)}")
    return len(file.universes[number].labels)


def _codes(codes: list[int], limit: int | None, place: str) -> NDArray[np.int64]:
    values = np.array(codes, dtype=np.int64)
    low, high = (0, limit) if limit is not None else (-LARGEST, LARGEST)
    if ((values < low) | (values >= high)).any():
        raise Broken(f"{place} has a code outside its universe")
    return values


def _check_families(families: list[FamilyFile], sizes: list[int], count: int, place: str, what: str) -> None:
    total = 0
    for k, family in enumerate(families):
        if family.domain >= len(sizes):
            raise Broken(f"{place}[{k}] mentions the domain {family.domain}; there are {len(sizes)}")
        total += sizes[family.domain]
    if total != count:
        raise Broken(f"{place} make {total} {what}, but there are {count}")


def _check_matrix(file: ProblemFile, columns: int, rows: int) -> None:
    entries = len(file.rows.columns)
    _same_length(file.rows.starts, rows + 1, "rows.starts", "rows.lower, plus one")
    _same_length(file.rows.values, entries, "rows.values", "rows.columns")
    starts = np.array(file.rows.starts, dtype=np.int64)
    if starts[0] != 0 or starts[-1] != entries or (np.diff(starts) < 0).any():
        raise Broken(f"rows.starts does not rise from 0 to the {entries} entries")
    numbers = _numbers(file.rows.columns, columns, "rows.columns")
    _finite(np.array(file.rows.values, dtype=np.float64), "rows.values")
    row_of = np.repeat(np.arange(rows, dtype=np.int64), np.diff(starts))
    if _repeats(row_of * max(columns, 1) + numbers):
        raise Broken("rows.columns names a column twice in one row")


def _numbers(values: list[int], count: int, place: str) -> NDArray[np.int64]:
    numbers = np.array(values, dtype=np.int64)
    if (numbers >= count).any():
        raise Broken(f"{place} mentions a column that is not one of the {count}")
    return numbers


def _repeats(values: NDArray[np.int64]) -> bool:
    """Whether a value occurs twice, by sorting: several times faster than `np.unique` on millions."""
    ordered = np.sort(values)
    return bool((ordered[1:] == ordered[:-1]).any())


def _finite(values: Floats, place: str) -> None:
    if not np.isfinite(values).all():
        raise Broken(f"{place} holds a number that is too large")


def _same_length(values: Sequence[object], count: int, place: str, other: str) -> None:
    if len(values) != count:
        raise Broken(f"{place} has {len(values)} entries; {count} are needed (as {other})")
