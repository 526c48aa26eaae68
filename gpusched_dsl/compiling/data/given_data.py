"""Reads what a scenario gives for a set or a parameter, as keys and values to bind.

Formulas and arrays: `deadline[j in Jobs] = 2 * length[j];`, `length = [4, 2, 3][h];`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME, Frame
from gpusched_dsl.compiling.evaluation.store import is_element
from gpusched_dsl.data.chunks import (
    ColumnChunk,
    DataChunk,
    TextOrigin,
    ValueChunk,
    columns_chunk,
    label_chunk,
    literal_chunk,
)
from gpusched_dsl.data.reports import declaration_label
from gpusched_dsl.data.sources.reader import FileReader, chunk_of, read_matrix, read_set_cells, read_table
from gpusched_dsl.data.sources.untyped import column_of
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.domains import Domain, ProductDomain, Scalar
from gpusched_dsl.language.checked import (
    CheckedParam,
    CheckedSet,
    Element,
    LiteralSet,
    Numeric,
    StringLiteral,
    TextType,
    TypedExpr,
    TypedIndexing,
    TypedSet,
)
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import (
    ArrayAssignment,
    ColumnsAssignment,
    ExpressionAssignment,
    FileAssignment,
    MatrixAssignment,
    TableAssignment,
)
from gpusched_dsl.language.scenarios.scenario import CheckedScenario
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.text.numbers import count_text

# A label with its row is a few objects: as much as that many numbers.
_LABEL_NUMBERS = 12


class Unavailable(Exception):
    """A required value is missing; its error has been reported."""


class GivenData:
    """The statements of a scenario for each name, or values that replace them."""

    def __init__(
        self,
        ev: Evaluator,
        scenario: CheckedScenario,
        reader: FileReader,
        replaced: Mapping[str, Sequence[DataChunk]],
        diagnostics: Diagnostics,
    ) -> None:
        self.ev, self.store, self.scenario, self.reader = ev, ev.store, scenario, reader
        self.replaced, self.diagnostics = replaced, diagnostics

    def chunks(self, declared: CheckedSet | CheckedParam, domain: Domain | None = None) -> list[DataChunk]:
        """The keys and values that the scenario gives for a set or parameter, or Python in its place.

        `domain` is that of a parameter.
        """
        if declared.name in self.replaced:
            return [self._placed(declared, domain, chunk) for chunk in self.replaced[declared.name]]
        chunks: list[DataChunk] = []
        for given in self.scenario.assignments.get(declared.name, ()):
            chunk: DataChunk | None
            if isinstance(given, ExpressionAssignment):
                if isinstance(declared, CheckedSet) and given.patch:
                    continue
                if isinstance(declared, CheckedSet):
                    chunk = self._labels(given)
                elif given.indexing is None:
                    chunk = self._value(declared, given)
                else:
                    chunk = formula_chunk(self.ev, declared, given, given.indexing)
            elif isinstance(given, ArrayAssignment):
                assert isinstance(declared, CheckedParam)
                assert domain is not None
                chunk = array_chunk(self.ev, declared, domain, given, self.diagnostics)
            elif isinstance(given, ColumnsAssignment):
                assert isinstance(declared, CheckedParam)
                chunk = columns_chunk(given, is_number=isinstance(declared.type, Numeric))
            elif isinstance(given, TableAssignment):
                chunk = read_set_cells(given) if _has_set_cells(declared, given) else read_table(given)
            elif isinstance(given, MatrixAssignment):
                chunk = read_matrix(given)
            else:
                assert isinstance(given, FileAssignment)
                file = self.reader.read(given, self.diagnostics)
                chunk = None if file is None else chunk_of(given, file, self.diagnostics)
            if chunk is None:
                raise Unavailable(declared.name)
            chunks.append(chunk)
        return chunks

    def _placed(self, declared: CheckedSet | CheckedParam, domain: Domain | None, chunk: DataChunk) -> DataChunk:
        """Return a chunk; an array gets the keys of the index sets."""
        if not isinstance(chunk, ColumnChunk) or chunk.shape is None:
            return chunk
        assert isinstance(declared, CheckedParam)
        assert domain is not None
        if not fits_shape(declared, domain, chunk.shape, chunk.origin.statement, self.diagnostics):
            raise Unavailable(declared.name)
        return structs.replace(chunk, codes=domain.columns(), shape=None)

    def _labels(self, given: ExpressionAssignment) -> ColumnChunk:
        """The elements of a set from an expression."""
        assert isinstance(given.value, TypedSet)
        literal = literal_chunk(given.value, given.span) if isinstance(given.value, LiteralSet) else None
        if literal is not None:
            return literal
        domain = self.ev.domain(given.value)
        self.ev.budget.frame(domain.size, _LABEL_NUMBERS, given.value.span, f"set `{given.target}`")
        rows: list[tuple[Scalar, ...]] = list(zip(*domain.label_columns(), strict=True))
        return label_chunk(rows, domain.arity, given.span)

    def _value(self, declared: CheckedParam, given: ExpressionAssignment) -> ValueChunk:
        """A single value from an expression: a number, an element's label, or a text."""
        expr = given.value
        assert isinstance(expr, TypedExpr)
        value: float | str
        labels = tuple(self._label(s) for s in given.subscripts) if given.subscripts else None
        if isinstance(declared.type, TextType):
            value = str(self.ev.values(expr, EMPTY_FRAME).reshape(-1)[0])
        else:
            value = self._label(expr) if isinstance(declared.type, Element) else self.ev.number(expr)
        return ValueChunk(value, given.span, labels, given.level)

    def _label(self, expr: TypedExpr) -> Scalar:
        if isinstance(expr, StringLiteral):
            return expr.text
        if isinstance(expr.type, Element):
            return self.store.universes[expr.type.root].labels[int(self.ev.codes(expr, EMPTY_FRAME).reshape(-1)[0])]
        return int(self.ev.number(expr))

    def patches(self, declared: CheckedSet) -> list[ExpressionAssignment]:
        """The statements of the scenario for single indices of an indexed set."""
        if declared.name in self.replaced:
            return []
        given = self.scenario.assignments.get(declared.name, ())
        return [g for g in given if isinstance(g, ExpressionAssignment) and g.patch]

    def formula(self, declared: CheckedSet) -> TypedSet | None:
        """Return the formula of the set in a scenario, None if it lists labels or other values replace it."""
        for given in self.scenario.assignments.get(declared.name, ()) if declared.name not in self.replaced else ():
            if isinstance(given, ExpressionAssignment) and isinstance(given.value, TypedSet) and not given.patch:
                if isinstance(given.value, LiteralSet) and literal_chunk(given.value, given.span) is not None:
                    continue
                return given.value
        return None


def _has_set_cells(declared: CheckedSet | CheckedParam, given: TableAssignment) -> bool:
    return isinstance(declared, CheckedSet) and given.column is not None


def label_chunks(chunks: Iterable[DataChunk | None]) -> list[ColumnChunk]:
    return [chunk for chunk in chunks if isinstance(chunk, ColumnChunk)]


def formula_chunk(
    ev: Evaluator, declared: CheckedParam, given: ExpressionAssignment, indexing: TypedIndexing
) -> DataChunk:
    """The values of a formula for all keys of its index list, as patches."""
    import polars as pl

    assert isinstance(given.value, TypedExpr)
    frame = ev.expand(EMPTY_FRAME, indexing, given.span).frame
    codes: tuple[Codes, ...] = tuple(
        np.broadcast_to(ev.element_codes(subscript, frame), (frame.size,)) for subscript in given.subscripts
    )
    if isinstance(declared.type, Element | TextType):
        values = column_of(_texts(ev, given.value, declared.type, frame))
    else:
        values = pl.Series(ev.number_column(given.value, frame))
    return ColumnChunk((), values, TextOrigin(given.span), codes=codes, level=given.level)


def _texts(ev: Evaluator, value: TypedExpr, kind: Element | TextType, frame: Frame) -> Sequence[str]:
    """The labels or texts of a formula; the neighbour of the last element of an ordered set is no element."""
    found = np.broadcast_to(
        ev.values(value, frame) if isinstance(kind, TextType) else ev.codes(value, frame), (frame.size,)
    )
    if isinstance(kind, TextType):
        return [str(text) for text in found]
    labels = ev.store.universes[kind.root].label_array
    there = is_element(found)
    texts = np.full(frame.size, "no element", dtype=object)
    texts[there] = labels[found[there]]
    return [str(text) for text in texts]


def array_chunk(
    ev: Evaluator, declared: CheckedParam, domain: Domain, given: ArrayAssignment, diagnostics: Diagnostics
) -> ColumnChunk | None:
    """The values of an array in the order of the index sets; None after a finding (GSM2116)."""
    if not fits_shape(declared, domain, given.shape, given.span, diagnostics):
        return None
    values = [_value(ev, declared, value) for value in given.values]
    spans = tuple(value.span for value in given.values)
    return ColumnChunk((), column_of(values), TextOrigin(given.span, spans), given.factor, codes=domain.columns())


def fits_shape(
    declared: CheckedParam, domain: Domain, shape: Sequence[int], span: Span, diagnostics: Diagnostics
) -> bool:
    """Whether an array has one value for each key of a parameter; reports GSM2116."""
    factors = domain.factors if isinstance(domain, ProductDomain) else (domain,)
    iterators = declared.indexing.iterators
    if declared.indexing.conditions or len(factors) != len(iterators):
        diagnostics.error(
            "GSM2116",
            f"the keys of `{declared.name}` are not all combinations of its index sets, so an array cannot give them",
            span,
            secondary=[declaration_label(declared)],
            help="write a table with its keys",
        )
        return False
    for length, factor, iterator in zip(shape, factors, iterators, strict=True):
        if length != factor.size:
            name = iterator.domain.span.text
            several = len(factors) > 1
            diagnostics.error(
                "GSM2116",
                f"{'lists for' if several else 'the array for'} `{name}` {'have' if several else 'has'} "
                f"{count_text(length, 'value')}, but `{name}` has {count_text(factor.size, 'element')}",
                span,
                secondary=[declaration_label(declared)],
                notes=[f"the elements are {_list_elements(factor)}"] if factor.size else [],
                help="give one value for each element, in this order, or write a table with its keys",
            )
            return False
    return True


def _value(ev: Evaluator, declared: CheckedParam, value: TypedExpr) -> float | str:
    if isinstance(declared.type, Element | TextType):
        return _texts(ev, value, declared.type, EMPTY_FRAME)[0]
    return ev.number(value)


def _list_elements(domain: Domain) -> str:
    shown = [domain.tuple_at(at) for at in range(min(domain.size, 6))]
    texts = [f"`{key[0]}`" if len(key) == 1 else f"`({', '.join(map(str, key))})`" for key in shown]
    return ", ".join(texts) + (", ..." if domain.size > len(shown) else "")
