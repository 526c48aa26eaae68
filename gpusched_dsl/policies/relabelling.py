"""Relabels interchangeable nodes of a plan so that as many jobs as possible stay where they are.

Nodes of one class are interchangeable in a plan, so a method labels them arbitrarily. Which content goes to which node
is an assignment problem: most jobs that keep their node and their configuration, then most nodes that keep their label.
A. Jahani et al. (2019) relabel nodes at no cost; here it avoids migrations that nobody asked for.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import PlanValues, VariableValues
from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.ir.tolerances import CHOSEN
from gpusched_dsl.language.checked import CheckedModel, Element
from gpusched_dsl.policies.workload import NONE, Schedule, Workload


def relabel_schedule(work: Workload, plan: Schedule, earlier: Schedule) -> int:
    """Relabel the nodes of `plan`, in place; the number of jobs that keep the node and the way they had in `earlier`.

    Nodes of one kind are interchangeable, and so are all nodes whose kind is chosen when they are opened.
    """
    same = np.flatnonzero((plan.node != NONE) & (earlier.node != NONE) & (plan.way == earlier.way))
    label = _labels(work.node_kind, plan.node[same], earlier.node[same])
    for values in (plan.kind, plan.used, plan.jobs, plan.opened, plan.left, plan.spare):
        values[label] = values.copy()
    runs = plan.node != NONE
    plan.node[runs] = label[plan.node[runs]]
    return int(np.count_nonzero(plan.node[same] == earlier.node[same]))


def relabel_values(model: CheckedModel, store: ValueStore, values: PlanValues, running: PlanValues) -> PlanValues:
    """The values of variables with nodes relabelled, `values` itself if no node is. All codes are of one instance."""
    found = interchangeable(model, store)
    placement = model.placement
    if found is None or placement is None:
        return values
    root, classes = found
    new, old = values.get(placement.variable), running.get(placement.variable)
    if new is None or old is None or not len(old.values):
        return values
    at = next(i for i, v in enumerate(placement.indices) if isinstance(v.type, Element) and v.type.root == root)
    label = _labels(classes, *_nodes_now_and_before(_chosen_rows(new), _chosen_rows(old), at))
    if (label == np.arange(len(label))).all():
        return values
    return {name: _with_labels(model, name, given, root, label) for name, given in values.items()}


def interchangeable(model: CheckedModel, store: ValueStore) -> tuple[str, Ints] | None:
    """The root set of the placement's nodes, and the class of each: nodes of one class may trade their labels.

    None if nodes are not declared `identical`, or if given or carried values distinguish them.
    """
    placement = model.placement
    node = None if placement is None else placement.index("node")
    if node is None or not isinstance(node.type, Element):
        return None
    root = node.type.root
    declared = model.sets[root]
    by = declared.identical_by
    if not declared.identical and by is None:
        return None
    for name, param in model.params.items():
        if name == by or param.value is not None or name not in store.params:
            continue
        if any(c is store.universes[root] for c in store.params[name].domain.components):
            return None
    if by is None:
        return root, np.zeros(len(store.universes[root].labels), dtype=np.int64)
    _, classes = np.unique(store.params[by].values, return_inverse=True)
    return root, classes.reshape(-1).astype(np.int64)


def _labels(classes: Ints, now: Ints, before: Ints) -> Ints:
    """Return the node for the content of each node, for contents on nodes `now` that were on nodes `before`.

    Of equally good labellings one with the fewest changes is chosen, always the same one.
    """
    from scipy.optimize import linear_sum_assignment

    label = np.arange(len(classes))
    within = classes[now] == classes[before]
    now, before = now[within], before[within]
    for group in np.unique(classes[now]).tolist():
        members, mine = np.flatnonzero(classes == group), classes[now] == group
        kept: Floats = np.zeros((len(members), len(members)))
        np.add.at(kept, (np.searchsorted(members, now[mine]), np.searchsorted(members, before[mine])), 1.0)
        # One job that stays is worth more than all labels that could be left alone.
        _, place = linear_sum_assignment((len(members) + 1) * kept + np.eye(len(members)), maximize=True)
        label[members] = members[place]
    return label


def _chosen_rows(given: VariableValues) -> Codes:
    """Entries that are 1, a row for each."""
    return np.stack([c[given.values > CHOSEN] for c in given.codes], axis=1)


def _nodes_now_and_before(new: Codes, old: Codes, at: int) -> tuple[Ints, Ints]:
    """The nodes of entries of `new` that `old` has on some nodes, each with each of those; `at` is the column of nodes.

    The entries of a gang on several nodes make as many pairs.
    """
    rest = [i for i in range(new.shape[1]) if i != at]
    keys = np.concatenate((new[:, rest], old[:, rest]))
    _, number = np.unique(keys, axis=0, return_inverse=True)
    number = number.reshape(-1)
    now, before = number[: len(new)], number[len(new) :]
    order = np.argsort(before, kind="stable")
    first = np.searchsorted(before[order], now)
    counts = np.searchsorted(before[order], now, side="right") - first
    row = np.repeat(np.arange(len(new)), counts)
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    return new[row, at], old[order[place], at]


def _with_labels(model: CheckedModel, name: str, given: VariableValues, root: str, label: Ints) -> VariableValues:
    types = [v.type for v in model.variables[name].indexing.variables]
    codes = tuple(
        label[c] if isinstance(t, Element) and t.root == root else c for t, c in zip(types, given.codes, strict=True)
    )
    return VariableValues(codes, given.values)
