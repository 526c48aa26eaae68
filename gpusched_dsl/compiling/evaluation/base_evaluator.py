"""The interface of the evaluator for its parts: joins and index-dependent sets use this base."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME, Expansion, Frame, JoinIndex
from gpusched_dsl.compiling.evaluation.limits import MemoryBudget, MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore, is_element
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Values, spread
from gpusched_dsl.ir.domains import Domain, Scalar
from gpusched_dsl.language.checked import CheckedModel, IndexedSetRef, IndexVar, TypedExpr, TypedIndexing, TypedSet
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span


class BaseEvaluator(ABC):
    """Values of expressions and elements of sets over the rows of a frame; the layers above implement it.

    Errors are reported with the index tuple of the first bad row.
    """

    def __init__(self, model: CheckedModel, store: ValueStore, limits: MemoryLimits) -> None:
        self.model = model
        self.store = store
        self.limits = limits
        self.budget = MemoryBudget(limits)

    def failure(
        self,
        code: str,
        message: str,
        span: Span,
        label: str = "",
        *,
        notes: Sequence[str] = (),
        help: str | None = None,
    ) -> DiagnosticError:
        """The error to raise, with one diagnostic."""
        return DiagnosticError([Diagnostic(code, message, span, label, (), tuple(notes), help)])

    def refuse_where(self, bad: Values, code: str, message: str, expr: TypedExpr, frame: Frame, label: str) -> None:
        """Raise a diagnostic naming the first row where `bad` is true."""
        bad = np.asarray(bad)
        if not bad.any() or not frame.size:
            return
        row = int(np.flatnonzero(np.broadcast_to(bad, (frame.size,)))[0])
        where = self.row_text(frame, row)
        raise self.failure(code, message + (f" for {where}" if where else ""), expr.span, label)

    def row_text(self, frame: Frame, row: int) -> str:
        """`j = j1, n = n2` for a row of a frame."""
        parts = []
        for variable, column in frame.columns.items():
            code = int(column[row])
            component = self.store.component(variable.type)
            known = component is not None and 0 <= code < len(component.labels)
            label: Scalar = component.labels[code] if component is not None and known else code
            parts.append(f"{variable.name} = {label}")
        return ", ".join(parts)

    @abstractmethod
    def values(self, expr: TypedExpr, frame: Frame) -> Values:
        """The value as it is kept: numbers, element codes, or texts as objects."""

    @abstractmethod
    def codes(self, expr: TypedExpr, frame: Frame) -> Codes:
        """The value as index codes."""

    @abstractmethod
    def numbers(self, expr: TypedExpr, frame: Frame) -> Floats:
        """The value as float64."""

    @abstractmethod
    def mask(self, expr: TypedExpr, frame: Frame) -> Bools:
        """A condition as one truth value per row."""

    @abstractmethod
    def expand(self, frame: Frame, indexing: TypedIndexing, span: Span, body: TypedExpr | None = None) -> Expansion:
        """The frame grown by an index list; of the rows at which `body` is 0, some or all may be left out."""

    @abstractmethod
    def needs(self, *exprs: TypedExpr) -> frozenset[IndexVar]:
        """The index variables that some expressions depend on."""

    @abstractmethod
    def index_domain(self, indexing: TypedIndexing, span: Span, *, conditions: bool = True) -> Domain:
        """The index tuples of a declaration, in the order of its iterators."""

    @abstractmethod
    def domain(self, expr: TypedSet) -> Domain:
        """The elements of a set expression that depends on no index."""

    @abstractmethod
    def contains(self, expr: TypedSet, codes: Sequence[Codes], frame: Frame) -> Bools:
        """Whether the tuple in each row is in the set, which may depend on the row."""

    @abstractmethod
    def in_index_list(self, indexing: TypedIndexing, frame: Frame) -> Bools:
        """Return whether the tuple in each row is in an index list with all indices bound by the frame."""

    @abstractmethod
    def tuples_of(self, expr: IndexedSetRef) -> Domain:
        """All tuples of indices and elements of an indexed set."""

    @abstractmethod
    def set_index(self, expr: IndexedSetRef, frame: Frame) -> tuple[Codes, ...]:
        """The subscripts of an indexed set in every row; raises (GSM3002) where the set has no such index."""

    @abstractmethod
    def order_keys(self, indexing: TypedIndexing, columns: tuple[Codes, ...]) -> tuple[Codes, ...]:
        """Return per iterator the place of its element in its own set."""

    @abstractmethod
    def join_index(self, domain: Domain, on: tuple[int, ...]) -> JoinIndex:
        """Return the tuples of a domain grouped by some components, computed once per domain."""

    def number(self, expr: TypedExpr) -> float:
        """The value of an expression without free indices."""
        return float(self.numbers(expr, EMPTY_FRAME).reshape(-1)[0])

    def integer(self, expr: TypedExpr, frame: Frame) -> Codes | int:
        """Return an integer: one for all rows, or one per row."""
        codes = self.codes(expr, frame)
        return int(codes) if codes.ndim == 0 else codes

    def element_codes(self, expr: TypedExpr, frame: Frame) -> Codes:
        """The value in every row as the code of an element; raises (GSM3002) where it fell off an ordered set."""
        codes = spread(self.codes(expr, frame), frame.size)
        lost = ~is_element(codes)
        self.refuse_where(lost, "GSM3002", f"`{expr.span.text}` does not exist", expr, frame, "is not an element")
        return codes
