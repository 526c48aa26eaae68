"""Formulas and arrays of a scenario to chunks: `deadline[j in Jobs] = 2 * length[j];`, `length = [4, 2, 3][h];`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME, Frame
from gpusched_dsl.compiling.evaluation.store import is_element
from gpusched_dsl.data.binding import ColumnChunk, DataChunk
from gpusched_dsl.data.chunks import TextOrigin
from gpusched_dsl.data.reports import declaration_label
from gpusched_dsl.data.sources.untyped import column_of
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.domains import Domain, ProductDomain
from gpusched_dsl.language.checked import CheckedParam, Element, TextType, TypedExpr, TypedIndexing
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import ArrayAssignment, ExpressionAssignment
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.text.counting import count_text


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
