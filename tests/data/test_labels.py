"""Codes of columns of labels: those of equal columns are computed once."""

from __future__ import annotations

import polars as pl
import pytest

from gpusched_dsl.data.labels import encode
from gpusched_dsl.ir.domains import Universe

TYPES = Universe("Types", ("v1", "v2", "v3"))


def column(*labels: str | None) -> pl.Series:
    return pl.Series(labels, dtype=pl.String)


def test_equal_columns_share_their_codes() -> None:
    first = encode(column("v2", "v1", "v2"), TYPES)
    assert first.codes.tolist() == [1, 0, 1]
    assert encode(column("v2", "v1", "v2"), TYPES).codes is first.codes


@pytest.mark.parametrize(
    ("labels", "codes"),
    [
        (("v2", "v1", "v3"), [1, 0, 2]),
        (("v2", "v1"), [1, 0]),
        (("v2", "v1", None), [1, 0, -1]),
        (("v2", "v1", "other"), [1, 0, -1]),
        ((), []),
    ],
)
def test_other_columns_have_their_own(labels: tuple[str | None, ...], codes: list[int]) -> None:
    encode(column("v2", "v1", "v2"), TYPES)
    found = encode(column(*labels), TYPES)
    assert found.codes.tolist() == codes
    assert found.is_known.tolist() == [code >= 0 for code in codes]
    assert encode(column(*labels), TYPES).codes.tolist() == codes


def test_a_set_with_the_same_labels_in_another_order_has_its_own_codes() -> None:
    encode(column("v2", "v1"), TYPES)
    assert encode(column("v2", "v1"), Universe("Types", ("v3", "v2", "v1"))).codes.tolist() == [1, 2]
