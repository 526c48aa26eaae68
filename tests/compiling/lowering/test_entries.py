"""Entries of rows made one part after another: every part at its place, whatever room was expected."""

import numpy as np
import pytest

from gpusched_dsl.compiling.lowering.affine import AffineBlock, assemble
from gpusched_dsl.compiling.lowering.entries import Entries
from gpusched_dsl.ir.arrays import Codes, Floats


def block(rows: Codes | None, columns: Codes, coefficients: Floats, family: str, distinct: bool = True) -> AffineBlock:
    return AffineBlock(rows, columns, coefficients, family, frozenset(), distinct)


def parts(rng: np.random.Generator) -> list[tuple[int, list[AffineBlock]]]:
    """Parts of all forms: aligned, single, mixed, with zero coefficients and with repeated columns."""
    found = []
    for _ in range(int(rng.integers(1, 7))):
        size = int(rng.integers(0, 6))
        blocks = []
        for at in range(int(rng.integers(0, 4))):
            aligned = bool(rng.integers(2))
            rows = (
                None if aligned else np.sort(rng.integers(0, max(size, 1), size=int(rng.integers(0, 9)) if size else 0))
            )
            count = size if rows is None else len(rows)
            columns = rng.integers(0, 5, size=count) if rng.integers(2) else np.arange(count)
            coefficients = (
                rng.integers(-1, 3, size=count) * 1.0 if rng.integers(2) else np.asarray(rng.integers(0, 2) * 1.0)
            )
            distinct = bool((np.diff(np.sort(columns)) > 0).all())
            blocks.append(block(rows, columns, coefficients, f"family{at}", distinct))
        found.append((size, blocks))
    return found


def dense(size: int, blocks: list[AffineBlock]) -> Floats:
    table = np.zeros((size, 9))
    for b in blocks:
        rows = np.arange(size) if b.rows is None else b.rows
        np.add.at(table, (rows, b.columns), b.coefficients)
    return table


@pytest.mark.quick(20)
@pytest.mark.parametrize("seed", range(200))
def test_every_part_is_at_its_place(seed: int) -> None:
    rng = np.random.default_rng(seed)
    entries = Entries(int(rng.integers(0, 40)))
    at, expected = 0, []
    for size, blocks in parts(rng):
        starts, columns, values = assemble(size, blocks, entries)
        alone = assemble(size, blocks)
        for ours, other in zip((starts, columns, values), alone, strict=True):
            np.testing.assert_array_equal(ours, other)
        table = np.zeros((size, 9))
        np.add.at(table, (np.repeat(np.arange(size), np.diff(starts)), columns), values)
        np.testing.assert_array_equal(table, dense(size, blocks))
        assert values.all()
        expected.append((slice(at, at + len(columns)), columns.copy(), values.copy()))
        at += len(columns)
    columns, values = entries.arrays()
    assert len(columns) == len(values) == entries.count == at
    for place, own, numbers in expected:
        np.testing.assert_array_equal(columns[place], own)
        np.testing.assert_array_equal(values[place], numbers)
