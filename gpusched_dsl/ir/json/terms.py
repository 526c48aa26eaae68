"""Definitions and conditions in a problem file: one tagged form per kind of definition, which the kind declares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

import msgspec
import numpy as np

from gpusched_dsl.ir.definitions import Affines, Conditions, Definition, unary_starts
from gpusched_dsl.ir.definitions.base import AffinesFile, Block
from gpusched_dsl.ir.definitions.kinds import definition_kinds
from gpusched_dsl.ir.distributions import Distribution
from gpusched_dsl.ir.json.arrays import Number, finite_numbers
from gpusched_dsl.ir.matrix import Matrix

if TYPE_CHECKING:
    DefinitionFile = Block
else:
    DefinitionFile = Union[tuple(kind.block for kind in definition_kinds() if kind.block is not None)]  # noqa: UP007


class ConditionsFile(msgspec.Struct, forbid_unknown_fields=True):
    """Row `rows[i]` applies only if the 0/1 column `columns[i]` is 1 (`values[i]`) or 0; rows increase."""

    rows: list[Number]
    columns: list[Number]
    values: list[bool]


# --- writing ----------------------------------------------------------------------------------------------------------


def definition_file(definition: Definition, laws: dict[Distribution, int]) -> Block:
    """The form of a block; its laws are added to the numbered ones.

    Raises Unwritable for numbers that JSON cannot hold, and for kinds that have no form.
    """
    matrix = definition.arguments.matrix
    common: dict[str, Any] = {
        "results": definition.results.tolist(),
        "arguments": AffinesFile(
            matrix.starts.tolist(),
            matrix.columns.tolist(),
            finite_numbers(matrix.values),
            finite_numbers(definition.arguments.constants),
        ),
        "name": definition.name,
        "place": None if definition.span is None else str(definition.span),
    }
    return definition.to_block(common, laws)


def conditions_file(conditions: Conditions) -> ConditionsFile | None:
    if not len(conditions.rows):
        return None
    return ConditionsFile(conditions.rows.tolist(), conditions.columns.tolist(), conditions.values.tolist())


# --- reading ----------------------------------------------------------------------------------------------------------


def definition_of(stored: Block, laws: Sequence[Distribution]) -> Definition:
    """The definition of a block that was checked, with the laws of its file."""
    common: dict[str, Any] = {
        "results": np.array(stored.results, dtype=np.int32),
        "starts": unary_starts(len(stored.results)),
        "arguments": _affines(stored.arguments),
        "name": stored.name,
    }
    return stored.definition(common, laws)


def _affines(stored: AffinesFile) -> Affines:
    matrix = Matrix(
        np.array(stored.starts, dtype=np.int64),
        np.array(stored.columns, dtype=np.int32),
        np.array(stored.values, dtype=np.float64),
    )
    return Affines(matrix, np.array(stored.constants, dtype=np.float64))


def conditions_of(stored: ConditionsFile | None) -> Conditions:
    if stored is None:
        return Conditions.none()
    return Conditions(
        np.array(stored.rows, dtype=np.int64),
        np.array(stored.columns, dtype=np.int32),
        np.array(stored.values, dtype=np.bool_),
    )
