"""The parameters that a row compares: `deadline[j7] = 4 h`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.explaining.row_text import short
from gpusched_dsl.ir.domains import TupleDomain, decode_column
from gpusched_dsl.ir.problem import Family
from gpusched_dsl.language.text.numbers import with_unit

if TYPE_CHECKING:
    from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
    from gpusched_dsl.compiling.evaluation.frames import Frame
    from gpusched_dsl.compiling.provenance import Provenance
    from gpusched_dsl.language.checked import ParamRef

MOST = 6  # parameters of one row


def row_data(origins: Provenance, family: Family, row: int) -> list[str]:
    """The values of the parameters of a constraint that depend on the row's own indices only; none without a model."""
    from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
    from gpusched_dsl.compiling.evaluation.free_variables import free_variables
    from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
    from gpusched_dsl.language.checked import ParamRef
    from gpusched_dsl.language.checking.walk import walk

    model, store = origins.model, origins.store
    declared = None if model is None else model.constraints.get(family.name)
    if declared is None or model is None or store is None:
        return []
    evaluator = Evaluator(model, store, origins.limits or MemoryLimits())
    domain = family.domain
    if domain.arity:
        at = np.array([row - family.first])
        domain = TupleDomain(domain.components, tuple(c[at] for c in domain.columns()))
    frame = evaluator.domain_frame(declared.indexing, domain)
    own = frozenset(declared.indexing.variables)
    references = [p for p in walk(declared.body) if isinstance(p, ParamRef) and free_variables(p) <= own]
    texts = dict.fromkeys(text for reference in references for text in _text(evaluator, reference, frame))
    return list(texts)[:MOST]


def _text(evaluator: Evaluator, reference: ParamRef, frame: Frame) -> Iterator[str]:
    from gpusched_dsl.language.checked import Element, Numeric
    from gpusched_dsl.language.diagnostics.errors import DiagnosticError

    try:
        value = np.asarray(evaluator.values(reference, frame)).reshape(-1)[0]
        subscripts = [
            decode_column(evaluator.store.component(s.type), evaluator.codes(s, frame).reshape(-1)[:1])[0]
            for s in reference.subscripts
        ]
    except (DiagnosticError, IndexError):  # not there for this row: a branch that it does not take
        return
    name = f"{reference.name}[{','.join(map(str, subscripts))}]" if subscripts else reference.name
    type_ = reference.type
    if isinstance(type_, Element):
        yield f"{name} = {evaluator.store.universes[type_.root].labels[int(value)]}"
    elif isinstance(type_, Numeric):
        unit = type_.unit.text
        yield f"{name} = {with_unit(short(float(value)), '' if unit == '1' else unit)}"
