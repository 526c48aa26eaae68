"""Checks whether a refusal is correct: its claim, against the model and enumeration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from algebras import Unsupported
from enumerated_optimum import has_no_end
from model_tree import (
    Arith,
    Choice,
    Compare,
    Decided,
    Different,
    Divided,
    Expected,
    Extreme,
    Logic,
    Model,
    Node,
    Not,
    Num,
    Over,
    PerHour,
    Piecewise,
    Quantified,
    Ref,
    Scheduled,
    Smooth,
    SpecialOrdered,
    Square,
    Truth,
    walk,
)

# What may be said instead of an answer: decomposition is asked for and there are no blocks, the backend lacks
# something, a bound is missing, the values between which a condition changes are not known.
REFUSALS = {"GSM3201", "GSM3203", "GSM4003", "GSM4006", "GSM4013", "GSM3202", "GSM3205"}
# A constraint with one of these is more than rows.
LOGIC = (Choice, Different, Logic, Not, Quantified, Scheduled, SpecialOrdered, Truth)
_NAMED = re.compile(r"if `(\w+)` has an? (upper|lower) bound")


def false_claim(model: Model, backend: str, decompose: str, code: str, message: str) -> str:
    """What is wrong with the refusal of a model in this way to solve it; "" if nothing is."""
    if code in ("GSM4003", "GSM3201", "GSM3203") and any(isinstance(n, Smooth) for n in walk(model)):
        return ""  # functions without exact values need a backend that takes them
    match code:
        case "GSM4013":
            return "" if decompose == "on" else "decomposition is not asked for"
        case "GSM4003" | "GSM4006" if backend == "cpsat":
            return "" if _has_no_integers(model) else "all variables are integer and have bounds"
        case "GSM4003":
            if backend == "highs":  # a pass made integers beside a convex quadratic
                return "" if _has_product(model) else "the backend takes integers, and nothing is quadratic"
            return "" if backend == "cvxpy" else "the backend takes integers and quadratic terms"
        case "GSM3203":
            if backend != "cvxpy":
                return "the backend takes terms that are not convex, or none"
            return "" if _has_product(model) else "no product has two factors that are not whole"
        case "GSM3201":
            return "" if _has_product(model) else "no product has two factors that are not whole"
        case "GSM3205":
            return "" if _has_condition_without_step(model) else "all conditions read whole decisions"
        case "GSM3202":
            return _false_bound(model, message)
    return "not a code of refusals"


def _false_bound(model: Model, message: str) -> str:
    named = _NAMED.search(message)
    if named is None:
        return "the message names no variable"
    name, side = named[1], named[2]
    found = next((v for v in model.variables if v.name == name), None)
    if found is None or found.kind == "binary":
        return f"{name} is no variable that could lack a bound"
    if (found.upper if side == "upper" else found.lower) is not None:
        return f"{name} has an {side} bound"
    # Bounds are propagated through rows: one that follows only from which conditions can hold is not found.
    rows = tuple(c for c in model.constraints if not any(isinstance(n, LOGIC) for n in walk(c.body)))
    try:
        no_end = has_no_end(replace(model, constraints=rows), name, upper=side == "upper")
        return "" if no_end else f"the constraints bound {name}"
    except Unsupported:
        return ""


def _has_product(model: Model) -> bool:
    """Whether a product, a `prod` or a square has no factor that is linear in whole decisions."""
    for node in walk(model):
        if isinstance(node, Square) or (isinstance(node, Over) and node.op == "prod"):
            factors: tuple[Node, ...] = (node.body,)
        elif isinstance(node, Arith) and node.op == "*":
            factors = (node.left, node.right)
        else:
            continue
        if all(_is_fractional(model, factor) or _stands_for_fraction(model, factor) for factor in factors):
            return True
    return False


def _has_no_integers(model: Model) -> bool:
    """Whether something is continuous, or has no bound: a backend for integers may refuse it.

    Curves, powers and expectations become sums of continuous parts.
    """
    if any(
        isinstance(n, (Piecewise, Expected, Square)) or (isinstance(n, Over) and n.op == "prod") for n in walk(model)
    ):
        return True
    return any(not v.kind or (v.kind != "binary" and (v.lower is None or v.upper is None)) for v in model.variables)


def _has_condition_without_step(model: Model) -> bool:
    """Whether a condition reads a continuous decision, or a logarithm or the like, whose values have no step."""
    conditions = [node for node in walk(model) if isinstance(node, Compare)]
    return any(
        _is_fractional(model, node) or any(isinstance(part, Smooth) for part in _read(model, node))
        for node in conditions
    )


def _is_fractional(model: Model, node: Node) -> bool:
    """Whether an expression reads a continuous decision."""
    continuous = {v.name for v in model.variables if not v.kind}
    return any(isinstance(n, Ref) and n.name in continuous for n in _read(model, node))


def _stands_for_fraction(model: Model, node: Node) -> bool:
    """Whether a term that is not linear in whole decisions, such as `min(v / 4, 1)`, may be a fraction."""
    return any(_is_column(part) and _has_fraction(model, part) for part in _read(model, node))


def _is_column(node: Node) -> bool:
    if isinstance(node, Over):
        return node.op in ("max", "min", "prod")
    if isinstance(node, Arith):
        return node.op == "*"
    if isinstance(node, Ref):
        return any(isinstance(sub, Decided) for sub in node.subs)
    return isinstance(node, (Extreme, Choice, Expected, Piecewise, Square))


def _has_fraction(model: Model, node: Node) -> bool:
    fractions = {p.name for p in model.params if p.unit or any(value.denominator > 1 for _, value in p.values)}
    return any(
        isinstance(n, (Expected, Divided, PerHour))
        or (isinstance(n, Num) and (bool(n.unit) or n.value.denominator > 1))
        or (isinstance(n, Ref) and n.name in fractions)
        for n in _read(model, node)
    )


def _read(model: Model, node: Node) -> Iterator[Node]:
    """The parts of an expression and of the lets in it."""
    lets = {x.name: x.body for x in model.lets if not x.data}
    for part in walk(node):
        yield part
        if isinstance(part, Ref) and part.name in lets:
            yield from _read(model, lets[part.name])
