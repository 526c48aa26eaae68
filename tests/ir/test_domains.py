"""Domains find every one of their tuples at its position and nothing else."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched_dsl.ir.domains import Domain, IntervalDomain, ProductDomain, TupleDomain, Universe

LETTERS = Universe("Letters", ("a", "b", "c", "d"))


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    kind = draw(st.sampled_from(["interval", "root", "subset", "tuples", "product"]))
    if kind == "interval":
        return IntervalDomain(draw(st.integers(-3, 3)), draw(st.integers(-3, 6)), draw(st.integers(1, 3)))
    if kind == "root":
        return IntervalDomain(0, len(LETTERS.labels) - 1, 1, LETTERS)
    if kind == "subset":
        codes = draw(st.lists(st.integers(0, 3), unique=True))
        return TupleDomain((LETTERS,), (np.array(codes, dtype=np.int64),))
    if kind == "tuples":
        rows = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), unique=True))
        columns = np.array(rows, dtype=np.int64).reshape(-1, 2).T
        return TupleDomain((LETTERS, None), (columns[0], columns[1]))
    interval = IntervalDomain(1, draw(st.integers(0, 3)))
    other = draw(domains().filter(lambda d: d.arity <= 2))
    return ProductDomain(draw(st.sampled_from([(other, interval), (interval, other), (interval, other, interval)])))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(domains())
def test_every_tuple_is_at_its_position(domain: Domain) -> None:
    columns = domain.columns()
    assert [len(c) for c in columns] == [domain.size] * domain.arity
    assert domain.locate(columns).tolist() == list(range(domain.size))
    labels = list(zip(*domain.label_columns(), strict=True))
    assert len(set(labels)) == domain.size
    assert [domain.tuple_at(p) for p in range(domain.size)] == labels


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(domains())
def test_nothing_else_is_found(domain: Domain) -> None:
    inside = set(zip(*(c.tolist() for c in domain.columns()), strict=True))
    tried = list(itertools.product(range(-5, 9), repeat=domain.arity))
    columns = [np.array(c, dtype=np.int64) for c in zip(*tried, strict=True)]
    found = domain.locate(columns)
    for row, position in zip(tried, found.tolist(), strict=True):
        assert (position >= 0) == (row in inside)


@settings(max_examples=100, deadline=None)
@given(domains(), st.lists(st.integers(-4, 7), unique=True), st.data())
def test_parts_are_those_of_the_columns(domain: Domain, codes: list[int], data: st.DataObject) -> None:
    columns = domain.columns()
    place = data.draw(st.integers(0, domain.arity - 1))
    wanted = np.array(codes, dtype=np.int64)
    positions = np.flatnonzero(np.isin(columns[place], wanted))
    assert domain.positions_with(place, wanted).tolist() == positions.tolist()
    assert domain.counts_of(place, wanted).tolist() == [int((columns[place] == code).sum()) for code in codes]
    for found, column in zip(domain.columns_at(positions), columns, strict=True):
        assert found.tolist() == column[positions].tolist()


def test_wide_tuples_are_found_by_search() -> None:
    codes = (np.array([0, 10**9, 5]), np.array([7, -(10**8), 3]))
    domain = TupleDomain((None, None), codes)
    assert domain.locate(codes).tolist() == [0, 1, 2]
    assert domain.locate((np.array([0, 10**9 + 1]), np.array([3, 3]))).tolist() == [-1, -1]
