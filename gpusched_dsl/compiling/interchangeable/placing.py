"""Disaggregates sums over interchangeable elements: assigns work to elements, slot by slot.

In each slot, columns of the core that were 1 on an element before and still are stay there; elements that carried go on
carrying before others begin to; columns of the core that are new take free elements that carry; the columns of a group
share what is then free. So all elements that change a column change it the same way, and as few change as can.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.interchangeable.effects import EffectColumns
from gpusched_dsl.compiling.interchangeable.local import CELLS
from gpusched_dsl.compiling.interchangeable.slots import ElementSlot, ElementSlots
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Ints
from gpusched_dsl.ir.tolerances import ROUNDING

TINY = ROUNDING  # of an effect: what solvers leave


def place(slots: ElementSlots, counts: Codes, elements: int) -> Bools:
    """Which column (row) is 1 on which element (column), for how many elements each is to be; carriers with them.

    Raises ValueError where the counts break the rows of the sums.
    """
    held = np.zeros((len(counts), elements), dtype=np.bool_)
    into = np.full(len(counts) + 1, -1, dtype=np.int64)  # the last cell is that of column -1, for none
    nothing = np.full(elements, -1, dtype=np.int64), np.zeros(elements, dtype=np.bool_)
    done: list[tuple[Codes, Bools]] = []
    for slot in slots.slots:
        column, carried = done[slot.after] if slot.after >= 0 else nothing
        into[slot.was] = slot.now
        done.append(_place_core(slot, counts, into[column], carried & slot.carried, held))
        into[slot.was] = -1
    return held


def _place_core(slot: ElementSlot, counts: Codes, wanted: Codes, carried: Bools, held: Bools) -> tuple[Codes, Bools]:
    """Return the core column of each element, and which elements are carriers; write to `held`."""
    exclusion = slot.exclusion
    keep = (wanted >= 0) & (_rank(wanted) < counts[wanted])
    column = np.where(keep, wanted, -1)
    carries = np.ones(len(wanted), dtype=np.bool_)
    if exclusion.carrier >= 0:
        carries[:] = False
        first = np.argsort(np.where(keep, 0, np.where(carried, 1, 2)), kind="stable")
        carries[first[: counts[exclusion.carrier]]] = True
        held[exclusion.carrier] = carries
    core = exclusion.core
    kept = np.bincount(np.searchsorted(core, column[keep]), minlength=len(core))
    new = np.repeat(core, counts[core] - kept)
    free = np.flatnonzero(carries & ~keep)
    amounts = counts[exclusion.members]
    ends = np.concatenate(([0], np.cumsum(amounts)))
    starts = ends[exclusion.starts]
    if len(new) + np.diff(starts).max(initial=0) > len(free) or not carries[keep].all():
        raise ValueError("more work in a slot than elements")
    column[free[: len(new)]] = new
    busy = np.flatnonzero(column >= 0)
    held[column[busy], busy] = True
    group = np.repeat(starts[:-1], np.diff(starts))
    rank = np.arange(len(group)) - group
    held[np.repeat(exclusion.members, amounts), free[len(new) + rank]] = True
    return column, carries


def _rank(column: Codes) -> Codes:
    """Count the earlier elements with the same column."""
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    rank = np.empty(len(column), dtype=np.int64)
    rank[order] = np.arange(len(column)) - np.searchsorted(ordered, ordered)
    return rank


Entries = tuple[Codes, Codes, Floats]
"""Columns (places in the component), elements (places in the class), values."""


def equal_shares(held: Bools, tied: Codes, host: Codes, values: Floats) -> Entries:
    """Equal parts of the sums of tied columns: on all elements that have the host, on all where none has."""
    used = np.flatnonzero(values[tied] != 0)
    tied, host = tied[used], host[used]
    blocks: list[Entries] = []
    for begin, end in _blocks(len(tied), held.shape[1]):
        has = held[host[begin:end]]
        has[(host[begin:end] < 0) | ~has.any(axis=1)] = True
        part = values[tied[begin:end]] / has.sum(axis=1)
        at, element = np.nonzero(has)
        blocks.append((tied[begin:end][at], element, part[at]))
    return _join(blocks)


def effect_values(held: Bools, effects: EffectColumns, most: Floats, values: Floats) -> Entries:
    """Return values of effects for the states of elements, with the given sums; `most` are the bounds of
    one element.
    """
    blocks: list[Entries] = []
    for begin, end in _blocks(len(effects.column), held.shape[1]):
        at = slice(begin, end)
        column, before = effects.column[at], effects.before[at]
        change = held[effects.state[at]].astype(np.int8)
        change -= (held[before] & (before >= 0)[:, None]).astype(np.int8)
        need = np.choose(change + 1, (effects.down[at, None], effects.none[at, None], effects.up[at, None]))
        more = values[column] - need.sum(axis=1)
        rest = np.flatnonzero(more > TINY * np.maximum(1.0, np.abs(values[column])))
        room = np.minimum(most[column[rest], None] - need[rest], more[rest, None])
        filled = np.cumsum(room, axis=1) - room
        need[rest] += np.clip(more[rest, None] - filled, 0.0, room)
        row, element = np.nonzero(need)
        blocks.append((column[row], element, need[row, element]))
    return _join(blocks)


def _blocks(count: int, width: int) -> list[tuple[int, int]]:
    step = max(1, CELLS // max(width, 1))
    return [(begin, min(begin + step, count)) for begin in range(0, count, step)]


def _join(blocks: list[Entries]) -> Entries:
    none: Ints = np.zeros(0, dtype=np.int64)
    blocks = [*blocks, (none, none, np.zeros(0))]
    column, element, value = (np.concatenate(p) for p in zip(*blocks, strict=True))
    return column, element, value
