"""The text of a generated model and its scenario."""

from __future__ import annotations

from fractions import Fraction

from model_tree import (
    CHOICES,
    Arith,
    At,
    Choice,
    Compare,
    Constraint,
    Decided,
    Different,
    Divided,
    Expected,
    Extreme,
    Indexing,
    Label,
    Let,
    Logic,
    Member,
    Model,
    Neg,
    Node,
    Not,
    Num,
    Objective,
    Ord,
    Over,
    Param,
    PerHour,
    Piecewise,
    Quantified,
    Quotient,
    RandomQuantity,
    Ref,
    Same,
    Scheduled,
    Set,
    Smooth,
    SpecialOrdered,
    Square,
    Truth,
    Var,
    walk,
)

# How strongly a text binds, loosest first.
CHOICE, IMPLIES, OR, AND, NOT, COMPARED, SUM, AGGREGATE, FACTORS, SIGNED, POWER, ATOM = range(12)
LOGIC = {"=>": IMPLIES, "<=>": IMPLIES, "or": OR, "and": AND}


def text_of(model: Model) -> str:
    """A `.gsm` text with the model `M` and its scenario `S`."""
    lines = ["model M {"]
    lines += [_set(s) for s in model.sets]
    lines += [_param(p) for p in model.params]
    lines += [_random(r) for r in model.randoms]
    lines += [_variable(v) for v in model.variables]
    lines += [_let(x) for x in model.lets]
    # A condition may stand in several constraints.
    lines += dict.fromkeys(_interval(n) for n in walk(model) if isinstance(n, Scheduled))
    if model.option:
        lines.append(f"  option rule in {{ {', '.join(CHOICES)} }} default {CHOICES[0]};")
    lines += [_objective(o, at) for at, o in enumerate(model.objectives)]
    lines += [_constraint(c) for c in model.constraints]
    if model.decompose:
        lines.append(f"  decompose by {model.decompose};")
    lines += ["}", "scenario S for M {"]
    lines += [line for s in model.sets for line in _given(s, model)]
    lines += [_values(p) for p in model.params]
    if model.option:
        lines.append(f"  rule = {model.option};")
    return "\n".join([*lines, "}"]) + "\n"


# --- declarations ----------------------------------------------------------------------------------------------------


def _set(s: Set) -> str:
    if s.numbers:
        return f"  set {s.name} = 1..{len(s.elements)};"
    if s.indexed:
        return f"  set {s.name}[{s.within[0]}] within {s.within[1]};"
    within = f" within {' cross '.join(s.within)}" if s.within else ""
    return f"  set {s.name}{within}{' ordered' if s.ordered else ''};"


def _given(s: Set, model: Model) -> list[str]:
    if s.numbers:
        return []
    if not s.indexed:
        return [f"  {s.name} = {_elements(s)};"]
    rest = {index: [str(e) for i, e in s.elements if i == index] for (index,) in model.set_named(s.within[0]).elements}
    return [f"  {s.name}[{index}] = {{ {', '.join(own)} }};" for index, own in rest.items()]


def _elements(s: Set) -> str:
    rows = [", ".join(map(str, e)) for e in s.elements]
    return "{ " + ", ".join(f"({r})" if len(e) > 1 else r for r, e in zip(rows, s.elements, strict=True)) + " }"


def _unit(unit: str) -> str:
    return f" in {unit}" if unit else ""


def _param(p: Param) -> str:
    kind = " integer" if p.integer else ""
    return f"  param {p.name}{'[' + ', '.join(p.sets) + ']' if p.sets else ''}{_unit(p.unit)}{kind};"


def _values(p: Param) -> str:
    if not p.sets or not p.values:
        value = p.values[0][1] if p.values else Fraction(0)
        return f"  {p.name} = {_signed(value)}{'[' + p.unit + ']' if p.unit else ''};"
    rows = "  ".join(" ".join([*map(str, key), _signed(value)]) for key, value in p.values)
    return f"  table {', '.join(p.sets)}: {p.name}{'[' + p.unit + ']' if p.unit else ''} = {rows} ;"


def _random(r: RandomQuantity) -> str:
    outcomes = ", ".join(f"({expression(value, SUM)}, {decimal(chance)})" for value, chance in r.outcomes)
    return f"  random {r.name}{indices(r.indexing)} ~ discrete({{ {outcomes} }});"


def _variable(v: Var) -> str:
    low = f" >= {expression(v.lower, SUM)}" if v.lower is not None else ""
    high = f" <= {expression(v.upper, SUM)}" if v.upper is not None else ""
    kind = (f" {v.kind}" if v.kind else "") + (" semicontinuous" if v.semicontinuous else "")
    return f"  var {v.name}{indices(v.indexing)}{_unit(v.unit)}{kind}{low}{high};"


def _interval(node: Scheduled) -> str:
    start, length = f"start {expression(node.start, SUM)}", f"length {expression(node.length, SUM)}"
    presence = "" if node.presence is None else f" optional on {expression(node.presence)}"
    return f"  interval {node.name}{indices(node.indexing)} {start} {length}{presence};"


def _let(x: Let) -> str:
    return f"  {'param' if x.data else 'let'} {x.name}{indices(x.indexing)}{_unit(x.unit)} = {expression(x.body)};"


def _objective(o: Objective, at: int) -> str:
    terms = " ".join(f"{name}: {expression(body)};" for name, body in o.terms)
    return f"  {'then ' if at else ''}{o.sense} {o.name}{_unit(o.unit)} {{ {terms} }}"


def _constraint(c: Constraint) -> str:
    said = f"constraint {c.name}{indices(c.indexing)}: {expression(c.body)};"
    return f"  when rule == {c.when} {{ {said} }}" if c.when else f"  {said}"


# --- expressions -----------------------------------------------------------------------------------------------------


def expression(node: Node, level: int = CHOICE) -> str:
    """The text of a number or condition, in parentheses where it binds less than `level`."""
    text, own = _part(node)
    return text if own >= level else f"({text})"


def indices(indexing: Indexing) -> str:
    if not indexing.iters:
        return ""
    parts = [
        f"{i.names[0] if len(i.names) == 1 else '(' + ', '.join(i.names) + ')'} in {i.source}{f'[{i.of}]' * bool(i.of)}"
        for i in indexing.iters
    ]
    where = f" where {expression(indexing.where)}" if indexing.where is not None else ""
    return f"[{', '.join(parts)}{where}]"


def decimal(value: Fraction) -> str:
    """An exact decimal: all numbers of generated models have one."""
    text = f"{value.numerator / value.denominator:.12f}".rstrip("0").rstrip(".")
    assert Fraction(text) == value
    return text


def _list(numbers: tuple[Num, ...]) -> str:
    return ", ".join(expression(n) for n in numbers)


def _signed(value: Fraction) -> str:
    return f"-{decimal(-value)}" if value < 0 else decimal(value)


def _part(node: Node) -> tuple[str, int]:
    match node:
        case Num(value, unit):
            text = decimal(abs(value)) + (f"[{unit}]" if unit else "")
            return (f"-{text}", SIGNED) if value < 0 else (text, ATOM)
        case Ord(index, _):
            return f"ord({index})", ATOM
        case At(index, by):
            return (f"{index} {'+' if by > 0 else '-'} {abs(by)}", SUM) if by else (index, ATOM)
        case Decided(number):
            return _part(number)
        case Label(element):
            return (f'"{element}"' if isinstance(element, str) else str(element), ATOM)
        case Ref(name, subs, other):
            text = name + (f"[{', '.join(expression(s) for s in subs)}]" if subs else "")
            return (text if other is None else f"({text} else {expression(other, SUM)})", ATOM)
        case Arith("*", left, right):
            # The body of an aggregate takes every factor that follows: an aggregate is the last factor.
            inner, own = _part(right)
            if own == AGGREGATE:
                return f"{expression(left, FACTORS)} * {inner}", AGGREGATE
            return f"{expression(left, FACTORS)} * {inner if own >= SIGNED else f'({inner})'}", FACTORS
        case Arith(op, left, right):
            return f"{expression(left, SUM)} {op} {expression(right, AGGREGATE)}", SUM
        case Neg(body):
            return f"-{expression(body, POWER)}", SIGNED
        case Divided(body, by):
            return f"{expression(body, FACTORS)} / {by}", FACTORS
        case Square(body):
            return f"{expression(body, ATOM)} ^ 2", POWER
        case Quotient(op, body, by):
            return f"{expression(body, SIGNED)} {op} {by}", FACTORS
        case Piecewise(body, at, slopes, values):
            points = ", ".join(f"({expression(a)}, {expression(v)})" for a, v in zip(at, values, strict=False))
            lists = f"points = {{ {points} }}"
            if slopes:
                lists = f"breakpoints = {{ {_list(at)} }}, slopes = {{ {_list(slopes)} }}"
            return f"piecewise({expression(body, SUM)}, {lists})", ATOM
        case Smooth(op, args):
            one, another = (*(expression(a, ATOM) for a in args), "")[:2]
            match op:
                case "norm":
                    return f"norm({one}, {another})", ATOM
                case "entropy":
                    return f"({one} * log({one}))", ATOM
                case "perspective":
                    return f"({one} * exp({another} / {one}))", ATOM
                case "ratio":
                    return f"({another} ^ 2 / {one})", ATOM
            return f"({another} / ({one} - {another}))", ATOM
        case PerHour(body):
            return f"{expression(body, FACTORS)} / 1[h]", FACTORS
        case Extreme(op, args):
            return f"{op}({', '.join(expression(a, SUM) for a in args)})", ATOM
        case Over("count", indexing, body):
            return f"count{indices(indexing)} ({expression(body)})", SIGNED
        case Over(op, indexing, body):
            return f"{op}{indices(indexing)} {expression(body, AGGREGATE)}", AGGREGATE
        case Truth(condition):
            return f"({expression(condition)})", ATOM
        case Expected(body):
            return f"E({expression(body, SUM)})", ATOM
        case Choice(condition, then, other):
            return f"if {expression(condition)} then {expression(then)} else {expression(other)}", CHOICE
        case Compare(ops, sides):
            text = expression(sides[0], SUM)
            for op, side in zip(ops, sides[1:], strict=True):
                text += f" {op} {expression(side, SUM)}"
            return text, COMPARED
        case Same(op, one, another):
            return f"{expression(one)} {op} {expression(another)}", COMPARED
        case Member((index, sub), source, negated, indexed=True):
            return f"{expression(sub)} {'not in' if negated else 'in'} {source}[{expression(index)}]", COMPARED
        case Member(subs, source, negated):
            texts = ", ".join(expression(s) for s in subs)
            return f"{f'({texts})' if len(subs) > 1 else texts} {'not in' if negated else 'in'} {source}", COMPARED
        case Logic(op, left, right):
            own = LOGIC[op]
            return f"{expression(left, own + 1)} {op} {expression(right, own + 1)}", own
        case Not(body):
            return f"not {expression(body, NOT)}", NOT
        case Quantified(op, indexing, body):
            return f"{op}{indices(indexing)} {expression(body, NOT)}", NOT
        case SpecialOrdered(op, indexing, body):
            return f"{op}{indices(indexing)} {expression(body, SUM)}", NOT
        case Scheduled(name, indexing, demand=None):
            return f"no_overlap{indices(indexing)} {name}[{', '.join(indexing.names)}]", NOT
        case Scheduled(name, indexing, demand=Node() as demand, limit=Node() as limit):
            load = f"({name}[{', '.join(indexing.names)}], {expression(demand)})"
            return f"cumulative{indices(indexing)} {load} <= {expression(limit, SUM)}", NOT
        case Different(args, None):
            return f"all_different({', '.join(expression(a, SUM) for a in args)})", ATOM
        case Different((body,), Indexing() as indexing):
            return f"all_different{indices(indexing)} {expression(body, SUM)}", NOT
    raise TypeError(node)
