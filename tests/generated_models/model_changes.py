"""Changes of a generated model: equivalent ones, and changes of its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

from model_tree import (
    UNITS,
    Arith,
    At,
    Compare,
    Constraint,
    Iter,
    Let,
    Logic,
    Member,
    Model,
    Node,
    Not,
    Num,
    Objective,
    Ord,
    Param,
    RandomQuantity,
    Ref,
    Set,
    Var,
    deciding_names,
    mapped,
    walk,
)

Change = Callable[[Model, Random], Model]


def renamed(model: Model, random: Random) -> Model:
    """Every declaration and index has another name, in another alphabetical order."""
    names: dict[str, str] = {}
    indices: dict[str, str] = {}

    def new(name: str, taken: dict[str, str], prefix: str) -> str:
        if name not in taken:
            taken[name] = f"{prefix}{random.choice('abxyz')}_{len(taken)}"
        return taken[name]

    def change(node: Node) -> Node:
        match node:
            case Set() | Param() | RandomQuantity() | Var() | Let() | Constraint() | Objective() | Ref():
                node = replace(node, name=new(node.name, names, "n"))
            case At() | Ord():
                ordered = new(node.ordered, names, "n") if node.ordered else ""
                return replace(node, index=new(node.index, indices, "k"), ordered=ordered)
            case Iter():
                own = tuple(new(n, indices, "k") for n in node.names)
                of = new(node.of, indices, "k") if node.of else ""
                return replace(node, names=own, source=new(node.source, names, "n"), of=of)
            case Member():
                return replace(node, source=new(node.source, names, "n"))
        match node:
            case Set():
                return replace(node, within=tuple(new(s, names, "n") for s in node.within))
            case Param():
                return replace(node, sets=tuple(new(s, names, "n") for s in node.sets))
            case Objective():
                return replace(node, terms=tuple((f"t_{name}", body) for name, body in node.terms))
            case Model(decompose=block) if block:
                return replace(node, decompose=new(block, names, "n"))
        return node

    return mapped(model, change)


def permuted(model: Model, random: Random) -> Model:
    """Declarations, elements and rows in another order."""

    def shuffled(items: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(random.sample(items, len(items)))

    sets = tuple(s if s.numbers or s.ordered else replace(s, elements=shuffled(s.elements)) for s in model.sets)
    return replace(
        model, sets=shuffled(sets), params=tuple(replace(p, values=shuffled(p.values)) for p in shuffled(model.params)),
        variables=shuffled(model.variables), lets=shuffled(model.lets), constraints=shuffled(model.constraints),
    )  # fmt: skip


def in_other_units(model: Model, random: Random) -> Model:
    """Times of parameters, lets, numbers and objectives in seconds, minutes or hours where their decimals are exact."""

    def other(unit: str, *values: Fraction) -> str:
        fine = [u for u in UNITS if u and all((v * UNITS[unit] / UNITS[u] * 1024).denominator == 1 for v in values)]
        return random.choice(fine)

    def change(node: Node) -> Node:
        match node:
            case Num(value, unit) if unit:
                found = other(unit, value)
                return Num(value * UNITS[unit] / UNITS[found], found)
            case Param() if node.unit:
                found = other(node.unit, *(v for _, v in node.values))
                factor = UNITS[node.unit] / UNITS[found]
                return replace(node, values=tuple((k, v * factor) for k, v in node.values), unit=found)
            case Let() if node.unit:
                return replace(node, unit=other(node.unit))
            case Var() if node.unit and not node.kind:
                return replace(node, unit=other(node.unit))
        return node

    return mapped(model, change)


def split(model: Model, random: Random) -> Model:
    """An equality as two inequalities, a chain and an `and` as two constraints, strict comparisons by others."""
    found: list[Constraint] = []
    for c in model.constraints:
        match c.body:
            case Compare(("==",), (left, right)):
                found.append(replace(c, body=Compare(("<=",), (left, right))))
                found.append(replace(c, name=f"{c.name}_more", body=Compare(("<=",), (right, left))))
            case Logic("and", left, right) if _decides(model, left) and _decides(model, right):
                found += [replace(c, body=left), replace(c, name=f"{c.name}_more", body=right)]
            case Compare(("!=",), (left, right)):
                found.append(
                    replace(c, body=Logic("or", Compare(("<",), (left, right)), Compare((">",), (left, right))))
                )
            case Compare(("<" | ">" as op,), sides):
                found.append(replace(c, body=Not(Compare((">=" if op == "<" else "<=",), sides))))
            case Compare((one, another), (a, b, d)):
                found.append(replace(c, body=Logic("and", Compare((one,), (a, b)), Compare((another,), (b, d)))))
            case _:
                found.append(c)
    return replace(model, constraints=tuple(found))


def _decides(model: Model, node: Node) -> bool:
    names = deciding_names(model)
    return any(isinstance(n, Ref) and n.name in names for n in walk(node))


def with_redundant_rows(model: Model, random: Random) -> Model:
    """Constraints once more: as they are, multiplied, weakened by `or`, and sums of two."""
    found = list(model.constraints)
    for c in model.constraints:
        again = replace(c, name=f"{c.name}_again")
        match c.body:
            case Compare((op,), (left, right)) if random.random() < 0.6:
                factor = Num(Fraction(random.choice((2, 3))))
                found.append(replace(again, body=Compare((op,), (Arith("*", factor, left), Arith("*", factor, right)))))
            case body if random.random() < 0.5:
                found.append(replace(again, body=Logic("or", body, body)))
            case _:
                found.append(again)
    return replace(model, constraints=tuple(found))


SAME: Mapping[str, Change] = {
    "renamed": renamed, "permuted": permuted, "in other units": in_other_units, "split rows": split,
    "redundant rows": with_redundant_rows,
}  # fmt: skip


def with_other_data(model: Model, random: Random) -> Model:
    """Some parameters have other values, for all keys or for some."""
    numbers = [Fraction(v) for v in (0, 1, 2, -1, "0.5", 3)]
    params = []
    for p in model.params:
        if random.random() < 0.6:
            share = random.choice((1.0, 0.3))
            fine = [v for v in numbers if v.denominator == 1 or not p.integer]
            values = tuple((k, random.choice(fine) if random.random() < share else v) for k, v in p.values)
            p = replace(p, values=values)
        params.append(p)
    return replace(model, params=tuple(params))


def changed_values(before: Model, after: Model) -> dict[str, Any]:
    """What `Model.set` is given for the parameters that changed."""
    found: dict[str, Any] = {}
    for old, new in zip(before.params, after.params, strict=True):
        if old != new:
            values = {k if len(k) != 1 else k[0]: float(v) for k, v in new.values}
            found[new.name] = values if new.sets else values[()]
    return found
