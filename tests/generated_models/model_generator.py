"""Random models, small enough to be enumerated: sets, data, decisions, formulas, conditions, several objectives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from algebras import Exact
from model_tree import (
    CHOICES,
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
    Iter,
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
    Set,
    Smooth,
    SpecialOrdered,
    Square,
    Truth,
    Var,
    deciding_names,
    number,
    walk,
)
from model_values import Column, Outside, Values

# What a formula may read: data, integer decisions too, or any decision.
DATA, WHOLE, ANY = range(3)

Scope = dict[str, str]  # the root set of every index
NUMBERS = (0, 1, 1, 1, 2, 2, 3, -1, -2, "0.5", "0.25", "-0.5", 4)


@dataclass(frozen=True)
class Size:
    """How large a model may be: integer points when all columns are integer and else, continuous columns.

    `intervals`: with conditions on intervals.
    """

    points: int = 2048
    mixed: int = 24
    continuous: int = 3
    elements: int = 3
    constraints: int = 4
    intervals: bool = False


@dataclass(frozen=True)
class Readable:
    name: str
    indexing: Indexing
    reads: int
    time: bool


def generated(seed: int, size: Size | None = None) -> Model:
    """A model that has a meaning: the first of those that a seed gives."""
    random = Random(seed)
    while True:
        model = _Generator(random, size or Size()).model()
        try:
            return _with_witness(model, random)
        except Outside:
            continue


def _with_witness(model: Model, random: Random) -> Model:
    """Most of the constraints that some point breaks are left out, so that most models have a solution."""
    point: dict[Column, Fraction] = {}
    for column, variable, low, high in Values(model, Exact()).columns():
        low = Fraction(0) if low is None else low
        high = low + 8 * UNITS[variable.unit] if high is None else high
        at = random.choice((low, high, low + (high - low) * Fraction(random.randint(0, 4), 4)))
        step = UNITS[variable.unit]
        if variable.semicontinuous:
            at = random.choice((Fraction(0), high))
        point[column] = (at // step) * step if variable.kind else at
    values = Values(model, Exact(), point)
    broken = {c.name for c, env in values.constraints() if not values.truth(c.body, env)}
    for objective in model.objectives:
        values.objective(objective)
    often = random.choice((1, 1, 1, 1, 0.5, 0))
    left_out = {name for name in sorted(broken) if random.random() < often}
    deciding = deciding_names(model)
    return replace(
        model,
        constraints=tuple(
            c
            for c in model.constraints
            if c.name not in left_out and any(isinstance(n, Ref) and n.name in deciding for n in walk(c.body))
        ),
    )


class _Generator:
    def __init__(self, random: Random, size: Size) -> None:
        self.random, self.size = random, size
        self.names = 0
        self.alike = random.random() < 0.6  # elements of B have the same data
        self.timed = random.random() < 0.35
        self.easy = random.random() < 0.3  # linear formulas only
        self.sets: list[Set] = []
        self.params: list[Param] = []
        self.randoms: list[RandomQuantity] = []
        self.variables: list[Var] = []
        self.lets: list[Let] = []
        self.readable: list[Readable] = []
        self.pairs: list[tuple[str, str]] = []  # indices in scope that are known to be in P

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def fresh(self) -> str:
        self.names += 1
        return f"i{self.names}"

    # --- declarations ------------------------------------------------------------------------------------------------

    def model(self) -> Model:
        self.declare_sets()
        for at in range(self.random.randint(1, 4)):
            self.params.append(self.param(f"p{at}"))
        if self.chance(0.15):
            self.lets.append(self.recursive("r"))
        if self.chance(0.25):
            self.randoms.append(self.random_quantity())
        self.declare_variables()
        for at in range(self.random.choice((0, 0, 1, 2))):
            self.let(f"t{at}")
        objectives = tuple(self.objective(f"goal{at}") for at in range(self.random.choice((1, 1, 1, 2, 3))))
        constraints = tuple(self.constraint(f"c{at}") for at in range(self.random.randint(0, self.size.constraints)))
        option = self.random.choice(CHOICES) if self.chance(0.15) else ""
        if option:
            constraints = tuple(replace(c, when=self.random.choice(("", *CHOICES))) for c in constraints)
        return Model(
            tuple(self.sets), tuple(self.params), tuple(self.randoms), tuple(self.variables), tuple(self.lets),
            constraints, objectives, option, self.block_set() if self.chance(0.25) else "",
        )  # fmt: skip

    def declare_sets(self) -> None:
        most = self.size.elements
        jobs = tuple((f"j{k}",) for k in range(1, self.random.randint(1, most) + 1))
        nodes = tuple((f"n{k}",) for k in range(1, self.random.randint(1, most) + 1))
        top = self.random.randint(1, most)
        self.sets = [Set("A", jobs), Set("B", nodes), Set("K", tuple((k,) for k in range(1, top + 1)), numbers=True)]
        if self.chance(0.4):
            pairs = tuple((j, n) for (j,) in jobs for (n,) in nodes if self.chance(0.7))
            self.sets.append(Set("P", pairs, ("A", "B")))
        if self.chance(0.3):
            self.sets.append(Set("S", tuple(j for j in jobs if self.chance(0.6)), ("A",)))
        if self.chance(0.2):
            pairs = tuple((j, n) for (j,) in jobs for (n,) in nodes if self.chance(0.6))
            self.sets.append(Set("Q", pairs, ("A", "B"), indexed=True))
        if self.chance(0.25):
            labels = self.random.sample((0, 1, 2, 3, 5), self.random.randint(1, most))
            self.sets.append(Set("T", tuple((k,) for k in labels), ordered=True))

    def elements(self, name: str) -> tuple[Key, ...]:
        return next(s.elements for s in self.sets if s.name == name)

    def has(self, name: str) -> bool:
        return any(s.name == name for s in self.sets)

    def unit(self) -> str:
        return self.random.choice(("min", "h")) if self.timed and self.chance(0.4) else ""

    def value(self, least: Fraction | None = None) -> Fraction:
        found = Fraction(self.random.choice(NUMBERS))
        return found if least is None else max(least, found)

    def param(self, name: str) -> Param:
        choices = [(), ("A",), ("B",), ("A", "B"), ("K",), *([("P",)] if self.has("P") and self.elements("P") else [])]
        choices += [("T",), ("T",)] if self.has("T") else []
        sets = self.random.choice(choices)
        keys: list[Key] = [()]
        for part in sets:
            keys = [(*key, *element) for key in keys for element in self.elements(part)]
        equal = self.alike and sets not in (("K",), ("P",), ("T",))
        integer = self.chance(0.25)
        by_rest: dict[Key, Fraction] = {}
        values = []
        for key in keys:
            rest = tuple(k for k in key if not str(k).startswith("n")) if equal else key
            value = self.value()
            values.append((key, by_rest.setdefault(rest, Fraction(round(value)) if integer else value)))
        return Param(name, sets, tuple(values), "" if integer else self.unit(), integer)

    def recursive(self, name: str) -> Let:
        """A parameter that reads itself one element earlier or later in K or T."""
        source = self.random.choice(("K", "T")) if self.has("T") else "K"
        index = self.fresh()
        back = At(index, self.random.choice((-1, 1)), "T" if source == "T" else "")
        before = Ref(name, (back,), self.literal(False))
        rest = self.leaf({index: source}, False, DATA)
        body = self.random.choice((
            Arith("+", before, rest), Extreme("max", (before, rest)), Arith("-", rest, Divided(before, 2)),
            Choice(self.compared({index: source}, 0, DATA), before, Arith("+", before, number(1))),
        ))  # fmt: skip
        return Let(name, Indexing((Iter((index,), source),)), body, data=True)

    def param_indexing(self, p: Param) -> Indexing:
        return Indexing(tuple(Iter(("", "") if s == "P" else ("",), s) for s in p.sets))

    def random_quantity(self) -> RandomQuantity:
        indexing = self.random.choice((Indexing(), Indexing((Iter((self.fresh(),), "A"),))))
        chances = self.random.choice((("0.5", "0.5"), ("0.25", "0.75"), ("0.25", "0.25", "0.5")))
        values = self.random.sample((-1, 0, 1, 2, 3, 5), len(chances))
        return RandomQuantity(
            "w", indexing, tuple((number(v), Fraction(c)) for v, c in zip(values, chances, strict=True))
        )

    def declare_variables(self) -> None:
        """At least one; as many as the number of points allows."""
        points, continuous = 1, 0
        mixed = self.chance(0.45)
        most = self.size.mixed if mixed else self.size.points
        for attempt in range(8):
            kind = self.random.choice(("binary", "binary", "integer", *(("", "") if mixed else ())))
            indexing = self.indexing_of_variable()
            unit = self.unit() if kind != "binary" else ""
            low = number(self.random.choice((0, 0, 0, 1, -1, -2)), unit)
            high = number(low.value + self.random.choice((1, 2, 2, 3, 5)), unit)
            one = Var(f"v{attempt}", indexing, kind, low, high, unit)
            if kind == "binary":
                one = replace(one, lower=None, upper=None)
            elif kind == "" and self.chance(0.15):
                one = replace(one, upper=None)
            elif self.chance(0.12):
                low = number(self.random.choice((1, 2)), unit)
                high = number(low.value + self.random.choice((0, 1, 2)), unit)
                one = replace(one, lower=low, upper=high, semicontinuous=True)
            trial = Model(tuple(self.sets), tuple(self.params), (), (one,), tuple(self.lets), (), ())
            count = len(list(Values(trial, Exact()).columns()))
            span = 2 if kind == "binary" else int(high.value - (0 if one.semicontinuous else low.value)) + 1
            if (kind and points * span**count > most) or (not kind and continuous + count > self.size.continuous):
                continue
            if kind:
                points *= span**count
            else:
                continuous += count
            self.variables.append(one)
            self.readable.append(Readable(one.name, indexing, WHOLE if kind else ANY, unit != ""))
            if len(self.variables) >= 4 or (self.variables and self.chance(0.15)):
                break
        if not self.variables:
            self.variables.append(Var("v0", Indexing(), "integer", number(0), number(3)))
            self.readable.append(Readable("v0", Indexing(), WHOLE, False))

    def indexing_of_variable(self) -> Indexing:
        choices: list[tuple[str, ...]] = [(), ("A",), ("B",), ("B",), ("A", "B"), ("A", "B"), ("K",), ("B", "K")]
        choices += [("P",), ("P",)] if self.has("P") else []
        choices += [("S",)] if self.has("S") else []
        choices += [("T",)] if self.has("T") else []
        iters = tuple(
            Iter((self.fresh(), self.fresh()) if s == "P" else (self.fresh(),), s) for s in self.random.choice(choices)
        )
        if self.has("Q") and self.chance(0.4):
            index = self.fresh()
            iters = (Iter((index,), "A"), Iter((self.fresh(),), "Q", index))
        scope = self.scope_of(iters, {})
        where = self.condition(scope, 0, DATA) if iters and self.chance(0.15) else None
        self.forget(iters)
        return Indexing(iters, where)

    def let(self, name: str) -> None:
        iters = tuple(Iter((self.fresh(),), s) for s in self.random.choice(((), ("A",), ("B",), ("K",))))
        time = self.timed and self.chance(0.3)
        reads = self.random.choice((WHOLE, ANY))
        body = self.formula(self.scope_of(iters, {}), 2, time, reads)
        self.lets.append(Let(name, Indexing(iters), body, self.random.choice(("min", "h")) if time else ""))
        self.readable.append(Readable(name, Indexing(iters), reads, time))

    def objective(self, name: str) -> Objective:
        time = self.timed and self.chance(0.3)
        depth = 1 if self.easy else self.random.choice((1, 2, 2, 3))
        terms = tuple(
            (f"{name}_{k}", self.formula({}, depth, time, ANY)) for k in range(self.random.choice((1, 1, 2, 3)))
        )
        sense = self.random.choice(("minimize", "maximize"))
        return Objective(name, sense, terms, self.random.choice(("min", "h")) if time else "")

    def constraint(self, name: str) -> Constraint:
        iters = tuple(
            Iter((self.fresh(), self.fresh()) if s == "P" else (self.fresh(),), s)
            for s in self.random.choice(
                ((), (), ("A",), ("B",), ("A", "B"), ("K",), *((s,) for s in "PT" if self.has(s)))
            )
        )
        scope = self.scope_of(iters, {})
        where = self.condition(scope, 1, DATA) if iters and self.chance(0.25) else None
        if self.easy or self.chance(0.5):
            body: Node = self.compared(scope, self.random.choice((1, 1, 2)), ANY)
        else:
            body = self.stated(scope, self.random.choice((1, 1, 2)))
        self.forget(iters)
        return Constraint(name, Indexing(iters, where), body)

    def block_set(self) -> str:
        """A root set of which no variable has two indices and some has one."""
        name = self.random.choice("AB")
        roots = {s.name: s.within[s.indexed :] or (s.name,) for s in self.sets}
        counts = [sum(roots[i.source].count(name) for i in v.indexing.iters) for v in self.variables]
        return name if max(counts) == 1 else ""

    # --- indices -----------------------------------------------------------------------------------------------------

    def scope_of(self, iters: tuple[Iter, ...], scope: Scope) -> Scope:
        inner = dict(scope)
        for part in iters:
            if part.source == "P":
                inner |= {part.names[0]: "A", part.names[1]: "B"}
                self.pairs.append((part.names[0], part.names[1]))
            elif part.source == "Q":
                inner[part.names[0]] = "B"
            else:
                inner[part.names[0]] = "A" if part.source == "S" else part.source
        return inner

    def forget(self, iters: tuple[Iter, ...]) -> None:
        for part in iters:
            if part.source == "P":
                self.pairs.remove((part.names[0], part.names[1]))

    def iters(self, scope: Scope, least_one: bool = False) -> tuple[Iter, ...]:
        """Of sets that are not empty if `least_one`."""
        own = {s: [n for n, of in scope.items() if of == s] for s in "AB"}
        if own["A"] and self.has("Q") and not least_one and self.chance(0.4):
            return (Iter((self.fresh(),), "Q", self.random.choice(own["A"])),)
        if any(own.values()) and self.has("P") and not least_one and self.chance(0.2):
            names = [self.random.choice(own[s]) if own[s] and self.chance(0.7) else self.fresh() for s in "AB"]
            if names[0] not in scope or names[1] not in scope:
                return (Iter((names[0], names[1]), "P"),)
        choices = ["A", "B", "B", "K", *(s for s in "PST" if self.has(s) and (self.elements(s) or not least_one))]
        source = self.random.choice(choices)
        return (Iter((self.fresh(), self.fresh()) if source == "P" else (self.fresh(),), source),)

    def subscript(self, source: str, scope: Scope) -> At | Label | None:
        own = [n for n, s in scope.items() if s == source]
        if own and not self.chance(0.05):
            return At(self.random.choice(own))
        if not self.alike and self.chance(0.5):
            return Label(self.random.choice(self.elements(source))[0])
        return None

    def has_ends(self, name: str) -> bool:
        """Whether a decision or `let` is between bounds: as a factor it must be."""
        lets = {x.name: x.body for x in self.lets}
        endless = {v.name for v in self.variables if v.kind != "binary" and v.upper is None}
        return not any(isinstance(n, Ref) and n.name in endless for n in walk(lets.get(name, Ref(name))))

    def decided(self, scope: Scope, source: str) -> tuple[Decided, bool] | None:
        """An integer decision as an element of K or T, and whether it is always one."""
        variables = [v for v in self.variables if v.kind and not v.unit]
        if not variables:
            return None
        v = self.random.choice(variables)
        body = self.read(v.name, v.indexing, scope, number(0))
        top = len(self.elements("K"))
        low, high = (0, 1) if v.kind == "binary" else (v.lower.value, v.upper.value)  # type: ignore[union-attr]
        plain = isinstance(body, Ref) and body.other is None and v.indexing.where is None
        return Decided(body), plain and source == "K" and low >= 1 and high <= top and not v.semicontinuous

    def read(self, name: str, indexing: Indexing, scope: Scope, zero: Node, at_decisions: bool = False) -> Node:
        """A parameter, variable or let at indices in scope, summed over those that it lacks."""
        subs: list[At | Label | Decided] = []
        more: list[Iter] = []
        outside = False
        for part in indexing.iters:
            if part.source == "P":
                if self.pairs and self.chance(0.8):
                    subs += [At(n) for n in self.random.choice(self.pairs)]
                    continue
                found = [self.subscript(s, scope) for s in "AB"]
                if all(f is not None for f in found) and self.chance(0.7):
                    subs += [f for f in found if f is not None]
                    outside = True
                    continue
                names = (self.fresh(), self.fresh())
                more.append(Iter(names, "P"))
                subs += [At(n) for n in names]
                continue
            chosen = None
            if at_decisions and part.source in ("K", "T") and self.chance(0.3):
                chosen = self.decided(scope, part.source)
            elif part.source in ("K", "T") and self.chance(0.15):
                place = self.whole(scope, 1, DATA)
                chosen = None if isinstance(place, Num) else (Decided(place), False)
            if chosen is not None:
                subs.append(chosen[0])
                outside = outside or not chosen[1]
                continue
            if part.source == "Q" and self.chance(0.5) and isinstance(subs[-1], At):
                own = self.fresh()
                more.append(Iter((own,), "Q", subs[-1].index))
                subs.append(At(own))
                continue
            sub = self.subscript({"S": "A", "Q": "B"}.get(part.source, part.source), scope)
            if part.source == "Q" and sub is None:
                own = self.fresh()
                more.append(Iter((own,), "B"))
                subs.append(At(own))
                outside = True
                continue
            if sub is None or (part.source == "S" and self.chance(0.5)):
                own = self.fresh()
                more.append(Iter((own,), part.source))
                subs.append(At(own))
            elif part.source in ("K", "T") and isinstance(sub, At) and self.chance(0.25):
                subs.append(At(sub.index, self.random.choice((-1, 1)), "T" if part.source == "T" else ""))
                outside = True
            else:
                subs.append(sub)
                outside = outside or part.source in ("S", "Q")
        ref = Ref(name, tuple(subs), zero if outside else None)
        if not more:
            return ref
        op = "sum" if self.easy else self.random.choice(("sum", "sum", "sum", "sum", "max", "min"))
        if any(not self.elements(m.source) or m.source == "Q" for m in more):
            op = "sum"
        where = None
        if op == "sum" and self.chance(0.15):
            where = self.condition(self.scope_of(tuple(more), scope), 0, DATA)
            self.forget(tuple(more))
        return Over(op, Indexing(tuple(more), where), ref)

    # --- numbers -----------------------------------------------------------------------------------------------------

    def zero(self, time: bool) -> Num:
        return number(0, self.random.choice(("min", "h")) if time else "")

    def literal(self, time: bool) -> Num:
        return Num(self.value(), self.random.choice(("min", "min", "h")) if time else "")

    def leaf(self, scope: Scope, time: bool, reads: int) -> Node:
        choices: list[Callable[[], Node]] = [lambda: self.literal(time)]
        params = [p for p in self.params if (p.unit != "") == time]
        if params:
            p = self.random.choice(params)
            choices += [lambda: self.read(p.name, self.param_indexing(p), scope, self.zero(time), reads != DATA)] * (
                1 + 2 * (reads == DATA)
            )
        own = [n for n, s in scope.items() if s == "K"]
        if own and not time:
            choices.append(lambda: At(self.random.choice(own)))
        places = [n for n, s in scope.items() if s == "T"]
        if places and not time:
            choices.append(lambda: Ord(self.random.choice(places), "T"))
        for x in self.lets:
            if x.data and not time:
                choices.append(lambda x=x: self.read(x.name, x.indexing, scope, self.zero(False)))  # type: ignore[misc]
        if reads != DATA:
            found = [r for r in self.readable if r.reads <= reads and r.time == time]
            for r in found:
                choices += [
                    lambda r=r: self.read(r.name, r.indexing, scope, self.zero(time), self.has_ends(r.name))
                ] * 4  # type: ignore[misc]
        return self.random.choice(choices)()

    def formula(self, scope: Scope, depth: int, time: bool, reads: int) -> Node:
        if depth <= 0 or self.chance(0.15):
            return self.leaf(scope, time, reads)

        def again(by: int = 1, reads: int = reads, time: bool = time) -> Node:
            return self.formula(scope, depth - by, time, reads)

        linear: list[Callable[[], Node]] = [
            lambda: Arith("+", again(), again()),
            lambda: Arith("-", again(), again()),
            lambda: Arith("*", self.leaf(scope, False, DATA), again()),
            lambda: Neg(again()),
            lambda: Divided(again(), self.random.choice((2, 4))),
            lambda: self.over("sum", scope, depth, time, reads),
            lambda: self.over("sum", scope, depth, time, reads),
        ]
        if not time and self.timed:
            linear.append(lambda: PerHour(again(time=True)))
        if reads == DATA and not time and self.chance(0.1):
            return self.quotient(scope, DATA)
        if reads == DATA:
            return self.random.choice(linear[:4])()
        if self.easy or self.chance(0.5):
            return self.random.choice(linear)()
        other: list[Callable[[], Node]] = [
            lambda: Extreme(self.random.choice(("max", "min")), (again(), again())),
            lambda: Extreme("abs", (again(),)),
            lambda: self.over(self.random.choice(("max", "min")), scope, depth, time, reads),
            lambda: self.piecewise(again, time),
            lambda: Arith("*", again(2, WHOLE, False), again(2)),
            lambda: Choice(self.condition(scope, 0, WHOLE), again(), again()),
        ]
        if not time:
            other += [
                lambda: Truth(self.condition(scope, 0, WHOLE)),
                lambda: Square(again(2, WHOLE)),
                lambda: self.counted(scope, WHOLE),
                lambda: self.over("prod", scope, min(depth, 2), False, WHOLE),
                lambda: self.quotient(scope, WHOLE),
            ]
            if reads == ANY and self.chance(0.5):
                other.append(lambda: self.smooth(scope))
            if self.randoms:
                other += [lambda: self.expected(scope, reads)] * 2
        return self.random.choice(other)()

    def whole(self, scope: Scope, depth: int, reads: int) -> Node:
        """An integer, as the language knows it, of data or of integer decisions."""
        if depth <= 0:
            choices: list[Callable[[], Node]] = [lambda: number(self.random.choice((0, 1, 2, 3)))]
            own = [n for n, s in scope.items() if s == "K"]
            if own:
                choices.append(lambda: At(self.random.choice(own)))
            for p in self.params:
                if p.integer:
                    choices.append(lambda p=p: self.read(p.name, self.param_indexing(p), scope, number(0)))  # type: ignore[misc]
            for v in self.variables if reads != DATA else ():
                if v.kind and not v.unit:
                    choices += [lambda v=v: self.read(v.name, v.indexing, scope, number(0))] * 3  # type: ignore[misc]
            return self.random.choice(choices)()
        one, another = (self.whole(scope, depth - 1, reads) for _ in range(2))
        match self.random.randint(0, 4):
            case 0:
                return Arith("*", number(self.random.choice((2, 3, -1))), one)
            case 1:
                return Arith("-", one, another)
            case 2:
                return one
        return Arith("+", one, another)

    def quotient(self, scope: Scope, reads: int) -> Node:
        return Quotient(
            self.random.choice(("div", "mod")), self.whole(scope, self.random.choice((0, 1, 1, 2)), reads),
            self.random.choice((2, 2, 3, 4)),
        )  # fmt: skip

    def piecewise(self, body: Callable[..., Node], time: bool) -> Node:
        """By breakpoints and slopes, or through points: convex, concave or neither."""
        of_time = time or (self.timed and self.chance(0.3))
        unit = self.random.choice(("min", "h")) if of_time else ""
        at = sorted(self.random.sample((-2, -1, 0, 1, 2, 4), self.random.choice((1, 2, 2, 3))))
        if time or (not of_time and self.chance(0.6)):
            slopes = [self.random.choice((-2, -1, 0, 1, 2, 3)) for _ in range(len(at) + 1)]
            match self.random.randint(0, 2):
                case 0:
                    slopes.sort()
                case 1:
                    slopes.sort(reverse=True)
            return Piecewise(body(time=of_time), tuple(number(a, unit) for a in at), tuple(map(number, slopes)))
        if len(at) < 2:
            at = [*at, at[0] + 2]
        values = tuple(number(self.random.choice((-1, 0, 1, 2, 5))) for _ in at)
        return Piecewise(body(time=of_time), tuple(number(a, unit) for a in at), values=values)

    def smooth(self, scope: Scope) -> Node:
        """A convex function of binaries, or of an amount that is at least 1 and a binary."""
        binaries = [v for v in self.variables if v.kind == "binary"] or self.variables[:0]
        if not binaries:
            return self.leaf(scope, False, ANY)
        v, w = (self.random.choice(binaries) for _ in range(2))
        x, y = (self.read(one.name, replace(one.indexing, where=None), scope, number(0)) for one in (v, w))
        one = Arith("+", number(1), Square(x) if self.chance(0.1) else Extreme("abs", (x,)) if self.chance(0.1) else x)
        match self.random.choice(("norm", "entropy", "perspective", "ratio", "delay")):
            case "norm":
                return Smooth("norm", (Arith("-", x, number(self.random.choice((0, 2)))), y))
            case "entropy":
                return Smooth("entropy", (one,))
            case "delay":
                return Smooth("delay", (number(7), Truth(Compare((">=",), (x, number(1))))))
            case op:
                return Smooth(op, (one, y))

    def over(self, op: str, scope: Scope, depth: int, time: bool, reads: int) -> Node:
        iters = self.iters(scope, least_one=op in ("max", "min"))
        inner = self.scope_of(iters, scope)
        where = self.condition(inner, 0, DATA) if op in ("sum", "prod") and self.chance(0.2) else None
        body = self.formula(inner, depth - 1, time, reads)
        self.forget(iters)
        return Over(op, Indexing(iters, where), body)

    def counted(self, scope: Scope, reads: int) -> Node:
        iters = self.iters(scope)
        inner = self.scope_of(iters, scope)
        body = self.condition(inner, 0, reads) if reads == WHOLE else self.compared(inner, 1, ANY)
        self.forget(iters)
        return Over("count", Indexing(iters), body)

    def expected(self, scope: Scope, reads: int) -> Node:
        law = self.randoms[0]
        own = [n for n, s in scope.items() if s == "A"]
        if law.indexing.iters and not own:
            index = self.fresh()
            body = self.expected({**scope, index: "A"}, reads)
            return Over("sum", Indexing((Iter((index,), "A"),)), body)
        w = Ref(law.name, (At(self.random.choice(own)),) if law.indexing.iters else ())
        x = self.leaf(scope, False, reads)
        match self.random.randint(0, 3):
            case 0:
                return Expected(Extreme("max", (Arith("-", w, x), number(0))))
            case 1:
                return Expected(Extreme("min", (w, x)))
            case 2:
                return Expected(Extreme("max", (w, x)))
        return Expected(Arith("*", w, x))

    # --- conditions --------------------------------------------------------------------------------------------------

    def condition(self, scope: Scope, depth: int, reads: int) -> Node:
        """On data, or on integer decisions."""
        choices: list[Callable[[], Node]] = [lambda: self.compared(scope, 1, reads)] * (1 if reads == DATA else 4)
        by_set = {s: [n for n, of in scope.items() if of == s] for s in "ABKT"}
        for own in by_set.values():
            if len(own) > 1:
                one, another = self.random.sample(own, 2)
                choices.append(lambda a=one, b=another: Same(self.random.choice(("==", "!=")), At(a), At(b)))  # type: ignore[misc]
        if by_set["A"] and by_set["B"] and self.has("P"):
            subs = (At(self.random.choice(by_set["A"])), At(self.random.choice(by_set["B"])))
            choices.append(lambda: Member(subs, "P", self.chance(0.3)))
        if by_set["A"] and by_set["B"] and self.has("Q"):
            pair = (At(self.random.choice(by_set["A"])), At(self.random.choice(by_set["B"])))
            choices.append(lambda: Member(pair, "Q", self.chance(0.3), indexed=True))
        if by_set["T"]:
            at = At(self.random.choice(by_set["T"]))
            op = self.random.choice(("<=", ">=", "<", ">", "=="))
            choices.append(lambda: Compare((op,), (at, number(self.random.choice((0, 1, 3))))))
        if by_set["A"] and self.has("S"):
            sub = At(self.random.choice(by_set["A"]))
            choices.append(lambda: Member((sub,), "S", self.chance(0.3)))
        if reads == WHOLE and self.size.intervals:
            choices += [lambda: self.scheduled(scope)] * 6
        if reads == WHOLE:
            choices += [lambda: self.different(scope), lambda: self.special_ordered(scope, WHOLE)]
        if depth > 0:
            choices += [lambda: self.joined(scope, depth, reads)] * 2
            if reads != DATA:
                choices.append(lambda: self.quantified(scope, depth, reads))
        return self.random.choice(choices)()

    def different(self, scope: Scope) -> Node:
        if self.chance(0.4):
            return Different(tuple(self.formula(scope, 1, False, WHOLE) for _ in range(self.random.choice((2, 3)))))
        iters = self.iters(scope)
        body = self.formula(self.scope_of(iters, scope), 1, False, WHOLE)
        self.forget(iters)
        return Different((body,), Indexing(iters))

    def scheduled(self, scope: Scope) -> Node:
        """Intervals over one set, which read their own index only; the limit may read those around."""
        index, source = self.fresh(), self.random.choice("AK")
        own: Scope = {index: source}

        def amount() -> Node:
            fixed = number(self.random.choice((0, 1, 1, 2, 2, 3)))
            return fixed if self.chance(0.5) else self.formula(own, 0, False, WHOLE)

        around, self.pairs = self.pairs, []  # indices that an interval does not know
        presence = self.compared(own, 0, WHOLE) if self.chance(0.5) else None
        start, length, demand = self.formula(own, 1, False, WHOLE), amount(), amount()
        self.pairs = around
        over = Indexing((Iter((index,), source),))
        if self.chance(0.5):
            return Scheduled(f"iv{self.fresh()}", over, start, length, presence)
        limit = number(self.random.randint(0, 4)) if self.chance(0.6) else self.formula(scope, 0, False, WHOLE)
        return Scheduled(f"iv{self.fresh()}", over, start, length, presence, demand, limit)

    def special_ordered(self, scope: Scope, reads: int) -> Node:
        op = self.random.choice(("sos1", "sos2"))
        iters = self.iters(scope)
        if op == "sos2" or iters[0].source not in "ABKT":
            iters = (Iter((self.fresh(),), self.random.choice("KT") if self.has("T") else "K"),)
        inner = self.scope_of(iters, scope)
        body = self.leaf(inner, False, reads) if self.chance(0.7) else self.formula(inner, 1, False, reads)
        return SpecialOrdered(op, Indexing(iters), body)

    def joined(self, scope: Scope, depth: int, reads: int) -> Node:
        if self.chance(0.25):
            return Not(self.condition(scope, depth - 1, reads))
        op = self.random.choice(("and", "or") if reads == DATA else ("and", "or", "or", "=>", "<=>", "<=>"))
        return Logic(op, self.condition(scope, depth - 1, reads), self.condition(scope, depth - 1, reads))

    def quantified(self, scope: Scope, depth: int, reads: int) -> Node:
        iters = self.iters(scope)
        inner = self.scope_of(iters, scope)
        body = self.condition(inner, depth - 1, reads) if reads != ANY else self.stated(inner, depth - 1)
        self.forget(iters)
        return Quantified(self.random.choice(("any", "all")), Indexing(iters), body)

    def compared(self, scope: Scope, depth: int, reads: int) -> Node:
        time = self.timed and self.chance(0.4)
        left = self.formula(scope, depth, time, reads)
        if reads == DATA:
            return Compare((self.random.choice(("<=", ">=", "<", ">", "==", "!=")),), (left, self.literal(time)))
        right = self.formula(scope, 1, time, reads) if self.chance(0.3) else self.leaf(scope, time, DATA)
        if self.chance(0.1):
            return Compare(("<=", "<="), (self.leaf(scope, time, DATA), left, right))
        if self.is_whole(left, right) and self.chance(0.25):
            return Compare((self.random.choice(("<", ">", "!=")),), (left, right))
        op = self.random.choice(("<=", "<=", ">=", ">=", "==", "=="))
        return Compare((op,), (left, right))

    def is_whole(self, *nodes: Node) -> bool:
        """Whether numbers are made of integer decisions and data only."""
        continuous = {r.name for r in self.readable if r.reads == ANY}
        parts = [n for node in nodes for n in walk(node)]
        return not any(isinstance(n, Smooth) or (isinstance(n, Ref) and n.name in continuous) for n in parts)

    def stated(self, scope: Scope, depth: int) -> Node:
        """Any condition in which comparisons of continuous variables only help when they are true."""
        if depth <= 0:
            return self.compared(scope, 1, ANY)
        match self.random.randint(0, 9):
            case 9:
                return self.special_ordered(scope, ANY)
            case 0:
                return Logic("and", self.stated(scope, depth - 1), self.stated(scope, depth - 1))
            case 1 | 2:
                return Logic("or", self.stated(scope, depth - 1), self.stated(scope, depth - 1))
            case 3 | 4:
                return Logic("=>", self.condition(scope, depth - 1, WHOLE), self.stated(scope, depth - 1))
            case 5 | 6:
                return self.quantified(scope, depth, ANY)
            case 7:
                condition = self.condition(scope, depth - 1, WHOLE)
                return Choice(condition, self.compared(scope, 1, ANY), self.compared(scope, 1, ANY))
        return self.condition(scope, depth, WHOLE)
