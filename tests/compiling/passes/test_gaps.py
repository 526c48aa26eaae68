"""Comparisons of continuous columns that need no opposite, or have one because of a gap in their values."""

from __future__ import annotations

import itertools

import pytest

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.diagnostic import apply_edits
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

BACKENDS = ["highs", "scip", "cvxpy"]
LEAST = {"a": 2, "b": 3, "c": 4}
MOST = {"a": 5, "b": 7, "c": 4}
GAIN = {"a": 3, "b": -1, "c": 2}


def semicontinuous(condition: str) -> str:
    rows = " ".join(f"{k} {LEAST[k]} {MOST[k]} {GAIN[k]}" for k in LEAST)
    return f"""model M {{ set K; param least[K]; param most[K]; param gain[K];
      var w[k in K] semicontinuous >= least[k] <= most[k];
      maximize o: sum[k in K] gain[k] * w[k];
      constraint some: {condition}; }}
      scenario S for M {{ table K: least most gain = {rows}; }}"""


def best(allowed: list[int]) -> float:
    """The best value with a number of used elements that is allowed."""
    used = [c for n in allowed for c in itertools.combinations(LEAST, n)]
    return max(sum(max(GAIN[k] * LEAST[k], GAIN[k] * MOST[k]) for k in c) for c in used)


@pytest.mark.quick(12)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("condition", "allowed"),
    [
        ("(count[k in K] (w[k] >= least[k])) <= 1", [0, 1]),
        ("(count[k in K] (w[k] >= least[k])) == 3", [3]),
        ("(count[k in K] (w[k] >= 1)) == 2", [2]),
        ("(count[k in K] (w[k] <= 1)) <= 1", [2, 3]),
        ("(count[k in K] (w[k] <= 0)) >= 2", [0, 1]),
        ("(count[k in K] (-2 * w[k] <= -3)) == 2", [2]),
        ("(count[k in K] (w[k] + 5 <= 6)) == 2", [1]),
        ("not (any[k in K] w[k] >= least[k])", [0]),
        ("all[k in K] (w[k] >= 1)", [3]),
    ],
)
def test_a_semicontinuous_variable_is_above_its_threshold_or_0(
    condition: str, allowed: list[int], backend: str
) -> None:
    result = gs.loads(semicontinuous(condition)).solve(backend=backend)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(best(allowed))


@pytest.mark.parametrize(
    "condition",
    ["(count[k in K] (w[k] >= 4.5)) <= 1", "(count[k in K] (w[k] <= 2)) == 2", 'w["a"] >= 1 <=> w["b"] >= 5'],
)
def test_inside_its_range_it_is_continuous(condition: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        gs.loads(semicontinuous(condition)).solve()
    assert error.value.diagnostics[0].code == "GSM3205"


@pytest.mark.parametrize("declared", ["least[k]", "least[k] * 1", "min(least[k], most[k])"])
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("(count[k in K] (w[k] > 0)) == 2", best([2])),
        ("(count[j in K] (w[j] != 0)) <= 1", best([0, 1])),
        ("not (any[other in K] 0 < w[other])", best([0])),
        ('w["b"] > 0 and (count[k in K] (0 != w[k])) == 1', GAIN["b"] * LEAST["b"]),
    ],
)
def test_what_is_written_for_above_zero(condition: str, expected: float, declared: str) -> None:
    """The values of a threshold are data, so `> 0` is refused; the advised text, with its indices, is accepted."""
    text = semicontinuous(condition).replace(">= least[k] <=", f">= {declared} <=")
    with pytest.raises(DiagnosticError) as error:
        gs.loads(text).check()
    found = error.value.diagnostics
    assert {d.code for d in found} == {"GSM1220"}
    for finding in found:
        [edit] = finding.edits
        assert f"write `{edit.text}`" in str(finding.help)
    result = gs.loads(apply_edits(text, [edit for d in found for edit in d.edits])).solve()
    assert result.objective == pytest.approx(expected)


@pytest.mark.parametrize(
    ("declared", "compared", "help"),
    [
        (">= 2 <= 5", "v > 0", "write `v >= 2[h]`"),
        (">= 2[min] <= 5", "0 < v", "write `v >= 2[min]`"),
        (">= 2 >= few <= 5", "v != 0[h]", "write `v >= 2[h] and v >= few`"),
        (">= 2 <= 5", "v > 1[h]", "write `v >= 1[h]`, or state a margin"),
        (">= 2 <= 5", "v < 0[h]", "write `v <= 0[h]`, or state a margin"),
        (">= 2 <= 5", "v + few > 0", "write `v + few >= 0`, or state a margin"),
    ],
)
def test_units_and_several_thresholds(declared: str, compared: str, help: str) -> None:
    text = f"""model M {{ param few = 1[h]; var v in h semicontinuous {declared}; var on binary; minimize v;
      constraint c: on == 1 => {compared}; }} scenario S for M {{ }}"""
    with pytest.raises(DiagnosticError) as error:
        gs.loads(text).check()
    [found] = error.value.diagnostics
    assert (found.code, str(found.help).startswith(help)) == ("GSM1220", True), found.help


@pytest.mark.parametrize("split", ["x <= 3 or x >= 5", "x >= 5 or x <= 3", "-2 * x >= -6 or x - 1 >= 4"])
def test_a_gap_that_the_author_states(split: str) -> None:
    text = f"""model M {{ var x >= 0 <= 9; var on binary; maximize o: x - 4 * on;
      constraint split: {split}; constraint high: on == 1 <=> x >= 4; }} scenario S for M {{ }}"""
    assert gs.loads(text).solve().objective == pytest.approx(5.0)
    ruled = text.replace("on == 1 <=> x >= 4", "on == 1 <=> x >= 4; constraint off: on == 0")
    assert gs.loads(ruled).solve().objective == pytest.approx(3.0)
    with pytest.raises(DiagnosticError):
        gs.loads(text.replace(split, "x <= 3 or x >= 3")).solve()


# --- comparisons that must hold anyway ---------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("stated", "plain"),
    [
        ("constraint k: all[n in N] w[n] >= v;", "constraint k[n in N]: w[n] >= v;"),
        ("constraint k: (all[n in N] w[n] >= v) and v <= 3;", "constraint k[n in N]: w[n] >= v; constraint l: v <= 3;"),
        (
            "constraint k: all[n in N] (w[n] >= v and w[n] <= 2);",
            "constraint k[n in N]: w[n] >= v; constraint l[n in N]: w[n] <= 2;",
        ),
        ("constraint k: on == 1 => all[n in N] w[n] >= v;", "constraint k[n in N]: on == 1 => w[n] >= v;"),
        (
            "constraint k: if on == 1 then all[n in N] w[n] >= v else v <= 1;",
            "constraint k[n in N]: on == 1 => w[n] >= v; constraint l: on == 0 => v <= 1;",
        ),
        ("constraint k: on == 0 or (all[n in N] w[n] >= v);", "constraint k[n in N]: on == 1 => w[n] >= v;"),
        (
            "constraint k: all[n in N] (all[m in N] w[n] + w[m] >= v);",
            "constraint k[n in N, m in N]: w[n] + w[m] >= v;",
        ),
    ],
)
def test_what_must_hold_for_all_needs_no_opposite(stated: str, plain: str, backend: str) -> None:
    text = """model M {{ set N = {{"a", "b"}}; var w[N] >= 0 <= 10; var v >= 0 <= 5; var on binary;
      maximize o: v - sum[n in N] 0.3 * w[n] + 0.5 * on; {} }} scenario S for M {{ }}"""
    result, expected = (gs.loads(text.format(one)).solve(backend=backend) for one in (stated, plain))
    assert result.objective == pytest.approx(expected.objective)
