"""Every pass obeys the laws of `pass_laws` on random small problems: alone, and after those before it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest
from choices import random_choices
from one_kind_problems import linked_products, random_comparisons, random_quotients, with_fixed_columns
from pass_laws import EVERY_PASS, Sample, apply_all_checked, apply_checked, assert_reformulated
from random_problems import random_problem
from random_rows import random_equations, random_rows, random_sums, two_families
from small import small_problem

from gpusched_dsl.compiling.passes.nonlinear import PASSES
from gpusched_dsl.compiling.passes.pipeline import TIGHTENINGS
from gpusched_dsl.compiling.passes.reductions import REDUCTIONS
from gpusched_dsl.compiling.passes.steps import INDICATOR, INTEGERS, Target
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

TARGETS = (Target("rows"), Target("conditions", frozenset({INTEGERS, INDICATOR})))
POWERS = Target("powers", frozenset({INTEGERS, "power", "product"}))
INTERVALS = ("no_overlap", "cumulative", "no_overlap", "cumulative", "extreme", "holds", "distinct")


def terms(seed: int) -> Problem:
    return small_problem(seed, results=3 + seed % 2, continuous=0.3 * (seed % 3 == 0))


def kinds(seed: int) -> Problem:
    return random_problem(np.random.default_rng(seed), binaries=3, whole=1, continuous=seed % 2, blocks=2)


def products(seed: int) -> Problem:
    shape = {"binaries": 3, "whole": 0, "continuous": 2} if seed % 2 else {"binaries": 3, "whole": 2}
    return random_problem(np.random.default_rng(seed), ["product"], plain=seed % 3 > 0, **shape)


def fixed(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    return with_fixed_columns(random_problem(rng, continuous=seed % 2, blocks=2, rows=2), rng)


def by(make: Callable[[np.random.Generator], Problem]) -> Callable[[int], Problem]:
    return lambda seed: make(np.random.default_rng(seed))


# Problems, and passes that change some of the first few.
SHAPES: dict[str, tuple[Callable[[int], Problem], set[str]]] = {
    "terms": (terms, {"extremes", "reified", "indicators", "whole_arguments"}),
    "kinds": (kinds, {"extremes", "piecewise", "distinct values", "unused_columns"}),
    "products": (products, {"binary_times", "integer_products", "binary_products"}),
    "linked products": (by(linked_products), {"implied_factors"}),
    "comparisons": (random_comparisons, {"chosen values", "reified"}),
    "quotients": (random_quotients, {"reciprocals"}),
    "intervals": (lambda seed: random_problem(np.random.default_rng(seed), INTERVALS, blocks=1), {"interval_orders"}),
    "fixed": (fixed, {"fixed_columns", "fixed_factors", "redundant_rows"}),
    "choices": (by(random_choices), {"positive_parts", "clique_links", "implied_rows", "lifted_capacities"}),
    "sums": (by(random_sums), {"defined_sums"}),
    "rows": (by(random_rows), {"network_integrality", "unused_columns"}),
    "nested rows": (by(two_families), {"network_integrality"}),
    "equations": (by(random_equations), {"implied_integers", "scaling"}),
}


def check(shape: str, seed: int) -> set[str]:
    """The names of the passes that changed something."""
    sample = Sample(SHAPES[shape][0](seed))
    target = POWERS if shape == "quotients" else TARGETS[seed % 2]
    changed = set()
    for one in EVERY_PASS:
        with suppress(DiagnosticError):
            changed |= {one.name} if apply_checked(one, sample, target) else set()
    order = np.random.default_rng(seed).permutation(len(TIGHTENINGS))
    with suppress(DiagnosticError):
        changed |= set(apply_all_checked((*PASSES, *(TIGHTENINGS[k] for k in order), *REDUCTIONS), sample, target))
    assert_reformulated(sample, target)
    return changed


@pytest.mark.parametrize("shape", SHAPES)
def test_all_laws_are_kept(shape: str) -> None:
    changed = set[str]().union(*(check(shape, seed) for seed in range(4)))
    assert SHAPES[shape][1] <= changed


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seeds", range(10))
def test_all_laws_are_kept_on_many(shape: str, seeds: int) -> None:
    for seed in range(1000 + 40 * seeds, 1040 + 40 * seeds):
        check(shape, seed)
