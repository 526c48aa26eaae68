"""The order of declarations: each after its dependencies. Cycles are reported.

The sort is our own: NetworkX gives the same order, but is loaded only where declarations need each other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Protocol, TypeAlias

from msgspec import Struct, field

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span

Ordered: TypeAlias = tree.SetDecl | tree.ParamDecl | tree.LetDecl | tree.VarDecl | tree.RandomDecl | tree.PolicyStage
Needs: TypeAlias = Mapping[str, Mapping[str, Span]]
NamedPlaces: TypeAlias = tuple[tuple[str, Span], ...]


class Order(Struct, frozen=True):
    """Declarations in a readable order, and the names in a cycle with their places.

    `circles` are the parameters that are evaluated together, in the order of the text, by the name of each of them.
    """

    declarations: tuple[Ordered, ...]
    circular: Mapping[str, Span]
    circles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def order(
    declarations: list[Ordered],
    diagnostics: Diagnostics,
    also: Mapping[str, str] | None = None,
    memo: NameMemo | None = None,
) -> Order:
    """Sort declarations by their dependencies, keeping the order of the text if possible.

    The bounds of a variable are left out: they are read when everything else is known. `also` are further names that
    declarations give, with the name of the declaration that gives them. `memo` keeps the names of declarations.
    """
    given_by = also or {}
    by_name = {d.name.text: d for d in declarations}
    needs: dict[str, dict[str, Span]] = {}
    for name, declaration in by_name.items():
        needs[name] = {}
        for word, span in needed_names(declaration) if memo is None else memo.names(declaration, needed_names):
            used = given_by.get(word, word)
            if used in by_name and not (used == name and may_read(declaration, frozenset([name]))):
                needs[name].setdefault(used, span)
    names = _sort_acyclic(needs)
    if names is not None:
        return Order(tuple(by_name[name] for name in names), {})
    return _sort(by_name, needs, diagnostics)


def may_read(declaration: Ordered, names: Collection[str]) -> bool:
    """Whether a parameter with indices reads some of these parameters in its value, and nowhere else."""
    if not isinstance(declaration, tree.ParamDecl) or declaration.indexing is None:
        return False
    rest = [p for p in _definition(declaration) if p is not declaration.value]
    indices = declaration.indexing
    in_value = any(name in names for name, _ in _names_in([indices, declaration.value], frozenset()))
    return in_value and all(name not in names for name, _ in _names_in(rest, frozenset()))


def _sort_acyclic(needs: Needs) -> list[str] | None:
    """The names, each after those it needs and otherwise as in the text; None if some need each other.

    This is the usual case, and no graph library has to be loaded for it.
    """
    names, waiting = list(needs), [len(used) for used in needs.values()]
    users: dict[str, list[int]] = {name: [] for name in needs}
    for place, used in enumerate(needs.values()):
        for name in used:
            users[name].append(place)
    ready = [place for place, missing in enumerate(waiting) if missing == 0]
    heapify(ready)
    ordered: list[str] = []
    while ready:
        ordered.append(names[heappop(ready)])
        for place in users[ordered[-1]]:
            waiting[place] -= 1
            if waiting[place] == 0:
                heappush(ready, place)
    return ordered if len(ordered) == len(names) else None


def _sort(by_name: Mapping[str, Ordered], needs: Needs, diagnostics: Diagnostics) -> Order:
    import networkx

    graph = networkx.DiGraph()
    graph.add_nodes_from(by_name)
    graph.add_edges_from((used, name) for name, all_used in needs.items() for used in all_used)
    circular: dict[str, Span] = {}
    circles: dict[str, tuple[str, ...]] = {}
    for component in list(networkx.strongly_connected_components(graph)):
        if len(component) == 1 and not any(graph.has_edge(name, name) for name in component):
            continue
        closed = _closed_needs(component, by_name, needs)
        if closed:
            _report_circle(_shortest_circle(set(closed), closed), by_name, closed, diagnostics)
            circular.update((name, by_name[name].name.span) for name in component)
            continue
        together = tuple(name for name in by_name if name in component)
        circles.update(dict.fromkeys(together, together))
        outside = {used for name in together for used in needs[name]} - component
        graph.remove_nodes_from(together)
        graph.add_nodes_from(together)
        graph.add_edges_from((used, name) for used in outside for name in together)
        graph.add_edges_from(
            (name, user)
            for user, all_used in needs.items()
            for name in component & all_used.keys()
            if user not in component
        )
    graph.remove_nodes_from(circular)
    place = {name: number for number, name in enumerate(by_name)}
    names = networkx.lexicographical_topological_sort(graph, key=place.__getitem__)
    return Order(tuple(by_name[name] for name in names), circular, circles)


def _closed_needs(component: set[str], by_name: Mapping[str, Ordered], needs: Needs) -> Needs:
    """The needs among declarations that form a cycle whatever the data are; nothing if they may be evaluated together.

    Values of parameters with indices may read each other, as `a[t]` reads `b[t - 1]` and `b[t]` reads `a[t]`: the data
    show whether entries form a cycle. They do for certain if all is read at the same indices, without a condition.
    """
    if not all(may_read(by_name[name], component) for name in component):
        return {name: {n: s for n, s in needs[name].items() if n in component} for name in needs if name in component}
    same = {name: {n: s for n, s in _at_own_indices(by_name[name]) if n in component} for name in component}
    while removed := {name for name, used in same.items() if not used.keys() & same.keys()}:
        same = {name: used for name, used in same.items() if name not in removed}
    return {name: {n: s for n, s in same[name].items() if n in same} for name in needs if name in same}


def _at_own_indices(declaration: Ordered) -> Iterator[tuple[str, Span]]:
    """The names that every entry of a parameter reads, at the indices of the entry."""
    assert isinstance(declaration, tree.ParamDecl)
    assert declaration.indexing is not None
    own = [name.text for index in declaration.indexing.indices for name in index.names]
    waiting: list[object] = [declaration.value]
    for part in waiting:
        match part:
            case tree.Subscript(name=name, subscripts=subscripts):
                if [s.text for s in subscripts if isinstance(s, tree.Name)] == own and len(own) == len(subscripts):
                    yield name.text, name.span
            case tree.Conditional() | tree.Otherwise() | tree.Aggregate() | tree.Binary(op="and" | "or" | "=>"):
                continue
            case tuple():
                waiting.extend(part)
            case tree.Node():
                waiting.extend(getattr(part, name) for name in part.__struct_fields__ if name != "span")


def _shortest_circle(component: set[str], needs: Needs) -> list[str]:
    """A shortest circle among names that all need each other, found breadth first from the first of them."""
    names = [name for name in needs if name in component]
    best: list[str] = []
    for start in names:
        paths: dict[str, list[str]] = {start: [start]}
        waiting = [start]
        for name in waiting:
            if start in needs[name]:
                if not best or len(paths[name]) < len(best):
                    best = paths[name]
                break
            for used in needs[name]:
                if used in component and used not in paths:
                    paths[used] = [*paths[name], used]
                    waiting.append(used)
    return best


def _report_circle(circle: list[str], by_name: Mapping[str, Ordered], needs: Needs, diagnostics: Diagnostics) -> None:
    steps = list(zip(circle, [*circle[1:], circle[0]], strict=True))
    places = [needs[name][used] for name, used in steps]
    labels = [f"`{name}` needs `{used}`" for name, used in steps]
    bounds = any(_only_in_bounds(by_name[name], used) for name, used in steps)
    diagnostics.error(
        "GSM1407",
        f"`{circle[0]}` depends on itself" if len(circle) == 1 else f"{_join_names(circle)} depend on each other",
        places[0],
        labels[0],
        secondary=[Label(place, label) for place, label in zip(places[1:], labels[1:], strict=True)],
        notes=["the cycle is " + " -> ".join(f"`{name}`" for name in [*circle, circle[0]])],
        help="state the condition in a `check` instead of a bound"
        if bounds
        else "only the value of a parameter with indices may read the parameter, at other indices"
        if len(circle) == 1
        else "read one of them at the step before, or under a condition that ends the circle"
        if all(isinstance(by_name[name], tree.ParamDecl) and by_name[name].indexing is not None for name in circle)
        else "define one of them without the others",
    )


def _join_names(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _only_in_bounds(declaration: Ordered, used: str) -> bool:
    if not isinstance(declaration, tree.ParamDecl):
        return False
    rest = [p for p in _definition(declaration) if p not in declaration.bounds]
    return all(name != used for name, _ in _names_in(rest, frozenset()))


# --- the names in a declaration --------------------------------------------------------------------------------------


class NameMemo(Protocol):
    """Keeps the names of declarations for the next check of a model."""

    def names(self, declaration: Ordered, read: Callable[[Ordered], NamedPlaces]) -> NamedPlaces: ...


def needed_names(declaration: Ordered) -> NamedPlaces:
    """The names that must be known before a declaration, with their places."""
    return tuple(_names_in(_definition(declaration), frozenset()))


def _definition(declaration: Ordered) -> list[object]:
    """Return the parts of a declaration that must be known before it; its indices are bound after them."""
    match declaration:
        case tree.SetDecl(indexing=indexing, within=within, value=value):
            return [indexing, within, value]
        case tree.ParamDecl(indexing=indexing, within=within, bounds=bounds, default=default, value=value):
            return [indexing, within, *bounds, default, value]
        case tree.LetDecl(indexing=indexing, value=value):
            return [indexing, value]
        case tree.VarDecl(indexing=indexing):
            return [indexing]
        case tree.RandomDecl(indexing=indexing, distribution=distribution):
            return [indexing, distribution]
        case tree.PolicyStage(indexing=indexing, over=over, parts=parts):
            return [indexing, over, parts]


def _names_in(part: object, bound: frozenset[str]) -> Iterator[tuple[str, Span]]:
    """The names that occur in a part of a tree and are not bound as indices around them, with their places."""
    match part:
        case list():
            for item in part:
                yield from _names_in(item, bound)
                if isinstance(item, tree.Indexing):
                    bound |= _bound_by(item)
        case tuple():
            for item in part:
                yield from _names_in(item, bound)
        case tree.Name(text=name):
            if name not in bound:
                yield name, part.span
        case tree.Aggregate(indexing=indexing, body=body, limit=limit):
            yield from _names_in([indexing, body], bound)
            yield from _names_in(limit, bound)
        case tree.Comprehension(element=element, indexing=indexing):
            yield from _names_in([indexing, element], bound)
        case tree.Indexing(indices=indices, where=where):
            for index in indices:
                yield from _names_in(index.domain, bound)
                yield from _names_in(index.fixed, bound)
                bound |= {name.text for name in index.names}
            yield from _names_in(where, bound)
        case tree.Subscript(name=name, subscripts=subscripts):
            yield name.text, name.span
            yield from _names_in(subscripts, bound)
        case tree.Node():
            for name in part.__struct_fields__:
                if name != "span":
                    yield from _names_in(getattr(part, name), bound)
        case _:
            return


def _bound_by(indexing: tree.Indexing) -> frozenset[str]:
    return frozenset(name.text for index in indexing.indices for name in index.names)
