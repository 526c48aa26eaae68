"""Index lists: `[j in Jobs, (v, g) in Configs where condition]`, with slices such as `(1, j) in Links`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    ComparisonChain,
    IndexRef,
    IndexVar,
    Iterator,
    Logic,
    Logical,
    NamedSet,
    SliceSet,
    TypedExpr,
    TypedIndexing,
    TypedSet,
)
from gpusched_dsl.language.checking.component_names import IGNORED, component_names
from gpusched_dsl.language.checking.kinds import as_element
from gpusched_dsl.language.checking.scope import Binding, Scope
from gpusched_dsl.language.checking.sets import check_component, report_misfit
from gpusched_dsl.language.checking.walk import indices_in
from gpusched_dsl.language.diagnostics.diagnostic import Edit, Label

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


def check_indexing(checker: Checker, node: tree.Indexing | None, scope: Scope) -> tuple[TypedIndexing | None, Scope]:
    """Return the typed index list and the scope inside it. Names are bound even if their set has errors."""
    if node is None:
        return TypedIndexing(), scope
    iterators: list[Iterator] = []
    own_names: dict[str, tree.Identifier] = {}
    for number, index in enumerate(node.indices):
        shared = _shared_set(checker, node.indices[number:], scope)
        if shared is not None:
            scope = scope.bind(shared, None)
            continue
        iterator, scope = _check_index(checker, index, scope, own_names, node)
        if iterator is not None:
            iterators.append(iterator)
    conditions: tuple[TypedExpr, ...] = ()
    sound = len(iterators) == len(node.indices)
    if node.where is not None:
        condition = checker.condition(node.where, scope)
        if condition is None or not checker.data_only(condition, "a condition after `where`"):
            sound = False
            scope = scope.guard(own_names)  # the guards of the broken condition are unknown
        else:
            conditions = conjuncts(condition)
            scope = scope.guard(indices_in(condition))
    return (TypedIndexing(tuple(iterators), conditions) if sound else None), scope


def _shared_set(checker: Checker, indices: Sequence[tree.Index], scope: Scope) -> str | None:
    """Report `[i, j in Jobs]`, one set for several indices; return the first name."""
    first, *rest = indices
    named = next((index for index in rest if index.names), None)
    name = first.domain
    if first.names or named is None or not isinstance(name, tree.Name):
        return None
    if name.text in scope.bindings or checker.symbols.span_of(name.text) is not None:
        return None
    if len(name.text) > 2 or name.text in checker.symbols.extras:
        return None
    set_text = named.domain.span.text
    help = f"write `{name.text} in {set_text}`"
    fix = f"{name.text} in {set_text}"
    checker.error("GSM1101", f"index `{name.text}` has no set", name.span, "no set", help=help, fix=fix)
    return name.text


def conjuncts(condition: TypedExpr) -> tuple[TypedExpr, ...]:
    """Return the operands of a condition joined by `and`."""
    if isinstance(condition, Logic) and condition.op == "and":
        return tuple(part for operand in condition.operands for part in conjuncts(operand))
    return (condition,)


def _check_index(
    checker: Checker,
    index: tree.Index,
    scope: Scope,
    own_names: dict[str, tree.Identifier],
    node: tree.Indexing,
) -> tuple[Iterator | None, Scope]:
    domain = checker.set_of(index.domain, scope)
    if domain is not None and not _names_fit(checker, index, domain):
        domain = None
    if domain is None:
        for at, lost in enumerate(index.names):
            if selecting_expression(index, at, scope) is None and _may_bind(
                checker, lost, scope, own_names, index, node
            ):
                scope = scope.bind(lost.text, None)
        return None, scope
    fixed = tuple(selecting_expression(index, at, scope) for at in range(len(domain.types)))
    sliced = check_slice(checker, index, domain, fixed, scope) if any(fixed) else domain
    variables: list[IndexVar] = []
    sound = sliced is not None
    if not index.names:
        scope = scope.without_name(domain.span.text)
    for component, kind in enumerate(domain.types):
        if fixed[component] is not None:
            continue
        name: tree.Identifier | None = index.names[component] if index.names else None
        if name is None or name.text == IGNORED:
            variables.append(IndexVar(IGNORED, kind, index.span if name is None else name.span))
            continue
        variable = IndexVar(name.text, kind, name.span)
        variables.append(variable)
        if _may_bind(checker, name, scope, own_names, index, node):
            place = len(variables) - 1
            scope = scope.bind(name.text, Binding(variable, sliced, place) if sliced is not None else None)
        else:
            sound = False
    return (Iterator(tuple(variables), sliced, index.span) if sound and sliced is not None else None), scope


def _may_bind(
    checker: Checker,
    name: tree.Identifier,
    scope: Scope,
    own_names: dict[str, tree.Identifier],
    index: tree.Index,
    node: tree.Indexing,
) -> bool:
    """Whether an index may have this name: it must not hide a declaration. Otherwise the declaration stays,
    silently.
    """
    if name.text == IGNORED:
        return False
    if name.text in own_names:
        help, fix = _advise_filter(checker, name, scope, index, node, f"for equal `{name.text}`")
        checker.error(
            "GSM1105",
            f"index `{name.text}` is used twice",
            name.span,
            "again",
            secondary=[Label(own_names[name.text].span, "first here")],
            help=help or "give one of them another name",
            fix=fix,
        )
        return False
    own_names[name.text] = name
    if name.text in scope.bindings:
        outer = scope.bindings[name.text]
        domain = index.domain.span.text
        checker.error(
            "GSM1105",
            f"index `{name.text}` is already used outside of this expression",
            name.span,
            "used again here",
            secondary=[Label(outer.variable.span, "the outer index")] if outer is not None else [],
            help=f"give the inner one another name; a condition on the outer one is `where {name.text} in {domain}`",
        )
        return False
    declared = checker.symbols.quantity_span(name.text)
    if declared is not None:
        help, fix = _advise_filter(checker, name, scope, index, node, f"by the declared `{name.text}`")
        checker.error(
            "GSM1104",
            f"index `{name.text}` hides a declaration",
            name.span,
            "an index of this name",
            secondary=[Label(declared, f"`{name.text}` is declared here")],
            help=f"{help}; else choose another name" if help else "give the index another name",
            fix=fix,
        )
        return False
    return True


def _advise_filter(
    checker: Checker, name: tree.Identifier, scope: Scope, index: tree.Index, node: tree.Indexing, by: str
) -> tuple[str, list[Edit]]:
    """`(n, j) in Links` with a declared `n`, and `(i, i) in Links`, select in other languages."""
    if not index.is_tuple:
        return "", []
    used_names = {n.text for i in node.indices for n in i.names}.union(scope.bindings)
    new_name = next(
        candidate
        for candidate in (f"{name.text}{number}" for number in count(2))
        if candidate not in used_names and checker.symbols.span_of(candidate) is None
    )
    same = f"{new_name} == {name.text}"
    edits = [Edit(name.span, new_name)]
    source = node.span.source
    if node.where is not None:
        start, end = node.where.span.start, node.where.span.end
        edits += [Edit(source.span(start, start), f"{same} and ("), Edit(source.span(end, end), ")")]
    else:
        end = node.indices[-1].span.end
        edits.append(Edit(source.span(end, end), f" where {same}"))
    names = ", ".join(
        new_name if n is name else n.text if index.fixed_at(at) is None else n.span.text
        for at, n in enumerate(index.names)
    )
    selected = f"({names}) in {index.domain.span.text} where {same}"
    return f"to select {by}, write `{selected}`", edits


def _names_fit(checker: Checker, index: tree.Index, domain: TypedSet) -> bool:
    arity = len(domain.types)
    if not index.names or len(index.names) == arity:
        return True
    text = domain.span.text
    declared = checker.symbols.span_of(domain.name) if isinstance(domain, NamedSet) else None
    names = index.names[0].span.to(index.names[-1].span)
    elements = "single elements" if arity == 1 else f"tuples of {arity}"
    names_text = ", ".join(component_names(checker, domain))
    checker.error(
        "GSM1202",
        f"`{text}` has {elements}, {_count_text(len(index.names))} given",
        names,
        "one name" if len(index.names) == 1 else f"{len(index.names)} names",
        secondary=[Label(declared, f"`{text}` is declared here")] if declared is not None else [],
        help=f"write `{f'({names_text})' if arity > 1 else names_text} in {text}`",
    )
    return False


def _count_text(names: int) -> str:
    return "one name is" if names == 1 else f"{names} names are"


def selecting_expression(index: tree.Index, component: int, scope: Scope) -> tree.Expr | None:
    """The expression of a component of a tuple that selects; None for a new index.

    A name selects if it is an index already, outside or before in the same list: `[k in K] ... sum[(i, k) in Links]`.
    """
    if not index.is_tuple or component >= len(index.names):
        return None
    name = index.names[component]
    if index.fixed_at(component) is not None:
        return index.fixed_at(component)
    return tree.Name(span=name.span, text=name.text) if name.text in scope.bindings else None


def check_slice(
    checker: Checker, index: tree.Index, domain: TypedSet, fixed: Sequence[tree.Expr | None], scope: Scope
) -> TypedSet | None:
    """`(i, k) in Links` with a known `k`, `(1, j) in Links`: the tuples with these values."""
    if all(fixed):
        names = index.names[0].span.to(index.names[-1].span)
        checker.error(
            "GSM1105",
            f"`{index.span.text}` has no new index",
            names,
            "all of them are known",
            help=f"write a condition, `where {index.span.text}`, or choose other names",
        )
        return None
    typed_args = [None if e is None else check_component(checker, e, scope) for e in fixed]
    found: list[TypedExpr | None] = []
    for expr, typed, kind in zip(fixed, typed_args, domain.types, strict=True):
        part = None if typed is None else as_element(typed, kind)
        if typed is not None and part is None:
            outer = scope.bindings.get(expr.text) if isinstance(expr, tree.Name) else None
            place = (
                [] if outer is None else [Label(outer.variable.span, "this index selects; another name is a new index")]
            )
            report_misfit(checker, typed, kind, place)
        if expr is not None and part is None:
            return None
        found.append(part)
    own = tuple(IndexVar(IGNORED, kind, name.span) for kind, name in zip(domain.types, index.names, strict=True))
    refs = tuple(IndexRef(span=variable.span, type=variable.type, variable=variable) for variable in own)
    return SliceSet(
        span=index.span,
        types=tuple(kind for kind, expr in zip(domain.types, fixed, strict=True) if expr is None),
        element=tuple(ref for ref, expr in zip(refs, found, strict=True) if expr is None),
        indexing=TypedIndexing(
            (Iterator(own, domain, index.span),),
            tuple(
                ComparisonChain(span=expr.span, type=Logical(), operands=(ref, expr), ops=("==",))
                for ref, expr in zip(refs, found, strict=True)
                if expr is not None
            ),
        ),
    )
