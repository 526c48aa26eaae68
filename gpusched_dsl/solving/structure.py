"""Whether one problem can be turned into another by changing numbers only."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.ir.definitions import Conditions
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Problem

if TYPE_CHECKING:
    from gpusched_dsl.ir.definitions import Definition


# What a definition may change in place, and what says where it comes from.
FREE = {"arguments", "span", "name"}


def same_structure(old: Problem, new: Problem) -> bool:
    """Same families, columns, rows, places of coefficients, integrality, terms and conditions."""

    def shape(problem: Problem) -> list[tuple[str, int, int]]:
        return [(f.name, f.part, f.size) for f in (*problem.column_families, *problem.constraints)]

    return (
        (old.columns, old.rows) == (new.columns, new.rows)
        and shape(old) == shape(new)
        and _same_places(old.matrix, new.matrix)
        and np.array_equal(old.integer, new.integer)
        and _same_conditions(old.conditions, new.conditions)
        and len(old.definitions) == len(new.definitions)
        and all(map(_same_terms, old.definitions, new.definitions))
    )


def _same_places(old: Matrix, new: Matrix) -> bool:
    return np.array_equal(old.starts, new.starts) and np.array_equal(old.columns, new.columns)


def _same_conditions(old: Conditions, new: Conditions) -> bool:
    return all(np.array_equal(getattr(old, name), getattr(new, name)) for name in Conditions.__struct_fields__)


def _same_terms(old: Definition, new: Definition) -> bool:
    """Whether two definitions differ at most in the numbers of their arguments."""
    if type(old) is not type(new) or not _same_places(old.arguments.matrix, new.arguments.matrix):
        return False
    return all(_equal(getattr(old, f.name), getattr(new, f.name)) for f in fields(old) if f.name not in FREE)


def _equal(old: object, new: object) -> bool:
    from gpusched_dsl.ir.definitions import Curves

    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        return np.array_equal(old, new)
    if isinstance(old, Curves) and isinstance(new, Curves):
        return all(_equal(getattr(old, name), getattr(new, name)) for name in Curves.__struct_fields__)
    return bool(old == new)
