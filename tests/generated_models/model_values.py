"""The value of a generated model for given values of its variables, independent of the package."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from algebras import Dead, Exact, Pieces, as_maybe
from model_tree import (
    UNITS,
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
    Key,
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
    Smooth,
    SpecialOrdered,
    Square,
    Truth,
    Var,
    walk,
)

Env = Mapping[str, Any]
Column = tuple[str, Key]
NO_POINT: Mapping[Column, Any] = {}


class Outside(Exception):
    """A subscript outside the index sets, or a minimum over nothing: the model has no meaning."""


class Values:
    """A model at a point: values of columns in seconds or plain numbers, of the kind of the algebra."""

    def __init__(self, model: Model, algebra: Exact, point: Mapping[Column, Any] = NO_POINT) -> None:
        self.model, self.algebra, self.point = model, algebra, point
        self.sets = {s.name: s.elements for s in model.sets}
        self.members = {name: set(elements) for name, elements in self.sets.items()}
        self.declared: dict[str, Any] = {
            d.name: d for d in (*model.params, *model.randoms, *model.variables, *model.lets)
        }
        self.data = {
            p.name: {key: algebra.constant(value * UNITS[p.unit]) for key, value in p.values} for p in model.params
        }
        self.drawn: dict[Column, Any] = {}
        self.lets: dict[Column, Any] = {}
        self.inside: dict[str, set[Key]] = {}

    # --- columns and rows --------------------------------------------------------------------------------------------

    def environments(self, indexing: Indexing, env: Env, *, conditions: bool = True) -> Iterator[Env]:
        found = [dict(env)]
        for part in indexing.iters:
            found = [
                {**e, **dict(zip(part.names, k[-len(part.names) :], strict=True))}
                for e in found
                for k in self.sets[part.source]
                if (not part.of or k[0] == e[part.of])
                and all(e.get(n, one) == one for n, one in zip(part.names, k[-len(part.names) :], strict=True))
            ]
        for one in found:
            if not conditions or indexing.where is None or self.is_true(indexing.where, one):
                yield one

    def keys(self, indexing: Indexing, *, conditions: bool = True) -> list[tuple[Key, Env]]:
        rows = self.environments(indexing, {}, conditions=conditions)
        return [(tuple(row[n] for n in indexing.names), row) for row in rows]

    def columns(self) -> Iterator[tuple[Column, Var, Any, Any]]:
        """Every column with its declaration and its ends (None: no end)."""
        for variable in self.model.variables:
            for key, env in self.keys(variable.indexing):
                if variable.kind == "binary":
                    yield (
                        (variable.name, key),
                        variable,
                        self.algebra.constant(Fraction(0)),
                        self.algebra.constant(Fraction(1)),
                    )
                    continue
                ends = [None if e is None else self.number(e, env) for e in (variable.lower, variable.upper)]
                if variable.semicontinuous:
                    ends[0] = self.algebra.constant(Fraction(0))
                yield (variable.name, key), variable, ends[0], ends[1]

    def constraints(self) -> Iterator[tuple[Constraint, Env]]:
        own = [_semicontinuous(v) for v in self.model.variables if v.semicontinuous]
        for constraint in (*own, *self.model.constraints):
            if not constraint.when or constraint.when == self.model.option:
                for env in self.environments(constraint.indexing, {}):
                    yield constraint, env

    def objective(self, objective: Objective) -> Any:
        """In seconds or as a plain number."""
        return sum((self.number(body, {}) for _, body in objective.terms), start=self.algebra.constant(Fraction(0)))

    def is_true(self, condition: Node, env: Env) -> bool:
        """A condition on data."""
        return as_maybe(self.truth(condition, env)).certain

    # --- numbers -----------------------------------------------------------------------------------------------------

    def number(self, node: Node, env: Env) -> Any:
        algebra = self.algebra
        match node:
            case Num(value, unit):
                return algebra.constant(value * UNITS[unit])
            case At(index, by):
                return algebra.constant(Fraction(env[index] + by))
            case Ord(index, ordered):
                return algebra.constant(Fraction(self.sets[ordered].index((env[index],)) + 1))
            case Ref():
                return self._read(node, env)
            case Arith(op, left, right):
                a, b = self.number(left, env), self.number(right, env)
                return a + b if op == "+" else a - b if op == "-" else a * b
            case Neg(body):
                return -self.number(body, env)
            case Divided(body, by):
                return self.number(body, env) / by
            case PerHour(body):
                return self.number(body, env) / 3600
            case Quotient(op, body, by):
                value = self.number(body, env)
                whole = algebra.floor(value / by)
                return whole if op == "div" else value - whole * by
            case Piecewise():
                return self._piecewise(node, env)
            case Smooth(op, args):
                return algebra.smooth(op, [self.number(a, env) for a in args])
            case Square(body):
                value = self.number(body, env)
                return value * value
            case Extreme("abs", (body,)):
                value = self.number(body, env)
                return algebra.largest([value, -value])
            case Extreme(op, args):
                return self._extreme(op, [self.number(a, env) for a in args])
            case Over("sum", indexing, body):
                found = [self.number(body, row) for row in self.environments(indexing, env)]
                return sum(found, start=algebra.constant(Fraction(0)))
            case Over("prod", indexing, body):
                product = algebra.constant(Fraction(1))
                for row in self.environments(indexing, env):
                    product = product * self.number(body, row)
                return product
            case Over("count", indexing, body):
                found = [self._as_number(self.truth(body, row)) for row in self.environments(indexing, env)]
                return sum(found, start=algebra.constant(Fraction(0)))
            case Over(op, indexing, body):
                return self._extreme(op, [self.number(body, row) for row in self.environments(indexing, env)])
            case Choice(condition, then, other):
                return algebra.choose(self.truth(condition, env), self.number(then, env), self.number(other, env))
            case Truth(condition):
                return self._as_number(self.truth(condition, env))
            case Expected(body):
                return self._expected(body, env)
        raise TypeError(node)

    def _as_number(self, truth: Any) -> Any:
        return self.algebra.choose(truth, self.algebra.constant(Fraction(1)), self.algebra.constant(Fraction(0)))

    def _extreme(self, op: str, values: list[Any]) -> Any:
        if not values:
            raise Outside
        return self.algebra.largest(values) if op == "max" else -self.algebra.largest([-v for v in values])

    def _piecewise(self, node: Piecewise, env: Env) -> Any:
        """A line with a bend at each breakpoint: the change of the slope times what is beyond."""
        x, zero = self.number(node.body, env), Fraction(0)
        at = [n.value * UNITS[n.unit] for n in node.at]
        if any(one >= another for one, another in itertools.pairwise(at)):
            raise Outside
        if node.slopes:
            slopes, bends = [s.value for s in node.slopes], at
            through = (zero, zero)
        else:
            values = [v.value for v in node.values]
            slopes = [(w - v) / (b - a) for a, b, v, w in zip(at, at[1:], values, values[1:], strict=False)]
            through, bends = (at[0], values[0]), at[1:-1]
        constant = self.algebra.constant
        found = constant(through[1]) + (x - constant(through[0])) * constant(slopes[0])
        for bend, (before, after) in zip(bends, itertools.pairwise(slopes), strict=True):
            beyond = self.algebra.largest([x - constant(bend), constant(zero)])
            found = found + (beyond - constant(max(through[0] - bend, zero))) * constant(after - before)
        return found

    def _element(self, sub: At | Label | Decided, env: Env) -> Any:
        assert not isinstance(sub, Decided)
        if isinstance(sub, Label):
            return sub.element
        if sub.by and sub.ordered:
            at = self.sets[sub.ordered].index((env[sub.index],)) + sub.by
            return self.sets[sub.ordered][at][0] if 0 <= at < len(self.sets[sub.ordered]) else None
        return env[sub.index] + sub.by if sub.by else env[sub.index]

    def _read(self, node: Ref, env: Env) -> Any:
        declared = self.declared[node.name]
        if any(isinstance(s, Decided) for s in node.subs):
            return self._read_at_decision(node, declared, env)
        key = tuple(self._element(s, env) for s in node.subs)
        if key not in self._inside(declared):
            if node.other is None:
                raise Outside
            return self.number(node.other, env)
        at = (node.name, key)
        match declared:
            case Param():
                return self.data[node.name][key]
            case RandomQuantity():
                return self.drawn[at]
            case Var():
                return self.point.get(at, self.algebra.constant(Fraction(0)))
        assert isinstance(declared, Let)
        if isinstance(self.algebra, Pieces) or self.drawn:
            return self.number(declared.body, dict(zip(declared.indexing.names, key, strict=True)))
        if at not in self.lets:
            self.lets[at] = self.number(declared.body, dict(zip(declared.indexing.names, key, strict=True)))
        return self.lets[at]

    def _read_at_decision(self, node: Ref, declared: Any, env: Env) -> Any:
        """The choice among the values at all keys that the subscripts can be."""
        algebra = self.algebra
        found = None if node.other is None else self.number(node.other, env)
        subs = [
            (True, self.number(s.number, env)) if isinstance(s, Decided) else (False, self._element(s, env))
            for s in node.subs
        ]
        for key in sorted(self._inside(declared)):
            if len(key) != len(subs):
                raise Outside
            if any(not d and s != k for (d, s), k in zip(subs, key, strict=True)):
                continue
            same: Any = True
            for (decided, s), k in zip(subs, key, strict=True):
                if decided:
                    same = algebra.both(same, algebra.compare("==", s, algebra.constant(Fraction(k))))
            value = self.number(Ref(node.name, tuple(map(Label, key))), env)
            found = value if found is None else algebra.choose(same, value, found)
        if found is None:
            raise Outside
        return found

    def _inside(self, declared: Any) -> set[Key]:
        """The keys of its index sets, whatever its condition says."""
        found = self.inside.get(declared.name)
        if found is None:
            if isinstance(declared, Param):
                found = {key for key, _ in declared.values}
            else:
                found = {key for key, _ in self.keys(declared.indexing, conditions=False)}
            self.inside[declared.name] = found
        return found

    def _expected(self, body: Node, env: Env) -> Any:
        drawn = {
            (n.name, tuple(self._element(s, env) for s in n.subs))
            for n in walk(body)
            if isinstance(n, Ref) and isinstance(self.declared[n.name], RandomQuantity)
        }
        outcomes = []
        for name, key in sorted(drawn):
            law = self.declared[name]
            if key not in self._inside(law):
                raise Outside
            own = dict(zip(law.indexing.names, key, strict=True))
            outcomes.append([((name, key), self.number(v, own), chance) for v, chance in law.outcomes])
        total = self.algebra.constant(Fraction(0))
        for joint in itertools.product(*outcomes):
            self.drawn = {at: value for at, value, _ in joint}
            weight = Fraction(1)
            for _, _, chance in joint:
                weight *= chance
            total = total + self.algebra.constant(weight) * self.number(body, env)
        self.drawn = {}
        return total

    # --- conditions --------------------------------------------------------------------------------------------------

    def truth(self, node: Node, env: Env) -> Any:
        algebra = self.algebra
        match node:
            case Compare(ops, sides):
                values = [self.number(s, env) for s in sides]
                found: Any = True
                for op, left, right in zip(ops, values, values[1:], strict=False):
                    found = algebra.both(found, algebra.compare(op, left, right))
                return found
            case Same(op, left, right):
                return (self._element(left, env) == self._element(right, env)) == (op == "==")
            case Member(subs, source, negated):
                return (tuple(self._element(s, env) for s in subs) in self.members[source]) != negated
            case Not(body):
                return algebra.negated(self.truth(body, env))
            case Logic(op, left, right):
                a, b = self.truth(left, env), self.truth(right, env)
                match op:
                    case "and":
                        return algebra.both(a, b)
                    case "or":
                        return algebra.either(a, b)
                    case "=>":
                        return algebra.either(algebra.negated(a), b)
                return algebra.alike(a, b)
            case Quantified(op, indexing, body):
                found = op == "all"
                for row in self.environments(indexing, env):
                    one = self.truth(body, row)
                    found = algebra.both(found, one) if op == "all" else algebra.either(found, one)
                return found
            case SpecialOrdered():
                apart: Any = True
                for one, another in self._apart(node, env):
                    zeros = [algebra.compare("==", v, algebra.constant(Fraction(0))) for v in (one, another)]
                    apart = algebra.both(apart, algebra.either(*zeros))
                return apart
            case Scheduled():
                return self._fits(node, env)
            case Different(args, indexing):
                rows = [env] if indexing is None else list(self.environments(indexing, env))
                numbers = [self.number(a, row) for row in rows for a in args]
                differ: Any = True
                for one, another in itertools.combinations(numbers, 2):
                    differ = algebra.both(differ, algebra.compare("!=", one, another))
                return differ
            case Choice(condition, then, other):
                c = self.truth(condition, env)
                yes = algebra.both(c, self.truth(then, env))
                return algebra.either(yes, algebra.both(algebra.negated(c), self.truth(other, env)))
        raise TypeError(node)

    def _fits(self, node: Scheduled, env: Env) -> Any:
        """Whether intervals keep apart, pair by pair, or their demands fit where each starts."""
        algebra, zero = self.algebra, self.algebra.constant(Fraction(0))
        rows = list(self.environments(node.indexing, {}))
        starts, lengths = ([self.number(n, row) for row in rows] for n in (node.start, node.length))
        here = [True if node.presence is None else self.truth(node.presence, row) for row in rows]
        ends = [s + p for s, p in zip(starts, lengths, strict=True)]
        fits: Any = True
        for present, length in zip(here, lengths, strict=True):
            fits = algebra.both(fits, algebra.either(algebra.negated(present), algebra.compare(">=", length, zero)))
        if node.demand is None:
            for i, j in itertools.combinations(range(len(rows)), 2):
                together = algebra.both(here[i], here[j])
                first, second = (algebra.compare("<=", ends[a], starts[b]) for a, b in ((i, j), (j, i)))
                fits = algebra.both(fits, algebra.either(algebra.negated(together), algebra.either(first, second)))
            return fits
        assert node.limit is not None
        demands, limit = [self.number(node.demand, row) for row in rows], self.number(node.limit, env)
        fits = algebra.both(fits, algebra.compare(">=", limit, zero))
        for i, _ in enumerate(rows):
            load = zero
            for k, demand in enumerate(demands):
                runs = algebra.both(here[k], algebra.compare("<=", starts[k], starts[i]))
                runs = algebra.both(runs, algebra.compare(">", ends[k], starts[i]))
                load = load + algebra.choose(runs, demand, zero)
            works = algebra.both(here[i], algebra.compare(">", lengths[i], zero))
            good = algebra.compare("<=", load, limit)
            fits = algebra.both(fits, algebra.either(algebra.negated(works), good))
            usable = algebra.compare(">=", demands[i], zero)
            fits = algebra.both(fits, algebra.either(algebra.negated(here[i]), usable))
        return fits

    def _apart(self, node: SpecialOrdered, env: Env) -> Iterator[tuple[Any, Any]]:
        """The pairs of numbers in which one must be 0."""
        numbers = [self.number(node.body, row) for row in self.environments(node.indexing, env)]
        least = 1 if node.op == "sos1" else 2
        for (at, one), (beside, another) in itertools.combinations(enumerate(numbers), 2):
            if beside - at >= least:
                yield one, another

    def require(self, node: Node, env: Env) -> None:
        """Add the rows of a condition to the piece; raises Dead where it cannot be true there."""
        pieces = self.algebra
        assert isinstance(pieces, Pieces)
        match node:
            case Compare(ops, sides):
                values = [self.number(s, env) for s in sides]
                for op, left, right in zip(ops, values, values[1:], strict=False):
                    pieces.require(op, left, right)
            case Logic("and", left, right):
                self.require(left, env)
                self.require(right, env)
            case Logic("or", left, right):
                self.require((left, right)[pieces.pick(2)], env)
            case Logic("=>", left, right):
                if self.truth(left, env):
                    self.require(right, env)
            case Quantified("all", indexing, body):
                for row in self.environments(indexing, env):
                    self.require(body, row)
            case Quantified("any", indexing, body):
                rows = list(self.environments(indexing, env))
                if not rows:
                    raise Dead
                self.require(body, rows[pieces.pick(len(rows))])
            case SpecialOrdered():
                for pair in self._apart(node, env):
                    pieces.require("==", pair[pieces.pick(2)], Fraction(0))
            case Choice(condition, then, other):
                self.require(then if self.truth(condition, env) else other, env)
            case _:
                if not self.truth(node, env):
                    raise Dead


def _semicontinuous(v: Var) -> Constraint:
    """That a semicontinuous variable is 0 or at least its smallest other value."""
    assert v.lower is not None
    x = Ref(v.name, tuple(At(n) for n in v.indexing.names))
    off, on = Compare(("<=",), (x, Num(Fraction(0), v.unit))), Compare((">=",), (x, v.lower))
    return Constraint(f"{v.name}.semicontinuous", v.indexing, Logic("or", off, on))
