"""Generated models: the answer of every way to solve them, against enumeration."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from algebras import Unsupported
from configurations import Configuration, Outcome, all_configurations, outcome, random_configuration
from enumerated_optimum import Reference, has_no_end, reference
from judged_refusals import REFUSALS, false_claim
from model_changes import SAME
from model_generator import Size, generated
from model_text import text_of
from model_tree import (
    Compare,
    Constraint,
    Divided,
    Expected,
    Extreme,
    Indexing,
    Iter,
    Let,
    Model,
    Objective,
    Over,
    Ref,
    Square,
    Var,
    number,
)

HERE = Path(__file__).parent
QUICK = 300
BLOCK = 30
SMALL = Size(points=512, mixed=12, continuous=2)
WITH_CPSAT = ("highs", "scip", "cpsat", "cpsat")
TIMES = Size(points=256, mixed=12, continuous=1, intervals=True)
PIECES = 100  # of a reference: a few models that have more take most of the time


def check(
    seeds: range, ways: int, size: Size = SMALL, backends: tuple[str, ...] = ("highs", "highs", "scip", "cvxpy")
) -> Counter[str]:
    """How often which kind of outcome came."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        model = generated(seed, size)
        random = Random(-seed - 1)
        try:
            right = reference(model, PIECES)
            for _ in range(ways):
                configuration = random_configuration(model, random, backends)
                found = outcome(model, right, configuration)
                assert not found.is_wrong, f"model {seed}, {configuration}: {found.detail}\n{text_of(model)}"
                counts[found.kind] += 1
                counts[right.status] += 1
        except Unsupported:
            counts["not enumerated"] += 1
    return counts


def enumerated(model: Model) -> Reference | None:
    """The reference; None where it would take long."""
    try:
        return reference(model, PIECES)
    except Unsupported:
        return None


@pytest.mark.quick(4)
@pytest.mark.parametrize("first", range(0, QUICK, BLOCK))
def test_models_are_solved_right(first: int) -> None:
    counts = check(range(first, first + BLOCK), 1)
    assert counts["right"] >= 0.8 * BLOCK, counts
    assert counts["refused"] <= 0.1 * BLOCK, counts


def test_models_with_intervals_are_solved_right() -> None:
    counts = check(range(10), 1, TIMES, WITH_CPSAT)
    assert counts["right"] >= 6, counts


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(3_000_000, 3_000_600, BLOCK))
def test_many_models_with_intervals_are_solved_right(first: int) -> None:
    counts = check(range(first, first + BLOCK), 2, TIMES, WITH_CPSAT)
    assert counts["right"] >= 0.6 * BLOCK, counts


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(4_000_000, 4_000_300, BLOCK))
def test_cpsat_solves_models_right_or_refuses_them(first: int) -> None:
    counts = check(range(first, first + BLOCK), 1, SMALL, ("cpsat",))
    assert counts["right"] >= 0.2 * BLOCK, counts


def test_a_refusal_that_claims_what_is_not_so_is_found() -> None:
    """Each kind of refusal has models to which it does not apply."""
    for code in sorted(REFUSALS):
        messages = [f"`x` can only be made linear if `{v}` has an upper bound" for v in ("v0", "v1", "none")]
        wrong = [
            false_claim(generated(seed, SMALL), "highs", "auto", code, message)
            for seed in range(12)
            for message in messages
        ]
        assert sum(map(bool, wrong)) >= 12, (code, wrong)


def test_products_of_fractions_are_known_to_the_judge() -> None:
    b, t = Var("b", Indexing(), "binary", None, None), Let("t", Indexing(), Ref("b"))
    goal = Objective("goal", "minimize", (("goal_0", Over("prod", Indexing((Iter(("i",), "A"),)), Ref("t"))),))
    whole = Model((), (), (), (b,), (t,), (), (goal,))
    mean = replace(whole, lets=(replace(t, body=Expected(Ref("b"))),))
    assert false_claim(whole, "highs", "auto", "GSM3201", "")
    assert not false_claim(mean, "highs", "auto", "GSM3201", "")
    for body, is_whole in (
        (Divided(Ref("b"), 4), True),  # the columns of its product are those of `b`
        (Extreme("min", (Divided(Ref("b"), 4), number(1))), False),
        (Extreme("min", (Ref("b"), number(1))), True),
    ):
        square = replace(whole, objectives=(replace(goal, terms=(("goal_0", Square(body)),)),))
        assert bool(false_claim(square, "highs", "auto", "GSM3201", "")) == is_whole


def test_a_model_that_cannot_be_enumerated_does_not_fail_alike(tmp_path: Path) -> None:
    """A change that says the same may give more pieces than are enumerated: the model is shrunk without it."""
    found = Outcome("objective")
    model = generated(0, SMALL)
    configuration = Configuration(changes=("redundant rows",))
    calls: list[Model] = []
    spec = importlib.util.spec_from_file_location("runner", HERE / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)

    def enumerated(one: Model) -> Reference:
        calls.append(one)
        if one is not model:
            raise Unsupported("pieces")
        return reference(one)

    vars(runner)["reference"] = enumerated
    path = runner.write_smallest(model, configuration, found, tmp_path, "0")
    assert len(calls) > 2
    assert path.read_text(encoding="utf-8").endswith(text_of(model))


def test_variables_without_an_end_are_found() -> None:
    x, y = Var("x", Indexing(), "", number(0), None), Var("y", Indexing(), "", number(0), number(3))
    model = Model((), (), (), (x, y), (), (), (Objective("goal", "minimize", (("goal_0", Ref("x")),)),))
    row = Constraint("c", Indexing(), Compare(("<=",), (Ref("x"), Ref("y"))))
    never = Constraint("c", Indexing(), Compare(("<=",), (Ref("y"), number(-1))))
    assert has_no_end(model, "x", upper=True)
    assert not has_no_end(model, "x", upper=False)
    assert not has_no_end(model, "y", upper=True)
    assert not has_no_end(replace(model, constraints=(row,)), "x", upper=True)
    assert has_no_end(replace(model, constraints=(never,)), "y", upper=True)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(1_000_000, 1_020_000, 500))
def test_many_models_are_solved_right(first: int, tmp_path: Path) -> None:
    """In processes of their own, so that none hangs for ever: 20,000 models, each in one way."""
    command = [
        sys.executable, str(HERE / "__main__.py"), "--first", str(first), "--models", "500", "--ways", "1", "--batch",
        "250", "--folder", str(tmp_path),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    right = next(line.split()[0] for line in done.stdout.splitlines() if line.endswith(" right"))
    assert int(right) > 0.8 * 500


def test_changes_that_say_the_same_have_the_same_optimum() -> None:
    """The changed text stands for the same model: only its answer by the package is in question elsewhere."""
    for seed in range(20):
        model = generated(seed, SMALL)
        right = reference(model)
        for name, change in SAME.items():
            changed = change(model, Random(seed))
            assert reference(changed) == right, (seed, name)
    texts = {name: sum(text_of(change(generated(s), Random(s))) != text_of(generated(s)) for s in range(60))
             for name, change in SAME.items()}  # fmt: skip
    assert min(texts.values()) >= 10, texts


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(2_000_000, 2_000_200, 20))
def test_models_are_solved_right_in_every_way(first: int) -> None:
    """Every switch, start, change and backend for the same model; 200 models."""
    for seed in range(first, first + 20):
        model = generated(seed, SMALL)
        try:
            right = reference(model)
        except Unsupported:
            continue
        for configuration in all_configurations():
            try:
                found = outcome(model, right, replace(configuration, seed=seed))
            except Unsupported:
                continue
            assert not found.is_wrong, f"model {seed}, {configuration}: {found.detail}\n{text_of(model)}"


def test_the_generator_gives_every_status_and_construct() -> None:
    """Models of the quick tests say something, and not always the same."""
    statuses = Counter(right.status for seed in range(100) if (right := enumerated(generated(seed, SMALL))))
    assert statuses["infeasible"] >= 4
    assert statuses["optimal"] >= 60
    texts = "".join(text_of(generated(seed)) for seed in range(QUICK))
    for word in (
        " where ", "any[", "all[", " or ", " and ", "not ", " => ", " <=> ", "if ", "count[", "max(", "min(", "abs(",
        "max[", "min[", " ^ 2", "E(", "then m", "when rule", "decompose by", " in h", "[min]", "let ", " integer ",
        " else 0", " within A cross B", "K = 1..3", ">= 0;", " in P]", " binary",
        " < ", " > ", " != ", "all_different[", "all_different(", "prod[", " div ", " mod ", " semicontinuous ",
        "sos1[", "sos2[", "breakpoints = {", "points = { (", "norm(", " * log(", " * exp(", " in Q[i", "set Q[A]",
        "T ordered", "param r[", "ord(", " integer;",
    ):  # fmt: skip
        assert word in texts, word


def test_a_wrong_answer_is_found() -> None:
    """The reference of another model is not met: the comparison can fail."""
    kinds = Counter()
    for seed in range(20):
        model, other = generated(seed, SMALL), enumerated(generated(seed + 1000, SMALL))
        right = enumerated(model)
        if right and other and other != right:
            kinds[outcome(model, other, Configuration()).kind != "right"] += 1
    assert kinds[True] > 10
    assert not kinds[False]
