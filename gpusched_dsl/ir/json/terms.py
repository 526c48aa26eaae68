"""Definitions and conditions in a problem file: one tagged form per kind of definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from gpusched_dsl.ir.definitions import (
    Affines,
    Conditions,
    Curves,
    Definition,
    MinMax,
    PartialExpectation,
    Piecewise,
    Power,
    Product,
    Reified,
    Unary,
    unary_starts,
)
from gpusched_dsl.ir.distributions import Distribution
from gpusched_dsl.ir.json.arrays import Number, Side, Unwritable, infinite_from_none, plain, sides
from gpusched_dsl.ir.matrix import Matrix


class AffinesFile(msgspec.Struct, forbid_unknown_fields=True):
    """Argument i is `constants[i] + sum(values[k] * x[columns[k]] for k in starts[i] .. starts[i+1] - 1)`."""

    starts: list[Number]
    columns: list[Number]
    values: list[float]
    constants: list[float]


class CurvesFile(msgspec.Struct, forbid_unknown_fields=True):
    """Piecewise-linear functions through the points `starts[c] .. starts[c+1] - 1`; beyond them the slopes go on.

    `errors` bound how far each may lie from the function it stands for.
    """

    starts: list[Number]
    x: list[float]
    y: list[float]
    slope_before: list[float]
    slope_after: list[float]
    errors: list[float]


class Block(msgspec.Struct, tag_field="kind", kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Entries of the same kind: the column `results[i]` is a function of argument i."""

    results: list[Number]
    arguments: AffinesFile
    name: str = ""
    place: str | None = None


class ProductBlock(Block, tag="product"):
    """Entry i is the product of the arguments `starts[i] .. starts[i+1] - 1`."""

    starts: list[Number]


class ExtremeBlock(Block, tag="extreme"):
    """Entry i is the largest (or smallest) of the arguments `starts[i] .. starts[i+1] - 1`."""

    starts: list[Number]
    largest: bool


class PowerBlock(Block, tag="power"):
    """Entry i is argument i to the power of `exponents[i]`."""

    exponents: list[float]


class UnaryBlock(Block, tag="unary"):
    """The function of each argument; `log` is the natural one."""

    function: Literal["exp", "log", "abs"]


class PiecewiseBlock(Block, tag="piecewise"):
    """Entry i is curve `which[i]` at argument i."""

    which: list[Number]
    curves: CurvesFile


class PartialExpectationBlock(Block, tag="partial_expectation"):
    """Entry i is E[min(W, argument i)] with W of the law that has the number `laws[which[i]]` in the file."""

    which: list[Number]
    laws: list[Number]


class HoldsBlock(Block, tag="holds"):
    """Entry i is 1 where `lower[i] <= argument i <= upper[i]`, else 0."""

    lower: list[Side]
    upper: list[Side]


DefinitionFile = (
    ProductBlock | ExtremeBlock | PowerBlock | UnaryBlock | PiecewiseBlock | PartialExpectationBlock | HoldsBlock
)


class ConditionsFile(msgspec.Struct, forbid_unknown_fields=True):
    """Row `rows[i]` must hold only where the 0/1 column `columns[i]` is 1 (`values[i]`) or 0; rows increase."""

    rows: list[Number]
    columns: list[Number]
    values: list[bool]


# --- writing ----------------------------------------------------------------------------------------------------------


def definition_file(definition: Definition, laws: dict[Distribution, int]) -> DefinitionFile:
    """The form of a block; its laws are added to the numbered ones.

    A law of several blocks has one number: terms count as equal only where they have one law.
    Raises Unwritable for numbers that JSON cannot hold.
    """
    matrix = definition.arguments.matrix
    said: dict[str, Any] = {
        "results": definition.results.tolist(),
        "arguments": AffinesFile(
            matrix.starts.tolist(), matrix.columns.tolist(), plain(matrix.values), plain(definition.arguments.constants)
        ),
        "name": definition.name,
        "place": None if definition.span is None else str(definition.span),
    }
    match definition:
        case Product():
            return ProductBlock(starts=definition.starts.tolist(), **said)
        case MinMax():
            return ExtremeBlock(starts=definition.starts.tolist(), largest=definition.largest, **said)
        case Power():
            return PowerBlock(exponents=plain(definition.exponents), **said)
        case Unary():
            return UnaryBlock(function=definition.function, **said)  # type: ignore[arg-type]
        case Piecewise(curves=Curves() as curves):
            return PiecewiseBlock(which=definition.which.tolist(), curves=_curves_file(curves), **said)
        case PartialExpectation():
            own = [laws.setdefault(law, len(laws)) for law in definition.laws]
            return PartialExpectationBlock(which=definition.which.tolist(), laws=own, **said)
        case Reified():
            lower, upper = sides(definition.lower, -np.inf), sides(definition.upper, np.inf)
            return HoldsBlock(lower=lower, upper=upper, **said)
    raise Unwritable(f"a definition of the class `{type(definition).__name__}`")


def _curves_file(curves: Curves) -> CurvesFile:
    return CurvesFile(
        curves.starts.tolist(),
        *(plain(v) for v in (curves.x, curves.y, curves.slope_before, curves.slope_after, curves.errors)),
    )


def conditions_file(conditions: Conditions) -> ConditionsFile | None:
    if not len(conditions.rows):
        return None
    return ConditionsFile(conditions.rows.tolist(), conditions.columns.tolist(), conditions.values.tolist())


# --- reading ----------------------------------------------------------------------------------------------------------


def definition_of(stored: DefinitionFile, laws: Sequence[Distribution]) -> Definition:
    """The block, of a form that was checked, with the laws of its file."""
    said: dict[str, Any] = {
        "results": np.array(stored.results, dtype=np.int32),
        "starts": unary_starts(len(stored.results)),
        "arguments": _affines(stored.arguments),
        "name": stored.name,
    }
    match stored:
        case ProductBlock():
            return Product(**said | {"starts": np.array(stored.starts, dtype=np.int64)})
        case ExtremeBlock():
            return MinMax(**said | {"starts": np.array(stored.starts, dtype=np.int64)}, largest=stored.largest)
        case PowerBlock():
            return Power(**said, exponents=np.array(stored.exponents, dtype=np.float64))
        case UnaryBlock():
            return Unary(**said, function=stored.function)
        case PiecewiseBlock():
            return Piecewise(**said, which=np.array(stored.which, dtype=np.int64), curves=_curves(stored.curves))
        case PartialExpectationBlock():
            own = tuple(laws[number] for number in stored.laws)
            return PartialExpectation(**said, which=np.array(stored.which, dtype=np.int64), laws=own)
        case HoldsBlock():
            lower, upper = infinite_from_none(stored.lower, -np.inf), infinite_from_none(stored.upper, np.inf)
            return Reified(**said, lower=lower, upper=upper)


def _affines(stored: AffinesFile) -> Affines:
    matrix = Matrix(
        np.array(stored.starts, dtype=np.int64),
        np.array(stored.columns, dtype=np.int32),
        np.array(stored.values, dtype=np.float64),
    )
    return Affines(matrix, np.array(stored.constants, dtype=np.float64))


def _curves(stored: CurvesFile) -> Curves:
    values = (stored.x, stored.y, stored.slope_before, stored.slope_after, stored.errors)
    return Curves(np.array(stored.starts, dtype=np.int64), *(np.array(v, dtype=np.float64) for v in values))


def conditions_of(stored: ConditionsFile | None) -> Conditions:
    if stored is None:
        return Conditions.none()
    return Conditions(
        np.array(stored.rows, dtype=np.int64),
        np.array(stored.columns, dtype=np.int32),
        np.array(stored.values, dtype=np.bool_),
    )
