"""Smaller models that fail in the same way: declarations, elements and parts of formulas are left out one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

from model_tree import (
    Arith,
    At,
    Choice,
    Compare,
    Different,
    Divided,
    Expected,
    Extreme,
    Indexing,
    Iter,
    Let,
    Logic,
    Member,
    Model,
    Neg,
    Node,
    Not,
    Num,
    Over,
    Param,
    PerHour,
    Piecewise,
    Quantified,
    Quotient,
    RandomQuantity,
    Ref,
    Scheduled,
    Set,
    Smooth,
    SpecialOrdered,
    Square,
    Truth,
    Var,
    mapped,
    walk,
)

NUMERIC = (
    Num, Arith, Neg, Divided, Square, Quotient, Piecewise, Smooth, PerHour, Extreme, Over, Truth, Expected, Ref,
)  # fmt: skip
LOGICAL = (Compare, Logic, Not, Quantified, Member, Different, SpecialOrdered, Scheduled)


def shrunk(model: Model, fails: Callable[[Model], bool], most: int = 2000) -> Model:
    """A model of which no single part can be left out without losing the failure, as far as `most` trials reach."""
    trials = 0
    progress = True
    while progress:
        progress = False
        for candidate in _candidates(model):
            trials += 1
            if trials > most:
                return model
            if fails(candidate):
                model, progress = candidate, True
                break
    return model


def _candidates(model: Model) -> Iterator[Model]:
    """Models with one part less, the largest parts first."""
    for family in ("constraints", "objectives", "lets", "variables", "randoms", "params"):
        items = getattr(model, family)
        for at, item in enumerate(items):
            if family == "objectives" and len(items) == 1:
                continue
            if family in ("lets", "variables", "randoms", "params") and _is_read(model, item.name):
                if family == "randoms":
                    continue
                yield _without_references(replace(model, **{family: (*items[:at], *items[at + 1 :])}), item)
                continue
            yield replace(model, **{family: (*items[:at], *items[at + 1 :])})
    if model.option:
        kept = tuple(replace(c, when="") for c in model.constraints if c.when in ("", model.option))
        yield replace(model, option="", constraints=kept)
    if model.decompose:
        yield replace(model, decompose="")
    used = {i.source for n in walk(model) if isinstance(n, Indexing) for i in n.iters}
    used |= {s for p in model.params for s in p.sets} | {s for one in model.sets for s in one.within}
    used |= {n.source for n in walk(model) if isinstance(n, Member)} | {model.decompose}
    for at, one in enumerate(model.sets):
        if one.name not in used:
            yield replace(model, sets=(*model.sets[:at], *model.sets[at + 1 :]))
    for at, objective in enumerate(model.objectives):
        for k in range(len(objective.terms)):
            if len(objective.terms) > 1:
                rest = replace(objective, terms=(*objective.terms[:k], *objective.terms[k + 1 :]))
                yield replace(model, objectives=(*model.objectives[:at], rest, *model.objectives[at + 1 :]))
    for one in model.sets:
        for element in one.elements[-1:] if one.numbers else one.elements:
            yield _without_element(model, one, element)
    yield from _with_smaller_nodes(model)


def _is_read(model: Model, name: str) -> bool:
    return any(isinstance(n, Ref) and n.name == name for n in walk(model))


def _without_references(model: Model, gone: Any) -> Model:
    zero = Num(Fraction(0), gone.unit)
    return mapped(model, lambda n: zero if isinstance(n, Ref) and n.name == gone.name else n)


def _without_element(model: Model, one: Set, element: Any) -> Model:
    def lacks(sets: tuple[str, ...], key: tuple[Any, ...]) -> bool:
        at = 0
        for name in sets:
            size = len(model.set_named(name).elements[0]) if model.set_named(name).elements else 1
            if name == one.name and key[at : at + size] == element:
                return True
            within = model.set_named(name).within
            if within and lacks(within, key[at : at + size]):
                return True
            at += size
        return False

    sets = tuple(
        replace(s, elements=tuple(e for e in s.elements if e != element))
        if s.name == one.name
        else replace(s, elements=tuple(e for e in s.elements if not (s.within and lacks(s.within, e))))
        for s in model.sets
    )
    params = tuple(replace(p, values=tuple(v for v in p.values if not lacks(p.sets, v[0]))) for p in model.params)
    return replace(model, sets=sets, params=params)


def _with_smaller_nodes(tree: Any) -> Iterator[Any]:
    """The tree with one node replaced by something smaller."""
    if isinstance(tree, tuple):
        for at, one in enumerate(tree):
            for other in _with_smaller_nodes(one):
                yield (*tree[:at], other, *tree[at + 1 :])
        return
    if not isinstance(tree, Node):
        return
    yield from _smaller(tree)
    assert is_dataclass(tree)
    for field in fields(tree):
        for other in _with_smaller_nodes(getattr(tree, field.name)):
            yield replace(tree, **{field.name: other})  # type: ignore[type-var]


def _smaller(node: Node) -> Iterator[Node]:
    if isinstance(node, Ref) and node.other is not None:
        yield replace(node, other=None)
    if isinstance(node, Ref):
        yield Num(Fraction(1))
    if isinstance(node, Num):
        if node.value not in (0, 1):
            yield from (replace(node, value=Fraction(v)) for v in (0, 1, round(node.value)) if v != node.value)
        elif node.value == 1:
            yield replace(node, value=Fraction(0))
        if node.unit:
            yield Num(node.value)
        return
    if isinstance(node, Indexing):
        if node.where is not None:
            yield replace(node, where=None)
        for at in range(len(node.iters)):
            yield replace(node, iters=(*node.iters[:at], *node.iters[at + 1 :]))
        return
    if isinstance(node, Var):
        if node.kind == "integer" or not node.kind:
            yield replace(node, kind="binary", lower=None, upper=None, unit="", semicontinuous=False)
        if node.semicontinuous:
            yield replace(node, semicontinuous=False)
        return
    if isinstance(node, Let) and node.unit:
        yield replace(node, unit="")
    if isinstance(node, Piecewise):
        yield node.body
        if len(node.at) > 1 and node.slopes:
            yield replace(node, at=node.at[1:], slopes=node.slopes[1:])
            yield replace(node, at=node.at[:-1], slopes=node.slopes[:-1])
        if len(node.at) > 2 and node.values:
            yield replace(node, at=node.at[1:], values=node.values[1:])
            yield replace(node, at=node.at[:-1], values=node.values[:-1])
        yield from (Num(Fraction(v)) for v in (0, 1))
        return
    if isinstance(node, Param):
        for at, (key, value) in enumerate(node.values):
            for smaller in (Fraction(0), Fraction(1)):
                if value != smaller and (value != 0 or smaller == 0):
                    yield replace(node, values=(*node.values[:at], (key, smaller), *node.values[at + 1 :]))
        return
    if isinstance(node, (Set, RandomQuantity, Iter, At)):
        return
    kind = NUMERIC if isinstance(node, NUMERIC) else LOGICAL if isinstance(node, LOGICAL) else ()
    if isinstance(node, Choice):
        yield node.then
        yield node.other
        return
    if not kind:
        return
    if kind == NUMERIC and not isinstance(node, Ref):
        yield Num(Fraction(0))
        yield Num(Fraction(1))
    for field in fields(node):  # type: ignore[arg-type]
        part = getattr(node, field.name)
        for one in part if isinstance(part, tuple) else (part,):
            if isinstance(one, (*kind, Choice)) and not (isinstance(node, Ref)):
                yield one
    if isinstance(node, Compare) and len(node.ops) == 2:
        yield Compare(node.ops[:1], node.sides[:2])
        yield Compare(node.ops[1:], node.sides[1:])
    if isinstance(node, Extreme) and len(node.args) > 1:
        yield replace(node, args=node.args[:1])
