"""Positions of a domain as the labels of their indices."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Values
from gpusched_dsl.ir.domains import Domain, Scalar, decode_column
from gpusched_dsl.language.text.numbers import NOISE


def nonzero_positions(values: Values) -> Codes:
    """Where values are more than a solver's noise."""
    return np.flatnonzero(np.abs(values) > NOISE)


def label_rows(domain: Domain, positions: Codes) -> list[list[Scalar]]:
    """The index tuples at some positions, as lists of labels."""
    if not domain.components:
        return [[] for _ in range(len(positions))]
    columns = [c[positions] for c in domain.columns()]
    labels = [decode_column(u, c) for u, c in zip(domain.components, columns, strict=True)]
    return [list(row) for row in zip(*labels, strict=True)]
