"""Patterns: those of one element against enumeration of its uses, and complete problems aggregated by patterns."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hostel import random_hostel
from summing import Case, case_of, check_exact, folded, summed, unfolded

from gpusched_dsl.compiling.interchangeable.components import components_of
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.members import Template, templates_of
from gpusched_dsl.compiling.interchangeable.parts import Component
from gpusched_dsl.compiling.interchangeable.patterns import by_patterns
from gpusched_dsl.compiling.interchangeable.uses import Uses
from gpusched_dsl.ir.problem import Objective, Term
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.solve import solve_problem

KNOWN = (
    "has different coefficients for", "no row limits", "with all members", "does not exist for every", "is not binary",
    "which does not pay",
)  # fmt: skip

Use = tuple[tuple[int, ...], tuple[tuple[tuple[int, ...], int], ...]]  # hubs, and how many members are in which state


def hostel(folder: Path, seed: int) -> Case:
    return case_of(folder, random_hostel(Random(seed)), "Hosts")


def counted(made: Case) -> str:
    """Why it is not counted by patterns, nothing where it is."""
    try:
        summed(made.small, (by_patterns,))
    except Obstacle as obstacle:
        return str(obstacle)
    return ""


def check_hostels(folder: Path, seeds: range) -> None:
    plans = refused = 0
    for seed in seeds:
        made = hostel(folder, seed)
        why = counted(made)
        if why:
            refused += 1
            assert any(words in why for words in KNOWN), (seed, why)
            continue
        plans += check_exact(made, seed, (by_patterns,)) is not None
    assert plans > 0.4 * len(seeds), (plans, refused)


@pytest.mark.slow
def test_hostels(tmp_path: Path) -> None:
    check_hostels(tmp_path, range(30))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1500, 50))
def test_hostels_often(tmp_path: Path, start: int) -> None:
    check_hostels(tmp_path, range(start, start + 50))


def random_packing(random: Random) -> str:
    """Jobs of two sizes or three with other costs each, on equal hosts; some rows are of single jobs, some of all."""
    jobs, hosts = random.randint(3, 5), random.randint(2, 3)
    sizes = [
        (random.randint(1, 3), random.choice((0, 0, 2)), random.choice((1, 2))) for _ in range(random.randint(2, 3))
    ]
    rows = ["constraint fits[h in Hosts]: sum[j in Jobs] memory[j] * on[j, h] <= 3 * open[h];"] * random.randint(0, 1)
    rows += ["constraint limit[j in Jobs, h in Hosts]: level[j] * on[j, h] <= 1.5 * open[h];"] * random.randint(0, 1)
    table = "\n".join(
        f"j{k} {' '.join(map(str, random.choice(sizes)))} {random.choice((-3, -1, 0.5))}" for k in range(jobs)
    )
    names = ", ".join(f"h{n}" for n in range(hosts))
    return f"""model Packing {{
  set Hosts; set Jobs; param size[Jobs]; param memory[Jobs]; param level[Jobs]; param likes[Jobs];
  var on[Jobs, Hosts] binary; var open[Hosts] integer >= 0 <= {random.choice((1, 2))};
  minimize sum[h in Hosts] 1.4 * open[h] + sum[j in Jobs, h in Hosts] likes[j] * on[j, h];
  constraint once[j in Jobs]: sum[h in Hosts] on[j, h] <= 1;
  constraint room[h in Hosts]: sum[j in Jobs] size[j] * on[j, h] <= 4 * open[h];
  {" ".join(rows)}
}}
scenario S for Packing {{ Hosts = {{ {names} }}; table Jobs: size memory level likes = {table}; }}
"""


def test_jobs_are_alike_where_their_numbers_on_an_element_are(tmp_path: Path) -> None:
    """Classes of jobs: as many as there are sizes, not as many as jobs."""
    several = 0
    for seed in range(20):
        made = case_of(tmp_path, random_packing(Random(seed)), "Hosts")
        if counted(made):
            continue
        check_exact(made, seed, (by_patterns,))
        template = uses_of(made, components_of(made.small)[0]).template
        check_uses(made, seed)
        several += 1 < template.column.shape[1] < len(template.members)
    assert several > 7


# --- the uses of one element -----------------------------------------------------------------------------------------


def uses_by_trying(made: Case, component: Component, template: Template) -> set[Use]:
    """Every use of one element that its rows allow, each member being in one exclusive position at most."""
    problem = made.small.problem
    rows = problem.matrix.take(component.rows)
    lower, upper = problem.row_lower[component.rows], problem.row_upper[component.rows]
    ranges = [range(int(problem.lower[c]), int(problem.upper[c]) + 1) for c in component.columns]
    found = set()
    point = np.zeros(problem.columns)
    for values in product(*ranges):
        point[component.columns] = values
        activity = rows.activity(point)
        if (activity < lower - 1e-9).any() or (activity > upper + 1e-9).any():
            continue
        states = [tuple(int(point[c]) if c >= 0 else 0 for c in row) for row in template.column]
        if any(np.dot(state, template.exclusive) > 1 for state in states):
            continue
        used = [state for state in states if any(state)]
        hubs = tuple(int(point[c]) for c in template.hubs)
        found.add((hubs, tuple(sorted((state, used.count(state)) for state in set(used)))))
    return found


def uses_of(made: Case, component: Component) -> Uses:
    """Those of the first set of members that fits."""
    for template in templates_of(made.small, component):
        try:
            return Uses(made.small, component, template)
        except Obstacle:
            continue
    raise AssertionError("no set of members fits")


def check_uses(made: Case, where: object) -> bool:
    """Whether fewer members never break a row of the (last) component."""
    closed = False
    for component in components_of(made.small):
        uses = uses_of(made, component)
        template, found = uses.template, uses.list_patterns()
        listed: set[Use] = set()
        for hubs, counts in zip(found.hubs.tolist(), found.counts.tolist(), strict=True):
            named = ((tuple(s), n) for s, n in zip(uses.states.tolist(), counts, strict=True) if n)
            listed.add((tuple(hubs), tuple(sorted(named))))
        assert len(listed) == len(found.hubs), where
        real = uses_by_trying(made, component, template)
        members = len(template.members)
        few = {use for use in listed if sum(n for _, n in use[1]) <= members}
        assert few <= real, (where, few - real)
        closed = uses.closed
        if not closed:
            assert real <= listed, (where, real - listed)
            continue
        for hubs_of, states in real:  # is part of one that is listed
            assert any(hubs_of == h and all(dict(c).get(state, 0) >= n for state, n in states) for h, c in listed), (
                where,
                hubs_of,
                states,
            )
    return closed


@pytest.mark.slow
def test_uses_of_one_element(tmp_path: Path) -> None:
    kinds = []
    for seed in range(30):
        made = hostel(tmp_path, seed)
        if not counted(made):
            kinds.append(check_uses(made, seed))
    assert {True, False} <= set(kinds)
    assert len(kinds) > 10


# --- there and back --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_plans_go_there_and_back(tmp_path: Path) -> None:
    """Any plan, not only a cheap one: with random costs each host and each guest is treated its own way."""
    tried = 0
    for seed in range(18):
        made = hostel(tmp_path, seed)
        if counted(made):
            continue
        found = summed(made.small, (by_patterns,))
        random = np.random.default_rng(seed)
        for _ in range(3):
            costs = random.choice((-2.0, -1.0, 0.5, 1.0), made.whole.columns)
            every = np.arange(made.whole.columns, dtype=np.int32)
            own = replace(made.whole, objectives=(Objective("minimize", (Term(None, every, costs),)),))
            plan = solve_problem(own).point
            if plan is None:
                break
            tried += 1
            sums = found.aggregate(folded(made, plan))
            assert sums is not None, seed
            assert verify(found.problem, sums).feasible, seed
            again = unfolded(made, found.disaggregate(sums))
            assert verify(made.whole, again).feasible, seed
            assert [o.value for o in verify(made.whole, again).objectives] == [
                pytest.approx(o.value) for o in verify(made.whole, plan).objectives
            ], seed
            assert found.aggregate(folded(made, again)) == pytest.approx(sums), seed
    assert tried > 20


def test_plans_that_break_rows_of_an_element_are_not_gathered(tmp_path: Path) -> None:
    """Unless sums do not tell: then the sums are those of another plan, which holds."""
    refused = 0
    for seed in range(18):
        made = hostel(tmp_path, seed)
        if counted(made):
            continue
        found = summed(made.small, (by_patterns,))
        random = np.random.default_rng(seed)
        for _ in range(10):
            plan = (random.random(made.whole.columns) < 0.3).astype(np.float64)
            sums = found.aggregate(folded(made, plan))
            refused += sums is None
            if sums is not None and verify(found.problem, sums).feasible:
                assert verify(made.whole, unfolded(made, found.disaggregate(sums))).feasible, seed
    assert refused > 50
