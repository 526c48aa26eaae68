"""Random models in two forms: as a text, and as a matrix built by plain loops over dictionaries.

Nothing here uses the package. An expression is a text with its binding strength and a function of the indices; numbers
are multiples of a quarter, so that both ways compute exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

Env = dict[str, Any]
Key = tuple[Any, ...]

# How strongly a text binds, loosest first.
CHOICE, OR, AND, NOT, COMPARED, SUM, AGGREGATE, FACTORS, SIGNED, ATOM = range(10)


class Refused(Exception):
    """The text means nothing for its data: a minimum over nothing, a subscript outside."""


@dataclass(frozen=True)
class Lin:
    """`constant` plus coefficients by (variable, key)."""

    constant: float = 0.0
    terms: dict[tuple[str, Key], float] = field(default_factory=dict)

    def __add__(self, other: Lin) -> Lin:
        terms = dict(self.terms)
        for at, value in other.terms.items():
            terms[at] = terms.get(at, 0.0) + value
        return Lin(self.constant + other.constant, terms)

    def scaled(self, factor: float) -> Lin:
        return Lin(self.constant * factor, {at: value * factor for at, value in self.terms.items()})


@dataclass(frozen=True)
class Part:
    """A piece of text and what it stands for."""

    text: str
    level: int
    value: Callable[[Env], Any]

    def at(self, level: int) -> str:
        return self.text if self.level >= level else f"({self.text})"


@dataclass(frozen=True)
class Source:
    """Something to iterate over: its text, the kinds of its components, its elements given outer indices.

    `root`: whether the components are all elements of their kinds, so that any subscript of the kinds is inside.
    """

    text: str
    kinds: tuple[str, ...]
    elements: Callable[[Env], list[Key]]
    root: bool = False


@dataclass(frozen=True)
class IndexList:
    names: tuple[tuple[str, ...], ...]
    sources: tuple[Source, ...]
    condition: Part | None

    @property
    def flat(self) -> tuple[str, ...]:
        return tuple(n for part in self.names for n in part)

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(k for s in self.sources for k in s.kinds)

    @property
    def root(self) -> bool:
        return all(s.root for s in self.sources)

    @property
    def text(self) -> str:
        if not self.names:
            return ""
        parts = [
            f"{names[0] if len(names) == 1 else '(' + ', '.join(names) + ')'} in {source.text}"
            for names, source in zip(self.names, self.sources, strict=True)
        ]
        where = f" where {self.condition.text}" if self.condition else ""
        return f"[{', '.join(parts)}{where}]"

    def rows(self, env: Env, *, conditions: bool = True) -> Iterator[Env]:
        rows = [dict(env)]
        for names, source in zip(self.names, self.sources, strict=True):
            rows = [{**row, **dict(zip(names, e, strict=True))} for row in rows for e in source.elements(row)]
        for row in rows:
            if not conditions or self.condition is None or self.condition.value(row):
                yield row

    def keys(self, *, conditions: bool = True) -> list[Key]:
        return [tuple(row[n] for n in self.flat) for row in self.rows({}, conditions=conditions)]


@dataclass(frozen=True)
class Declared:
    """A parameter, variable or let that can be read: `value` of a key that is inside."""

    name: str
    indices: IndexList
    value: Callable[[Key], Any]
    inside: frozenset[Key]


Sides = Callable[[Env], list[tuple[Lin, float, float]]]  # expressions with their lower and upper ends


class Data:
    """Sets and parameters with random contents."""

    def __init__(self, random: Random) -> None:
        self.random = random
        pick = random.randint
        self.jobs = ["j1", "j 2", "ü", "42", 'q"r', "J_6"][: pick(0, 4) or pick(0, 4)]
        self.nodes = ["n1", "n-2", "N3"][: pick(1, 3)]
        self.slots = sorted(random.sample(range(-2, 12), pick(1, 5)))
        self.top = pick(0, 4)
        self.some = [j for j in self.jobs if random.random() < 0.6]
        self.pairs = [(j, n) for j in self.jobs for n in self.nodes if random.random() < 0.6]
        self.triples = [(j, n, g) for j in self.jobs for n in self.nodes for g in (1, 2, 3) if random.random() < 0.3]
        random.shuffle(self.pairs)
        random.shuffle(self.triples)
        self.a = {(j,): self.quarter() for j in self.jobs}
        self.cap = {(j,): pick(0, 3) for j in self.jobs}
        self.b = {(n,): self.quarter() for n in self.nodes}
        self.c = {(j, n): self.quarter() for j in self.jobs for n in self.nodes}
        self.e = {p: self.quarter() for p in self.pairs}
        self.f = {(h,): self.quarter() for h in self.slots}
        self.lag = {(h,): pick(0, 2) for h in self.slots}
        self.w = {t: self.quarter() for t in self.triples}
        self.home = {(j,): random.choice(self.nodes) for j in self.jobs}
        self.kind = {(j,): random.choice(("x", "y z", "")) or "x" for j in self.jobs}
        self.s = self.quarter()

    def quarter(self) -> float:
        return self.random.choice((0, 0, 1, 2, -1, -2, 0.5, -0.25, 3, 4.75))

    def scenario(self) -> str:
        def quoted(label: object) -> str:
            escaped = str(label).replace('"', '\\"')
            return str(label) if isinstance(label, int) else f'"{escaped}"'

        def listed(elements: list[Any]) -> str:
            rows = [e if isinstance(e, tuple) else (e,) for e in elements]
            texts = [", ".join(map(quoted, r)) for r in rows]
            return "{ " + ", ".join(f"({t})" if len(r) > 1 else t for t, r in zip(texts, rows, strict=True)) + " }"

        def table(keys: str, columns: dict[str, dict[Key, Any]]) -> str:
            first = next(iter(columns.values()))
            rows = [" ".join([*map(quoted, k), *(cell(v[k]) for v in columns.values())]) for k in first]
            return f"  table {keys}: {' '.join(columns)} =\n    " + "\n    ".join(rows) + ";\n" if rows else ""

        def cell(value: Any) -> str:
            return f'"{value}"' if isinstance(value, str) else f"{value:g}"

        empty = "".join(f"  {n} = 0;\n" for n in ("a", "cap", "c") if not self.jobs)
        empty += "  home = n1; kind = x;\n" if not self.jobs else ""
        empty += "  e = 0;\n" * (not self.pairs) + "  w = 0;\n" * (not self.triples)
        return (
            "scenario S for M {\n"
            f"  J = {listed(self.jobs)}; N = {listed(self.nodes)}; H = {listed(self.slots)}; top = {self.top};\n"
            f"  S = {listed(self.some)}; P = {listed(self.pairs)}; T = {listed(self.triples)}; s = {self.s:g};\n"
            + table("J", {"a": self.a, "cap": self.cap, "home": self.home, "kind": self.kind})
            + table("N", {"b": self.b})
            + table("J, N", {"c": self.c})
            + table("P", {"e": self.e})
            + table("H", {"f": self.f, "lag": self.lag})
            + table("T", {"w": self.w})
            + empty
            + "}\n"
        )


DATA_DECLARATIONS = """\
  set J; set N; set H ordered;
  param top integer; param s;
  set S within J; set P within J cross N; set T within J cross N cross 1..3;
  set K = 0..top;
  set Q = { (n, j) : (j, n) in P };
  set L = { h in H where f[h] > 0 };
  set Z = { n : (j, n, g) in T };
  param a[J]; param cap[J] integer; param b[N]; param c[J, N]; param e[P]; param f[H]; param w[T];
  param lag[H] integer;
  param home[J] within N; param kind[J] symbol;
  param most[j in J] = max(a[j], sum[n in N] c[j, n], 0);
"""


class Writer:
    """Writes one random model over some data; `make` then gives its columns, rows and objectives."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.data = Data(random)
        self.lines: list[str] = []
        self.columns: list[tuple[str, Key, float, float, bool]] = []
        self.rows: list[tuple[str, Key, dict[tuple[str, Key], float], float, float]] = []
        self.goals: list[tuple[str, list[Lin]]] = []
        self.readable: list[Declared] = []  # variables and lets
        self.names = 0
        self.steps: list[Callable[[], None]] = []
        d = self.data
        one = lambda items: lambda env: [(i,) for i in items]  # noqa: E731
        self.sources = [
            Source("J", ("J",), one(d.jobs), root=True),
            Source("N", ("N",), one(d.nodes), root=True),
            Source("H", ("H",), one(d.slots), root=True),
            Source("S", ("J",), one(d.some)),
            Source("K", ("I",), one(range(d.top + 1))),
            Source("1..3", ("I",), one((1, 2, 3))),
            Source("0..4 by 2", ("I",), one((0, 2, 4))),
            Source("P", ("J", "N"), lambda env: list(d.pairs)),
            Source("T", ("J", "N", "I"), lambda env: list(d.triples)),
            Source("Q", ("N", "J"), lambda env: [(n, j) for j, n in d.pairs]),
            Source("L", ("H",), lambda env: [(h,) for h in d.slots if d.f[h,] > 0]),
            Source("Z", ("N",), lambda env: list(dict.fromkeys((n,) for _, n, _ in d.triples))),
            Source("(S union { i0 in J where a[i0] == 1 })", ("J",), lambda env: [
                (j,) for j in [*d.some, *(j for j in d.jobs if d.a[j,] == 1 and j not in d.some)]]),
            Source("(N diff Z)", ("N",), lambda env: [(n,) for n in d.nodes if n not in {m for _, m, _ in d.triples}]),
        ]  # fmt: skip
        most = {(j,): max(d.a[j,], sum(d.c[j, n] for n in d.nodes), 0.0) for j in d.jobs}
        roots = {s.text: s for s in self.sources[:3]}
        tables: list[tuple[str, list[Source], dict[Key, Any]]] = [
            ("a", [roots["J"]], d.a), ("cap", [roots["J"]], d.cap), ("b", [roots["N"]], d.b),
            ("c", [roots["J"], roots["N"]], d.c), ("e", [self.sources[7]], d.e), ("f", [roots["H"]], d.f),
            ("w", [self.sources[8]], d.w), ("most", [roots["J"]], most),
        ]  # fmt: skip
        self.params = [
            Declared(name, self._plain(sources), values.__getitem__, frozenset(values))
            for name, sources, values in tables
        ]

    def _plain(self, sources: list[Source]) -> IndexList:
        names = tuple(tuple(f"_{i}{k}" for k in range(len(s.kinds))) for i, s in enumerate(sources))
        return IndexList(names, tuple(sources), None)

    def fresh(self) -> str:
        self.names += 1
        return f"i{self.names}"

    # --- indices -----------------------------------------------------------------------------------------------------

    def dependent(self, scope: dict[str, str]) -> list[Source]:
        """Sources that depend on indices in scope."""
        d = self.data
        found = []
        for name, kind in scope.items():
            if kind == "J":
                found.append(Source(f"1..cap[{name}]", ("I",), lambda env, n=name: [
                    (g,) for g in range(1, d.cap[env[n],] + 1)]))  # fmt: skip
                m = self.fresh()
                found.append(Source(f"{{ {m} in N where ({name}, {m}) in P }}", ("N",), lambda env, n=name: [
                    (m,) for m in d.nodes if (env[n], m) in d.pairs]))  # fmt: skip
            if kind == "I":
                found.append(Source(f"{name}..3", ("I",), lambda env, n=name: [(g,) for g in range(env[n], 4)]))
            if kind == "H":
                m = self.fresh()
                found.append(Source(f"{{ {m} in H where {m} <= {name} }}", ("H",), lambda env, n=name: [
                    (h,) for h in d.slots if h <= env[n]]))  # fmt: skip
        return found

    def indices(self, scope: dict[str, str], most: int, least: int = 0) -> tuple[IndexList, dict[str, str]]:
        names, sources = [], []
        inner = dict(scope)
        for _ in range(self.random.randint(least, most)):
            source = self.random.choice([*self.sources, *self.dependent(inner)])
            own = tuple(self.fresh() for _ in source.kinds)
            names.append(own)
            sources.append(source)
            inner.update(zip(own, source.kinds, strict=True))
        condition = self.condition(inner, 2) if names and self.random.random() < 0.5 else None
        return IndexList(tuple(names), tuple(sources), condition), inner

    def element(self, kind: str, scope: dict[str, str]) -> Part | None:
        """A subscript of a kind; None when there is nothing to write."""
        d = self.data
        own = [n for n, k in scope.items() if k == kind]
        choices: list[Part] = [Part(n, ATOM, lambda env, n=n: env[n]) for n in own] * 2
        if kind == "J" and d.jobs:
            label = self.random.choice(d.jobs)
            escaped = label.replace('"', '\\"')
            choices.append(Part(f'"{escaped}"', ATOM, lambda env: label))
        if kind == "N":
            node = self.random.choice(d.nodes)
            choices.append(Part(f'"{node}"', ATOM, lambda env: node))
            for n, k in scope.items():
                if k == "J":
                    choices.append(Part(f"home[{n}]", ATOM, lambda env, n=n: d.home[env[n],]))
            m = self.fresh()
            best = max(d.nodes, key=lambda n: d.b[n,])
            choices.append(Part(f"argmax[{m} in N] b[{m}]", AGGREGATE, lambda env: best))
        if kind == "H":
            choices.append(Part("last(H)", ATOM, lambda env: d.slots[-1]))
            for n in own:
                by = self.random.randint(-2, 2)
                text = {1: f"next({n})", -1: f"prev({n})"}.get(by, f"{n} + {by}" if by >= 0 else f"{n} - {-by}")
                choices.append(Part(text, SUM, lambda env, n=n, by=by: self.moved(env[n], by)))
                choices.append(Part(f"{n} - lag[{n}]", SUM, lambda env, n=n: self.moved(env[n], -d.lag[env[n],])))
                for m in (m for m, k in scope.items() if k == "J"):
                    choices.append(
                        Part(f"{n} - cap[{m}]", SUM, lambda env, n=n, m=m: self.moved(env[n], -d.cap[env[m],]))
                    )
        if kind == "I":
            number = self.random.randint(0, 3)
            choices.append(Part(str(number), ATOM, lambda env: number))
            for n in own:
                by = self.random.randint(1, 2)
                choices.append(Part(f"{n} - {by}", SUM, lambda env, n=n, by=by: env[n] - by))
        return self.random.choice(choices) if choices else None

    def moved(self, slot: int, by: int) -> int | None:
        at = self.data.slots.index(slot) + by
        return self.data.slots[at] if 0 <= at < len(self.data.slots) else None

    # --- conditions --------------------------------------------------------------------------------------------------

    def condition(self, scope: dict[str, str], depth: int) -> Part:
        d, pick = self.data, self.random.choice
        by_kind = {k: [n for n, kind in scope.items() if kind == k] for k in "JNHI"}
        choices: list[Callable[[], Part]] = [lambda: self.compared(scope, depth)]
        if by_kind["J"]:
            j = pick(by_kind["J"])
            choices.append(lambda: Part(f'kind[{j}] == "x"', COMPARED, lambda env: d.kind[env[j],] == "x"))
            choices.append(lambda: Part(f"{j} not in S", COMPARED, lambda env: env[j] not in d.some))
            n = self.element("N", scope)
            if n is not None:
                choices.append(
                    lambda: Part(f"({j}, {n.text}) in P", COMPARED, lambda env: (env[j], n.value(env)) in d.pairs)
                )
            for other in by_kind["N"]:
                choices.append(
                    lambda other=other: Part(
                        f"home[{j}] == {other}", COMPARED, lambda env: d.home[env[j],] == env[other]
                    )
                )
            if len(by_kind["J"]) > 1:
                k = pick([m for m in by_kind["J"] if m != j])
                read = pick(("home", "kind", "a", "cap"))
                values: dict[Key, Any] = getattr(d, read)
                text = f"{read}[{k}] == {read}[{j}]"
                choices.append(lambda: Part(text, COMPARED, lambda env: values[env[k],] == values[env[j],]))
                same = pick((True, False))
                sign = "==" if same else "!="
                choices.append(lambda: Part(f"{j} {sign} {k}", COMPARED, lambda env: (env[j] == env[k]) == same))
            if by_kind["N"] and by_kind["I"]:
                n2, i = pick(by_kind["N"]), pick(by_kind["I"])
                choices.append(
                    lambda: Part(f"({j}, {n2}, {i}) in T", COMPARED, lambda env: (env[j], env[n2], env[i]) in d.triples)
                )
        if by_kind["H"]:
            h, number, op = pick(by_kind["H"]), self.random.randint(-2, 12), pick(("<=", ">=", "<", ">", "==", "!="))
            choices.append(lambda: Part(f"{h} {op} {number}", COMPARED, lambda env: holds(env[h], op, number)))
            if len(by_kind["H"]) > 1:
                h2, by = pick([m for m in by_kind["H"] if m != h]), self.random.randint(-2, 2)
                shifted = f"{h2} + {by}" if by >= 0 else f"{h2} - {-by}"
                choices.append(
                    lambda: Part(f"{h} {op} {shifted}", COMPARED, lambda env: holds(
                        d.slots.index(env[h]), op, d.slots.index(env[h2]) + by))
                )  # fmt: skip
        if by_kind["I"]:
            i = pick(by_kind["I"])
            low, high = sorted((self.random.randint(0, 3), self.random.randint(0, 4)))
            choices.append(lambda: Part(f"{low} <= {i} <= {high}", COMPARED, lambda env: low <= env[i] <= high))
        if depth > 0:
            choices.append(lambda: self.joined(scope, depth))
            choices.append(lambda: self.quantified(scope, depth))
        return pick(choices)()

    def compared(self, scope: dict[str, str], depth: int) -> Part:
        left, right = self.number(scope, min(depth, 1)), self.number(scope, 0)
        op = self.random.choice(("<=", ">=", "<", ">", "==", "!="))
        text = f"{left.at(SUM)} {op} {right.at(SUM)}"
        return Part(text, COMPARED, lambda env: holds(left.value(env), op, right.value(env)))

    def joined(self, scope: dict[str, str], depth: int) -> Part:
        left, right = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
        match self.random.randint(0, 2):
            case 0:
                return Part(f"{left.at(AND)} and {right.at(NOT)}", AND,
                            lambda env: left.value(env) and right.value(env))  # fmt: skip
            case 1:
                return Part(f"{left.at(OR)} or {right.at(AND)}", OR,
                            lambda env: left.value(env) or right.value(env))  # fmt: skip
        return Part(f"not {left.at(NOT)}", NOT, lambda env: not left.value(env))

    def quantified(self, scope: dict[str, str], depth: int) -> Part:
        indices, inner = self.indices(scope, 2, 1)
        body, op = self.condition(inner, depth - 1), self.random.choice(("any", "all"))
        combine = any if op == "any" else all
        text = f"{op}{indices.text} {body.at(NOT)}"
        return Part(text, NOT, lambda env: combine([body.value(row) for row in indices.rows(env)]))

    # --- numbers -----------------------------------------------------------------------------------------------------

    def number(self, scope: dict[str, str], depth: int) -> Part:
        """Data only."""
        choices: list[Callable[[], Part]] = [self.literal, lambda: Part("s", ATOM, lambda env: self.data.s)]
        choices += [lambda: self.read(self.random.choice(self.params), scope, self.literal)] * 3
        own = [n for n, k in scope.items() if k == "I"]
        if own:
            i = self.random.choice(own)
            choices.append(lambda: Part(i, ATOM, lambda env: float(env[i])))
        if depth > 0:
            choices += [lambda: self.arithmetic(scope, depth), lambda: self.aggregate(scope, depth)]
            choices += [lambda: self.chosen(scope, depth, self.number), lambda: self.extreme(scope, depth)]
        return self.random.choice(choices)()

    def literal(self) -> Part:
        value = abs(self.data.quarter())
        return Part(f"{value:g}", ATOM, lambda env: value)

    def arithmetic(self, scope: dict[str, str], depth: int) -> Part:
        left, right = self.number(scope, depth - 1), self.number(scope, depth - 1)
        match self.random.randint(0, 3):
            case 0:
                return Part(f"{left.at(SUM)} + {right.at(AGGREGATE)}", SUM,
                            lambda env: left.value(env) + right.value(env))  # fmt: skip
            case 1:
                return Part(f"{left.at(SUM)} - {right.at(AGGREGATE)}", SUM,
                            lambda env: left.value(env) - right.value(env))  # fmt: skip
            case 2:
                level = AGGREGATE if right.level == AGGREGATE else FACTORS
                text = f"{left.at(FACTORS)} * {right.text if level == AGGREGATE else right.at(SIGNED)}"
                return Part(text, level, lambda env: left.value(env) * right.value(env))
        level = AGGREGATE if left.level == AGGREGATE else SIGNED
        text = f"-{left.text if level == AGGREGATE else left.at(SIGNED)}"
        return Part(text, level, lambda env: -left.value(env))

    def aggregate(self, scope: dict[str, str], depth: int) -> Part:
        indices, inner = self.indices(scope, 2, 1)
        if self.random.random() < 0.3:
            condition = self.condition(inner, depth - 1)
            return Part(f"count{indices.text} ({condition.text})", SIGNED, lambda env: float(
                sum(bool(condition.value(row)) for row in indices.rows(env))))  # fmt: skip
        body = self.number(inner, depth - 1)
        op = self.random.choice(("sum", "sum", "max", "min"))

        def value(env: Env) -> float:
            values = [body.value(row) for row in indices.rows(env)]
            if op == "sum":
                return float(sum(values))
            if not values:
                raise Refused
            return max(values) if op == "max" else min(values)

        return Part(f"{op}{indices.text} {body.at(AGGREGATE)}", AGGREGATE, value)

    def extreme(self, scope: dict[str, str], depth: int) -> Part:
        parts = [self.number(scope, depth - 1) for _ in range(2)]
        name = self.random.choice(("min", "max"))
        combine = min if name == "min" else max
        return Part(f"{name}({parts[0].text}, {parts[1].text})", ATOM, lambda env: combine(p.value(env) for p in parts))

    def chosen(self, scope: dict[str, str], depth: int, branch: Callable[[dict[str, str], int], Part]) -> Part:
        condition = self.condition(scope, 1)
        then, other = branch(scope, depth - 1), branch(scope, depth - 1)
        text = f"if {condition.text} then {then.text} else {other.text}"
        return Part(text, CHOICE, lambda env: then.value(env) if condition.value(env) else other.value(env))

    def read(self, declared: Declared, scope: dict[str, str], fallback: Callable[[], Part]) -> Part:
        """A reference, with `else` wherever a subscript may fall outside."""
        subscripts = [self.element(k, scope) for k in declared.indices.kinds]
        if any(s is None for s in subscripts):
            return fallback()
        parts = [s for s in subscripts if s is not None]
        inside = declared.indices.root and all(s.level == ATOM or s.level == AGGREGATE for s in parts)
        text = declared.name + (f"[{', '.join(s.text for s in parts)}]" if parts else "")
        if inside and self.random.random() < 0.8:
            return Part(text, ATOM, lambda env: declared.value(tuple(s.value(env) for s in parts)))
        if not parts:
            return Part(text, ATOM, lambda env: declared.value(()))
        other = fallback()

        def value(env: Env) -> Any:
            key = tuple(s.value(env) for s in parts)
            return declared.value(key) if key in declared.inside else other.value(env)

        return Part(f"({text} else {other.text})", ATOM, value)

    # --- affine expressions ------------------------------------------------------------------------------------------

    def affine(self, scope: dict[str, str], depth: int) -> Part:
        """With a variable in it (or at least a text that the checker takes for one)."""
        if depth <= 0:
            return self.leaf(scope)
        match self.random.randint(0, 6):
            case 0:
                left, right = self.affine(scope, depth - 1), self.affine(scope, depth - 1)
                return Part(f"{left.at(SUM)} + {right.at(AGGREGATE)}", SUM,
                            lambda env: left.value(env) + right.value(env))  # fmt: skip
            case 1:
                first, number = self.affine(scope, depth - 1), self.number(scope, 1)
                return Part(f"{number.at(SUM)} - {first.at(AGGREGATE)}", SUM,
                            lambda env: Lin(number.value(env)) + first.value(env).scaled(-1))  # fmt: skip
            case 2:
                inner, factor = self.affine(scope, depth - 1), self.number(scope, 1)
                level = AGGREGATE if inner.level == AGGREGATE else FACTORS
                text = f"{factor.at(FACTORS)} * {inner.text if level == AGGREGATE else inner.at(SIGNED)}"
                return Part(text, level, lambda env: inner.value(env).scaled(factor.value(env)))
            case 3:
                inner, by = self.affine(scope, depth - 1), self.random.choice((2, 4, 0.5))
                return Part(f"{inner.at(FACTORS)} / {by:g}", FACTORS, lambda env: inner.value(env).scaled(1 / by))
            case 4:
                return self.chosen(scope, depth, self.affine)
        indices, names = self.indices(scope, 2, 1)
        body = self.affine(names, depth - 1)

        def value(env: Env) -> Lin:
            total = Lin()
            for row in indices.rows(env):
                total = total + body.value(row)
            return total

        return Part(f"sum{indices.text} {body.at(AGGREGATE)}", AGGREGATE, value)

    def leaf(self, scope: dict[str, str]) -> Part:
        declared = self.random.choice(self.readable)

        def lifted() -> Part:
            number = self.literal()
            return Part(number.text, number.level, lambda env: Lin(number.value(env)))

        part = self.read(declared, scope, lifted)
        if part.text == "" or part.text[0].isdigit():  # nothing to subscript with: a variable without indices
            return self.read(self.readable[0], scope, lifted)
        return part

    # --- declarations ------------------------------------------------------------------------------------------------

    def write(self) -> None:
        self.variable("v0", IndexList((), (), None), {})
        for at in range(self.random.randint(1, 4)):
            indices, scope = self.indices({}, 3)
            self.variable(f"v{at + 1}", indices, scope)
        for at in range(self.random.randint(0, 2)):
            self.let(f"t{at}")
        for at in range(self.random.randint(1, 2)):
            self.goal(f"goal{at}", at)
        for at in range(self.random.randint(1, 4)):
            self.constraint(f"c{at}")

    def make(self) -> None:
        """Work out what was written; raises Refused."""
        for step in self.steps:
            step()

    def variable(self, name: str, indices: IndexList, scope: dict[str, str]) -> None:
        kind = self.random.choice(("", "", " integer", " binary"))
        low = self.number(scope, 1) if self.random.random() < 0.6 and kind != " binary" else None
        high = self.number(scope, 1) if self.random.random() < 0.4 and kind != " binary" else None
        bounds = (f" >= {low.at(SUM)}" if low else "") + (f" <= {high.at(SUM)}" if high else "")
        self.lines.append(f"  var {name}{indices.text}{kind}{bounds};")
        existing: set[Key] = set()

        def make() -> None:
            for row in indices.rows({}):
                key = tuple(row[n] for n in indices.flat)
                existing.add(key)
                default = (0.0, 1.0) if kind == " binary" else (float("-inf"), float("inf"))
                ends = (low.value(row) if low else default[0], high.value(row) if high else default[1])
                self.columns.append((name, key, *ends, kind != ""))

        self.steps.append(make)
        inside = frozenset(indices.keys(conditions=False))
        self.readable.append(
            Declared(name, indices, lambda key: Lin(0.0, {(name, key): 1.0} if key in existing else {}), inside)
        )

    def let(self, name: str) -> None:
        indices, scope = self.indices({}, 2)
        indices = IndexList(indices.names, indices.sources, None)
        body = self.affine({n: scope[n] for n in indices.flat}, 2)
        self.lines.append(f"  let {name}{indices.text} = {body.text};")
        value = lambda key: body.value(dict(zip(indices.flat, key, strict=True)))  # noqa: E731
        self.readable.append(Declared(name, indices, value, frozenset(indices.keys())))

    def goal(self, name: str, at: int) -> None:
        sense = self.random.choice(("minimize", "maximize"))
        terms = [self.affine({}, 3) for _ in range(self.random.randint(1, 3))]
        body = " ".join(f"part{at}{i}: {t.text};" for i, t in enumerate(terms))
        self.lines.append(f"  {'then ' if at else ''}{sense} {name} {{ {body} }}")
        self.steps.append(lambda: self.goals.append((sense, [t.value({}) for t in terms])))

    def constraint(self, name: str) -> None:
        indices, scope = self.indices({}, 3)
        only = self.condition(scope, 1) if self.random.random() < 0.3 else None
        parts = [self.comparison(scope) for _ in range(self.random.randint(1, 2))]
        body = " and ".join(text for text, _ in parts)
        if only is not None:
            body = f"{only.at(OR)} => {body}"
        self.lines.append(f"  constraint {name}{indices.text}: {body};")
        self.steps.append(lambda: self.make_rows(name, indices, only, [sides_of for _, sides_of in parts]))

    def make_rows(self, name: str, indices: IndexList, only: Part | None, parts: list[Sides]) -> None:
        rows = list(indices.rows({}))
        asked = [only is None or only.value(row) for row in rows]
        for sides_of in parts:
            made: dict[int, list[Any]] = {}
            for row, ask in zip(rows, asked, strict=True):
                if ask:
                    key = tuple(row[n] for n in indices.flat)
                    for part, (lin, lower, upper) in enumerate(sides_of(row)):
                        terms = {at: v for at, v in lin.terms.items() if v}
                        made.setdefault(part, []).append((key, terms, lower - lin.constant, upper - lin.constant))
            self.rows.extend((name, *row) for part in sorted(made) for row in made[part])

    def comparison(self, scope: dict[str, str]) -> tuple[str, Sides]:
        """A comparison and the rows that it states: expression, lower and upper end."""
        far = float("inf")
        lin = self.affine(scope, 3)
        if self.random.random() < 0.25:
            low, high = self.number(scope, 1), self.number(scope, 1)
            text = f"{low.at(SUM)} <= {lin.at(SUM)} <= {high.at(SUM)}"
            return text, lambda env: [(lin.value(env), low.value(env), high.value(env))]
        if self.random.random() < 0.2:
            middle, other = self.affine(scope, 1), self.affine(scope, 1)

            def chain(env: Env) -> list[tuple[Lin, float, float]]:
                first, second, third = (p.value(env) for p in (lin, middle, other))
                return [(first + second.scaled(-1), 0.0, far), (second + third.scaled(-1), 0.0, far)]

            return f"{lin.at(SUM)} >= {middle.at(SUM)} >= {other.at(SUM)}", chain
        op = self.random.choice(("<=", ">=", "=="))
        right = self.affine(scope, 1) if self.random.random() < 0.4 else self.number(scope, 1)
        ends = {"<=": (-far, 0.0), ">=": (0.0, far), "==": (0.0, 0.0)}[op]

        def simple(env: Env) -> list[tuple[Lin, float, float]]:
            found = right.value(env)
            other = found if isinstance(found, Lin) else Lin(found)
            return [(lin.value(env) + other.scaled(-1), *ends)]

        return f"{lin.at(SUM)} {op} {right.at(SUM)}", simple

    def text(self) -> str:
        return "model M {\n" + DATA_DECLARATIONS + "\n".join(self.lines) + "\n}\n" + self.data.scenario()


def holds(left: Any, op: str, right: Any) -> bool:
    return bool({
        "<=": left <= right, ">=": left >= right, "<": left < right, ">": left > right, "==": left == right,
        "!=": left != right,
    }[op])  # fmt: skip
