"""Counts of elements per slot: the optimum of the problem with named elements, or a refusal."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from found_codes import message_values
from msgspec import structs
from price_aware_cases import few_nodes, rules, write_cases
from price_aware_reference import Instance, Job
from summing import EXACT, Case, case, case_of, check_exact, folded, summed, unfolded, workspace
from workshop import random_workshop

from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.ir.problem import Objective, Term
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.solve import solve_problem

COARSE = structs.replace(EXACT, gap=0.05, time_limit=10)
MODELS = Path(__file__).resolve().parents[3] / "models"


# --- price-aware scheduling ------------------------------------------------------------------------------------------


def check_price_aware(folder: Path, seeds: range) -> int:
    """How many instances had a plan."""
    loaded = workspace(write_cases(folder, {f"Seed{s}": few_nodes(s) for s in seeds}))
    plans = 0
    for seed in seeds:
        options = vars(rules(seed))
        plans += check_exact(case(loaded, "Nodes", f"Seed{seed}", options), (seed, options)) is not None
    return plans


def check_rejecting(folder: Path, seeds: range) -> None:
    """What is turned away has a price; there always is a plan."""
    made = {f"Seed{s}": few_nodes(s) for s in seeds}
    loaded = workspace(write_cases(folder, made, "PriceAwareRejecting", "rejecting"))
    for seed in seeds:
        options = {**vars(rules(seed)), "rejection": "weighted"}
        found = case(loaded, "Nodes", f"Seed{seed}", options)
        # Prices of what is turned away are so high that HiGHS loses the latency of seed 1134 with nodes named.
        assert check_exact(found, (seed, options), backend="scip") is not None


def check_forbidden(folder: Path, seeds: range) -> tuple[int, int]:
    """How many instances in which jobs may not migrate are refused, and how many are not and have a plan."""
    loaded = workspace(write_cases(folder, {f"Seed{s}": few_nodes(s) for s in seeds}))
    refused = plans = 0
    for seed in seeds:
        options = vars(rules(seed, ("forbidden",)))
        made = case(loaded, "Nodes", f"Seed{seed}", options)
        why = obstacle(made)
        if why is None:
            plans += check_exact(made, (seed, options)) is not None
        else:
            refused += 1
            assert re.match("`(finished|at_home)`( and .*)? links? `train`", str(why)), (seed, str(why))
            assert why.span is not None
    return refused, plans


def obstacle(made: Case) -> Obstacle | None:
    """Why elements are not counted, None where they are."""
    try:
        summed(made.small)
    except Obstacle as found:
        return found
    return None


def counted_apart(made: Case) -> bool:
    return made.small.classes.count < len(made.small.classes.of)


@pytest.mark.quick(1)
@pytest.mark.parametrize("start", range(0, 60, 20))
def test_price_aware(tmp_path: Path, start: int) -> None:
    assert check_price_aware(tmp_path, range(start, start + 20)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1600, 50))
def test_price_aware_often(tmp_path: Path, start: int) -> None:
    assert check_price_aware(tmp_path, range(start, start + 50)) > 10


@pytest.mark.slow
def test_rejecting(tmp_path: Path) -> None:
    check_rejecting(tmp_path, range(10))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1150, 50))
def test_rejecting_often(tmp_path: Path, start: int) -> None:
    check_rejecting(tmp_path, range(start, start + 50))


@pytest.mark.slow
def test_random_instances_are_worth_the_test(tmp_path: Path) -> None:
    """Most have interchangeable nodes, and all options occur."""
    loaded = workspace(write_cases(tmp_path, {f"Seed{s}": few_nodes(s) for s in range(10)}))
    assert sum(counted_apart(case(loaded, "Nodes", f"Seed{s}", vars(rules(s)))) for s in range(10)) >= 5
    for option in ("mode", "inference_sharing", "migration", "charge_first_start", "work_balance", "lateness_measure"):
        assert len({vars(rules(s))[option] for s in range(60)}) == 2


# --- where it is not exact -------------------------------------------------------------------------------------------


def three_jobs() -> Instance:
    """Oracle O9 (a): two nodes, three jobs of two slots; staying on one node costs 0.075 instead of 0.0608."""
    job = Job(0, 3, 2.0, {"a": 60.0}, {"a": 300.0}, {"a": 0.001}, 0.0)
    return Instance(
        60, (20.0, 24.0, 22.0, 60.0), ("a", "a"), {"a": 100.0}, {"a": 0.002}, (False, False), (job,) * 3, ()
    )


def test_jobs_that_stay_on_their_node_are_not_counted(tmp_path: Path) -> None:
    loaded = workspace(write_cases(tmp_path, {"Three": three_jobs()}))
    made = case(loaded, "Nodes", "Three", {"migration": "within_type"})
    assert check_exact(made, "within_type") == pytest.approx(0.0608, abs=1e-9)
    made = case(loaded, "Nodes", "Three", {"migration": "forbidden"})
    assert solve_problem(made.whole).objective == pytest.approx(0.075, abs=1e-9)
    with pytest.raises(Obstacle) as refused:
        summed(made.small)
    assert message_values(str(refused.value)) == ("finished", "train", "Nodes")
    assert refused.value.span is not None
    text = (MODELS / "price_aware" / "model.gsm").read_text(encoding="utf-8").splitlines()
    assert "finished" in text[refused.value.span.line - 1]


@pytest.mark.slow
def test_forbidden_is_refused(tmp_path: Path) -> None:
    refused, _ = check_forbidden(tmp_path, range(15))
    assert refused > 5


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1200, 50))
def test_forbidden_is_refused_often(tmp_path: Path, start: int) -> None:
    refused, _ = check_forbidden(tmp_path, range(start, start + 50))
    assert refused > 10


# --- other models ----------------------------------------------------------------------------------------------------


def check_workshops(folder: Path, seeds: range) -> tuple[int, int]:
    """How many had a plan, and how many were refused, which is right for two reasons only."""
    plans = refused = 0
    for seed in seeds:
        text = random_workshop(Random(seed))
        made = case_of(folder, text, "Machines")
        why = obstacle(made)
        if why is None:
            plans += check_exact(made, seed) is not None and counted_apart(made)
            continue
        refused += 1
        if "`heats` is not only a cost" in str(why):
            assert "var warm[Machines, Hours] >= 0 <= 1" in text, seed
            assert "constraint fuse" in text, seed
        else:
            assert "`until` contains columns of no element" in str(why), (seed, str(why))
            assert "makes[o, m, t] <= 2" in text, seed
    return plans, refused


@pytest.mark.slow
def test_workshops(tmp_path: Path) -> None:
    plans, refused = check_workshops(tmp_path, range(25))
    assert plans > 10
    assert refused > 0


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1400, 50))
def test_workshops_often(tmp_path: Path, start: int) -> None:
    plans, _ = check_workshops(tmp_path, range(start, start + 50))
    assert plans > 15


SHOP = """
model Shop {
  set Machines;
  set Hours ordered;
  set Orders;
  param pieces[Orders] integer;
  var warm[Machines, Hours] binary;
  var makes[Orders, Machines, Hours] binary;
  var setup[Orders, Machines, Hours] >= 0;
  var speed[Orders, Machines, Hours] >= 0 <= 2;
  var heats[Machines, Hours] >= 0;
  constraint heating[m in Machines, t in Hours]: heats[m, t] >= warm[m, t] - (warm[m, t-1] else 0);
  constraint set_up[o in Orders, m in Machines, t in Hours]:
    setup[o, m, t] >= makes[o, m, t] - (makes[o, m, t-1] else 0);
  constraint busy[m in Machines, t in Hours]: sum[o in Orders] makes[o, m, t] <= warm[m, t];
  constraint fast[o in Orders, m in Machines, t in Hours]: speed[o, m, t] <= 2 * makes[o, m, t];
  constraint made[o in Orders]: sum[m in Machines, t in Hours] speed[o, m, t] >= pieces[o];
  MORE
  minimize cost: sum[m in Machines, t in Hours] (2 * warm[m, t] + heats[m, t])
    + sum[o in Orders, m in Machines, t in Hours] (3 * setup[o, m, t] + makes[o, m, t] + 0.1 * speed[o, m, t]);
}
scenario Small for Shop {
  Machines = { m0, m1, m2 };
  Hours = 1..3;
  table Orders: pieces =
    o0 3
    o1 5
  ;
}
"""


def shop(folder: Path, old: str = "", new: str = "", more: str = "", objective: str = "minimize cost: ") -> Case:
    assert old in SHOP
    text = SHOP.replace(old, new, 1).replace("MORE", more).replace("minimize cost: ", objective)
    return case_of(folder, text, "Machines")


def test_the_shop_is_counted(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert check_exact(made, "shop") is not None
    found = summed(made.small)
    assert [f.name for f in found.problem.auxiliary] == ["warm", "makes", "setup", "speed", "heats"]
    assert found.problem.columns == made.whole.columns // 3
    assert found.problem.upper[found.problem.auxiliary[0].slice].tolist() == [3.0] * 3
    assert {"3", "Machines"} <= set(message_values(found.parts[0].effect))


REFUSED = {
    "all in one slot": (
        "", "", "constraint calm[m in Machines]: sum[t in Hours] warm[m, t] <= 2;",
        "`calm` links `warm`",
    ),
    "two carriers": (
        "var heats", "var lit[Machines, Hours] binary; var heats",
        "constraint lamp[o in Orders, m in Machines, t in Hours]: makes[o, m, t] <= lit[m, t];",
        "two carriers",
    ),
    "no exclusion": ("makes[o, m, t] <= warm", "2 * makes[o, m, t] <= 3 * warm", "", "`busy` is not an exclusion"),
    "two at once": ("makes[o, m, t] <= warm", "makes[o, m, t] <= 2 * warm", "", "`busy` is not an exclusion"),
    "a constant": ("speed[o, m, t] <= 2 * makes", "speed[o, m, t] <= 0.5 + makes", "", "`fast` links .* a constant"),
    "a bound of its own": ("Hours] >= 0 <= 2", "Hours] >= 0 <= 1.5", "", "`speed` has a bound besides"),
    "more than one": ("warm[Machines, Hours] binary", "warm[Machines, Hours] integer >= 0 <= 2", "", "not binary"),
    "memory of speed": (
        "", "",
        "constraint even[o in Orders, m in Machines, t in Hours where t > 1]: "
        "speed[o, m, t] - (speed[o, m, t-1] else 0) <= 1;",
        "`even`",
    ),
    "a bend": ("(warm[m, t-1] else 0)", "(warm[m, t-1] else 0.5)", "", "`heats` depends on a state by a function"),
    "no room": ("heats[Machines, Hours] >= 0", "heats[Machines, Hours] >= 0 <= 0.5", "", "`heats` has a tighter bound"),
    "a shared column": (
        "var heats", "var limit >= 0 <= 1; var heats",
        "constraint low[m in Machines, t in Hours]: warm[m, t] <= limit;",
        "`low` contains columns of no",
    ),
    "both shared": (
        "var heats", "var limit >= 0 <= 1; var heats",
        "constraint low[m in Machines, t in Hours]: warm[m, t] + heats[m, t] <= limit;",
        "`low` has several",
    ),
    "speed of a half machine": (
        "warm[Machines, Hours] binary", "warm[Machines, Hours] >= 0 <= 1",
        "constraint slow[o in Orders, m in Machines, t in Hours]: speed[o, m, t] <= 2 * warm[m, t];",
        "`slow`.*`warm`",
    ),
    "overlaps": (
        "", "",
        "var rests[Machines, Hours] binary; var thinks[Machines, Hours] binary;"
        "constraint rest[o in Orders, m in Machines, t in Hours]: makes[o, m, t] + rests[m, t] <= warm[m, t];"
        "constraint think[m in Machines, t in Hours]: thinks[m, t] + rests[m, t] <= warm[m, t];",
        "`busy`|`rest`|`think`",
    ),
    "a carrier left out": (
        "", "",
        "var rests[Machines, Hours] binary;"
        "constraint rest[m in Machines, t in Hours]: sum[o in Orders] makes[o, m, t] + rests[m, t] <= 1;",
        "`rest`.*separate from a carrier",
    ),
}  # fmt: skip


@pytest.mark.quick(12)
@pytest.mark.parametrize("why", REFUSED)
def test_what_does_not_add_up_is_refused(tmp_path: Path, why: str) -> None:
    old, new, more, words = REFUSED[why]
    made = shop(tmp_path, old, new, more)
    with pytest.raises(Obstacle, match=words) as refused:
        summed(made.small)
    assert refused.value.span is not None


ALLOWED = {
    "warm between 0 and 1": ("warm[Machines, Hours] binary", "warm[Machines, Hours] >= 0 <= 1", ""),
    "always warm": ("warm[Machines, Hours] binary", "warm[Machines, Hours] binary >= 1", ""),
    "idle machines are cold": ("makes[o, m, t] <= warm[m, t]", "makes[o, m, t] == warm[m, t]", ""),
    "few at a time": ("", "", "constraint few[t in Hours]: sum[m in Machines] (warm[m, t] + heats[m, t]) <= 3;"),
    "setups are counted": ("setup[Orders, Machines, Hours] >= 0", "setup[Orders, Machines, Hours] integer >= 0 <= 1",
                           "constraint crew[t in Hours]: sum[o in Orders, m in Machines] setup[o, m, t] <= 1;"),
    "two orders exclude each other": ("", "", "constraint tidy[m in Machines, t in Hours]: "
                                              "sum[o in Orders] makes[o, m, t] <= 1;"),
    "heat is paid for": ("2 * warm[m, t] + heats", "2 * warm[m, t] + 0.5 * heats",
                         "constraint exact[m in Machines, t in Hours]: heats[m, t] >= 0;"),
    "two objectives in order": (
        "", "", "", "minimize begun: sum[o in Orders, m in Machines, t in Hours] setup[o, m, t]; then minimize cost: ",
    ),
    "two objectives and half machines": (
        "warm[Machines, Hours] binary", "warm[Machines, Hours] >= 0 <= 1", "",
        "minimize heated: sum[m in Machines, t in Hours] (3 * heats[m, t] + warm[m, t]); then minimize cost: ",
    ),
    "a row that is weaker where a job runs": (
        "minimize cost: ", "var level >= -9; minimize cost: level + ",
        "constraint alone[o in Orders, t in Hours]: sum[m in Machines] makes[o, m, t] <= 1;"
        'constraint low[m in Machines]: level >= -2 * makes["o1", m, 1];',
    ),
}  # fmt: skip


@pytest.mark.quick(3)
@pytest.mark.parametrize("what", ALLOWED)
def test_what_adds_up_is_counted(tmp_path: Path, what: str) -> None:
    assert check_exact(shop(tmp_path, *ALLOWED[what]), what) is not None


def test_what_carried_goes_on_carrying(tmp_path: Path) -> None:
    """Order o0 begins on m0 and o1 on m1; m1 alone stays warm, so o0 must come back to m1."""
    text = SHOP.replace("o0 3", "o0 4").replace("o1 5", "o1 4").replace("heats[m, t])", "9 * heats[m, t])")
    warm = " ".join(f"constraint w{t}: sum[m in Machines] warm[m, {t}] == {n};" for t, n in ((1, 2), (2, 1), (3, 1)))
    here = ((0, 1, 1), (0, 2, 0), (0, 3, 1), (1, 1, 1), (1, 2, 1), (1, 3, 0))
    makes = " ".join(f'constraint p{o}{t}: sum[m in Machines] makes["o{o}", m, {t}] == {n};' for o, t, n in here)
    made = case_of(tmp_path, text.replace("MORE", warm + makes), "Machines")
    assert check_exact(made, "shop") is not None


def check_any_sums(made: Case, random: np.random.Generator) -> None:
    """Sums that satisfy their rows, cheap or not, are those of a plan of single elements."""
    found = summed(made.small)
    problem = found.problem
    for _ in range(4):
        costs = random.choice((-3.0, -1.0, 0.0, 1.0, 2.0), problem.columns)
        costs[np.isinf(problem.upper)] = random.choice((0.5, 1.0, 2.0))
        every = np.arange(problem.columns, dtype=np.int32)
        objective = Objective("minimize", (Term(None, every, costs),))
        point = solve_problem(replace(problem, objectives=(objective,)), options=COARSE).point
        if point is None:
            continue
        plan = unfolded(made, found.disaggregate(point))
        assert verify(made.whole, plan).feasible
        again = found.aggregate(folded(made, plan))
        assert again is not None
        assert again == pytest.approx(point, abs=1e-6)


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", range(5))
def test_any_sums_are_those_of_a_plan(tmp_path: Path, seed: int) -> None:
    """Many elements, so that who goes on and who begins is not the same by chance."""
    random = Random(seed)
    text = SHOP.replace("m0, m1, m2", ", ".join(f"m{n}" for n in range(random.randint(5, 9))))
    text = text.replace("1..3", "1..6").replace("o1 5", "o1 5\n    o2 1\n    o3 2\n    o4 2")
    text = text.replace("heats[Machines, Hours] >= 0", f"heats[Machines, Hours] >= 0 {random.choice(('', '<= 1'))}")
    text = text.replace("setup[Orders, Machines, Hours] >= 0", "setup[Orders, Machines, Hours] integer >= 0 <= 1")
    rinsing = """var rinse[Orders, Machines, Hours] binary;
  constraint rinsing[o in Orders, m in Machines, t in Hours]:
    rinse[o, m, t] + sum[p in Orders] makes[p, m, t] <= warm[m, t];"""
    made = case_of(tmp_path, text.replace("MORE", rinsing if seed % 2 else ""), "Machines")
    check_any_sums(made, np.random.default_rng(seed))


def test_effects_that_pay_ask_for_whole_carriers(tmp_path: Path) -> None:
    """A machine that is half warm is switched on by half: where that pays it is not to be rounded away."""
    paid = ("(2 * warm[m, t] + heats[m, t])", "(2 * warm[m, t] - heats[m, t])")
    bounded = paid[1] + " + 0"
    whole = SHOP.replace(paid[0], bounded).replace("heats[Machines, Hours] >= 0", "heats[Machines, Hours] >= 0 <= 1")
    assert check_exact(case_of(tmp_path, whole.replace("MORE", ""), "Machines"), "whole") is not None
    between = whole.replace("warm[Machines, Hours] binary", "warm[Machines, Hours] >= 0 <= 1")
    with pytest.raises(Obstacle, match="`heats` is not only a cost, so `warm` must be integer"):
        summed(case_of(tmp_path, between.replace("MORE", ""), "Machines").small)


def test_plans_that_break_rows_of_an_element_are_not_gathered(tmp_path: Path) -> None:
    made = shop(tmp_path)
    found = summed(made.small)
    point = solve_problem(found.problem).point
    assert point is not None
    spread = found.disaggregate(point)
    assert found.aggregate(spread) is not None
    warm = made.small.problem.variable("warm")
    inside = (spread.columns >= warm.first) & (spread.columns < warm.stop)
    values = np.where(inside, 0.0, spread.values)
    assert found.aggregate(type(spread)(spread.columns, spread.elements, values)) is None
