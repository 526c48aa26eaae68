"""Whether nodes of one type differ for a model: in values, and in the ways to run on them.

If they do not, one node of each type stands for all of them, and what there is per node need not be made for all nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import structs

from gpusched_dsl.language.checked import (
    CheckedModel,
    ComprehensionSet,
    IndexRef,
    IndexVar,
    LetRef,
    NamedSet,
    ParamRef,
    SetOperation,
    TypedExpr,
    TypedIndexing,
    TypedSet,
)
from gpusched_dsl.language.checking.walk import Part, children

Known: TypeAlias = Callable[[str], bool]  # whether a parameter of the node alone may be read


def distinguishes_nodes(
    part: Part, node: IndexVar, label: TypedExpr | None, formulas: CheckedModel | None = None
) -> bool:
    """Whether a value can differ between nodes of one type: whether it reads the node otherwise than for its type.

    `label` is the type of a node as an expression of the node. With `formulas`, the values of `let`s and derived
    parameters of this model count, not their names.
    """
    return _distinguishes(part, node, _is_named(name_of_type(label, node)), formulas)


def parameters_of_node(parts: Iterable[tuple[Part, IndexVar]], model: CheckedModel) -> frozenset[str] | None:
    """Return the parameters `p[k]` through which alone some expressions depend on their node k; None for other uses."""
    found: set[str] = set()

    def note(name: str) -> bool:
        found.add(name)
        return True

    alike = not any(_distinguishes(part, node, note, model) for part, node in parts)
    return frozenset(found) if alike else None


def name_of_type(label: TypedExpr | None, node: IndexVar) -> str | None:
    """Return the parameter that is the type of a node, if `label` is one of the node alone."""
    return label.name if isinstance(label, ParamRef) and _is_of(label, node) else None


def ways_are_alike(indexing: TypedIndexing, node_at: int, label: str, model: CheckedModel) -> bool:
    """Whether an index list has the same tuples for all nodes of one type, apart from the node, its index `node_at`.

    `label` is the parameter that is the type of a node.
    """
    return not _list_distinguishes(indexing, indexing.variables[node_at], _is_named(label), model)


def with_node_set(indexing: TypedIndexing, node_at: int, nodes: str, model: CheckedModel) -> TypedIndexing:
    """The index list with a set of another name in place of the root set of nodes; only for those whose ways are
    alike.
    """
    return _list_with(indexing, indexing.variables[node_at], nodes, model)


# --- values ----------------------------------------------------------------------------------------------------------


def _is_named(label: str | None) -> Known:
    return lambda name: name == label


def _distinguishes(part: Part, node: IndexVar, known: Known, formulas: CheckedModel | None) -> bool:
    """Whether a value reads the node otherwise than by known parameters of the node alone."""
    if isinstance(part, IndexRef):
        return part.variable is node
    if isinstance(part, ParamRef) and _is_of(part, node) and known(part.name):
        return False
    if formulas is not None and isinstance(part, ParamRef | LetRef):
        declared = (formulas.params if isinstance(part, ParamRef) else formulas.lets)[part.name]
        if declared.value is not None and not getattr(declared, "recursive", False):
            pairs = list(zip(part.subscripts, declared.indexing.variables, strict=True))
            own = [v for s, v in pairs if _is_index(s, node)]
            others = [s for s, _ in pairs if not _is_index(s, node)]
            if any(_distinguishes(s, node, known, formulas) for s in others):
                return True
            read = (declared.value, *declared.indexing.conditions)
            return any(_distinguishes(one, v, known, formulas) for v in own for one in read)
    return any(_distinguishes(inner, node, known, formulas) for inner in children(part))


def _is_of(reference: ParamRef, node: IndexVar) -> bool:
    """Whether a reference has the node as its only subscript."""
    return len(reference.subscripts) == 1 and _is_index(reference.subscripts[0], node)


def _is_index(expr: TypedExpr, variable: IndexVar) -> bool:
    return isinstance(expr, IndexRef) and expr.variable is variable


# --- sets ------------------------------------------------------------------------------------------------------------


def _list_distinguishes(indexing: TypedIndexing, node: IndexVar, known: Known, model: CheckedModel) -> bool:
    others: list[Part] = [*indexing.conditions]
    for iterator in indexing.iterators:
        if node in iterator.variables:
            if _set_distinguishes(iterator.domain, iterator.variables.index(node), known, model):
                return True
        else:
            others.append(iterator.domain)
    return any(_distinguishes(part, node, known, model) for part in others)


def _set_distinguishes(expr: TypedSet, at: int, known: Known, model: CheckedModel) -> bool:
    """Whether the tuples of a set differ for nodes of one type, which are its component `at`."""
    match expr:
        case NamedSet():
            declared = model.sets[expr.name]
            if declared.root == expr.name:
                return False
            value = None if declared.is_indexed else declared.value
            return value is None or _set_distinguishes(value, at, known, model)
        case SetOperation(op="union" | "inter" | "diff"):
            return any(_set_distinguishes(side, at, known, model) for side in (expr.left, expr.right))
    node = _shown_index(expr, at)
    if node is None:
        return True
    assert isinstance(expr, ComprehensionSet)
    others = (e for place, e in enumerate(expr.element) if place != at)
    return _any_distinguishes(others, node, known, model) or _list_distinguishes(expr.indexing, node, known, model)


def _any_distinguishes(parts: Iterable[Part], node: IndexVar, known: Known, model: CheckedModel) -> bool:
    return any(_distinguishes(part, node, known, model) for part in parts)


def _shown_index(expr: TypedSet, at: int) -> IndexVar | None:
    """The index of a set of the form `{ (.., n, ..) : .. }` that is its component `at`."""
    if type(expr) is not ComprehensionSet:
        return None
    shown = expr.element[at]
    return shown.variable if isinstance(shown, IndexRef) and shown.variable in expr.indexing.variables else None


def _list_with(indexing: TypedIndexing, node: IndexVar, nodes: str, model: CheckedModel) -> TypedIndexing:
    iterators = tuple(
        structs.replace(i, domain=_set_with(i.domain, i.variables.index(node), nodes, model))
        if node in i.variables
        else i
        for i in indexing.iterators
    )
    return structs.replace(indexing, iterators=iterators)


def _set_with(expr: TypedSet, at: int, nodes: str, model: CheckedModel) -> TypedSet:
    match expr:
        case NamedSet():
            declared = model.sets[expr.name]
            if declared.root == expr.name:
                return structs.replace(expr, name=nodes)
            assert declared.value is not None
            return _set_with(declared.value, at, nodes, model)
        case SetOperation():
            left, right = (_set_with(side, at, nodes, model) for side in (expr.left, expr.right))
            return structs.replace(expr, left=left, right=right)
    node = _shown_index(expr, at)
    assert isinstance(expr, ComprehensionSet)
    assert node is not None
    return structs.replace(expr, indexing=_list_with(expr.indexing, node, nodes, model))
