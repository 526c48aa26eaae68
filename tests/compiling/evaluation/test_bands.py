"""Comparisons in `where` select ranges of sorted elements: the same rows as a plain filter, without the product."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text

# Values whose sums round: a comparison after a change of sides may differ from the comparison as written.
REALS = (0.1, 0.2, 0.3, 0.1 + 0.2, 0.7, 1 / 3, 1.0, 1e-17, 2.5, 3.0, 1e16, -0.1, -2.0, 4.1)
INTEGERS = (-2, -1, 0, 1, 2, 3, 5, 9)
ITERATORS = {
    "t": "t in Slots", "s": "s in Slots", "j": "j in Jobs", "h": "h in Hours", "k": "k in Hours", "m": "m in Some",
    "pq": "(p, q) in Pairs", "n": "n in 0..7", "r": "r in low[j]..high[j]", "g": "g in 0..8 by 2",
}  # fmt: skip
NEEDS = {"r": {"j"}}
OPERATORS = ("<", "<=", ">", ">=", "==")
NUMBERS = {
    "t": "t", "s": "s", "n": "n", "r": "r", "g": "g", "p": "p", "q": "q", "j": "d[j]", "h": "clock[h]",
    "k": "2.5 * clock[k]",
}  # fmt: skip
MORE = {
    "j": ("e[j]", "low[j]", "-d[j]", "d[j] / 3", "high[j] * scale"),
    "t": ("2 * t", "t / 3", "-t", "t * t"),
    "r": ("2 * r", "-r / 3"),
    "n": ("-2 * n",),
}
CONSTANTS = ("1", "0.3", "scale", "-1")
ELEMENTS = {
    "h": "h", "k": "k", "m": "m", "h + low[j]": "hj", "k - high[j]": "kj", "next(h)": "h", "k + 1 - low[j]": "kj",
    "first(Hours)": "", "m + 1": "m", "m - low[j]": "mj",
    "m + high[j]": "mj",
}  # fmt: skip


def number(rng: random.Random, names: list[str]) -> str:
    terms = []
    for _ in range(rng.randint(1, 2)):
        name = rng.choice(names)
        term = rng.choice((NUMBERS[name], *MORE.get(name, ())))
        terms.append(term if rng.random() < 0.8 else f"{rng.choice(CONSTANTS)} * ({term})")
    text = f" {rng.choice('+-')} ".join(terms)
    return f"scale * ({text}) / 3" if rng.random() < 0.15 else text


def condition(rng: random.Random, names: list[str]) -> str:
    known = {v for n in names for v in n}
    elements = [e for e, needs in ELEMENTS.items() if set(needs) <= known]
    numbers = [n for n in NUMBERS if n in known]
    if numbers and (rng.random() < 0.6 or not set(elements) - {"first(Hours)"}):
        if rng.random() < 0.25:
            low, middle, high = (number(rng, numbers) for _ in range(3))
            return f"{low} {rng.choice(('<', '<='))} {middle} {rng.choice(('<', '<='))} {high}"
        return f"{number(rng, numbers)} {rng.choice(OPERATORS)} {number(rng, numbers)}"
    a = rng.choice([e for e in elements if e != "first(Hours)"] or elements)
    b = rng.choice([e for e in elements if e != a] or elements)
    return f"{a} {rng.choice(OPERATORS)} {b}"


def random_text(rng: random.Random) -> str:
    names = rng.sample(list(ITERATORS), rng.randint(1, 4))
    if "r" in names and "j" not in names[: names.index("r")]:
        names.remove("r")
        names = [*names, "j", "r"] if "j" not in names else [*names, "r"]
    conditions = [condition(rng, names) for _ in range(rng.randint(1, 4))]
    variables = [v for n in names for v in n]
    element = f"({', '.join(variables)})" if len(variables) > 1 else variables[0]
    over = ", ".join(ITERATORS[n] for n in names)
    plain = " and ".join(f"not (not ({c}))" for c in conditions)
    jobs = " ".join(
        f"j{i} {rng.choice(REALS)!r} {rng.choice(REALS)!r} {rng.choice(INTEGERS)} {rng.choice(INTEGERS)}"
        for i in range(rng.randint(1, 4))
    )
    hours = rng.sample(range(-3, 12), rng.randint(2, 5))
    if rng.random() < 0.7:
        hours.sort()
    some = rng.sample(hours, rng.randint(1, len(hours)))
    pairs = {(rng.randint(0, 5), rng.randint(0, 5)) for _ in range(rng.randint(1, 6))}
    return f"""
model M {{
  set Jobs; set Hours ordered; set Some within Hours ordered; set Slots = 0..6;
  set Pairs within 0..5 cross 0..5;
  param d[Jobs]; param e[Jobs]; param low[Jobs] integer; param high[Jobs] integer; param scale; param clock[Hours];
  set Joined = {{ {element} : {over} where {" and ".join(conditions)} }};
  set Plain = {{ {element} : {over} where {plain} }};
  var free >= 0; minimize free; constraint enough: free >= 1;
}}
scenario S for M {{
  table Jobs: d e low high = {jobs};
  table Hours: clock = {" ".join(f"{h} {rng.choice(REALS)!r}" for h in hours)};
  Some = {{ {", ".join(map(str, some))} }}; Pairs = {{ {", ".join(map(str, pairs))} }};
  scale = {rng.choice(REALS)!r};
}}
"""


def sets_of(text: str, limits: MemoryLimits | None = None) -> dict[str, list[tuple[object, ...]]]:
    """The sets of a scenario, in the order of their elements."""
    diagnostics = Diagnostics()
    workspace = workspace_from_text(text, "test", diagnostics, None)
    scenario = check_scenario(workspace, "S", {}, diagnostics)
    diagnostics.raise_if_errors()
    assert scenario is not None
    store = build_instance(scenario, folder=Path(), limits=limits or MemoryLimits()).store
    return {name: list(zip(*found.label_columns(), strict=True)) for name, found in store.sets.items()}


def both(text: str) -> list[list[tuple[object, ...]]]:
    found = sets_of(text)
    return [sorted(found["Joined"]), sorted(found["Plain"])]


def check_random(seeds: range) -> None:
    selected = 0
    for seed in seeds:
        text = random_text(random.Random(seed))
        try:
            joined, plain = both(text)
        except DiagnosticError as error:
            raise AssertionError(text) from error
        assert joined == plain, text
        selected += bool(plain)
    assert selected > len(seeds) / 10


def test_joined_rows_equal_a_plain_filter() -> None:
    check_random(range(12))


@pytest.mark.slow
def test_many_joined_rows_equal_a_plain_filter() -> None:
    check_random(range(60, 6000))


# Terms that change sides, with values whose sums round to one side or the other.
EDGES = (
    "j in Jobs, t in 0..3, s in 0..3 where t - d[j] > s + e[j]",
    "t in 0..3, s in 0..3, j in Jobs where t - d[j] > s + e[j]",
    "t in 0..3, s in 0..3, j in Jobs where t - s <= d[j] + e[j] and t >= s",
    "j in Jobs, t in 0..3, n in 0..4 where 2 * (t - n) < 3",
    "j in Jobs, t in 0..3, n in 0..4 where -2 * (t - n) <= -2 and t - n < 2 + j0",
    "t in 0..3, n in 0..4 where 3 * (t - n) == 3",
    "t in 0..3, n in t..4 where 2 * (n - t) < 5 and (n - t) * 3 > 3",
    "t in 0..3, n in 0..9 by 4 where n - t >= 1 and n < 9 - t",
    "t in 0..3, n in t..9 by t + 1 where n - t >= 1 and n < 9 - t",
    "t in 0..3, n in t..4 where 0.1 * (n - t) >= 0.3",
    "t in 0..3, n in t..4 where n * 0.1 - 0.2 == t * 0.1",
    "h in Hours, m in Some where m + 1 > h",
    "h in Hours, m in Some where h < m - 1",
    "h in Hours, m in Some where m + 1 <= h and prev(m) < h",
    "h in Hours, m in Some, j in Jobs where m + low[j] >= next(h)",
    "j in Jobs, h in Hours, m in Some where m - low[j] <= prev(h)",
    "j in Jobs, h in Hours, k in Hours where h - low[j] == k and clock[h] > 0.25",
    "h in Hours, k in Hours, j in Jobs where h - low[j] < k and k <= h",
    "j in Jobs, f in Few, m in Some where m + low[j] > f",
    "j in Jobs, f in Few, m in Some where m + low[j] <= f",
    "j in Jobs, f in Few, m in Some where m - low[j] >= prev(f)",
    "j in Jobs, f in Few, m in Some where m - low[j] - 1 <= prev(f)",
    "j in Jobs, f in Few, m in Some where f > m - low[j] and m - low[j] >= prev(f)",
    "j in Jobs, f in Few, m in Some where m + low[j] >= f + 3",
    "t in 0..5, (p, q) in Pairs where p <= t and t < q",
    "t in 0..5, (p, q) in Pairs where q - t > p",
    "j in Jobs, g in 0..40 where g == e[j] * 30",
    "j in Jobs, t in 0..3, s in 0..3 where t - 1 / low[j] <= s and low[j] > 0",
)


def edges_text() -> str:
    lines = []
    for at, edge in enumerate(EDGES):
        over, where = edge.replace("j0", "0").split(" where ")
        names = [v for found in re.findall(r"(\w+) in|\((\w+), (\w+)\) in", over) for v in found if v]
        plain = " and ".join(f"not (not ({c}))" for c in reversed(where.split(" and ")))
        element = f"({', '.join(names)})" if len(names) > 1 else names[0]
        lines.append(f"set Joined{at} = {{ {element} : {over} where {where} }};")
        lines.append(f"set Plain{at} = {{ {element} : {over} where {plain} }};")
    return f"""
model M {{
  set Jobs; set Hours ordered; set Some within Hours ordered; set Few within Hours; set Pairs within 0..5 cross 0..5;
  param d[Jobs]; param e[Jobs]; param low[Jobs] integer; param clock[Hours];
  {chr(10).join(lines)}
  var free >= 0; minimize free;
}}
scenario S for M {{
  table Jobs: d e low = a 0.7 0.3 1  b 0.1 0.2 2  c 0.3 0.1 0  f 2 1 3;
  table Hours: clock = 1 0.5  3 0.25  4 0.75  8 0.3  9 0.1;
  Some = {{ 3, 4, 9 }}; Few = {{ 1, 8 }}; Pairs = {{ (0, 3), (2, 2), (1, 5), (4, 5), (3, 1) }};
}}
"""


def test_edges_of_ranges_equal_a_plain_filter() -> None:
    found = sets_of(edges_text())
    for at, edge in enumerate(EDGES):
        assert sorted(found[f"Joined{at}"]) == sorted(found[f"Plain{at}"]), edge
        assert found[f"Plain{at}"], edge


WINDOWS = (
    "j in Jobs, s in Slots where t - d[j] < s and s <= t",
    "s in Slots, j in Jobs where t - d[j] < s and s <= t",
    "j in Jobs, s in Slots where t - d[j] < s <= t",
    "s in Slots, j in Jobs where s <= t and t < s + d[j]",
    "j in Jobs, s in Slots where t - s < d[j] and t - s >= 0",
    "s in Slots, j in Jobs where 0 <= t - s < d[j]",
    "j in Jobs, s in Slots where 2 * (s - t) <= 0 and s + d[j] - t > 0",
    "j in Jobs, s in 0..200 where t - d[j] < s and s <= t",
)


@pytest.mark.parametrize(("slots", "windows"), [("Slots = 0..200", WINDOWS), ("Slots ordered", WINDOWS[:4])])
def test_windows_never_visit_the_product(slots: str, windows: tuple[str, ...]) -> None:
    """However a window is written, its plan stays below a limit that the product of jobs and slots exceeds."""
    sets = [f"set W{at} = {{ (t, j, s) : t in Slots, {w} }};" for at, w in enumerate(windows)]
    sets.append("set First = { (s, j, t) : s in Slots, j in Jobs, t in Slots where t - d[j] < s and s <= t };")
    given = "" if "=" in slots else "Slots = 0..200;"
    text = f"""
model M {{ set Jobs; set {slots}; param d[Jobs] integer; {" ".join(sets)} var free >= 0; minimize free; }}
scenario S for M {{ {given} table Jobs: d = {" ".join(f"j{j} {1 + j % 3}" for j in range(50))}; }}"""
    found = sets_of(text, MemoryLimits(200 * 50 * 2 * 112 * 5 // 4))
    assert len(found["W0"]) == sum(min(1 + j % 3, t + 1) for t in range(201) for j in range(50))
    assert all(set(found[f"W{at}"]) == set(found["W0"]) for at in range(len(windows)))
    assert {(t, j, s) for s, j, t in found["First"]} == set(found["W0"])


def test_ties_keep_the_order_of_the_set() -> None:
    """Elements that are sorted by a value for a range come in the order of their set all the same."""
    text = """
model M {
  set Jobs ordered; set T = 1..3; param d[Jobs]; param at[t in T] within Jobs = argmin[j in Jobs where d[j] <= t] 0;
  set Result = { (t, at[t]) : t in T };
  var free >= 0; minimize free;
}
scenario S for M { table Jobs: d = a 3  b 2  c 1  e 1  f 2; }
"""
    assert sets_of(text)["Result"] == [(1, "c"), (2, "b"), (3, "a")]
