"""Declarations without a cycle are sorted as the graph library sorts them, without loading it."""

from __future__ import annotations

import random

import networkx
import pytest

from gpusched_dsl.language.checking.dependencies import _sort_acyclic
from gpusched_dsl.language.source import Source, Span


@pytest.mark.parametrize("seed", range(60))
def test_random_needs_are_sorted_as_by_the_graph_library(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"n{number}" for number in range(rng.randrange(1, 12))]
    place = {name: number for number, name in enumerate(names)}
    span = Span(Source("m.gsm", ""), 0, 0)
    needs = {name: dict.fromkeys(rng.sample(names, min(len(names), rng.randrange(3))), span) for name in names}
    graph = networkx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from((used, name) for name, all_used in needs.items() for used in all_used)
    expected = None
    if networkx.is_directed_acyclic_graph(graph):
        expected = list(networkx.lexicographical_topological_sort(graph, key=place.__getitem__))
    assert _sort_acyclic(needs) == expected
