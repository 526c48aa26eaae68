"""The structs of the JSON form of a problem: its content, and the types of its fields."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gpusched_dsl.ir.json.arrays import Number, Side
from gpusched_dsl.ir.json.domains import DomainFile, UniverseFile
from gpusched_dsl.ir.json.laws import LawFile
from gpusched_dsl.ir.json.terms import ConditionsFile, DefinitionFile


class FamilyFile(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A run of columns or rows, one per tuple of the domain; families follow each other without gaps."""

    name: str
    domain: Number
    unit: str = ""
    part: Number = 0
    doc: str | None = None
    place: str | None = None


class RowsFile(msgspec.Struct, forbid_unknown_fields=True):
    """Row i is `lower[i] <= sum(values[k] * x[columns[k]] for k in starts[i] .. starts[i+1] - 1) <= upper[i]`."""

    starts: list[Number]
    columns: list[Number]
    values: list[float]
    lower: list[Side]
    upper: list[Side]


class TermFile(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """`constant + sum(coefficients[k] * x[columns[k]])`."""

    columns: list[Number]
    coefficients: list[float]
    constant: float = 0.0
    name: str | None = None
    place: str | None = None


class ObjectiveFile(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """The sum of its terms, to be minimised or maximised; earlier objectives have priority."""

    sense: Literal["minimize", "maximize"]
    terms: list[TermFile]
    name: str | None = None
    unit: str = ""
    place: str | None = None


class ProblemFile(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A mixed-integer problem with the names it had in its model.

    Its columns are those of `variables` and, behind them, those of `auxiliary`, which `definitions` give their values:
    each reads declared columns and results of definitions before it. Without these and `conditions` it is linear.
    `decompose` is the universe whose elements number blocks that only some rows link.
    """

    format: Literal["gsdsl-problem"]
    version: Literal[1, 2]
    name: str
    universes: list[UniverseFile]
    domains: list[DomainFile]
    variables: list[FamilyFile]
    constraints: list[FamilyFile]
    lower: list[Side]
    upper: list[Side]
    integer: Annotated[list[tuple[Number, Number]], Meta(description="runs `first .. stop - 1` of integer columns")]
    rows: RowsFile
    objectives: list[ObjectiveFile]
    auxiliary: list[FamilyFile] = []
    definitions: list[DefinitionFile] = []
    laws: list[LawFile] = []
    conditions: ConditionsFile | None = None
    decompose: str | None = None
