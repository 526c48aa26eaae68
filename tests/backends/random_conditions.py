"""Random small models with conditions, as text, and their optimum by enumeration, independent of the compiler.

A model has whole variables (`n0`, ...), continuous ones (`y0`, ..., `w[k]`), affine rows, and conditions: `or`, `and`,
`any`, implications and `if then else` over comparisons. Every choice of the whole variables, and every set of
comparisons of continuous variables that is enough to fulfil the conditions, leaves a linear program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np
from brute import linear_program

Numbers = Mapping[str, float]
BOUND = 6


@dataclass(frozen=True)
class Atom:
    """`sum of coefficients * variables op side`; op is one of `<=`, `>=`, `==`."""

    coefficients: tuple[tuple[str, int], ...]
    op: str
    side: float

    @property
    def is_whole(self) -> bool:
        return all(name.startswith("n") for name, _ in self.coefficients)

    def value(self, point: Numbers) -> float:
        return sum(c * point[name] for name, c in self.coefficients)

    def true(self, point: Numbers) -> bool:
        value = self.value(point)
        return {"<=": value <= self.side, ">=": value >= self.side, "==": value == self.side}[self.op]

    @property
    def ends(self) -> tuple[float, float]:
        return (self.side if self.op != "<=" else -np.inf), (self.side if self.op != ">=" else np.inf)

    def __str__(self) -> str:
        terms = " + ".join(f"{c} * {name}" for name, c in self.coefficients)
        return f"{terms} {self.op} {self.side:g}".replace("+ -", "- ")


@dataclass(frozen=True)
class Formula:
    """`op` joins `parts`: `or`, `and`, `any` (over the set K), `=>`, `not`, `if` (condition, then, else)."""

    op: str
    parts: tuple[Formula | Atom, ...]

    def atoms(self) -> Iterator[Atom]:
        for part in self.parts:
            if isinstance(part, Atom):
                yield part
            else:
                yield from part.atoms()

    def holds(self, true: Mapping[Atom, bool]) -> bool:
        parts = [true[p] if isinstance(p, Atom) else p.holds(true) for p in self.parts]
        match self.op:
            case "and":
                return all(parts)
            case "or" | "any":
                return any(parts)
            case "not":
                return not parts[0]
            case "=>":
                return not parts[0] or parts[1]
        return parts[1] if parts[0] else parts[2]

    def __str__(self) -> str:
        if self.op == "any":
            first = self.parts[0]
            assert isinstance(first, Atom)
            return f"(any[k in K] {str(first).replace('w[1]', 'w[k]')})"
        texts = [f"({p})" for p in self.parts]
        if self.op == "if":
            return f"if {texts[0]} then {self.parts[1]} else {self.parts[2]}"
        return f"not {texts[0]}" if self.op == "not" else f" {self.op} ".join(texts)


@dataclass(frozen=True)
class Model:
    """The bounds of each variable, rows and conditions, and an objective to minimise or maximise."""

    bounds: dict[str, tuple[int, int]]
    rows: tuple[Atom, ...]
    formulas: tuple[Formula, ...]
    costs: tuple[tuple[str, int], ...]
    sense: str
    size: int = field(default=2)  # of the set K

    @property
    def text(self) -> str:
        lines = [f"set K = 1..{self.size};"]
        for name, (low, high) in self.bounds.items():
            if name == "w[1]":
                lines.append(f"var w[K] >= {low} <= {high};")
            elif not name.startswith("w"):
                lines.append(f"var {name}{' integer' if name[0] == 'n' else ''} >= {low} <= {high};")
        costs = " + ".join(f"{c} * {name}" for name, c in self.costs)
        lines.append(f"{self.sense} o: {costs};")
        lines += [f"constraint r{i}: {row};" for i, row in enumerate(self.rows)]
        lines += [f"constraint c{i}: {formula};" for i, formula in enumerate(self.formulas)]
        body = "\n  ".join(lines)
        return f"model m {{\n  {body}\n}}\nscenario s for m {{ }}\n"

    def optimum(self) -> float | None:
        """The best value; None where no point is feasible."""
        whole = [n for n in self.bounds if n.startswith("n")]
        moving = [n for n in self.bounds if not n.startswith("n")]
        at = {name: i for i, name in enumerate(moving)}
        atoms = list(dict.fromkeys(a for f in self.formulas for a in f.atoms()))
        sign = 1.0 if self.sense == "minimize" else -1.0
        costs = np.array([sign * dict(self.costs).get(n, 0) for n in moving])
        best: float | None = None
        for values in product(*(range(self.bounds[n][0], self.bounds[n][1] + 1) for n in whole)):
            point = dict(zip(whole, values, strict=True)) | dict.fromkeys(moving, 0)
            known = {a: a.true(point) for a in atoms if a.is_whole}
            if not all(r.true(point) for r in self.rows if r.is_whole):
                continue
            fixed = sign * sum(c * point[n] for n, c in self.costs)
            for chosen in self._enough(known, [a for a in atoms if not a.is_whole]):
                cuts = [*chosen, *(r for r in self.rows if not r.is_whole)]
                matrix = np.zeros((len(cuts) + len(moving), len(moving)))
                low, high = np.empty(len(matrix)), np.empty(len(matrix))
                for i, cut in enumerate(cuts):
                    for name, c in cut.coefficients:
                        if name in at:
                            matrix[i, at[name]] += c
                    low[i], high[i] = (end - cut.value(point) for end in cut.ends)
                for name, j in at.items():
                    matrix[len(cuts) + j, j] = 1.0
                    low[len(cuts) + j], high[len(cuts) + j] = self.bounds[name]
                status, found = linear_program(costs, matrix, low, high)
                if status == "optimal":
                    value = fixed + float(costs @ found)
                    best = value if best is None else min(best, value)
        return None if best is None else sign * best

    def _enough(self, known: Mapping[Atom, bool], open_atoms: list[Atom]) -> list[tuple[Atom, ...]]:
        """The smallest sets of further true comparisons with which all conditions hold."""
        found: list[tuple[Atom, ...]] = []
        for size in range(len(open_atoms) + 1):
            for chosen in combinations(open_atoms, size):
                if any(set(other) <= set(chosen) for other in found):
                    continue
                true = {**known, **{a: a in chosen for a in open_atoms}}
                if all(f.holds(true) for f in self.formulas):
                    found.append(chosen)
        return found


def random_model(seed: int) -> Model:
    """A few variables, rows and conditions with small whole numbers."""
    rng = np.random.default_rng(seed)

    def integer(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    size = integer(2, 3)
    bounds: dict[str, tuple[int, int]] = {}
    for i in range(integer(0, 2)):
        low = integer(-2, 1)
        bounds[f"n{i}"] = (low, low + integer(1, 3))
    for i in range(integer(1, 3)):
        low = integer(-BOUND, 1)
        bounds[f"y{i}"] = (low, low + integer(2, 2 * BOUND))
    whole = [n for n in bounds if n.startswith("n")]
    plain = list(bounds)
    if rng.random() < 0.3:
        for k in range(1, size + 1):
            bounds[f"w[{k}]"] = (-2, 5)

    def atom(names: list[str], ops: tuple[str, ...] = ("<=", ">=")) -> Atom:
        chosen = rng.choice(names, size=min(len(names), integer(1, 2)), replace=False)
        coefficients = tuple((str(n), int(rng.choice([-3, -2, -1, 1, 2, 3]))) for n in chosen)
        return Atom(coefficients, str(rng.choice(ops)), integer(-8, 8) / int(rng.choice([1, 1, 2])))

    def literal() -> Atom | Formula:
        if whole and rng.random() < 0.3:
            one = atom(whole, ("<=", ">=", "=="))
            return Formula("not", (one,)) if rng.random() < 0.3 else one
        if rng.random() < 0.2:
            return Formula("and", (atom(plain), atom(plain)))
        return atom(plain, ("<=", ">=", "<=", ">=", "=="))

    def formula() -> Formula:
        kind = rng.random()
        if "w[1]" in bounds and kind < 0.4:
            side, op = float(integer(-2, 5)), str(rng.choice(["<=", ">="]))
            return Formula("any", tuple(Atom(((f"w[{k}]", 1),), op, side) for k in range(1, size + 1)))
        if whole and kind < 0.6:
            condition = atom(whole, ("<=", ">=", "=="))
            if rng.random() < 0.5:
                return Formula("if", (condition, atom(plain), atom(plain)))
            return Formula("=>", (condition, literal()))
        return Formula("or", tuple(literal() for _ in range(integer(2, 3))))

    rows = tuple(atom(list(bounds)) for _ in range(integer(0, 2)))
    formulas = tuple(formula() for _ in range(integer(1, 3)))
    costs = tuple((n, integer(-3, 3)) for n in bounds)
    return Model(bounds, rows, formulas, costs, str(rng.choice(["minimize", "maximize"])), size)
