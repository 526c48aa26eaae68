"""The checked model: names resolved, types known, units erased. The input of grounding; no data, no solver.

Typed expressions have no units left: where two units of one dimension met, the checker has put an
`Arithmetic("*", expr, Constant(factor))`, so the number of every expression is in its own `type.unit`. A `let` is kept
as a reference (`LetRef`) and evaluated like a function of its indices.
"""

from __future__ import annotations

from gpusched_dsl.language.checked.base import IndexVar, Iterator, TypedExpr, TypedIndexing, TypedSet
from gpusched_dsl.language.checked.declarations import (
    CheckedBound,
    CheckedCheck,
    CheckedConstraint,
    CheckedLet,
    CheckedObjective,
    CheckedParam,
    CheckedRandom,
    CheckedSet,
    CheckedTerm,
    CheckedVariable,
)
from gpusched_dsl.language.checked.intervals import IntervalLoad, TimeInterval, interval_of
from gpusched_dsl.language.checked.laws import SampleFile, TypedLaw, TypedList
from gpusched_dsl.language.checked.model import CheckedModel
from gpusched_dsl.language.checked.operations import (
    Arithmetic,
    ComparisonChain,
    Executed,
    Expected,
    Function,
    IfThenElse,
    Logic,
    Membership,
    Negate,
    Ordinal,
    PiecewiseLinear,
    Reduction,
    SetFunction,
)
from gpusched_dsl.language.checked.placement import CheckedPlacement, CheckedPlacementItem, Role
from gpusched_dsl.language.checked.references import (
    Constant,
    ElementWithLabel,
    Fallback,
    IndexRef,
    KnownValue,
    LetRef,
    ParamRef,
    RandomRef,
    Shift,
    StringLiteral,
    VariableRef,
    has_decided_subscripts,
)
from gpusched_dsl.language.checked.sets import (
    ComprehensionSet,
    IndexedSetRef,
    IntegerRange,
    LiteralSet,
    NamedSet,
    SetOperation,
    SliceSet,
)
from gpusched_dsl.language.checked.types import Element, IntervalType, Logical, Numeric, TextType, ValueType

__all__ = [
    "Arithmetic",
    "CheckedBound",
    "CheckedCheck",
    "CheckedConstraint",
    "CheckedLet",
    "CheckedModel",
    "CheckedObjective",
    "CheckedParam",
    "CheckedPlacement",
    "CheckedPlacementItem",
    "CheckedRandom",
    "CheckedSet",
    "CheckedTerm",
    "CheckedVariable",
    "ComparisonChain",
    "ComprehensionSet",
    "Constant",
    "Element",
    "ElementWithLabel",
    "Executed",
    "Expected",
    "Fallback",
    "Function",
    "IfThenElse",
    "IndexRef",
    "IndexVar",
    "IndexedSetRef",
    "IntegerRange",
    "IntervalLoad",
    "IntervalType",
    "Iterator",
    "KnownValue",
    "LetRef",
    "LiteralSet",
    "Logic",
    "Logical",
    "Membership",
    "NamedSet",
    "Negate",
    "Numeric",
    "Ordinal",
    "ParamRef",
    "PiecewiseLinear",
    "RandomRef",
    "Reduction",
    "Role",
    "SampleFile",
    "SetFunction",
    "SetOperation",
    "Shift",
    "SliceSet",
    "StringLiteral",
    "TextType",
    "TimeInterval",
    "TypedExpr",
    "TypedIndexing",
    "TypedLaw",
    "TypedList",
    "TypedSet",
    "ValueType",
    "VariableRef",
    "has_decided_subscripts",
    "interval_of",
]
