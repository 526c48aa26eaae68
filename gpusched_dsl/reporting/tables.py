"""Values over a domain as polars tables: a column per index, named like the indices in the model, and `value`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Values
from gpusched_dsl.ir.domains import Component, Domain
from gpusched_dsl.reporting.index_names import VALUE

if TYPE_CHECKING:
    import polars as pl


def label_column(component: Component, codes: Codes, name: str) -> pl.Series:
    """A column of labels: Int64 for integers, String for names."""
    import polars as pl

    if component is None:
        return pl.Series(name, codes, dtype=pl.Int64)
    if component.integer_labels is not None:
        return pl.Series(name, component.integer_labels[codes], dtype=pl.Int64)
    labels = pl.Series(name, [str(label) for label in component.labels], dtype=pl.String)
    return labels.gather(codes)


def table(
    domain: Domain,
    values: Sequence[Any] | Values,
    names: Sequence[str],
    *,
    value_name: str = VALUE,
    positions: Codes | None = None,
) -> pl.DataFrame:
    """One row per element of `domain` (or of its `positions`, for which `values` are given), in its order."""
    import polars as pl

    columns = domain.columns()
    if positions is not None:
        columns = tuple(c[positions] for c in columns)
    series = [label_column(u, c, n) for u, c, n in zip(domain.components, columns, names, strict=True)]
    return pl.DataFrame([*series, pl.Series(value_name, values)])


def plain_numbers(values: Values, integer: bool) -> list[float | int]:
    """Return Python numbers for files: integers if `integer`."""
    if integer and np.array_equal(values, np.rint(values)):
        integers: list[float | int] = values.astype(np.int64).tolist()
        return integers
    reals: list[float | int] = (values + 0.0).tolist()
    return reals
