"""The values of an indexed set in a scenario: `Pred[b] = { a };`, `Pred[j in Jobs] = { ... };`, after whole ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.evaluation import dependent_sets
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME, Frame
from gpusched_dsl.data.reports import SHOWN, declaration_label, examples, key_text, tuple_text
from gpusched_dsl.data.sets import row_keys
from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.ir.domains import Component, Domain, TupleDomain, decode
from gpusched_dsl.language.checked import CheckedSet, ComprehensionSet, LiteralSet, TypedSet
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import ExpressionAssignment


class EnclosingSet(Struct, frozen=True, eq=False):
    """The `within` of an indexed set: tests tuples of indices and elements without listing all of them."""

    ev: Evaluator
    within: ComprehensionSet

    def locate(self, columns: Sequence[Codes]) -> Codes:
        """Return 0 for tuples inside, -1 for others."""
        frame = Frame(len(columns[0]), dict(zip(self.within.indexing.variables, columns, strict=True)))
        return np.where(self.ev.in_index_list(self.within.indexing, frame), 0, -1)


class _Elements(Struct, frozen=True, eq=False):
    """The elements that one statement gives: its indices, and the tuples of indices and elements."""

    given: ExpressionAssignment
    indices: tuple[Codes, ...]
    tuples: tuple[Codes, ...]


def with_single_indices(
    ev: Evaluator,
    declared: CheckedSet,
    domain: Domain,
    patches: Sequence[ExpressionAssignment],
    within: EnclosingSet | None,
    diagnostics: Diagnostics,
) -> Domain | None:
    """The tuples of an indexed set after the statements for single indices; None after a finding.

    Later scenarios replace the elements of an index, and within a scenario single indices those of formulas.
    Findings: GSM1506 an index given twice, GSM2110 a repeated element, GSM2112 an element not in `within`.
    """
    components, columns = domain.components, domain.columns()
    arity = declared.index_arity
    before = diagnostics.errors
    indices = ev.index_domain(declared.indexing, declared.span)

    def order(given: ExpressionAssignment) -> tuple[int, bool]:
        return given.level, given.indexing is None

    for _, group in groupby(sorted(patches, key=order), key=order):
        found = [_elements(ev, declared, given, indices, diagnostics) for given in group]
        _report_index_twice(declared, components[:arity], found, diagnostics)
        if within is not None:
            for one in found:
                _report_outside(declared, components, one, within, diagnostics)
        none = np.empty(0, dtype=np.int64)
        replaced = tuple(np.concatenate([none, *(one.indices[at] for one in found)]) for at in range(arity))
        keep = ~_isin(columns[:arity], replaced)
        columns = tuple(
            np.concatenate([column[keep], *(one.tuples[at] for one in found)]) for at, column in enumerate(columns)
        )
    return TupleDomain(components, columns) if diagnostics.errors == before else None


def _elements(
    ev: Evaluator, declared: CheckedSet, given: ExpressionAssignment, indices: Domain, diagnostics: Diagnostics
) -> _Elements:
    assert isinstance(given.value, TypedSet)
    frame = EMPTY_FRAME if given.indexing is None else ev.expand(EMPTY_FRAME, given.indexing, given.span).frame
    own = tuple(ev.element_codes(subscript, frame) for subscript in given.subscripts)
    outside = indices.locate(own) < 0
    message = f"an index is outside the index set of `{declared.name}`"
    ev.refuse_where(outside, "GSM2103", message, given.subscripts[0], frame, "not in the index set")
    parent, columns = dependent_sets.elements(ev, given.value, frame)
    if isinstance(given.value, LiteralSet) and len(parent) < len(given.value.rows) * frame.size:
        diagnostics.error(
            "GSM2110",
            f"an element occurs twice in this set of `{declared.name}`",
            given.value.span,
            secondary=[declaration_label(declared)],
            help="keep one of them",
        )
    return _Elements(given, own, (*(column[parent] for column in own), *columns))


def _isin(columns: Sequence[Codes], wanted: Sequence[Codes]) -> Bools:
    """Which rows of some columns are among the rows of others."""
    keys = row_keys([np.concatenate(pair) for pair in zip(columns, wanted, strict=True)])
    size = len(columns[0])
    found: Bools = np.isin(keys[:size], keys[size:])
    return found


def _report_index_twice(
    declared: CheckedSet, components: Sequence[Component], found: Sequence[_Elements], diagnostics: Diagnostics
) -> None:
    indices = [np.concatenate([one.indices[at] for one in found]) for at in range(len(components))]
    statement = np.repeat(np.arange(len(found)), [len(one.indices[0]) for one in found])
    keys = row_keys(indices)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    twice = np.flatnonzero(first[inverse] != np.arange(len(keys)))
    if not len(twice):
        return
    at = int(twice[0])
    index = decode(components, [column[at : at + 1] for column in indices])[0]
    diagnostics.error(
        "GSM1506",
        f"`{key_text(declared.name, index)}` is given twice",
        found[int(statement[at])].given.span,
        "given again",
        secondary=[Label(found[int(statement[int(first[inverse[at]])])].given.span, "first given here")],
        help="keep one of them",
    )


def _report_outside(
    declared: CheckedSet,
    components: Sequence[Component],
    found: _Elements,
    within: EnclosingSet,
    diagnostics: Diagnostics,
) -> None:
    wrong = np.flatnonzero(within.locate(found.tuples) < 0)
    if not len(wrong):
        return
    arity = declared.index_arity
    shown = []
    for at in wrong[:SHOWN].tolist():
        index = decode(components[:arity], [column[at : at + 1] for column in found.tuples[:arity]])[0]
        element = tuple_text(components[arity:], found.tuples[arity:], at)
        shown.append(f"{element} of `{key_text(declared.name, index)}`")
    assert declared.within is not None
    diagnostics.error(
        "GSM2112",
        f"{shown[0]} is not in the set that contains the elements",
        found.given.value.span,
        secondary=[Label(declared.within.span, "elements must be in this set")],
        notes=examples(shown[1:], len(wrong) - 1),
    )
