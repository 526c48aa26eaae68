"""Index lists: `[j in Jobs, (v, g) in Configs where condition]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    ComprehensionSet,
    Core,
    IndexingCore,
    IndexRef,
    IndexVar,
    Iterator,
    Logic,
    NamedSet,
    SetCore,
)
from gpusched_dsl.language.checking.scope import Binding, Scope
from gpusched_dsl.language.checking.walk import indices_in
from gpusched_dsl.language.diagnostics import Label

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.expressions import ExpressionChecker

IGNORED = "_"


def check_indexing(
    checker: ExpressionChecker, node: tree.Indexing | None, scope: Scope
) -> tuple[IndexingCore | None, Scope]:
    """The core of an index list and the scope inside it. Names are bound even where their set is in error."""
    if node is None:
        return IndexingCore(), scope
    iterators: list[Iterator] = []
    own: dict[str, tree.Identifier] = {}
    for index in node.indices:
        iterator, scope = _check_index(checker, index, scope, own)
        if iterator is not None:
            iterators.append(iterator)
    conditions: tuple[Core, ...] = ()
    sound = len(iterators) == len(node.indices)
    if node.where is not None:
        condition = checker.condition(node.where, scope)
        if condition is None or not checker.data_only(condition, "a condition after `where`"):
            sound = False
            scope = scope.guard(own)  # what the broken condition says of the indices is unknown
        else:
            conditions = split(condition)
            scope = scope.guard(indices_in(condition))
    return (IndexingCore(tuple(iterators), conditions) if sound else None), scope


def split(condition: Core) -> tuple[Core, ...]:
    """The parts of a condition joined by `and`."""
    if isinstance(condition, Logic) and condition.op == "and":
        return tuple(part for operand in condition.operands for part in split(operand))
    return (condition,)


def _check_index(
    checker: ExpressionChecker, index: tree.Index, scope: Scope, own: dict[str, tree.Identifier]
) -> tuple[Iterator | None, Scope]:
    domain = checker.set_of(index.domain, scope)
    if domain is not None and not _names_fit(checker, index, domain):
        domain = None
    if domain is None:
        for lost in index.names:
            if _may_bind(checker, lost, scope, own):
                scope = scope.bind(lost.text, None)
        return None, scope
    variables: list[IndexVar] = []
    sound = True
    if not index.names:
        scope = scope.without_name(domain.span.text)
    for component, kind in enumerate(domain.types):
        name: tree.Identifier | None = index.names[component] if index.names else None
        if name is None or name.text == IGNORED:
            variables.append(IndexVar(IGNORED, kind, index.span if name is None else name.span))
            continue
        variable = IndexVar(name.text, kind, name.span)
        variables.append(variable)
        if _may_bind(checker, name, scope, own):
            scope = scope.bind(name.text, Binding(variable, domain, component))
        else:
            sound = False
    return (Iterator(tuple(variables), domain, index.span) if sound else None), scope


def _may_bind(checker: ExpressionChecker, name: tree.Identifier, scope: Scope, own: dict[str, tree.Identifier]) -> bool:
    """Whether an index may have this name: it must hide nothing. Otherwise it stays what it was, silently."""
    if name.text == IGNORED:
        return False
    if name.text in own:
        checker.error(
            "GSM1105",
            f"index `{name.text}` is named twice",
            name.span,
            "again",
            secondary=[Label(own[name.text].span, "first here")],
            help="give one of them another name",
        )
        return False
    own[name.text] = name
    if name.text in scope.bindings:
        outer = scope.bindings[name.text]
        checker.error(
            "GSM1105",
            f"index `{name.text}` is in use around this",
            name.span,
            "named again here",
            secondary=[Label(outer.variable.span, "the outer index")] if outer is not None else [],
            help="give the inner one another name",
        )
        return False
    declared = checker.symbols.quantity_span(name.text)
    if declared is not None:
        checker.error(
            "GSM1104",
            f"index `{name.text}` hides a declaration",
            name.span,
            "an index of this name",
            secondary=[Label(declared, f"`{name.text}` is declared here")],
            help="give the index another name",
        )
        return False
    return True


def _names_fit(checker: ExpressionChecker, index: tree.Index, domain: SetCore) -> bool:
    arity = len(domain.types)
    if not index.names or len(index.names) == arity:
        return True
    text = domain.span.text
    declared = checker.symbols.span_of(domain.name) if isinstance(domain, NamedSet) else None
    names = index.names[0].span.to(index.names[-1].span)
    elements = "single elements" if arity == 1 else f"tuples of {arity}"
    wanted = ", ".join(component_names(checker, domain))
    checker.error(
        "GSM1202",
        f"`{text}` has {elements}, {_counted(len(index.names))} given",
        names,
        "one name" if len(index.names) == 1 else f"{len(index.names)} names",
        secondary=[Label(declared, f"`{text}` is declared here")] if declared is not None else [],
        help=f"write `{f'({wanted})' if arity > 1 else wanted} in {text}`",
    )
    return False


def _counted(names: int) -> str:
    return "one name is" if names == 1 else f"{names} names are"


def component_names(checker: ExpressionChecker, domain: SetCore) -> tuple[str, ...]:
    """Names an author may use for the components of a set: those of its definition, else letters."""
    value: SetCore | None = domain
    while isinstance(value, NamedSet):
        declared = checker.symbols.sets.get(value.name)
        value = declared.value if declared is not None else None
    if isinstance(value, ComprehensionSet) and all(isinstance(e, IndexRef) for e in value.element):
        return tuple(e.variable.name for e in value.element if isinstance(e, IndexRef))
    return (
        tuple("ijklmn"[: len(domain.types)])
        if len(domain.types) <= 6
        else tuple(f"i{n}" for n in range(1, len(domain.types) + 1))
    )
