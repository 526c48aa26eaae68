"""The evaluator's layer for subscripts: the position of a reference in its family, and references outside of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.sets import Sets
from gpusched_dsl.compiling.evaluation.store import ValueStore, is_element
from gpusched_dsl.compiling.evaluation.zero_reads import has_tuple_set, reads_zero
from gpusched_dsl.ir.arrays import Bools, Codes, spread
from gpusched_dsl.ir.domains import Domain, ProductDomain, ScalarDomain
from gpusched_dsl.language.checked import (
    CheckedModel,
    ElementWithLabel,
    IndexedSetRef,
    IndexRef,
    IndexVar,
    LetRef,
    ParamRef,
    RandomRef,
    Shift,
    TypedExpr,
    TypedIndexing,
    VariableRef,
)
from gpusched_dsl.language.text.numbers import count_text

_SHORT = 10_000  # rows: of that many, places are remembered
_PLACES = 128


class References(Sets):
    """Subscripts to positions, vectorised over the rows of a frame."""

    def __init__(self, model: CheckedModel, store: ValueStore, limits: MemoryLimits) -> None:
        super().__init__(model, store, limits)
        self._places: dict[tuple[int, ...], tuple[Domain, Sequence[Codes], Codes]] = {}  # by identity

    def position(self, domain: Domain, expr: ParamRef | VariableRef, frame: Frame) -> Codes:
        """The place of each row's subscripts in a domain, -1 outside; shape () when all subscripts are constant."""
        return self.place(domain, expr.subscripts, frame)

    def place(self, domain: Domain, subscripts: Sequence[TypedExpr], frame: Frame) -> Codes:
        """The place of each row's subscripts in a domain, -1 outside; shape () when all subscripts are constant."""
        if not isinstance(domain, ProductDomain) or len(frame.axes) < 2 or not frame.size:
            return self._locate(domain, [self._subscript(s, frame) for s in subscripts])
        # On a grid, each factor of the domain is looked up on the axes it needs, and the places are broadcast together.
        position: Codes | None = None
        outside: Bools | None = None
        for factor in domain.factors:
            own, subscripts = subscripts[: factor.arity], subscripts[factor.arity :]
            grid, sizes = frame.part(self.needs(*own)) or (frame, frame.shape)
            part = self._locate(factor, [self.codes(s, grid) for s in own])
            part = part.reshape(sizes if part.ndim else (1,) * len(sizes))
            if len(missing := np.flatnonzero(part < 0)):
                bad = np.zeros(part.shape, dtype=np.bool_)
                bad.reshape(-1)[missing] = True
                outside = bad if outside is None else outside | bad
            position = part if position is None else position * factor.size + part
        assert position is not None
        if outside is not None:
            position = np.where(outside, -1, position)
        return np.broadcast_to(position, frame.shape).reshape(-1)

    def _subscript(self, expr: TypedExpr, frame: Frame) -> Codes:
        if isinstance(expr, IndexRef) and len(frame.axes) < 2:
            return frame.columns[expr.variable]
        return self.codes(expr, frame)

    def needs(self, *exprs: TypedExpr) -> frozenset[IndexVar]:
        """The index variables that some expressions depend on; worked out once for each of them."""
        found: frozenset[IndexVar] = frozenset()
        for expr in exprs:
            known = self._needs.get(id(expr))
            if known is None:
                known = self._needs[id(expr)] = (expr, free_variables(expr))
            found |= known[1]
        return found

    def _locate(self, domain: Domain, columns: list[Codes]) -> Codes:
        """The places of tuples; short ones are remembered, as many formulas ask for the same columns."""
        key = (id(domain), *map(id, columns))
        known = self._places.get(key)
        if known is not None:
            return known[2]
        shape = columns[0].shape
        if any(c.shape != shape for c in columns):
            shape = np.broadcast_shapes(*(c.shape for c in columns))
        if not shape:
            return domain.locate([c.reshape(1) for c in columns]).reshape(())
        found = domain.locate([c if c.shape == shape else np.broadcast_to(c, shape) for c in columns])
        if len(found) <= _SHORT:
            if len(self._places) >= _PLACES:
                self._places.clear()
            self._places[key] = (domain, columns, found)  # kept, so that no others get their identities
        return found

    @contextmanager
    def known_places(self, domain: Domain, columns: Sequence[Codes], places: Codes) -> Iterator[None]:
        """Look no tuple up that has these columns: their places are known."""
        key = (id(domain), *map(id, columns))
        self._places[key] = (domain, columns, places)
        try:
            yield
        finally:
            self._places.pop(key, None)

    def variable_position(self, expr: VariableRef, frame: Frame) -> Codes:
        """The place in the variable's family; -1 where it reads zero: its `where` condition or its set of tuples
        excludes it.
        """
        family = self.store.variables[expr.name]
        position = self.place(family.domain, expr.subscripts, frame)
        if not position.size or position.min() >= 0:
            return position
        indexed = position
        if family.indexed_domain is not family.domain:
            indexed = np.where(position < 0, self.place(family.indexed_domain, expr.subscripts, frame), 0)
        indexing = self.model.variables[expr.name].indexing
        if has_tuple_set(indexing) and indexed.min() < 0:
            rows = np.flatnonzero(spread(indexed < 0, frame.size))
            missing = frame.take(rows)
            columns = [spread(self.codes(s, missing), missing.size) for s in expr.subscripts]
            indexed = np.array(spread(indexed, frame.size))
            indexed[rows[reads_zero(self, self.model, indexing, columns)]] = 0
        self._refuse_missing(expr, indexed, frame)
        return position

    def random_position(self, expr: RandomRef, frame: Frame) -> Codes:
        """The place of each row's subscripts in the domain of a random; raises DiagnosticError (GSM3002) outside."""
        if not expr.subscripts:
            return np.zeros(frame.size, dtype=np.int64)
        position = np.broadcast_to(
            self.place(self.store.randoms[expr.name].domain, expr.subscripts, frame), (frame.size,)
        )
        self._refuse_missing(expr, position, frame)
        return position

    def is_inside(self, expr: TypedExpr, frame: Frame) -> Bools:
        """Where the subscripts of a reference fall inside its declared index set."""
        if isinstance(expr, ParamRef):
            domain = self.store.params[expr.name].domain
        elif isinstance(expr, VariableRef):
            domain = self.store.variables[expr.name].indexed_domain
        else:
            assert isinstance(expr, LetRef)
            let = self.model.lets[expr.name]
            domain = self.index_domain(let.indexing, let.span)
        if isinstance(domain, ScalarDomain):
            return np.ones(frame.size, dtype=bool)
        return spread(self.place(domain, expr.subscripts, frame) >= 0, frame.size)

    def set_index(self, expr: IndexedSetRef, frame: Frame) -> tuple[Codes, ...]:
        """The subscripts of an indexed set in every row; raises (GSM3002) where the set has no such index."""
        declared = self.model.sets[expr.name]
        indices = self._index_domains.get(expr.name)
        if indices is None:
            indices = self._index_domains[expr.name] = self.index_domain(declared.indexing, declared.span)
        codes = tuple(spread(self.codes(s, frame), frame.size) for s in expr.subscripts)
        self._refuse_missing(expr, indices.locate(codes), frame)
        return codes

    def let_frame(self, expr: LetRef, frame: Frame) -> Frame:
        """Return the frame in which a called `let` is evaluated: its own indices, one row per row of the caller."""
        let = self.model.lets[expr.name]
        if not expr.subscripts:
            return Frame(frame.size, {})
        found = self.is_inside(expr, frame)
        self._refuse_missing(expr, np.where(found, 0, -1), frame)
        return self.called_frame(expr, let.indexing, frame)

    def called_frame(self, expr: LetRef | ParamRef, indexing: TypedIndexing, frame: Frame) -> Frame:
        """Return the frame of the indices of what is called, one row per row of the caller."""
        columns = (spread(self._subscript(s, frame), frame.size) for s in expr.subscripts)
        return Frame(frame.size, dict(zip(indexing.variables, columns, strict=True)))

    def _refuse_missing(
        self, expr: ParamRef | VariableRef | LetRef | RandomRef | IndexedSetRef, position: Codes, frame: Frame
    ) -> None:
        if not frame.size or not position.size or position.min() >= 0:
            return
        missing = spread(position < 0, frame.size)
        row = int(np.flatnonzero(missing)[0])
        one = frame.take(np.array([row]))
        labels = ", ".join(self._label_text(s, one) for s in expr.subscripts)
        raise self.failure(
            "GSM3002",
            f"`{expr.name}[{labels}]` does not exist: the subscript is outside the declared index set",
            expr.span,
            self.row_text(frame, row),
            notes=(f"{int(missing.sum()):,} of {count_text(frame.size, 'reference')} are outside",),
            help="restrict the indices with `where`"
            + ("" if isinstance(expr, IndexedSetRef) else f", or give a value there: `({expr.span.text} else ...)`"),
        )

    def _label_text(self, expr: TypedExpr, frame: Frame) -> str:
        if isinstance(expr, ElementWithLabel):
            return str(int(self.codes(expr.operand, frame).reshape(-1)[0]))
        code = int(self.codes(expr, frame).reshape(-1)[0])
        if not is_element(np.asarray(code)):
            return f"{expr.span.text} = nothing"
        component = self.store.component(expr.type)
        return str(code if component is None else component.labels[code])


def plain_keys(subscripts: Sequence[TypedExpr]) -> frozenset[IndexVar]:
    """Return the variables that are subscripts by themselves, or shifted by one number: they identify entries."""
    plain = (s.operand if isinstance(s, Shift) and not free_variables(s.offset) else s for s in subscripts)
    return frozenset(inner.variable for inner in plain if isinstance(inner, IndexRef))
