"""Checks `decompose by Batch;`: each element of the root set is a block of the model."""

from __future__ import annotations

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import CheckedSet, CheckedVariable, Element, Numeric
from gpusched_dsl.language.checking.expressions import ExpressionChecker
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean


def check_decomposition(checker: ExpressionChecker, decl: tree.Decompose) -> str | None:
    """The name of the root set, or None when it does not number blocks of the model (which is reported).

    A variable whose indices name one element of the root belongs to the block of that element, one whose indices name
    none is shared by all. A row that reads the variables of one block alone belongs to it, every other one links
    blocks: each row has its place, whatever the data. So only variables can be in the way, and they are seen here.
    """
    name = decl.root.text
    root = checker.symbols.sets.get(name)
    if root is None:
        _report_no_set(checker, decl)
        return None
    if root.root != name:
        _report_no_root(checker, decl, root)
        return None
    variables = [v for v in checker.symbols.values.values() if isinstance(v, CheckedVariable)]
    twice = [v for v in variables if _places(v, name) > 1]
    for variable in twice:
        checker.error(
            "GSM1419",
            f"`{variable.name}` has {_places(variable, name)} indices in `{name}`: it is in more than one block",
            decl.root.span,
            "one block for each element",
            secondary=[Label(variable.span, f"`{variable.name}` is declared here")],
            help="decompose by a set that is an index of every variable at most once, or remove the statement",
        )
    if any(_places(v, name) for v in variables):
        return None if twice else name
    if not checker.symbols.poisoned:
        checker.error(
            "GSM1419",
            f"no variable is indexed by `{name}`: its blocks are empty",
            decl.root.span,
            "one block for each element",
            secondary=[Label(root.span, f"`{name}` is declared here")],
            help=_used_roots(checker, variables),
        )
    return None


def _places(variable: CheckedVariable, root: str) -> int:
    """Count the index positions of a variable over the root."""
    return sum(index.type == Element(root) for index in variable.indexing.variables)


def _used_roots(checker: ExpressionChecker, variables: list[CheckedVariable]) -> str:
    roots = [s.name for s in checker.symbols.sets.values() if s.root == s.name]
    used = [f"`{name}`" for name in roots if any(_places(v, name) for v in variables)]
    return f"variables are indexed by {', '.join(used)}" if used else "remove it: no root set indexes a variable"


def _report_no_set(checker: ExpressionChecker, decl: tree.Decompose) -> None:
    name, symbols = decl.root.text, checker.symbols
    if name in symbols.poisoned:
        return
    place = symbols.span_of(name)
    if place is None:
        near = did_you_mean(name, symbols.sets)
        checker.error("GSM1101", f"unknown set `{name}`", decl.root.span, "not declared", help=near)
        return
    checker.error(
        "GSM1106",
        f"`{name}` is {symbols.sort_of(name)}, not a set",
        decl.root.span,
        "not a set",
        secondary=[Label(place, f"`{name}` is declared here")],
        help="decompose the model by a root set: each element of the set is one block",
    )


def _report_no_root(checker: ExpressionChecker, decl: tree.Decompose, found: CheckedSet) -> None:
    if found.root is not None:
        what, help = f"a subset of `{found.root}`", f"write `decompose by {found.root};`"
    elif len(found.types) == 1 and isinstance(found.types[0], Numeric):
        what, help = "a set of numbers", "declare a root set for the blocks and index the variables by it"
    else:
        what, help = "a set of tuples", "decompose by the root set of one of its components"
    checker.error(
        "GSM1417",
        f"a model is decomposed by a root set; `{found.name}` is {what}",
        decl.root.span,
        "not a root set",
        secondary=[Label(found.span, f"`{found.name}` is declared here")],
        help=help,
    )
