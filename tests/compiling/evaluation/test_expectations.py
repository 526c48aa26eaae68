"""Expectations of data against samples and against plain loops over all outcomes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from random_models import instance_of, values_of

from gpusched_dsl.language.diagnostics.errors import DiagnosticError

SETS = "set K = 1..2; param a[k in K] = 10 * k; param low = 4;"
CONTINUOUS = [
    "exponential(mean = 12)",
    "exponential(rate = 0.1)",
    "uniform(2, 30)",
    "weibull(scale = 15, shape = 1.5)",
    "weibull(mean = 15, shape = 0.8)",
    "lognormal(median = 12, sigma = 0.6)",
    "lognormal(mean = 12, deviation = 5)",
    "lognormal(mean = 12, sigma = 0.4)",
    "truncate(normal(mean = 15, deviation = 10), low = 0)",
    "censor(exponential(mean = 12), high = 25)",
    "truncate(exponential(mean = 12), high = 25)",
    "survival_points({ (0, 1), (10, 0.4), (30, 0.1) })",
    "mixture({ (exponential(mean = 5), 0.4), (uniform(10, 20), 0.6) })",
]
FINITE = [
    "discrete({ (3, 0.2), (10, 0.3), (20, 0.4), (25, 0.1) })",
    "empirical({ 2 * k : k in 1..12 })",
    "empirical({ (5 * k, k) : k in K })",
    "deterministic(12)",
]
# The formula in the model for an index k, and the same for arrays of draws w and v with a = 10 k.
FORMS = {
    "E(W)": lambda w, v, a: w,
    "E(2 * W - W / 4 + a[k])": lambda w, v, a: 2 * w - w / 4 + a,
    "E(min(W, a[k]))": lambda w, v, a: np.minimum(w, a),
    "E(max(W - a[k], 0))": lambda w, v, a: np.maximum(w - a, 0),
    "E(max(a[k] - W, 0))": lambda w, v, a: np.maximum(a - w, 0),
    "E(max(0.5 * W + 1, a[k], 3))": lambda w, v, a: np.maximum(np.maximum(0.5 * w + 1, a), 3),
    "E(min(2 * W, 30 - W))": lambda w, v, a: np.minimum(2 * w, 30 - w),
    "E(min(W + V, W + 5))": lambda w, v, a: np.minimum(w + v, w + 5),
    "E(abs(W - a[k]))": lambda w, v, a: np.abs(w - a),
    "E(sum[i in K] a[i] * min(W, a[i]))": lambda w, v, a: 10 * np.minimum(w, 10) + 20 * np.minimum(w, 20),
    "E(if W > a[k] then 2 * W else 1)": lambda w, v, a: np.where(w > a, 2 * w, 1),
    "E(if low < W <= a[k] then W - 3 else W)": lambda w, v, a: np.where((w > 4) & (w <= a), w - 3, w),
    "E(if k == 1 then W else min(W, 7))": lambda w, v, a: w if a == 10 else np.minimum(w, 7),
    "E(3 * V + min(W, 7))": lambda w, v, a: 3 * v + np.minimum(w, 7),
    "P(W > a[k])": lambda w, v, a: w > a,
    "P(low <= W <= a[k])": lambda w, v, a: (w >= 4) & (w <= a),
    "P(30 - 2 * W >= a[k])": lambda w, v, a: 30 - 2 * w >= a,
    "P(W > a[k] or V > 6)": lambda w, v, a: (w > a) | (v > 6),
    "P(W > a[k] and V > 6 and k == 1)": lambda w, v, a: (w > a) & (v > 6) & (a == 10),
    "P(W > a[k] => V > 6)": lambda w, v, a: ~(w > a) | (v > 6),
    "P(W > a[k] <=> V > 6)": lambda w, v, a: (w > a) == (v > 6),
    "P(not W > a[k])": lambda w, v, a: ~(w > a),
    "E(count[i in K] (W > a[i]))": lambda w, v, a: (w > 10).astype(float) + (w > 20),
}
GIVENS = {
    "W > low": lambda w, v, a: w > 4,
    "low < W and W <= 2 * a[k]": lambda w, v, a: (w > 4) & (w <= 2 * a),
    "V > 3 and W >= low": lambda w, v, a: (v > 3) & (w >= 4),
}
DRAWS = 60_000


def formulas() -> dict[str, str]:
    found = {}
    for at, form in enumerate(FORMS):
        found[f"p{at}[k in K]"] = form
        for number, given in enumerate(GIVENS):
            found[f"p{at}g{number}[k in K]"] = f"{form[:-1]} given {given})"
    return found


@pytest.mark.parametrize("law", [CONTINUOUS[0], *(pytest.param(c, marks=pytest.mark.slow) for c in CONTINUOUS)])
def test_closed_forms_agree_with_samples(law: str) -> None:
    declarations = f"{SETS} random W ~ {law}; random V ~ exponential(mean = 5);"
    found = values_of(declarations, formulas())
    randoms = instance_of(f"model M {{ {declarations} var x >= 0; minimize x; }} scenario S for M {{ }}").store.randoms
    rng = np.random.default_rng(7)
    w, v = (randoms[name].laws[0].sample(rng, DRAWS) for name in "WV")
    for at, function in enumerate(FORMS.values()):
        for number, given in enumerate([lambda w, v, a: w > -1, *GIVENS.values()]):
            values = found[f"p{at}[k in K]" if number == 0 else f"p{at}g{number - 1}[k in K]"]
            for value, a in zip(values, (10, 20), strict=True):
                draws = np.broadcast_to(function(w, v, a), w.shape)[given(w, v, a)].astype(float)
                error = max(draws.std(), 1e-3) / np.sqrt(len(draws))
                assert value == pytest.approx(draws.mean(), abs=6 * error), (at, number)


@pytest.mark.quick(3)
@pytest.mark.parametrize("law", FINITE)
def test_finite_laws_agree_with_a_loop_over_the_outcomes(law: str) -> None:
    declarations = f"{SETS} random W ~ {law}; random V ~ discrete({{ (2, 0.5), (5, 0.25), (8, 0.25) }});"
    found = values_of(declarations, formulas())
    randoms = instance_of(f"model M {{ {declarations} var x >= 0; minimize x; }} scenario S for M {{ }}").store.randoms
    supports = [randoms[name].laws[0].atoms for name in "WV"]
    (w, p), (v, q) = supports
    outcomes = [(wi, vi, pi * qi) for (wi, pi), (vi, qi) in product(zip(w, p, strict=True), zip(v, q, strict=True))]
    ws, vs, weights = (np.array(column) for column in zip(*outcomes, strict=True))
    for at, function in enumerate(FORMS.values()):
        for number, given in enumerate([lambda w, v, a: w > -1, *GIVENS.values()]):
            values = found[f"p{at}[k in K]" if number == 0 else f"p{at}g{number - 1}[k in K]"]
            for value, a in zip(values, (10, 20), strict=True):
                share = weights * given(ws, vs, a)
                body = np.broadcast_to(function(ws, vs, a), ws.shape)
                assert value == pytest.approx(float(share @ body / share.sum()), abs=1e-12), (at, number)


INDEXED = """set J = 1..3; random W[j in J] ~ discrete({ (j, 0.5), (2 * j + 1, 0.3), (7, 0.2) });
random B ~ discrete({ (0, 0.25), (1, 0.75) }); param c[j in J] = 4 - j;"""
LOOPS = {
    "m": ("E(max[j in J] W[j] * c[j])", lambda w, b: max(w[j] * (3 - j) for j in range(3))),
    "s": ("E((sum[j in J] W[j])^2)", lambda w, b: sum(w) ** 2),
    "q": ("E(W[1] * W[2] * B)", lambda w, b: w[0] * w[1] * b),
    "same": ("E(W[1] * W[c[3]])", lambda w, b: w[0] * w[0]),
    "none": ("P(all[j in J] W[j] <= 6)", lambda w, b: all(x <= 6 for x in w)),
    "some": ("P(any[j in J where W[j] > 2] W[j] <= 3)", lambda w, b: any(2 < x <= 3 for x in w)),
    "first": ("E(min[j in J where c[j] >= 2] W[j] given B > 0)", lambda w, b: min(w[:2])),
    "late": ("E(max(W[1] + W[2] - 5, 0) given W[1] + W[3] > 4)", lambda w, b: max(w[0] + w[1] - 5, 0)),
    "nested": ("E(W[1] * E(W[2]))", lambda w, b: w[0] * (2 * 0.5 + 5 * 0.3 + 7 * 0.2)),
}


def test_joint_outcomes_of_indexed_randoms() -> None:
    found = values_of(INDEXED, {name: formula for name, (formula, _) in LOOPS.items()})
    values = [np.array([j, 2 * j + 1, 7]) for j in (1, 2, 3)]
    outcomes = [
        ([values[j][at[j]] for j in range(3)], b, np.prod([[0.5, 0.3, 0.2][i] for i in at]) * (0.75 if b else 0.25))
        for at in product(range(3), repeat=3)
        for b in (0, 1)
    ]
    conditions = {"late": lambda w, b: w[0] + w[2] > 4, "first": lambda w, b: b > 0}
    for name, (_, function) in LOOPS.items():
        given = conditions.get(name, lambda w, b: True)
        share = sum(p for w, b, p in outcomes if given(w, b))
        total = sum(p * function(w, b) for w, b, p in outcomes if given(w, b))
        assert float(found[name].reshape(-1)[0]) == pytest.approx(total / share, abs=1e-12), name


def test_each_row_has_its_own_law_and_condition() -> None:
    found = values_of(
        """set J = 1..4; param mean[j in J] = 3 * j; param done[j in J] = j - 1; param due[j in J] = 5;
        random W[j in J] ~ exponential(mean = mean[j]);""",
        {
            "late[j in J]": "E(max(W[j] - due[j], 0) given W[j] > done[j])",
            "mix[i in J, j in J]": "E(min(W[i], 4) given W[j] > 2)",
        },
    )
    mean, done = 3 * np.arange(1, 5), np.arange(4)
    assert found["late[j in J]"] == pytest.approx(mean * np.exp(-(5 - done) / mean))
    plain, given = mean * (1 - np.exp(-4 / mean)), 2 + mean * (1 - np.exp(-2 / mean))
    table = np.where(np.eye(4, dtype=bool), given[:, None], plain[:, None])
    assert found["mix[i in J, j in J]"] == pytest.approx(table.reshape(-1))


@pytest.mark.parametrize(
    ("formula", "code"),
    [
        ("E(W^2)", "GSM3106"),
        ("E(W * V)", "GSM3106"),
        ("E(min(W, V))", "GSM3106"),
        ("E(W given W + V > 3)", "GSM3106"),
        ("E(exp(W))", "GSM3106"),
        ("E(W given W > 20 and W < 10)", "GSM3104"),
        ("E(U given U > 30)", "GSM3104"),
        ("P(D > 3 given D > 30)", "GSM3104"),
    ],
)
def test_what_has_no_form_is_refused(formula: str, code: str) -> None:
    declarations = """random W ~ exponential(mean = 12); random V ~ uniform(0, 3); random U ~ uniform(0, 30);
    random D ~ discrete({ (1, 0.5), (30, 0.5) });"""
    with pytest.raises(DiagnosticError) as error:
        values_of(declarations, {"p": formula})
    assert [d.code for d in error.value.diagnostics] == [code]
