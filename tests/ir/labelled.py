"""Small problems by name, so that columns and rows can be added and removed without a change of the others."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.ir.domains import Domain, IntervalDomain, ScalarDomain, TupleDomain, Universe
from gpusched_dsl.ir.problem import Family, Matrix, Objective, Problem, Term

INF = float("inf")
Key = tuple[str, int, tuple[str | int, ...]]  # family, part, labels

# Families with the kinds of their indices: `j` for an element of the set of jobs, `i` for an integer.
COLUMNS = {"x": "ji", "y": "j", "z": ""}
ROWS = {("fits", 0): "i", ("once", 0): "j", ("once", 1): "j", ("all", 0): ""}


@dataclass
class Column:
    lower: float
    upper: float
    integer: bool
    cost: float


@dataclass
class Row:
    lower: float
    upper: float
    entries: dict[Key, float]


@dataclass
class Labelled:
    """`problem` numbers columns and rows in a random order of the labels, whatever order they came in."""

    columns: dict[Key, Column] = field(default_factory=dict)
    rows: dict[Key, Row] = field(default_factory=dict)
    sense: str = "minimize"
    offset: float = 0.0

    def problem(self, draw: random.Random) -> Problem:
        labels = sorted({label for _, _, key in (*self.columns, *self.rows) for label in key if isinstance(label, str)})
        labels += [f"unused{n}" for n in range(draw.randrange(3))]
        draw.shuffle(labels)
        universe = Universe("Jobs", tuple(labels))
        columns, variables = _numbered(self.columns, {(f, 0): k for f, k in COLUMNS.items()}, universe, draw)
        rows, constraints = _numbered(self.rows, ROWS, universe, draw)
        number = {key: n for n, key in enumerate(columns)}
        entries = [sorted((number[c], v) for c, v in self.rows[key].entries.items()) for key in rows]
        costs = np.array([self.columns[key].cost for key in columns], dtype=np.float64)
        return Problem(
            name="labelled",
            variables=variables,
            lower=np.array([self.columns[key].lower for key in columns], dtype=np.float64),
            upper=np.array([self.columns[key].upper for key in columns], dtype=np.float64),
            integer=np.array([self.columns[key].integer for key in columns], dtype=bool),
            constraints=constraints,
            matrix=Matrix(
                np.cumsum([0, *map(len, entries)]).astype(np.int64),
                np.array([c for row in entries for c, _ in row], dtype=np.int32),
                np.array([v for row in entries for _, v in row], dtype=np.float64),
            ),
            row_lower=np.array([self.rows[key].lower for key in rows], dtype=np.float64),
            row_upper=np.array([self.rows[key].upper for key in rows], dtype=np.float64),
            objectives=(
                Objective(self.sense, (Term(None, np.arange(len(columns), dtype=np.int32), costs, self.offset),)),
            ),
        )


def keys_of(families: tuple[Family, ...]) -> list[Key]:
    """The key of every column or row, in their order."""
    return [(f.name, f.part, f.index_of(n)) for f in families for n in range(f.first, f.stop)]


def _numbered(
    given: dict[Key, Column] | dict[Key, Row],
    kinds: dict[tuple[str, int], str],
    universe: Universe,
    draw: random.Random,
) -> tuple[list[Key], tuple[Family, ...]]:
    families: list[Family] = []
    order: list[Key] = []
    for (name, part), kind in kinds.items():
        keys = [key for key in given if key[:2] == (name, part)]
        draw.shuffle(keys)
        if not kind and not keys:
            continue  # a family without indices has one member or is not there
        families.append(Family(name, len(order), _domain(kind, [k[2] for k in keys], universe), part=part))
        order += keys
    return order, tuple(families)


def _domain(kind: str, tuples: list[tuple[str | int, ...]], universe: Universe) -> Domain:
    if not kind:
        return ScalarDomain()
    components = tuple(universe if k == "j" else None for k in kind)
    if tuples == [(label,) for label in universe.labels]:
        return IntervalDomain(0, len(tuples) - 1, 1, universe)
    columns = [
        np.array([universe.code_of[t[at]] if k == "j" else t[at] for t in tuples], dtype=np.int64)
        for at, k in enumerate(kind)
    ]
    return TupleDomain(components, tuple(columns))


# --- random ones -----------------------------------------------------------------------------------------------------


def random_labelled(draw: random.Random, integers: bool) -> Labelled:
    """Some jobs that may run in some places: choices `x`, a quantity `y` a job, one column `z`."""
    made = Labelled(sense=draw.choice(("minimize", "maximize")))
    for job in ("a", "b", "c", "d")[: draw.randint(1, 4)]:
        _arrives(made, draw, job, integers)
    made.columns["z", 0, ()] = Column(0.0, draw.randint(1, 9), False, draw.randint(-3, 3))
    for place in range(2):
        _row(made, draw, ("fits", 0, (place,)))
    _row(made, draw, ("all", 0, ()))
    return made


def change(made: Labelled, draw: random.Random, integers: bool) -> None:
    """One random change, of the kinds that a re-solve may bring."""
    kinds: list[Callable[[], None]] = [
        lambda: _arrives(made, draw, draw.choice("abcdefgh"), integers),
        lambda: _arrives(made, draw, draw.choice("abcdefgh"), integers),
        lambda: _leaves(made, draw),
        lambda: _numbers(made, draw),
        lambda: _numbers(made, draw),
        lambda: _integrality(made, draw, integers),
        lambda: _row(made, draw, draw.choice([("fits", 0, (draw.randrange(4),)), ("all", 0, ())])),
        lambda: _without_family(made, draw),
        lambda: _turned(made, draw),
        lambda: _entry(made, draw),
    ]
    draw.choice(kinds)()


def _arrives(made: Labelled, draw: random.Random, job: str, integers: bool) -> None:
    """A job with its columns and rows; one that is there already gets others."""
    _gone(made, job)
    whole = integers and draw.random() < 0.8
    for place in draw.sample(range(4), draw.randint(1, 3)):
        made.columns["x", 0, (job, place)] = Column(0.0, draw.choice((1, 1, 2)), whole, draw.randint(-9, 9))
        fits = made.rows.get(("fits", 0, (place,)))
        if fits is not None:
            fits.entries["x", 0, (job, place)] = draw.randint(1, 5)
    made.columns["y", 0, (job,)] = Column(
        0.0, draw.randint(1, 6), integers and draw.random() < 0.3, draw.randint(-4, 4)
    )
    if "all" in {name for name, _, _ in made.rows}:
        made.rows["all", 0, ()].entries["y", 0, (job,)] = draw.choice((-1.5, 1, 2))
    for part in range(draw.randint(0, 2)):
        own = {key: draw.choice((1.0, 1.0, 2.0)) for key in made.columns if key[2][:1] == (job,)}
        made.rows["once", part, (job,)] = Row(-INF if part else 0.0, draw.randint(1, 6), own)


def _leaves(made: Labelled, draw: random.Random) -> None:
    jobs = sorted({key[2][0] for key in made.columns if key[2]}, key=str)
    if jobs:
        _gone(made, str(draw.choice(jobs)))


def _gone(made: Labelled, job: str) -> None:
    _remove(made, [key for key in made.columns if key[2][:1] == (job,)])
    for key in [k for k in made.rows if k[2][:1] == (job,)]:
        del made.rows[key]


def _remove(made: Labelled, columns: list[Key]) -> None:
    for key in columns:
        del made.columns[key]
        for row in made.rows.values():
            row.entries.pop(key, None)


def _numbers(made: Labelled, draw: random.Random) -> None:
    for column in made.columns.values():
        if draw.random() < 0.3:
            column.cost = draw.randint(-9, 9)
        if draw.random() < 0.15:
            column.lower, column.upper = sorted((draw.randint(0, 2), draw.randint(0, 4)))
    for row in made.rows.values():
        if draw.random() < 0.3:
            row.upper = draw.randint(2, 12)
            row.lower = draw.choice((-INF, 0, 1, row.upper))
        for key in row.entries:
            if draw.random() < 0.2:
                row.entries[key] = draw.randint(1, 5)
    made.offset = draw.randint(-5, 5)


def _integrality(made: Labelled, draw: random.Random, integers: bool) -> None:
    for column in made.columns.values():
        if draw.random() < 0.3:
            column.integer = integers and not column.integer


def _row(made: Labelled, draw: random.Random, key: Key) -> None:
    entries = {c: float(draw.randint(1, 5)) for c in made.columns if draw.random() < 0.6}
    upper = draw.randint(2, 12)
    made.rows[key] = Row(draw.choice((-INF, -INF, 0, 2)), upper, entries)


def _without_family(made: Labelled, draw: random.Random) -> None:
    name, part = draw.choice([(n, 0) for n in COLUMNS] + list(ROWS))
    if name in COLUMNS:
        _remove(made, [key for key in made.columns if key[0] == name])
    for key in [k for k in made.rows if k[:2] == (name, part)]:
        del made.rows[key]


def _turned(made: Labelled, draw: random.Random) -> None:
    made.sense = "minimize" if made.sense == "maximize" else "maximize"


def _entry(made: Labelled, draw: random.Random) -> None:
    """Coefficients appear and go where row and column stay."""
    for row in made.rows.values():
        for key in made.columns:
            if draw.random() < 0.1:
                if key in row.entries:
                    del row.entries[key]
                else:
                    row.entries[key] = draw.randint(1, 4)
