"""Comparison of two problems: against a comparison key by key, with added, removed and moved columns and rows."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest
from labelled import Key, Labelled, change, keys_of, random_labelled

from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.changes import changes, places_in
from gpusched_dsl.ir.domains import Domain, IntervalDomain, ProductDomain, ScalarDomain, TupleDomain, Universe, decode
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Problem


def named(keys: list[Key], numbers: Codes) -> set[Key]:
    return {keys[n] for n in numbers.tolist()}


def pairs(rows: list[Key], columns: list[Key], places: tuple[Codes, Codes]) -> set[tuple[Key, Key]]:
    return {(rows[r], columns[c]) for r, c in zip(*(p.tolist() for p in places), strict=True)}


def hold_to_keys(old: Labelled, new: Labelled, before: Problem, after: Problem) -> None:
    made = changes(before, after)
    was, now = keys_of(before.column_families), keys_of(after.column_families)
    assert named(now, np.flatnonzero(made.columns.old_of < 0)) == set(now) - set(was)
    assert named(was, np.flatnonzero(made.columns.new_of < 0)) == set(was) - set(now)
    assert [was[n] for n in made.columns.old_of[made.columns.kept_numbers]] == [
        now[n] for n in made.columns.kept_numbers
    ]
    assert [n for n in made.columns.new_of if n >= 0] == [now.index(key) for key in was if key in now]
    assert made.columns.is_identity == (was == now)
    rows_were, rows_are = keys_of(before.constraints), keys_of(after.constraints)
    assert named(rows_are, np.flatnonzero(made.rows.old_of < 0)) == set(rows_are) - set(rows_were)
    assert named(rows_were, np.flatnonzero(made.rows.new_of < 0)) == set(rows_were) - set(rows_are)
    kept, kept_rows = set(was) & set(now), set(rows_were) & set(rows_are)

    def differs(*fields: str) -> set[Key]:
        return {k for k in kept if any(getattr(old.columns[k], f) != getattr(new.columns[k], f) for f in fields)}

    assert named(now, made.costs) == differs("cost")
    assert named(now, made.bounds) == differs("lower", "upper")
    assert named(now, made.integrality) == differs("integer")
    sides = {k for k in kept_rows if (old.rows[k].lower, old.rows[k].upper) != (new.rows[k].lower, new.rows[k].upper)}
    assert named(rows_are, made.sides) == sides
    were = {(r, c): v for r in kept_rows for c, v in old.rows[r].entries.items() if c in kept}
    are = {(r, c): v for r in kept_rows for c, v in new.rows[r].entries.items() if c in kept}
    both = set(were) & set(are)
    assert pairs(rows_are, now, made.coefficients.changed) == {k for k in both if were[k] != are[k]}
    assert pairs(rows_are, now, made.coefficients.added) == set(are) - both
    assert pairs(rows_are, now, made.coefficients.removed) == set(were) - both
    assert made.sense == (old.sense != new.sense)
    assert made.offset == new.offset - old.offset
    point = np.arange(1.0, before.columns + 1)
    carried = made.point(point)
    for n, key in enumerate(now):
        column = new.columns[key]
        expected = point[was.index(key)] if key in kept else min(max(0.0, column.lower), column.upper)
        assert carried[n] == expected


@pytest.mark.parametrize("seed", range(40))
def test_random_changes(seed: int) -> None:
    draw = random.Random(seed)
    made = random_labelled(draw, integers=True)
    before = made.problem(draw)
    assert changes(before, before).is_empty
    for _ in range(8):
        old = copy.deepcopy(made)
        for _ in range(draw.randint(0, 3)):
            change(made, draw, integers=True)
        after = made.problem(draw)
        hold_to_keys(old, made, before, after)
        before = after


def test_nothing_means_nothing() -> None:
    draw = random.Random(5)
    made = random_labelled(draw, integers=True)
    before = made.problem(random.Random(1))
    assert changes(before, made.problem(random.Random(1))).is_empty
    made.offset += 1
    assert not changes(before, made.problem(random.Random(1))).is_empty


JOBS = Universe("Jobs", ("a", "b", "c"))
FEWER = Universe("Jobs", ("c", "n", "a"))
NUMBERED = Universe("Slots", (3, 1, 2))


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        (ScalarDomain(), ScalarDomain(), [0]),
        (ScalarDomain(), IntervalDomain(1, 2), [-1, -1]),
        (IntervalDomain(0, 2, 1, JOBS), IntervalDomain(0, 2, 1, FEWER), [2, -1, 0]),
        (IntervalDomain(1, 3), IntervalDomain(2, 5), [1, 2, -1, -1]),
        (IntervalDomain(1, 9, 2), IntervalDomain(1, 5), [0, -1, 1, -1, 2]),
        (IntervalDomain(0, 2, 1, NUMBERED), IntervalDomain(1, 3), [-1, -1, -1]),  # an element is no integer
        (IntervalDomain(3, 2), IntervalDomain(1, 2), [-1, -1]),
        (IntervalDomain(1, 2), IntervalDomain(3, 2), []),
        (
            ProductDomain((IntervalDomain(0, 2, 1, JOBS), IntervalDomain(1, 2))),
            ProductDomain((IntervalDomain(0, 2, 1, FEWER), IntervalDomain(2, 3))),
            [5, -1, -1, -1, 1, -1],
        ),
        (
            TupleDomain((JOBS, None), (np.array([2, 0]), np.array([7, 7]))),
            ProductDomain((IntervalDomain(0, 2, 1, FEWER), IntervalDomain(7, 7))),
            [0, -1, 1],
        ),
    ],
)
def test_places(old: Domain, new: Domain, places: list[int]) -> None:
    found = places_in(old, new)
    assert found.tolist() == places
    for at, place in enumerate(places):
        if place >= 0 and old.arity:
            assert decode(old.components, [c[place : place + 1] for c in old.columns()])[0] == new.tuple_at(at)


def test_families_of_one_name_are_matched_in_their_order() -> None:
    def built(*sizes: int) -> Problem:
        ends = np.cumsum([0, *sizes]).tolist()
        families = tuple(
            Family("term", first, IntervalDomain(1, size)) for first, size in zip(ends, sizes, strict=False)
        )
        zeros = np.zeros(ends[-1])
        none = Matrix.empty()
        return Problem("p", families, zeros, zeros, zeros > 0, (), none, np.zeros(0), np.zeros(0))

    made = changes(built(2, 3), built(3, 1, 2))
    assert made.columns.old_of.tolist() == [0, 1, -1, 2, -1, -1]
    assert made.columns.new_of.tolist() == [0, 1, 3, -1, -1]
    assert made.kept_share == 0.5
