"""A decision as plain records: jobs, nodes, kinds of nodes, and the ways of jobs with the keys of a policy's lines.

Everything is read from the elements of the placement's variable, one record for each job, kind of node and way. Values
of expressions come from the evaluator of models; nothing here reads the arrays of policies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.placement import PlacementEvaluator, type_codes
from gpusched_dsl.language.checked import Element, IndexVar
from gpusched_dsl.language.checked_policy import CheckedKey, CheckedPolicy, CheckedRanking

NEAR = 1e-9
Key = tuple[float, ...]
Code = tuple[int, ...]


@dataclass(frozen=True)
class Kind:
    """Nodes of one type on which all jobs have the same ways. `nodes` are those that are there."""

    number: int
    label: int
    nodes: tuple[int, ...]
    gpus: Fraction
    room: tuple[float, ...]
    family: object
    stock: float
    price: float
    rate_of: Callable[[int], float] | None  # of a node, by its GPUs in use

    @property
    def size_first(self) -> tuple[Fraction, float, int]:
        """The order in which kinds are rented: most GPUs, then the lower price for a GPU."""
        return (-self.gpus, self.price / max(float(self.gpus), NEAR), self.number)


@dataclass(frozen=True)
class Way:
    """One job on one kind of node. `choose` and `otherwise` are its ranks there, None where it is not listed."""

    job: int
    kind: Kind
    rest: Code
    size: Fraction
    needs: tuple[float, ...]
    time: float
    rate: float
    late: float
    element: Code  # with one node of the kind
    choose: int | None = None
    otherwise: int | None = None

    @property
    def is_part(self) -> bool:
        return self.size < 1


@dataclass
class Instance:
    """All of a decision. `ways` of a job are in the order of the data, `queue` has the jobs in the policy's order."""

    kinds: list[Kind]
    to_rent: list[int]  # nodes whose type the plan chooses
    ways: dict[int, list[Way]]
    queue: list[int]
    weight: dict[int, float]
    postponed: dict[int, float]
    user: dict[int, object]
    share: dict[int, float]
    quota: dict[int, float]
    job_at: int
    node_at: int
    type_at: int | None
    node_kind: dict[int, Kind] = field(default_factory=dict)

    def element(self, way: Way, node: int) -> Code:
        """The element of the variable that is 1 if the job runs in this way on a node."""
        return tuple(node if at == self.node_at else code for at, code in enumerate(way.element))

    def way_at(self, element: Code) -> Way | None:
        """The way of an element, None if there is none."""
        node = element[self.node_at]
        for way in self.ways.get(element[self.job_at], []):
            if (node in way.kind.nodes or node in self.to_rent) and self.element(way, node) == element:
                return way
        return None

    def on_kind(self, way: Way, kind: Kind) -> Way | None:
        """The same way on another kind of node."""
        return next((w for w in self.ways[way.job] if w.kind is kind and w.rest == way.rest), None)

    def listed(self, job: int) -> list[Way]:
        """The ways of a job, the best first: those of `choose`, then those of `otherwise`."""
        first = [w for w in self.ways.get(job, []) if w.choose is not None]
        rest = [w for w in self.ways.get(job, []) if w.choose is None and w.otherwise is not None]
        return sorted(first, key=lambda w: w.choose or 0) + sorted(rest, key=lambda w: w.otherwise or 0)


def are_same(a: float, b: float) -> bool:
    """Values of a key that differ by at most 1e-9 of the larger one are the same."""
    return a == b or (abs(a - b) < np.inf and abs(a - b) <= NEAR * max(abs(a), abs(b)))


def ranks(keys: Sequence[Key]) -> list[int]:
    """The number of rows before each one, by their keys; rows that are the same in all keys share a rank."""
    groups = [list(range(len(keys)))]
    for column in range(len(keys[0]) if keys else 0):
        cut: list[list[int]] = []
        for group in groups:
            first = None
            for row in sorted(group, key=lambda row: keys[row][column]):
                if first is None or not are_same(first, keys[row][column]):
                    first = keys[row][column]
                    cut.append([])
                cut[-1].append(row)
        groups = cut
    found, before = [0] * len(keys), 0
    for group in groups:
        for row in group:
            found[row] = before
        before += len(group)
    return found


class Reader:
    """Reads the instance of a policy; `store` has the facts of jobs, prices and results of stages."""

    def __init__(self, policy: CheckedPolicy, store: ValueStore) -> None:
        self.policy = policy
        self.of = PlacementEvaluator(policy.model, store, MemoryLimits())
        self.ev = Evaluator(policy.model, store, MemoryLimits())
        self.placement = self.of.placement
        variable = policy.model.variables[self.placement.variable]
        self.columns = self.ev.index_domain(variable.indexing, variable.span).columns()
        self.frame = self.of.frame(self.columns)
        self.rows: list[Code] = list(zip(*(column.tolist() for column in self.columns), strict=True))
        self.job = policy.order.indexing.variables[0]
        job, node = self.placement.position("job"), self.placement.position("node")
        assert job is not None
        assert node is not None
        self.job_at, self.node_at, self.type_at = job, node, self.placement.position("node_type")
        self.names = [index.name for index in self.placement.indices]

    def run(self) -> Instance:
        values = self._values()
        kinds = self._kinds(values)
        node_kind = {node: kind for kind in kinds for node in kind.nodes}
        ways: dict[int, list[Way]] = {}
        for kind in kinds:
            for at, row in enumerate(self.rows):
                if self._is_on(row, kind, kinds):
                    ways.setdefault(row[self.job_at], []).append(self._way(at, kind, values))
        found = Instance(
            kinds=kinds,
            to_rent=sorted({row[self.node_at] for row in self.rows}) if self.type_at is not None else [],
            ways=ways,
            queue=self._queue(),
            weight=self._of_jobs(values["weight"]),
            postponed=self._of_jobs(values["postponed"]),
            user=self._of_jobs(self._column("user", None)),
            share=self._of_jobs(self._column("share", 1.0)),
            quota=self._of_jobs(self._column("quota", np.inf)),
            job_at=self.job_at,
            node_at=self.node_at,
            type_at=self.type_at,
            node_kind=node_kind,
        )
        choose, otherwise = self.policy.choose, self.policy.otherwise
        if choose is None:
            choose, otherwise = otherwise, None
        self._rank(found, choose, "choose")
        self._rank(found, otherwise, "otherwise")
        return found

    # --- roles -------------------------------------------------------------------------------------------------------

    def _values(self) -> dict[str, list]:
        """The roles of every element of the variable."""
        of, frame = self.of, self.frame
        uses = self.placement.all("uses")
        used = of.ev.number_column(uses[0].value, frame) if uses else np.ones(frame.size)
        most = of.capacity(uses[0], frame) if uses else np.ones(frame.size)
        time, due = of.times("lasts", frame, 1.0), of.times("due", frame, np.inf)
        weight = of.money_of("weight", frame, per_time=True)
        late = of.money_of("late", frame) if self.placement.item("late") else weight * np.maximum(0.0, time - due)
        return {
            "size": [Fraction(u).limit_denominator(1000) for u in used.tolist()],
            "gpus": [Fraction(10**6) if m == np.inf else Fraction(m).limit_denominator(1000) for m in most.tolist()],
            "needs": self._tuples([of.ev.number_column(i.value, frame) for i in uses[1:]]),
            "room": self._tuples([of.capacity(i, frame) for i in uses[1:]]),
            "time": time.tolist(),
            "rate": of.rates(frame, time).tolist(),
            "late": late.tolist(),
            "weight": weight.tolist(),
            "postponed": of.money_of("postponed", frame).tolist(),
            "price": of.money_of("node_price", frame, per_time=True).tolist(),
            "stock": self._column("stock", np.inf),
            "family": self._column("family", None),
            "label": self._labels(),
        }

    def _column(self, role: str, otherwise: object) -> list:
        value = self.placement.value(role)  # type: ignore[arg-type]
        if value is None:
            return [otherwise] * self.frame.size
        return np.broadcast_to(self.ev.values(value, self.frame), (self.frame.size,)).tolist()

    def _labels(self) -> list[int]:
        """The type of the node of each element as a code; the same for all where nodes have no type."""
        if self.type_at is not None:
            return [row[self.type_at] for row in self.rows]
        value = self.placement.value("node_type")
        return [0] * len(self.rows) if value is None else type_codes(self.ev, value, self.frame)[0].tolist()

    def _tuples(self, columns: Sequence[np.ndarray]) -> list[tuple[float, ...]]:
        return [tuple(float(column[at]) for column in columns) for at in range(self.frame.size)]

    def _of_jobs(self, values: Sequence) -> dict[int, object]:
        return {row[self.job_at]: value for row, value in zip(self.rows, values, strict=True)}

    # --- kinds and ways ----------------------------------------------------------------------------------------------

    def _kinds(self, values: dict[str, list]) -> list[Kind]:
        """Types to rent, or groups of nodes that are there: of one type, with the same ways for all jobs."""
        groups: dict[object, list[int]] = {}
        if self.type_at is not None:
            by_label = sorted(set(values["label"]))
            return [self._kind(n, values, values["label"].index(label), ()) for n, label in enumerate(by_label)]
        told = self._seen_by_lines_without_a_list()
        for node in sorted({row[self.node_at] for row in self.rows}):
            here = [at for at, row in enumerate(self.rows) if row[self.node_at] == node]
            label = values["label"][here[0]]
            ways = frozenset(
                (self._others(self.rows[at]), *(tuple(v[at] for v in values.values())), told[at]) for at in here
            )
            groups.setdefault(node if self._names_nodes() else (label, ways), []).append(node)
        kinds = list(groups.values())
        value = self.placement.value("node_type")
        first = {nodes[0]: next(at for at, r in enumerate(self.rows) if r[self.node_at] == nodes[0]) for nodes in kinds}
        if value is not None and isinstance(value.type, Element) and not self._names_nodes():
            kinds.sort(key=lambda nodes: (values["label"][first[nodes[0]]], nodes[0]))
        return [self._kind(n, values, first[nodes[0]], tuple(nodes)) for n, nodes in enumerate(kinds)]

    def _kind(self, number: int, values: dict[str, list], at: int, nodes: tuple[int, ...]) -> Kind:
        family = values["family"][at]
        named = self.placement.item("family") is not None and family != ""
        return Kind(
            number, values["label"][at], nodes, values["gpus"][at], values["room"][at],
            family if named else ("alone", number), values["stock"][at], values["price"][at], self._node_rate(at),
        )  # fmt: skip

    def _node_rate(self, at: int) -> Callable[[int], float] | None:
        item = self.placement.item("node_rate")
        if item is None:
            return None
        [counting] = self.of.counting_indices(item)
        row = self.frame.take(np.array([at]))
        return lambda gpus: float(
            self.of.money_of("node_rate", row.bind({counting: np.array([gpus])}), per_time=True)[0]
        )

    def _names_nodes(self) -> bool:
        """Whether a line lists nodes by name: then every node is a kind of its own."""
        rankings = (self.policy.choose, self.policy.otherwise)
        names = {v.name for r in rankings if r is not None for v in r.indexing.variables}
        return self.names[self.node_at] in names

    def _others(self, row: Code) -> Code:
        return tuple(code for at, code in enumerate(row) if at != self.node_at)

    def _rest(self, row: Code) -> Code:
        return tuple(code for at, code in enumerate(row) if at not in (self.job_at, self.node_at, self.type_at))

    def _is_on(self, row: Code, kind: Kind, kinds: Sequence[Kind]) -> bool:
        """Whether an element is one on the first node of a kind."""
        if self.type_at is None:
            return row[self.node_at] == kind.nodes[0]
        return row[self.type_at] == kind.label and row[self.node_at] == min(r[self.node_at] for r in self.rows)

    def _way(self, at: int, kind: Kind, values: dict[str, list]) -> Way:
        row = self.rows[at]
        numbers = (values[name][at] for name in ("size", "needs", "time", "rate", "late"))
        return Way(row[self.job_at], kind, self._rest(row), *numbers, row)  # type: ignore[misc]

    # --- lines of the policy -----------------------------------------------------------------------------------------

    def _keys(self, keys: Sequence[CheckedKey], frame: Frame) -> list[Key]:
        """The keys of each row, smaller is better; what is no number comes last."""
        columns = [self.ev.number_column(k.value, frame) * (-1.0 if k.descending else 1.0) for k in keys]
        return [tuple(np.inf if c[at] != c[at] else float(c[at]) for c in columns) for at in range(frame.size)]

    def _queue(self) -> list[int]:
        order = self.policy.order
        jobs = np.sort(self.ev.index_domain(order.indexing, order.span).columns()[0])
        rank = ranks(self._keys(order.keys, Frame(len(jobs), {self.job: jobs})))
        return [job for _, job in sorted(zip(rank, jobs.tolist(), strict=True))]

    def _seen_by_lines_without_a_list(self) -> list[tuple[Key, ...]]:
        """The keys of `choose by ...` and `otherwise by ...`, for every element."""
        frame = self.frame.bind({self.job: self.columns[self.job_at]})
        rankings = [r for r in (self.policy.choose, self.policy.otherwise) if r is not None]
        lists = [self._keys(r.keys, frame) for r in rankings if not r.indexing.iterators]
        return [tuple(keys[at] for keys in lists) for at in range(frame.size)]

    def _rank(self, found: Instance, ranking: CheckedRanking | None, line: str) -> None:
        """Note the rank of each way among those of its job that a line lists."""
        if ranking is None:
            return
        keys = self._keys_of_elements(ranking, found)
        for ways in found.ways.values():
            listed = [at for at, way in enumerate(ways) if way.element in keys]
            rank = ranks([keys[ways[at].element] for at in listed])
            for place, at in enumerate(listed):
                ways[at] = replace(ways[at], **{line: rank[place]})

    def _keys_of_elements(self, ranking: CheckedRanking, found: Instance) -> dict[Code, Key]:
        """The keys of the elements of ways that a line lists."""
        queued = set(found.queue)
        ways = [way for some in found.ways.values() for way in some if way.job in queued]
        if not ranking.indexing.iterators:
            frame = self.frame.bind({self.job: self.columns[self.job_at]})
            keys = dict(zip(self.rows, self._keys(ranking.keys, frame), strict=True))
            return {way.element: keys[way.element] for way in ways}
        jobs = np.array(sorted(queued), dtype=np.int64)
        frame = self.ev.expand(Frame(len(jobs), {self.job: jobs}), ranking.indexing, ranking.span).frame
        bound = {v: np.broadcast_to(frame.columns[v], (frame.size,)).tolist() for v in ranking.indexing.variables}
        job = np.broadcast_to(frame.columns[self.job], (frame.size,)).tolist()
        result = {}
        for at, key in enumerate(self._keys(ranking.keys, frame)):
            for way in found.ways.get(job[at], []):
                if all(self._says(v, codes[at], way) for v, codes in bound.items()):
                    result[way.element] = key
        return result

    def _says(self, variable: IndexVar, code: int, way: Way) -> bool:
        """Whether an index that a line binds has this value in a way: an index of the placement, else the type."""
        if variable.name in self.names:
            return way.element[self.names.index(variable.name)] == code
        return way.kind.label == code
