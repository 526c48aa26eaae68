"""The power that can be shed for sure, against all plans of small days, and duals against differences."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from json_schemas import complaints, published

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import solve_problem
from gpusched_dsl.solving.variants import solver as variants
from gpusched_dsl.solving.variants.guarantee import (
    amount_for_new_day,
    guaranteed_amount,
    mean_probability_of_new_day,
    probability_of_new_day,
    required_days,
)

MODEL = """
model Day "jobs in slots of a day" {
  set Jobs;
  set Slots ordered;
  param tariff[Slots] in $/MWh;
  param draws[Jobs] in W >= 0;
  param needs[Jobs] integer >= 1;
  param from_slot[Jobs] integer;
  param to_slot[Jobs] integer;
  param gpus integer >= 1;
  param base in W default 100;
  param cooling in Wh default 0;
  var run[j in Jobs, h in Slots where from_slot[j] <= h <= to_slot[j]] binary;
  var cools[Slots] in Wh >= 0 <= 400;
  let power[h in Slots] in W = base + cools[h] / 1[h] + sum[j in Jobs] draws[j] * run[j, h];
  minimize cost in $: sum[h in Slots] tariff[h] * 1[h] * power[h];
  constraint done[j in Jobs]: sum[h in Slots] run[j, h] == needs[j];
  constraint room[h in Slots]: sum[j in Jobs] run[j, h] <= gpus;
  constraint cooled: sum[h in Slots] cools[h] >= cooling;
  placement run[j, h] { job j; slot h; lasts 1[h]; }
}
"""


DRAWS = (110, 170, 230)  # in W: the power of a slot tells which jobs run in it


class Case(NamedTuple):
    """A day: tariffs in $/MWh by slot; (draws in W, slots needed, first slot, last slot) of each job; places."""

    tariff: list[int]
    jobs: list[tuple[int, int, int, int]]
    gpus: int

    def plans(self) -> Iterator[tuple[float, tuple[int, ...], frozenset[tuple[int, int]]]]:
        """The cost, the power by slot, and the pairs of job and slot of every plan."""
        slots = range(len(self.tariff))
        choices = [list(itertools.combinations(range(first, last + 1), needs)) for _, needs, first, last in self.jobs]
        for plan in itertools.product(*choices):
            if all(sum(h in chosen for chosen in plan) <= self.gpus for h in slots):
                power = tuple(
                    100 + sum(job[0] for job, chosen in zip(self.jobs, plan, strict=True) if h in chosen) for h in slots
                )
                runs = frozenset((job, h) for job, chosen in enumerate(plan) for h in chosen)
                yield sum(p * t for p, t in zip(power, self.tariff, strict=True)) / 1e6, power, runs

    def most(self, baseline: tuple[float, ...], event: range, fixed: int = 0) -> float:
        """The largest shed of a plan below a baseline in every slot of the event."""
        sheds = [
            min(baseline[h] - power[h] for h in event)
            for _, power, _ in self.plans()
            if all(abs(power[h] - baseline[h]) < 1e-6 for h in range(fixed))
        ]
        return max(0.0, *sheds)

    def cheapest(self, baseline: tuple[float, ...], event: range, shed: float) -> tuple[float, int]:
        """The least cost of a plan that sheds at least that much in the event, and the fewest moves at that cost."""
        found = [plan for plan in self.plans() if all(plan[1][h] <= baseline[h] - shed + 1e-6 for h in event)]
        [planned] = [runs for _, power, runs in self.plans() if np.allclose(power, baseline)]
        least = min(cost for cost, _, _ in found)
        return least, min(len(runs ^ planned) for cost, _, runs in found if cost < least + 1e-12)


def draw(seed: int, slots: int = 5, jobs: int = 3) -> Case:
    random = Random(seed)
    while True:
        made = []
        for job in range(jobs):
            needs = random.randint(1, 2)
            first = random.randint(0, slots - needs - 1)
            made.append((DRAWS[job], needs, first, random.randint(first + needs, slots - 1)))
        case = Case([random.randint(5, 60) for _ in range(slots)], made, 2)
        if next(case.plans(), None) is not None:
            return case


def text(cases: list[Case]) -> str:
    parts = [MODEL]
    for number, case in enumerate(cases):
        tariffs = "  ".join(f"{h} {t}" for h, t in enumerate(case.tariff))
        jobs = "  ".join(f"j{j} {' '.join(map(str, job))}" for j, job in enumerate(case.jobs))
        parts.append(
            f"scenario D{number} for Day {{\n  gpus = {case.gpus};\n  table Slots: tariff[$/MWh] = {tariffs};\n"
            f"  table Jobs: draws[W] needs from_slot to_slot = {jobs};\n}}"
        )
    return "\n".join(parts)


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(8))
def test_small_days_against_all_plans(seed: int) -> None:
    cases = [draw(10 * seed + day) for day in range(4)]
    model, event = gs.loads(text(cases)), range(1, 3)
    days = [f"D{day}" for day in range(4)]
    probability = (1.0, 0.75, 0.5, 0.3)[seed % 4]
    found = model.flexibility("1..2", "D0", days=days, probability=probability, gap=0, steps=3)
    baselines = [tuple(1000 * day.power) for day in found.days]
    most = []
    for case, day, baseline in zip(cases, found.days, baselines, strict=True):
        assert day.cost == pytest.approx(min(cost for cost, _, _ in case.plans()), abs=1e-9)
        assert [cost for cost, power, _ in case.plans() if np.allclose(power, baseline)] == pytest.approx([day.cost])
        most.append(case.most(baseline, event))
        assert 1000 * day.most == pytest.approx(most[-1], abs=1e-3)
        assert day.most_bound == pytest.approx(day.most, abs=1e-6)
    # of all amounts that some day can shed at most, the largest that enough days can shed
    enough = [s for s in most if sum(m >= s - 1e-6 for m in most) >= probability * len(most) - 1e-9]
    assert 1000 * found.guaranteed == pytest.approx(max(enough), abs=1e-3)
    if probability == 1.0:
        assert found.guaranteed == found.day_table["most"].min()
    table = found.table
    for at, offer in enumerate(found.offers):
        best = [
            case.cheapest(baseline, event, min(1000 * offer, largest))
            for case, baseline, largest in zip(cases, baselines, most, strict=True)
        ]
        extra = [cost - day.cost for (cost, _), day in zip(best, found.days, strict=True)]
        assert [day.offers[at].moves.height for day in found.days] == [moves for _, moves in best]
        assert [day.offers[at].cost for day in found.days] == pytest.approx(extra, abs=1e-8)
        assert table["cost"][at] == pytest.approx(np.mean(extra), abs=1e-8)
        assert table["cost_lower"][at] == pytest.approx(table["cost"][at], abs=1e-8)
        assert table["days"][at] == sum(m >= 1000 * offer - 1e-3 for m in most)
        assert table["guaranteed"][at]
    assert table["cost"].to_list() == sorted(table["cost"].to_list())
    assert len(found.offers) == (3 if found.guaranteed > 0 else 0)


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(6))
def test_decisions_before_the_notice_are_kept(seed: int) -> None:
    """With a notice of one slot, slots 0 and 1 are those of the baseline if the event is in slot 3."""
    case = draw(100 + seed)
    model = gs.loads(text([case]))
    late = model.flexibility("3", notice=1, gap=0, steps=1)
    [day] = late.days
    baseline = tuple(1000 * day.power)
    assert 1000 * day.most == pytest.approx(case.most(baseline, range(3, 4), fixed=2), abs=1e-3)
    for offer in day.offers:
        assert offer.power[:2] == pytest.approx(day.power[:2], abs=1e-9)
        assert not set(offer.moves["slot"].to_list()) & {0, 1}


def test_the_dual_is_the_slope_of_the_cost() -> None:
    """A day of cooling only: the marginal cost of a kW is the difference of costs, and both duals agree."""
    case = Case([50, 20, 80, 30, 40], [(110, 1, 0, 0)], 1)
    model = gs.loads(text([case]))
    settings = {"cooling": "900[Wh]"}
    # the baseline cools at 400 W in slots 1 and 3 and at 100 W in slot 4; slot 1 loses to slots 4 (300 W) and 0
    offers = (0.1, 0.101, 0.35, 0.351)
    found = model.flexibility("1", offers=offers, gap=0, settings=settings)
    cost = found.table["cost"].to_list()
    assert cost == pytest.approx([0.1 * 0.02, 0.101 * 0.02, 0.3 * 0.02 + 0.05 * 0.03, 0.3 * 0.02 + 0.051 * 0.03])
    for at in (0, 2):
        slope = (cost[at + 1] - cost[at]) / (offers[at + 1] - offers[at])
        assert found.table["price"][at] == pytest.approx(slope, rel=1e-6)
        assert found.table["relaxed_price"][at] == pytest.approx(slope, rel=1e-6)
        assert found.table["step"][at + 1] == pytest.approx(slope, rel=1e-6)
    assert found.guaranteed == pytest.approx(0.4)
    beyond = model.flexibility("1", offers=(0.5,), gap=0, settings=settings)
    assert not beyond.table["guaranteed"][0]
    assert beyond.table["price"][0] == 0.0
    assert beyond.days[0].offers[0].shed == pytest.approx(0.4)


def test_the_relaxation_of_an_integer_solver_is_solved_by_another() -> None:
    pytest.importorskip("ortools")
    case = Case([50, 20, 80, 30, 40], [(110, 2, 0, 3), (230, 1, 1, 4)], 1)
    given = text([case]).replace("  constraint cooled: sum[h in Slots] cools[h] >= cooling;\n", "")
    highs, cpsat = (gs.loads(given).flexibility("1", method=b, offers=(0.05, 0.1), gap=0) for b in ("highs", "cpsat"))
    for name in ("cost", "relaxed_price"):
        assert cpsat.table[name].to_list() == pytest.approx(highs.table[name].to_list())


def test_moves_and_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One job of 200 W in slots 0 to 2; slot 1 is cheapest, then slot 2. On the other day slot 2 is too late."""
    days = [Case([50, 10, 20], [(200, 1, 0, 2)], 1), Case([50, 10, 20], [(200, 1, 0, 1)], 1)]
    (tmp_path / "m.gsm").write_text(text(days), encoding="utf-8")
    command = ["flexibility", str(tmp_path / "m.gsm"), "-s", "D0", "--event", "01:00..02:00", "--steps", "2"]
    out = tmp_path / "out.json"
    assert main([*command, "--days", "scenario=D0,D1", "--json", str(out), "--csv", str(tmp_path / "o.csv")]) == 0
    document = json.loads(out.read_text())
    assert list(complaints(document, published("flexibility.schema.json"))) == []
    assert document["guaranteed"] == pytest.approx(0.2)
    assert document["slots"] == ["1"]
    moves = [day["offers"][1]["moves"] for day in document["days"]]
    assert [[(m["job"], m["slot"], m["with_event"]) for m in day] for day in moves] == [
        [("j0", "1", False), ("j0", "2", True)],
        [("j0", "1", False), ("j0", "0", True)],
    ]
    shown = capsys.readouterr().out
    assert "0.2 kW can be shed on 2 of 2 days (proved: at most 0.2 kW)" in shown
    assert document["new_day_probability"] == pytest.approx(0.05**0.5)
    assert [row["worst"] for row in document["offers"]] == pytest.approx([0.2 * 0.04] * 2)
    # nothing else can be shed than the job
    (tmp_path / "late.csv").write_text("to_slot[j0],from_slot[j0]\n1,1\n,\n1,\n", encoding="utf-8")
    assert main([*command, "--days", str(tmp_path / "late.csv")]) == 3
    assert "no shed can be guaranteed on 2 of 2 days" in capsys.readouterr().out
    assert main([*command, "--days", str(tmp_path / "late.csv"), "--probability", "50%"]) == 0
    assert "0.2 kW can be shed on 1 of 2 days" in capsys.readouterr().out


def test_a_day_without_a_plan_sheds_nothing() -> None:
    days = [Case([50, 10, 20], [(200, 1, 0, 2)], 1), Case([50, 10, 20], [(200, 2, 1, 1)], 1)]
    found = gs.loads(text(days)).flexibility("1", "D0", days=["D0", "D1"], probability=0.5, gap=0)
    assert found.guaranteed == pytest.approx(0.2)
    assert [day.status for day in found.days] == ["optimal", "infeasible"]
    assert found.table["days"].to_list() == [1] * 4
    assert found.complete
    assert any("without a plan" in line for line in found.lines())


@pytest.mark.parametrize(("failing", "complete"), [(3, True), (9, False)])  # the second day; its first offer
def test_an_error_of_a_solve_keeps_the_other_days(
    failing: int, complete: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = [Case([50, 10, 20], [(200, 1, 0, 2)], 1)] * 2
    calls = itertools.count(1)

    def solve(*arguments: Any) -> Solution:
        if next(calls) == failing:
            raise DiagnosticError([Diagnostic("GSM4007", "`highs` ended without a result")])
        return solve_problem(*arguments)

    monkeypatch.setattr(variants, "solve_problem", solve)
    found = gs.loads(text(days)).flexibility("1", "D0", days=["D0", "D1"], probability=0.5, gap=0, steps=1)
    assert (found.guaranteed, found.complete) == (pytest.approx(0.2), complete)
    (warning,) = found.warnings
    assert (warning.code, warning.severity.value) == ("GSM4007", "warning")
    assert "day `D1`" in warning.notes[0] or "day `scenario=D1`" in warning.notes[0]
    assert found.days[0].offers[0].cost == pytest.approx(0.2 * 0.01, rel=1)
    assert found.days[1].reason == ("`highs` ended without a result" if complete else "")
    calls = itertools.count(failing)  # on the first day nothing would be lost
    with pytest.raises(DiagnosticError):
        gs.loads(text(days)).flexibility("1", "D0", days=["D0", "D1"], gap=0)


def test_a_policy_makes_the_plan_without_the_event() -> None:
    """The plans of the policies for a case of the paper's baselines; the solver then sheds below them."""
    model = gs.load("models/price_aware/tests/policies.gsm")
    for policy, cost in (("ValleyGreedy", 0.05970), ("EPRONS", 0.07425)):
        found = model.flexibility("4..5", "Baselines", baseline=policy, gap=0, steps=1)
        [day] = found.days
        planned = model.solve("Baselines", policy)
        assert day.cost == pytest.approx(cost, abs=5e-6) == pytest.approx(planned.objective)
        power = planned.table("node_power").group_by("h").agg(pl.col("value").sum()).sort("h")["value"]
        assert (1000 * day.power).tolist() == pytest.approx(power.to_list())
        assert found.baseline == policy
        best = model.solve("Baselines", gap=0).objective
        assert all(day.cost + offer.cost >= best - 1e-9 for offer in day.offers)
        for offer in day.offers:
            assert (day.power - offer.power)[4:6].min() >= offer.shed - 1e-6


def test_shares_of_days() -> None:
    assert [required_days(20, p) for p in (1.0, 0.95, 0.951, 0.9, 0.01)] == [20, 19, 20, 18, 1]
    most = np.array([3.0, 1.0, 2.0, 5.0])
    assert [guaranteed_amount(most, p) for p in (1.0, 0.75, 0.7, 0.5, 0.25)] == [1, 2, 2, 3, 5]
    # Clopper and Pearson: of 20 days all, 0.05 ^ (1 / 20); else the root of a binomial tail
    assert probability_of_new_day(20, 20) == pytest.approx(0.05 ** (1 / 20))
    low = probability_of_new_day(20, 18)
    assert sum(math.comb(20, k) * low**k * (1 - low) ** (20 - k) for k in range(18, 21)) == pytest.approx(0.05)
    assert probability_of_new_day(5, 0) == 0.0


@pytest.mark.parametrize(("days", "probability"), [(20, 0.9), (20, 1.0), (7, 0.5), (4, 0.75)])
def test_new_days_keep_a_promise_as_often_as_stated(days: int, probability: float) -> None:
    """Draws of past days and one new day: the promise of the past days, and that for a new day, are kept as stated."""
    draws = 40_000
    all_days = np.random.default_rng(days).weibull(1.5, (draws, days + 1))
    past, new = all_days[:, :-1], all_days[:, -1]
    kept = np.mean(new >= [guaranteed_amount(most, probability) for most in past])
    stated = mean_probability_of_new_day(days, required_days(days, probability))
    assert kept == pytest.approx(stated, abs=4 * 0.5 / math.sqrt(draws))
    for_new = np.mean(new >= [amount_for_new_day(most, probability) for most in past])
    assert for_new >= probability - 4 * 0.5 / math.sqrt(draws)
    assert for_new <= probability + 1 / (days + 1) + 4 * 0.5 / math.sqrt(draws)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"event": "7..9"}, "GSM4026", "outside of the horizon: there is no slot `7`; `Slots` has the slots 0 to 2"),
        ({"event": "2..1"}, "GSM4026", "ends before it begins"),
        ({"event": "02:30..03:30"}, "GSM4026", "the slots end 3 h after the start of slot `0`"),
        ({"event": "1", "notice": "soon"}, "GSM4026", "`soon` is no notice"),
        ({"event": "1", "probability": 0.0}, "GSM4025", "above 0 and at most 1, it is 0"),
        ({"event": "1", "probability": 1.5}, "GSM4025", "above 0 and at most 1, it is 1.5"),
        ({"event": "1", "days": []}, "GSM4025", "there are no days"),
        ({"event": "1", "days": "base="}, "GSM4027", "`base=` has no days"),
        ({"event": "1", "days": "nowhere.csv"}, "GSM4027", "cannot read days from `nowhere.csv`"),
        ({"event": "1", "days": ["Nowhere"]}, "GSM6007", "unknown scenario `Nowhere`"),
        ({"event": "1", "power": "tariff"}, "GSM4025", "`tariff` is no variable and no `let` of `Day`"),
        ({"event": "1", "offers": [-1]}, "GSM4025", "offers must be positive"),
        ({"event": "1", "method": "Greedy"}, "GSM4001", "`Greedy` is no solver"),
    ],
)
def test_what_cannot_be_computed(arguments: dict[str, object], code: str, words: str) -> None:
    model = gs.loads(text([Case([50, 10, 20], [(200, 1, 0, 2)], 1)]))
    with pytest.raises(DiagnosticError) as error:
        model.flexibility(**arguments)  # type: ignore[arg-type]
    [found] = error.value.diagnostics
    assert found.code == code
    assert words in found.message


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("slot h; lasts 1[h];", "", "decisions of `Day` have no slots"),
        ("minimize cost", "minimize first in $: sum[h in Slots] tariff[h] * cools[h];\n  then minimize cost",
         "the cost of a shed needs one objective, `Day` has 2"),
        ("minimize cost", "let other[h in Slots] in kW = power[h];\n  minimize cost", "has several powers by slot"),
        ("let power[h in Slots] in W =", "let power[h in Slots] in Wh = 1[h] *", "`Day` has no power by slot"),
    ],
)  # fmt: skip
def test_models_without_a_power_by_slot(old: str, new: str, words: str) -> None:
    assert old in MODEL
    changed = text([Case([50, 10, 20], [(200, 1, 0, 2)], 1)]).replace(old, new)
    if "Wh" in new:
        changed = changed.replace(
            "1[h] * base + cools[h] / 1[h] + sum[j in Jobs] draws",
            "1[h] * base + cools[h] + sum[j in Jobs] 1[h] * draws",
        ).replace("tariff[h] * 1[h] * power", "tariff[h] * power")
    with pytest.raises(DiagnosticError) as error:
        gs.loads(changed).flexibility("1")
    [found] = error.value.diagnostics
    assert found.code == "GSM4025"
    assert words in found.message
    assert found.primary is not None
