"""The state of a run as lines for an external program: only what an online scheduler may know."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.ir.domains import Domain, decode
from gpusched_dsl.language.checked import CheckedModel, Element, ParamRef, TypedExpr
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checking.walk import walk
from gpusched_dsl.online.live.messages import VERSION
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.workload import NONE

Line = dict[str, Any]
Label = str | int


def hidden_parameters(online: CheckedOnline) -> frozenset[str]:
    """Return the parameters that only the simulation knows: those that `ends at` and `stretch` read."""
    realised = (part for part in (online.ends, online.stretch) if isinstance(part, TypedExpr))
    return frozenset(part.name for value in realised for part in walk(value) if isinstance(part, ParamRef))


def cluster_line(cluster: Cluster, store: ValueStore, seed: int, unit: str, money: str) -> Line:
    """Return the first line: the nodes, and the types that a node may have if plans choose them."""
    work, labels = cluster.work, element_labels(cluster, store, cluster.node_at)
    units = work.units / work.parts
    nodes = [
        {"node": labels[code], "gpus": None if kind == NONE else _number(units[kind])}
        for code, kind in zip(cluster.nodes.tolist(), work.node_kind.tolist(), strict=True)
    ]
    line: Line = {"kind": "cluster", "version": VERSION, "unit": unit, "money": money, "seed": seed,
                  "variable": cluster.placement.variable, "nodes": nodes}  # fmt: skip
    if cluster.type_at is not None:
        types = element_labels(cluster, store, cluster.type_at)
        line["types"] = [
            {"type": types[code], "gpus": _number(units[kind]), "stock": int(min(work.stock[kind], len(nodes)))}
            for kind, code in enumerate(cluster.kinds.tolist())
        ]
    return line


def job_line(cluster: Cluster, store: ValueStore, job: int, now: float) -> Line:
    """Return the ways to run of a job from now on, with its due time and the price of its tardiness."""
    work = cluster.work
    rows = range(int(work.first_way[job]), int(work.first_way[job + 1]))
    nodes = element_labels(cluster, store, cluster.node_at)
    labels = [element_labels(cluster, store, at) for at in range(len(cluster.ways))]
    types = None if cluster.type_at is None else labels[cluster.type_at]
    ways = []
    for row in rows:
        kind = int(work.kind[row])
        index = [None if at == cluster.node_at else labels[at][int(c[row])] for at, c in enumerate(cluster.ways)]
        if types is None:
            fits: Line = {"nodes": [nodes[code] for code in cluster.nodes[work.node_kind == kind].tolist()]}
        else:
            fits = {"type": types[int(cluster.kinds[kind])]}
        gpus, lasts, costs = work.size[row] / work.parts, work.time[row], work.rate[row]
        ways.append({"index": index, **fits, "gpus": _number(gpus), "lasts": _number(lasts), "costs": _number(costs)})
    due, weight = _number(now + work.due[job]), _number(work.weight[job])
    return {"kind": "job", "version": VERSION, "job": job_label(cluster, store, job), "due": due, "weight": weight,
            "ways": ways}  # fmt: skip


def job_label(cluster: Cluster, store: ValueStore, job: int) -> Label:
    """Return the name of a job of a cluster, by its number there."""
    return element_labels(cluster, store, cluster.job_at)[int(cluster.jobs[job])]


def element_labels(cluster: Cluster, store: ValueStore, at: int) -> Mapping[int, Label] | tuple[Label, ...]:
    """Return the labels of an index of the placement by code; of integers themselves."""
    component = store.component(cluster.placement.indices[at].type)
    return _Integers() if component is None else component.labels


class _Integers(dict[int, Label]):
    def __missing__(self, code: int) -> Label:
        return code


class JobValues:
    """The values that a scenario gives to single jobs, as in the `values` of an arrival; not derived, not hidden."""

    def __init__(self, model: CheckedModel, root: str, hidden: frozenset[str]) -> None:
        self._model, self._root = model, root
        self._params = [n for n, p in model.params.items() if p.value is None and n not in hidden]
        self._sets = [n for n, s in model.sets.items() if s.value is None and s.root != n]

    def of(self, store: ValueStore, jobs: Ints) -> dict[int, dict[str, Any]]:
        """Return the values of jobs, by their codes in the store."""
        found: dict[int, dict[str, Any]] = {int(job): {} for job in jobs}
        for name in self._params:
            param = store.params.get(name)
            if param is None:
                continue
            values = param.values
            if isinstance(kind := self._model.params[name].type, Element):
                values = store.universes[kind.root].label_array[values.astype(np.int64)]
            for job, rest, row in self._rows(param.domain, store, jobs):
                value = values[row]
                value = value.item() if isinstance(value, np.generic) else value
                if isinstance(value, float) and not math.isfinite(value):
                    continue
                if rest:
                    found[job].setdefault(name, []).append([*rest, value])
                else:
                    found[job][name] = value
        for name in self._sets:
            if (domain := store.sets.get(name)) is not None:
                for job, rest, _ in self._rows(domain, store, jobs):
                    found[job].setdefault(name, []).append(list(rest) if rest else [])
        return found

    def _rows(self, domain: Domain, store: ValueStore, jobs: Ints) -> Iterator[tuple[int, list[Label], int]]:
        """Yield job, other labels and position of the elements of a domain of which one component is the job."""
        at = [i for i, c in enumerate(domain.components) if c is not None and c.name == self._root]
        if len(at) != 1:
            return
        columns = domain.columns()
        kept = np.flatnonzero(np.isin(columns[at[0]], jobs))
        others = [i for i in range(domain.arity) if i != at[0]]
        labels = decode([domain.components[i] for i in others], [columns[i][kept] for i in others])
        for number, row in enumerate(kept.tolist()):
            rest = list(labels[number]) if others else []
            yield int(columns[at[0]][row]), rest, row


def _number(value: float) -> float | int | None:
    """Return a number for JSON: integers without a fraction, None for infinity."""
    value = float(value)
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 1e15 else value
