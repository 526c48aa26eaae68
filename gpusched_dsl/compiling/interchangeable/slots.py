"""The columns of an element in one slot: a carrier, columns that exclude each other on it, and linked columns.

Slots are not named in a problem: they are what is left connected when the rows of effects are taken away.
`ElementSlots` says which column plays which part in which slot, and how slots follow one another by the changes that
effects follow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from gpusched_dsl.compiling.interchangeable.effects import EffectColumns, is_state
from gpusched_dsl.compiling.interchangeable.exclusion import Exclusion, exclusion_of
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.local import Local
from gpusched_dsl.compiling.interchangeable.packing_rows import Kinds, kinds_of
from gpusched_dsl.compiling.interchangeable.work import ElementWork
from gpusched_dsl.ir.arrays import Bools, Codes, numbered_by_first
from gpusched_dsl.ir.graph import connected_components


@dataclass(frozen=True, eq=False)
class ElementSlot:
    """One slot: who excludes whom, and how it follows another.

    `after` is the place of the slot that it follows in the order of `ElementSlots.slots`, -1 for none; column `was[i]`
    of that slot becomes `now[i]` of this one. `carried`: the carrier is among these.
    """

    exclusion: Exclusion
    after: int
    was: Codes
    now: Codes
    carried: bool


@dataclass(frozen=True, eq=False)
class ElementSlots:
    """`slots` in an order in which each follows one before it; all columns are places in the component.

    `carriers` are the columns of carriers. Tied column `tied[i]` belongs to column `host[i]`, -1 for to none.
    `kinds` has the kinds of rows, `rounded` are carriers that need not be integer in the model.
    """

    slots: tuple[ElementSlot, ...]
    carriers: Codes
    rounded: Codes
    tied: Codes
    host: Codes
    kinds: Kinds


def slots_of(local: Local, effects: EffectColumns, free: Bools, work: ElementWork) -> ElementSlots:
    """The slots of an element; raises Obstacle naming the rows that do not fit."""
    return _Slots(local, effects, free, work).run()


class _Slots:
    def __init__(self, local: Local, effects: EffectColumns, free: Bools, work: ElementWork) -> None:
        self.local, self.effects, self.work = local, effects, work
        self.columns = local.own.shape[1]
        self.is_effect = np.zeros(self.columns, dtype=np.bool_)
        self.is_effect[effects.column] = True
        self.state = is_state(local, free) & ~self.is_effect
        pairs = np.stack((effects.before, effects.state), axis=1)[effects.changes]
        self.pairs: Codes = np.unique(pairs, axis=0) if len(pairs) else np.zeros((0, 2), dtype=np.int64)
        self.within = np.ones(local.own.shape[0], dtype=np.bool_)
        self.within[effects.rows] = False

    def run(self) -> ElementSlots:
        path = connected_components(self.columns, *self.pairs.T)
        followed = np.zeros(self.columns, dtype=np.bool_)
        followed[self.effects.state] = True
        followed[self.pairs] = True
        self._refuse_counted()
        slot = self._pieces()
        kinds = kinds_of(self.local, self.within, self.state, np.where(followed, path, -1))
        pieces = self._ordered_slots(slot)
        exclusions = exclusion_of(self.local, kinds, slot, self.state, self.work)
        self._refuse_stray(exclusions, kinds.carrier)
        slots = tuple(_slot(exclusions[p], after, was, now, kinds.carrier) for p, after, was, now in pieces)
        carriers = np.flatnonzero(kinds.carrier)
        rounded = carriers[~self.local.integer[carriers]]
        tied = np.flatnonzero(kinds.host >= -1)
        return ElementSlots(slots, carriers, rounded, tied, kinds.host[tied], kinds)

    def _pieces(self) -> Codes:
        """The slot of every column, -1 for effects; numbered by their first columns."""
        own = self.local.own[np.flatnonzero(self.within)].tocoo()
        count = self.columns + own.shape[0]  # columns, followed by the rows within a slot
        label = connected_components(count, own.col, self.columns + own.row)
        bad = np.flatnonzero(label[self.pairs[:, 0]] == label[self.pairs[:, 1]])
        if len(bad):
            graph = sparse.coo_matrix((np.ones(len(own.row)), (own.col, self.columns + own.row)), (count, count))
            raise self._link_obstacle(graph.tocsr(), *self.pairs[bad[0]].tolist())
        slot = np.full(self.columns, -1, dtype=np.int64)
        known = np.flatnonzero(~self.is_effect)
        slot[known] = numbered_by_first(label[known])[1]
        return slot

    def _link_obstacle(self, graph: sparse.csr_matrix, one: int, other: int) -> Obstacle:
        """Return the links between two columns that depend on each other."""
        from scipy.sparse.csgraph import breadth_first_order

        _, previous = breadth_first_order(graph, one, directed=False)
        rows = np.flatnonzero(self.within)
        at, families = other, []
        while at != one:
            at = int(previous[at])
            if at >= self.columns:
                families.append(self.local.row_family(int(rows[at - self.columns])))
        names = list(dict.fromkeys(f"`{f.name}`" for f in families))
        message = f"{' and '.join(names)} {'links' if len(names) == 1 else 'link'}"
        moving = self.local.column_family(one).name
        root = self.local.quotient.root
        what = (
            f"{message} `{moving}` of one element of `{root}` to later decisions of the same element, so the "
            "identity of the continued elements matters, not only their number"
        )
        return Obstacle(what, families[0].span)

    # --- how slots follow one another --------------------------------------------------------------------------------

    def _ordered_slots(self, slot: Codes) -> list[tuple[int, int, Codes, Codes]]:
        """Slots in an order in which each follows one before it: its number, the place of that one, and the pairs."""
        from scipy.sparse.csgraph import breadth_first_order

        count = int(slot.max(initial=-1)) + 1
        ends = slot[self.pairs]
        links = np.unique(np.sort(ends, axis=1), axis=0) if len(ends) else np.zeros((0, 2), dtype=np.int64)
        graph = sparse.coo_matrix((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(count, count)).tocsr()
        label = connected_components(count, *links.T)
        if len(links) != count - (label.max(initial=-1) + 1):
            raise self._pair_obstacle(0, "depends on itself by two paths that no row links")
        both = np.concatenate((self.pairs, self.pairs[:, ::-1]))
        key = both[:, 0] * count + slot[both[:, 1]]
        _, first, times = np.unique(key, return_index=True, return_counts=True)
        if (times > 1).any():
            row = int(first[np.flatnonzero(times > 1)[0]]) % max(len(self.pairs), 1)
            raise self._pair_obstacle(row, "depends on two columns of one slot")
        _, roots = np.unique(label, return_index=True)
        order: list[int] = []
        parent = np.full(count, -1, dtype=np.int64)
        for root in roots.tolist():
            found, previous = breadth_first_order(graph, root, directed=False)
            parent[found[1:]] = previous[found[1:]]
            order += found.tolist()
        place = np.empty(count, dtype=np.int64)
        place[order] = np.arange(count)
        into = both[parent[slot[both[:, 1]]] == slot[both[:, 0]]]
        into = into[np.argsort(slot[into[:, 1]], kind="stable")]
        begin = np.searchsorted(slot[into[:, 1]], np.arange(count + 1))
        result = []
        for p in order:
            pairs = into[begin[p] : begin[p + 1]]
            after = int(place[parent[p]]) if parent[p] >= 0 else -1
            result.append((p, after, pairs[:, 0], pairs[:, 1]))
        return result

    def _pair_obstacle(self, pair: int, why: str) -> Obstacle:
        family = self.local.column_family(int(self.pairs[pair, 1]))
        return Obstacle(f"`{family.name}` of an element of `{self.local.quotient.root}` {why}", family.span)

    def _refuse_counted(self) -> None:
        counted = np.flatnonzero(self.local.integer & ~self.state & ~self.is_effect)
        if len(counted):
            family = self.local.column_family(int(counted[0]))
            raise Obstacle(f"`{family.name}` of one element is not binary", family.span)

    def _refuse_stray(self, exclusions: list[Exclusion], carrier: Bools) -> None:
        """Refuse columns that depend on their previous value unless they exclude or carry all others of their slot."""
        able = carrier.copy()
        for exclusion in exclusions:
            able[exclusion.core] = True
        for pair in np.flatnonzero(~able[self.pairs].all(axis=1)).tolist():
            raise self._pair_obstacle(pair, "depends on its previous value, but is not in all rows of its slot")
        for pair in np.flatnonzero(carrier[self.pairs[:, 0]] != carrier[self.pairs[:, 1]]).tolist():
            raise self._pair_obstacle(pair, "carries other columns in one slot only")


def _slot(exclusion: Exclusion, after: int, was: Codes, now: Codes, carrier: Bools) -> ElementSlot:
    moving = ~carrier[now]
    return ElementSlot(exclusion, after, was[moving], now[moving], bool((~moving).any()))
