"""Distributes rows to folds by groups: the rows of one group are in one fold.

Rows of one job on several GPU models are near copies: split among folds, they would make any learner look good.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Ints


def folds_of(groups: Ints, count: int, seed: int) -> Ints:
    """The fold (from 0) of every row; at most `count` folds, each of about as many rows.

    Groups are shuffled by the seed; then the largest goes first, each to the fold with the fewest rows.
    """
    names, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    count = min(count, len(names))
    shuffled = np.random.default_rng(seed).permutation(len(names))
    order = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    filled = np.zeros(max(count, 1), dtype=np.int64)
    fold = np.zeros(len(names), dtype=np.int64)
    for group in order:
        fold[group] = int(np.argmin(filled))
        filled[fold[group]] += sizes[group]
    return fold[codes]
