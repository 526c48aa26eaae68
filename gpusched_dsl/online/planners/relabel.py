"""Names of nodes after a plan for interchangeable ones: as many jobs as can stay where they were.

Where nodes are interchangeable a solver's names for them are arbitrary. Which content goes to which node is an
assignment problem: most jobs that keep node and way, then most nodes that keep their type. A. Jahani et al. (2019) name
nodes anew at no cost; here it keeps migrations down that nobody asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.language.checked import CheckedModel, Element

CHOSEN = 0.5


def interchangeable(model: CheckedModel, store: ValueStore) -> tuple[str, Ints] | None:
    """The root set of the placement's nodes, and a class for each: nodes of one class may trade names.

    None where nodes are not declared `identical`, or where something that is given or carried tells them apart.
    """
    placement = model.placement
    if placement is None:
        return None
    node = placement.index("node")
    if node is None or not isinstance(node.type, Element):
        return None
    root = node.type.root
    declared = model.sets[root]
    count = len(store.universes[root].labels)
    by = declared.identical_by
    if not declared.identical and by is None:
        return None
    for name, param in model.params.items():
        if name == by or param.value is not None or name not in store.params:
            continue
        if any(c is store.universes[root] for c in store.params[name].domain.components):
            return None
    if by is None:
        return root, np.zeros(count, dtype=np.int64)
    _, classes = np.unique(store.params[by].values, return_inverse=True)
    return root, classes.reshape(-1).astype(np.int64)


def relabel(
    model: CheckedModel, store: ValueStore, values: Mapping[str, VariableValues], running: Mapping[str, VariableValues]
) -> Mapping[str, VariableValues]:
    """The same plan with nodes named so that jobs stay where they run. All codes are those of one instance."""
    found = interchangeable(model, store)
    placement = model.placement
    if found is None or placement is None:
        return values
    root, classes = found
    new, old = values.get(placement.variable), running.get(placement.variable)
    if new is None or old is None or not len(old.values):
        return values
    at = next(i for i, v in enumerate(placement.indices) if isinstance(v.type, Element) and v.type.root == root)
    label = _labels(_chosen_rows(new), _chosen_rows(old), at, classes)
    return {name: _relabel(model, name, given, root, label) for name, given in values.items()}


def _chosen_rows(given: VariableValues) -> Codes:
    """Entries that are 1, a row for each."""
    return np.stack([c[given.values > CHOSEN] for c in given.codes], axis=1)


def _labels(new: Codes, old: Codes, at: int, classes: Ints) -> Ints:
    """Where the content of each node goes."""
    from scipy.optimize import linear_sum_assignment

    rest = [i for i in range(new.shape[1]) if i != at]
    keys = np.concatenate((new[:, rest], old[:, rest]))
    _, number = np.unique(keys, axis=0, return_inverse=True)
    number = number.reshape(-1)
    before = np.full(int(number.max(initial=-1)) + 1, -1, dtype=np.int64)
    before[number[len(new) :]] = old[:, at]
    where = before[number[: len(new)]]
    stays = where >= 0
    label = np.arange(len(classes))
    for group in np.unique(classes).tolist():
        members = np.flatnonzero(classes == group)
        mine = stays & (classes[new[:, at]] == group) & np.isin(where, members)
        if not mine.any():
            continue
        kept: Floats = np.zeros((len(members), len(members)))
        np.add.at(kept, (np.searchsorted(members, new[mine, at]), np.searchsorted(members, where[mine])), 1.0)
        # One job that stays is worth more than all names that could be left alone.
        _, place = linear_sum_assignment((len(members) + 1) * kept + np.eye(len(members)), maximize=True)
        label[members] = members[place]
    return label


def _relabel(model: CheckedModel, name: str, given: VariableValues, root: str, label: Ints) -> VariableValues:
    types = [v.type for v in model.variables[name].indexing.variables]
    codes = tuple(
        label[c] if isinstance(t, Element) and t.root == root else c for t, c in zip(types, given.codes, strict=True)
    )
    return VariableValues(codes, given.values)
