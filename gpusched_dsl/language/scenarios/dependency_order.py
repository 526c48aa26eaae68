"""The order of sets, parameters and randoms by the expressions of a scenario that read other values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from gpusched_dsl.language.checked import (
    CheckedModel,
    CheckedParam,
    CheckedRandom,
    CheckedSet,
    Element,
    LetRef,
    NamedSet,
    ParamRef,
    RandomRef,
    Shift,
)
from gpusched_dsl.language.checking.walk import Part, walk
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import ArrayAssignment, Assignment, ExpressionAssignment, LawAssignment


def order_of_data(
    model: CheckedModel, assignments: Mapping[str, tuple[Assignment, ...]], diagnostics: Diagnostics
) -> tuple[str, ...]:
    """Return the order of the model, with the changes that the expressions require; report cycles (GSM1517)."""
    reads = {name: set(_names_in_assignments(model, givens)) for name, givens in assignments.items()}
    if not any(names - {target} for target, names in reads.items()) and not any(t in n for t, n in reads.items()):
        return model.data_order
    ordered: list[str] = []
    done: set[str] = set()
    for name in model.data_order:
        _visit(name, [], model, assignments, reads, ordered, done, diagnostics)
    return tuple(ordered)


def _visit(
    name: str,
    path: list[str],
    model: CheckedModel,
    assignments: Mapping[str, tuple[Assignment, ...]],
    reads: Mapping[str, set[str]],
    ordered: list[str],
    done: set[str],
    diagnostics: Diagnostics,
) -> None:
    if name in done:
        return
    if name in path:
        _report_circle([*path[path.index(name) :], name], assignments, reads, diagnostics)
        return
    path.append(name)
    declared = model.sets.get(name) or model.params.get(name) or model.randoms[name]
    names_needed = {*_names_in_declaration(model, declared), *reads.get(name, ())}
    for member in declared.circle if isinstance(declared, CheckedParam) else ():
        names_needed |= set(_names_in_declaration(model, model.params[member]))
    for other in model.data_order:
        if other in names_needed and (other != name or name in reads.get(name, ())):
            _visit(other, path, model, assignments, reads, ordered, done, diagnostics)
    path.pop()
    done.add(name)
    ordered.append(name)


def _report_circle(
    circle: list[str],
    assignments: Mapping[str, tuple[Assignment, ...]],
    reads: Mapping[str, set[str]],
    diagnostics: Diagnostics,
) -> None:
    """Report a cycle at its first statement in the scenario."""
    places = {
        name: next(
            g.span for g in assignments[name] if isinstance(g, ExpressionAssignment | ArrayAssignment | LawAssignment)
        )
        for name, used_name in pairwise(circle)
        if used_name in reads.get(name, ())
    }
    target = min(places, key=lambda name: (places[name].source.name, places[name].start))
    start = circle.index(target)
    cycle = [*circle[start:-1], *circle[: start + 1]]
    diagnostics.error(
        "GSM1517",
        f"the value of `{target}` depends on `{target}`",
        places[target],
        "depends on itself",
        notes=["the cycle is " + " -> ".join(f"`{name}`" for name in cycle)],
        help="give one of them as numbers",
    )


def _names_in_assignments(model: CheckedModel, assignments: tuple[Assignment, ...]) -> Iterator[str]:
    for assignment in assignments:
        if isinstance(assignment, ExpressionAssignment):
            for part in (
                assignment.value,
                *assignment.subscripts,
                *([assignment.indexing] if assignment.indexing is not None else []),
            ):
                yield from _names(model, part)
        elif isinstance(assignment, ArrayAssignment):
            for value in assignment.values:
                yield from _names(model, value)
        elif isinstance(assignment, LawAssignment):
            yield from _names(model, assignment.law)


def _names_in_declaration(model: CheckedModel, declared: CheckedSet | CheckedParam | CheckedRandom) -> Iterator[str]:
    """Yield the names that a declaration needs, and the root sets of its types."""
    if isinstance(declared, CheckedRandom):
        yield from _names(model, declared.indexing)
        if declared.law is not None:
            yield from _names(model, declared.law)
        return
    parts: list[Part | None] = [declared.within, declared.value]
    types = declared.types if isinstance(declared, CheckedSet) else (declared.type,)
    if isinstance(declared, CheckedParam):
        parts += [declared.indexing, declared.default, *(bound.value for bound in declared.bounds)]
    circle = declared.circle if isinstance(declared, CheckedParam) else ()
    for part in parts:
        if part is not None:
            yield from (name for name in _names(model, part) if name not in circle)
    yield from (kind.root for kind in types if isinstance(kind, Element) and kind.root != declared.name)


def _names(model: CheckedModel, part: Part) -> Iterator[str]:
    """Return the sets, parameters and randoms that an expression reads, also through `let`s."""
    for inner in walk(part):
        match inner:
            case ParamRef(name=name) | RandomRef(name=name) | NamedSet(name=name) | Shift(ordering=name):
                yield name
            case LetRef(name=name):
                let = model.lets[name]
                yield from _names(model, let.indexing)
                yield from _names(model, let.value)
