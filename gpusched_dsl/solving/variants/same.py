"""Solutions up to the names of interchangeable elements: whether two are the same, and names that make them alike."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix

from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.interchangeable.equivalence_classes import classes_of
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.quotient import candidates
from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.ir.definitions import complete
from gpusched_dsl.ir.domains import Packing, Universe
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.checked import CheckedModel, CheckedVariable
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

CODE = "GSM4024"
INTEGERS = ("integer", "binary")

ROUNDS = 2  # of the search for names, if several sets have interchangeable elements
HASH_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class InterchangeableSet:
    """A set whose elements of one class may change their names: `of[code]` is the class of an element."""

    name: str
    universe: Universe
    of: Codes

    @property
    def classes(self) -> int:
        return int(self.of.max(initial=-1)) + 1


def interchangeable_sets(model: CheckedModel, store: ValueStore) -> tuple[InterchangeableSet, ...]:
    """Return the sets with interchangeable elements, as `compiling/interchangeable` proves."""
    found = []
    for declared in candidates(model):
        try:
            classes = classes_of(model, store, declared.name)
        except Obstacle:
            continue
        if classes.count < len(classes.of):
            found.append(InterchangeableSet(declared.name, store.universes[declared.name], classes.of))
    return tuple(found)


class Symmetry:
    """The renamings of interchangeable elements, as they move the compared columns.

    `element[s]` is for each compared column its element of set s, -1 without one; `key` numbers what else names the
    column: the variable and all other indices. `is_simple`: at most one set, and no column has two elements of it.
    """

    def __init__(self, compared: Compared, sets: tuple[InterchangeableSet, ...]) -> None:
        self.compared, self.sets = compared, sets
        self.element = [np.full(len(compared.columns), -1, dtype=np.int64) for _ in sets]
        self._second: list[Codes] = [np.full(len(compared.columns), -1, dtype=np.int64) for _ in sets]
        doubled, keys, count, first = False, [], 0, 0
        for family in compared.families:
            columns, here = family.domain.columns(), slice(first, first + family.size)
            others: list[Codes] = []
            for component, codes in zip(family.domain.components, columns, strict=True):
                at = next((i for i, s in enumerate(sets) if s.universe is component), None)
                if at is None:
                    others.append(codes)
                elif (self.element[at][here] < 0).all():
                    self.element[at][here] = codes
                elif (self._second[at][here] < 0).all():
                    self._second[at][here], doubled = codes, True
                else:  # a third index of one set: its names are kept
                    others.append(codes)
            own = Packing.of(others).keys(others) if others else np.zeros(family.size, dtype=np.int64)
            _, numbers = np.unique(own, return_inverse=True)
            keys.append(numbers.reshape(-1) + count)
            count, first = count + int(numbers.max(initial=-1)) + 1, first + family.size
        self.key: Codes = np.concatenate(keys).astype(np.int64)
        self.is_simple = len(sets) <= 1 and not doubled

    def is_doubled(self, at: int) -> bool:
        """Whether a column has two elements of a set."""
        return bool((self._second[at] >= 0).any())

    def full_key(self, at: int) -> Codes:
        """What names each compared column besides its element of a set, as numbers."""
        others = [elements for i, elements in enumerate(self.element) if i != at]
        others += [elements for i, elements in enumerate(self._second) if i != at]
        return Packing.of([self.key, *(e + 1 for e in others)]).keys([self.key, *(e + 1 for e in others)])

    # --- the same --------------------------------------------------------------------------------------------------

    def signature(self, point: Floats) -> Hashable:
        """Return what solutions have in common that are the same; if `is_simple`, only they."""
        values = self.compared.values(point)
        used = np.flatnonzero(values)
        if not self.sets:
            return values.tobytes()
        if not self.is_simple:
            return str(nx.weisfeiler_lehman_graph_hash(self._graph(point), node_attr="is", iterations=HASH_ROUNDS))
        element, key, value = self.element[0][used], self.key[used], values[used]
        order = np.lexsort((value, key, element))
        rows = np.stack((key, value), axis=1)[order]
        ends = np.flatnonzero(np.diff(element[order])) + 1
        heads = element[order][np.concatenate(([0], ends))] if len(used) else np.zeros(0, dtype=np.int64)
        contents = [part.tobytes() for part in np.split(rows, ends)] if len(used) else []
        of = self.sets[0].of
        classes = [-1 if head < 0 else int(of[head]) for head in heads.tolist()]
        return tuple(sorted(zip(classes, contents, strict=True)))

    def same(self, one: Floats, other: Floats) -> bool:
        """Whether two points of equal signature are the same up to the names of interchangeable elements."""
        if self.is_simple or not self.sets:
            return True
        return bool(nx.is_isomorphic(self._graph(one), self._graph(other), node_match=_alike))

    def _graph(self, point: Floats) -> nx.Graph:
        """A vertex for each element in use and for each value that is not zero, joined by vertices for the place."""
        values, graph = self.compared.values(point), nx.Graph()
        for column in np.flatnonzero(values).tolist():
            graph.add_node(column, **{"is": f"{self.key[column]} {values[column]}"})
            for at, one in enumerate(self.sets):
                for place, elements in enumerate((self.element[at], self._second[at])):
                    code = int(elements[column])
                    if code >= 0:
                        graph.add_node((at, code), **{"is": f"set {at} class {one.of[code]}"})
                        graph.add_node((at, code, place, column), **{"is": f"place {place} of {at}"})
                        graph.add_edge(column, (at, code, place, column))
                        graph.add_edge((at, code, place, column), (at, code))
        return graph

    # --- names -----------------------------------------------------------------------------------------------------

    def align(self, point: Floats, reference: Floats) -> Floats:
        """Rename interchangeable elements of a point so that it differs in few values from a reference."""
        for _ in range(ROUNDS if len(self.sets) > 1 else 1):
            for at in range(len(self.sets)):
                names = self._nearest_names(at, point, reference)
                point = rename(self.compared.problem, point, self.sets[at].universe, names)
        return point

    def _nearest_names(self, at: int, point: Floats, reference: Floats) -> Codes:
        """Return the new name of each element: within classes, with the most values in common."""
        one = self.sets[at]
        names = np.arange(len(one.of), dtype=np.int64)
        common = self._common(at, point, reference)
        for number in range(one.classes):
            members = np.flatnonzero(one.of == number)
            if len(members) > 1:
                shared = 2 * common[members][:, members].toarray() + np.eye(len(members))  # ties keep their names
                rows, columns = linear_sum_assignment(-shared)
                names[members[rows]] = members[columns]
        return names

    def _common(self, at: int, point: Floats, reference: Floats) -> csr_matrix:
        """How many values each element of the point has in common with each element of the reference."""
        tables = []
        for values in (self.compared.values(point), self.compared.values(reference)):
            used = np.flatnonzero((values != 0) & (self.element[at] >= 0))
            others = [e[used] for i, e in enumerate(self.element) if i != at]
            tables.append((self.element[at][used], np.stack((self.key[used], values[used], *others), axis=1)))
        _, which = np.unique(np.concatenate([rows for _, rows in tables]), axis=0, return_inverse=True)
        which, count = which.reshape(-1), len(self.sets[at].of)
        split = len(tables[0][0])
        width = int(which.max(initial=-1)) + 1
        mine, theirs = (
            csr_matrix((np.ones(len(elements)), (elements, numbers)), shape=(count, width))
            for (elements, _), numbers in zip(tables, (which[:split], which[split:]), strict=True)
        )
        return (mine @ theirs.T).tocsr()


def rename(problem: Problem, point: Floats, universe: Universe, names: Codes) -> Floats:
    """The point with element e of a set called `names[e]`, in every variable; other columns are computed."""
    renamed = point.copy()
    for family in problem.variables:
        columns = list(family.domain.columns())
        places = [at for at, component in enumerate(family.domain.components) if component is universe]
        if places:
            for at in places:
                columns[at] = names[columns[at]]
            target: Ints = family.domain.locate(columns) + family.slice.start
            renamed[target] = point[family.slice]
    return complete(problem.definitions, renamed)


def _alike(one: dict[str, str], other: dict[str, str]) -> bool:
    return one["is"] == other["is"]


@dataclass(frozen=True, eq=False)
class Compared:
    """Two solutions are the same if these integer columns are equal, or become so by renaming interchangeable elements.

    `families` are variables, `columns` all of their columns, `family_of` the position in `families` of each.
    """

    problem: Problem
    families: tuple[Family, ...]
    columns: Ints
    family_of: Codes

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(family.name for family in self.families)

    def values(self, point: Floats) -> Ints:
        return np.rint(point[self.columns]).astype(np.int64)


def check_distinct(model: CheckedModel, names: Sequence[str] = ()) -> None:
    """Raise DiagnosticError (GSM4024) for unknown names, and if there are no integer variables to compare."""
    known = model.variables
    findings = [_unknown(name, list(known)) for name in names if name not in known]
    findings += [_continuous(known[name]) for name in names if name in known and known[name].kind not in INTEGERS]
    if findings:
        raise DiagnosticError(findings)
    if not any(variable.kind in INTEGERS for variable in known.values()):
        raise _not_told_apart(model.name)


def choose_compared(problem: Problem, model: CheckedModel, names: Sequence[str] = ()) -> Compared:
    """Compare the named variables; by default that of the placement, without one all integer variables.

    Raises DiagnosticError (GSM4024) as `check_distinct` does, and if the integer variables have no elements.
    """
    check_distinct(model, names)
    known = {family.name: family for family in problem.variables}
    chosen = [known[name] for name in names]
    if not chosen and model.placement is not None:
        placed = known[model.placement.variable]
        chosen = [placed] if placed.size and _is_integer(problem, placed) else []
    if not chosen:
        chosen = [family for family in problem.variables if family.size and _is_integer(problem, family)]
    if not chosen:
        raise _not_told_apart(problem.name)
    sizes = [family.size for family in chosen]
    columns = np.concatenate([np.arange(family.slice.start, family.slice.stop) for family in chosen])
    return Compared(problem, tuple(chosen), columns.astype(np.int64), np.repeat(np.arange(len(sizes)), sizes))


def _is_integer(problem: Problem, family: Family) -> bool:
    return bool(problem.integer[family.slice].all())


def _unknown(name: str, known: list[str]) -> Diagnostic:
    help = did_you_mean(name, known) or f"the variables are {', '.join(known)}"
    return Diagnostic(CODE, f"`{name}`, by which alternatives are to differ, is not a variable", help=help)


def _continuous(variable: CheckedVariable) -> Diagnostic:
    message = f"`{variable.name}`, by which alternatives are to differ, is not an integer variable"
    return Diagnostic(CODE, message, variable.span, help="name integer or binary variables")


def _not_told_apart(name: str) -> DiagnosticError:
    message = f"solutions of `{name}` cannot be told apart: it has no integer variables"
    help = "alternatives differ in integer or binary variables; continuous values may differ by any amount"
    return DiagnosticError([Diagnostic(CODE, message, help=help)])
