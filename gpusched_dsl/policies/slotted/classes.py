"""Classes of nodes that the lines of a policy do not distinguish: equal values in all parameters that it reads."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Codes, Ints
from gpusched_dsl.language.checked import CheckedModel, IndexRef, IndexVar, LetRef, ParamRef, TypedExpr
from gpusched_dsl.language.checking.walk import Part, children

MOST_DEPTH = 50  # of `let`s in `let`s


def parameters_of_node(parts: Iterable[tuple[Part, IndexVar]], model: CheckedModel) -> frozenset[str] | None:
    """Return the parameters `p[k]` through which alone some expressions depend on their node k; None for other uses."""
    found: set[str] = set()
    for part, node in parts:
        if not _collect_parameters(part, node, model, found, 0):
            return None
    return frozenset(found)


def _collect_parameters(part: Part, node: IndexVar, model: CheckedModel, found: set[str], depth: int) -> bool:
    if isinstance(part, IndexRef):
        return part.variable is not node
    if isinstance(part, ParamRef) and len(part.subscripts) == 1 and _is(part.subscripts[0], node):
        found.add(part.name)
        return True
    if isinstance(part, LetRef) and any(_is(s, node) for s in part.subscripts):
        let = model.lets[part.name]
        if depth > MOST_DEPTH:
            return False
        for subscript, variable in zip(part.subscripts, let.indexing.variables, strict=True):
            if not _is(subscript, node):
                if not _collect_parameters(subscript, node, model, found, depth):
                    return False
            elif any(
                not _collect_parameters(inner, variable, model, found, depth + 1)
                for inner in (let.value, *let.indexing.conditions)
            ):
                return False
        return True
    return all(_collect_parameters(inner, node, model, found, depth) for inner in children(part))


def _is(expr: TypedExpr, node: IndexVar) -> bool:
    return isinstance(expr, IndexRef) and expr.variable is node


def classes_of(nodes: Codes, names: frozenset[str] | None, store: ValueStore, marks: Iterable[Codes] = ()) -> Ints:
    """Return the class of every node, numbered by the first node of each; `marks` distinguish nodes like parameters."""
    if names is None:
        return np.arange(len(nodes), dtype=np.int64)
    columns = [np.asarray(m, dtype=np.int64) for m in marks]
    for name in sorted(names):
        param = store.params[name]
        place = param.domain.locate((nodes,))
        _, which = np.unique(param.values[np.maximum(place, 0)], return_inverse=True)
        columns.append(np.where(place >= 0, which.reshape(-1), -1))
    if not columns:
        return np.zeros(len(nodes), dtype=np.int64)
    _, first, which = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[which.reshape(-1)]
