"""The interface of readers of affine expressions, for truth values, nonlinear terms and expectations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.lowering.affine import Affine
from gpusched_dsl.compiling.lowering.auxiliaries import AuxiliaryColumns
from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.language.checked import CheckedLet, IndexRef, IndexVar, LetRef, TypedExpr

Reading: TypeAlias = Callable[[TypedExpr, Frame], Affine]


class AffineReader(ABC):
    """Reads expressions row by row: a choice by data is read in the same way for every `Reading`."""

    def __init__(self, evaluator: Evaluator, terms: AuxiliaryColumns) -> None:
        self.ev = evaluator
        self.terms = terms

    @abstractmethod
    def affine(self, expr: TypedExpr, frame: Frame) -> Affine:
        """Return one affine expression per row of the frame; raise DiagnosticError (GSM3010) for unsupported forms."""

    def branches(self, mask: Bools, then: TypedExpr, otherwise: TypedExpr, frame: Frame, read: Reading) -> Affine:
        """One expression where the mask is true, another where it is not; each is read on its own rows only."""
        yes, no = np.flatnonzero(mask), np.flatnonzero(~mask)
        if not len(no):
            return read(then, frame)
        if not len(yes):
            return read(otherwise, frame)
        return read(then, frame.take(yes)).spread(yes, frame.size) + read(otherwise, frame.take(no)).spread(
            no, frame.size
        )


def caller_keys(let: CheckedLet, expr: LetRef) -> dict[IndexVar, IndexVar]:
    """Return the indices of a `let` that are plain indices of its caller, with those of the caller."""
    return {
        variable: subscript.variable
        for variable, subscript in zip(let.indexing.variables, expr.subscripts, strict=True)
        if isinstance(subscript, IndexRef)
    }
