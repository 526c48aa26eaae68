"""Classes against a comparison of every two elements entry by entry; their distinguishing data; their relations."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest
from rented import line_of, read, rented

from gpusched_dsl.compiling.interchangeable.equivalence_classes import Classes, classes_of, split_by_entries
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.ir.domains import IntervalDomain, ProductDomain, TupleDomain

DECLARED = """set Hours ordered;
  set Fast within Machines;
  set Able within Jobs cross Machines;
  param price[Hours, Machines];
  param kind[Machines] within Jobs;
  param pay[Able];
  var runs[Able] binary;
  var up[Hours, Machines] binary;"""
ROWS = """constraint fast: sum[m in Fast] on[m] <= 9;
  constraint one[m in Machines, j in Jobs where kind[m] == j]: does[j, m] <= 1;
  constraint spent: sum[h in Hours, m in Machines] price[h, m] * up[h, m] <= 9;
  constraint paid: sum[(j, m) in Able] pay[j, m] * runs[j, m] <= 99;"""


def classes_of_text(text: str) -> Classes:
    model, store = read(text)
    return classes_of(model, store, "Machines")


class Drawn:
    """Random data of few different values, as text and as what each machine reads."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.machines = [f"m{k}" for k in range(random.randint(1, 7))]
        dull = random.choice((0.5, 0.8, 0.95, 1.0))
        size = {m: 1 if random.random() < dull else 2 for m in self.machines}
        kind = {m: "a" if random.random() < dull else "b" for m in self.machines}
        price = {(h, m): 1 if random.random() < dull else 3 for h, m in product((1, 2), self.machines)}
        fast = [m for m in self.machines if random.random() > dull]
        pay = {(j, m): random.choice((1, 1, 1, 2)) for j, m in product("ab", self.machines) if random.random() < dull}
        self.seen = [
            (size[m], kind[m], price[1, m], price[2, m], m in fast, pay.get(("a", m)), pay.get(("b", m)))
            for m in self.machines
        ]
        rows = "\n".join(f"{m} {size[m]} {kind[m]}" for m in self.machines)
        prices = "\n".join(f"{h} {m} {value}" for (h, m), value in price.items())
        paid = "\n".join(f"{j} {m} {value}" for (j, m), value in pay.items())
        able = f"table Able: pay =\n{paid} ;" if pay else "Able = {};"
        data = f"""Hours = 1..2; Fast = {{ {", ".join(fast)} }};
  table Machines: size kind =\n{rows} ;
  table Hours, Machines: price =\n{prices} ;
  {able}"""
        self.text = rented(DECLARED, ROWS, data, machines="")


@pytest.mark.quick(2)
@pytest.mark.parametrize("start", range(0, 36, 12))
def test_random_tables(start: int) -> None:
    kinds = set()
    for seed in range(start, start + 12):
        drawn = Drawn(seed)
        found = classes_of_text(drawn.text)
        known: list[tuple[object, ...]] = []
        for seen, number in zip(drawn.seen, found.of.tolist(), strict=True):
            if seen not in known:
                known.append(seen)  # numbered by first element
            assert known.index(seen) == number, seed
        assert found.count == len(known)
        assert found.sizes.tolist() == [drawn.seen.count(seen) for seen in known]
        assert found.first.tolist() == [drawn.seen.index(seen) for seen in known]
        order, starts = found.members()
        assert starts[-1] == len(drawn.machines)
        for number in range(found.count):
            members = order[starts[number] : starts[number + 1]].tolist()
            assert members == [k for k, of in enumerate(found.of) if of == number]
        assert (found.count > 1) == bool(found.reasons)
        kinds.add((found.count > 1, found.count < len(drawn.machines)))
    assert len(kinds) > 1


def test_because_names_what_told_apart() -> None:
    declared = "set Fast within Machines; param dull[Machines] default 4;"
    rows = "constraint dull_one: sum[m in Machines] dull[m] * on[m] <= 9;\n constraint c: sum[m in Fast] on[m] <= 1;"
    text = rented(declared, rows, "Fast = { p }; table Machines: size = p 1 q 1 r 2;")
    found = classes_of_text(text)
    assert [name for name, _ in found.reasons] == ["Fast", "size"]  # the smaller table first
    assert found.of.tolist() == [0, 1, 2]
    spans = dict(found.reasons)
    assert spans["Fast"] is not None
    assert spans["size"] is not None
    assert spans["Fast"].line == line_of(text, "constraint c:")
    assert spans["size"].line == line_of(text, "minimize")


def test_what_is_not_read_does_not_tell_apart() -> None:
    data = "table Machines: size dull = p 1 1 q 1 2 r 1 3;"
    assert classes_of_text(rented("param dull[Machines];", "", data)).count == 1
    rows = "constraint c: sum[m in Machines] dull[m] * on[m] <= 9;"
    assert classes_of_text(rented("param dull[Machines];", rows, data)).count == 3


def test_a_set_that_happens_to_be_whole() -> None:
    declared, rows = "set Fast within Machines;", "constraint c: sum[m in Fast] on[m] <= 1;"
    found = classes_of_text(rented(declared, rows, "Fast = { r, p, q };"))
    assert (found.count, found.reasons) == (1, ())
    assert classes_of_text(rented(declared, rows, "Fast = {};")).count == 1


def test_zero_is_zero_whatever_its_sign() -> None:
    data = "table Machines: was = p 0 q -0.0 r 1;"
    rows = "constraint c: sum[m in Machines] was[m] * on[m] <= 1;"
    assert classes_of_text(rented("param was[Machines];", rows, data)).of.tolist() == [0, 0, 1]


def test_no_elements_and_one() -> None:
    assert classes_of_text(rented(machines="{}")).count == 0
    alone = classes_of_text(rented(machines="{ p }"))
    assert (alone.count, alone.sizes.tolist()) == (1, [1])


RELATED = {
    "a set of pairs": (
        "set Linked within Machines cross Machines;",
        "constraint c[(m, k) in Linked]: on[m] + on[k] <= 1;",
        "Linked = { (p, q) };",
        "`Linked` relates elements",
    ),
    "a parameter of pairs": (
        "param far[Machines, Machines] default 1;",
        "constraint c: sum[m in Machines, k in Machines] far[m, k] * on[m] <= 9;",
        "",
        "`far` relates elements",
    ),
    "a random quantity": (
        "random load[m in Machines] ~ uniform(0, 2);",
        "constraint c: sum[m in Machines] E(load[m]) * on[m] <= 9;",
        "",
        "random quantity `load`",
    ),
}


@pytest.mark.parametrize("why", RELATED)
def test_data_that_relate_elements(why: str) -> None:
    declared, rows, data, words = RELATED[why]
    text = rented(declared, rows, data)
    with pytest.raises(Obstacle, match=words) as refused:
        classes_of_text(text)
    assert refused.value.span is not None
    assert refused.value.span.line == line_of(text, "constraint c")


@pytest.mark.parametrize("seed", range(40))
def test_tables_of_all_combinations_split_as_any_others(seed: int) -> None:
    draw = np.random.default_rng(seed)
    elements, others = int(draw.integers(1, 9)), int(draw.integers(0, 4))
    sizes = [others] * int(draw.integers(1, 3))
    at = int(draw.integers(len(sizes) + 1))
    factors = [IntervalDomain(3, 2 + size) for size in sizes]
    factors.insert(at, IntervalDomain(0, elements - 1))
    everything = ProductDomain(tuple(factors))
    values = draw.choice([0.0, -0.0, 1.0, 2.0], p=[0.4, 0.3, 0.2, 0.1], size=everything.size)
    values[draw.random(everything.size) < 0.6] = 0.0
    of = draw.integers(0, 2, elements)
    _, of = np.unique(of, return_inverse=True)
    listed = TupleDomain(everything.components, everything.columns())
    found, expected = (split_by_entries(of, domain, at, values) for domain in (everything, listed))
    assert found.tolist() == expected.tolist()
