"""Laws of random quantities, and lists of numbers."""

from __future__ import annotations

from msgspec import Struct

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked.base import TypedExpr, TypedIndexing
from gpusched_dsl.language.source import Span


class TypedList(Struct, frozen=True, kw_only=True):
    """Numbers in braces, in their order and with repetitions: `{ (10[epoch], 0.3), ... }`, `{ w[s] : s in Samples }`.

    Without an index list each row is one item, else the only row is the item of each index tuple.
    """

    span: Span
    rows: tuple[tuple[TypedExpr, ...], ...]
    indexing: TypedIndexing | None = None


class SampleFile(Struct, frozen=True, kw_only=True):
    """A column of a data file with samples, and the conversion of its values to the unit of the random quantity.

    `item` names the columns as an item of a data statement would: for each index of the random its key, then the values
    and, when there is one, the weights.
    """

    data: tree.Data
    item: tree.DataItem
    value: str
    keys: tuple[str, ...] = ()
    weight: str | None = None
    unit: TypedExpr | None = None


class TypedLaw(Struct, frozen=True, kw_only=True):
    """A distribution: `numbers` by the names of its arguments, quantities in the unit of the random.

    `points` holds the list of `discrete`, `empirical` and `survival_points`, `file` the file of `empirical`; `parts`
    are the laws that `mixture` (with `weights`), `truncate` and `censor` are made of.
    """

    span: Span
    name: str
    numbers: tuple[tuple[str, TypedExpr], ...] = ()
    points: TypedList | None = None
    file: SampleFile | None = None
    parts: tuple[TypedLaw, ...] = ()
    weights: tuple[TypedExpr, ...] = ()
