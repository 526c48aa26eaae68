"""Distributes the parts of a job (pods, pod sets) to the nodes of a plan."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched_dsl.drivers.protocol import Allocation


def nodes_of_parts(sizes: Sequence[int], allocation: Allocation) -> tuple[str, ...] | None:
    """A node for each part, so that the parts of a node use exactly its GPUs; None if that is impossible.

    `sizes` are the GPUs of each part, at least 1. Equal parts are interchangeable, so that the search is short.
    """
    left = {node: gpus for node, gpus in allocation.items() if gpus}
    order = sorted(range(len(sizes)), key=lambda part: -sizes[part])
    chosen: list[str] = [""] * len(sizes)
    if sum(sizes) != sum(left.values()) or not _place(order, 0, sizes, left, chosen):
        return None
    return tuple(chosen)


def _place(order: Sequence[int], at: int, sizes: Sequence[int], left: dict[str, int], chosen: list[str]) -> bool:
    """Place all equal parts from `at` on, then the smaller ones."""
    if at == len(order):
        return True
    size = sizes[order[at]]
    end = at
    while end < len(order) and sizes[order[end]] == size:
        end += 1
    if end == len(order):  # only equal parts are left: they fill every node, or nothing does
        if any(gpus % size for gpus in left.values()):
            return False
        places = [node for node, gpus in left.items() for _ in range(gpus // size)]
        if len(places) != end - at:
            return False
        for part, node in zip(order[at:end], places, strict=True):
            chosen[part] = node
        return True
    return any(
        _try(order, at, node, sizes, left, chosen) for node in sorted(left, key=lambda n: left[n]) if left[node] >= size
    )


def _try(
    order: Sequence[int], at: int, node: str, sizes: Sequence[int], left: dict[str, int], chosen: list[str]
) -> bool:
    left[node] -= sizes[order[at]]
    chosen[order[at]] = node
    if _place(order, at + 1, sizes, left, chosen):
        return True
    left[node] += sizes[order[at]]
    return False
