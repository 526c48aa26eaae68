"""The forms of values of `Model.set`: arrays, series, tables with keys in the index, texts with units."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from found_codes import raises_code

import gpusched_dsl as gs

TEXT = """
model M {
  set J; set N; set P within J cross N;
  param h[J] in h default 0[h];
  param c[j in J, n in N] default 0;
  param q[P] default 0;
  param horizon in h default 1[h];
  param plain default 1;
  param name[J] symbol default "none";
  param kind[J] within N;
  var x >= 0;
  minimize z: x;
  report rh[j in J] in h = h[j];
  report rc[j in J, n in N] = c[j, n];
  report rq[(j, n) in P] = q[j, n];
  report rt in h = horizon;
}
scenario S for M { J = { j1, j2 }; N = { a, b, c }; P = { (j1, a), (j2, c) }; kind = b; }
"""
JOBS = ["j1", "j2", "j3"]
C = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
KEYS = pd.MultiIndex.from_product([["j1", "j2"], ["a", "b", "c"]])


def after(name: str, value: Any) -> gs.Result:
    model = gs.loads(TEXT)
    model.set(name, value)
    return model.resolve()


H = [2.0, 1.5]


@pytest.mark.parametrize(
    "value",
    [
        H, tuple(H), np.array(H), np.array(H, dtype=object), np.array(["2 h", "90 min"]), pl.Series(H),
        pl.Series("h", H), pl.Series(["2h", "90[min]"]), {"j1": 2, "j2": 1.5}, {"j1": "2 h", "j2": "1h30m"},
        {"j1": Fraction(2), "j2": "5400 s"},
        {"j1": Decimal(2), "j2": timedelta(minutes=90)}, [timedelta(hours=2), timedelta(hours=1.5)],
        np.array([120, 90], dtype="timedelta64[m]"), pl.Series([timedelta(hours=2), timedelta(hours=1.5)]),
        pd.Series(H, index=["j1", "j2"]), pd.Series(H, index=pd.Index(["j1", "j2"], name="j")),
        pd.Series(pd.to_timedelta(["0 days 02:00:00", "0 days 01:30:00"]), index=["j1", "j2"]),
        pd.DataFrame({"h": H}, index=["j1", "j2"]), pd.DataFrame({"j": ["j1", "j2"], "h": H}).set_index("j"),
        pd.DataFrame({"j": ["j1", "j2"], "h": ["2 h", "90 min"]}), pl.DataFrame({"j": ["j1", "j2"], "value": H}),
        pl.LazyFrame({"j": ["j1", "j2"], "value": H}), pl.DataFrame({"j": ["j1", "j2"], "value": ["2 h", "1.5 h"]}),
        pl.DataFrame({"j": ["j1", "j2"], "value": [timedelta(hours=2), timedelta(hours=1.5)]}),
    ],
)  # fmt: skip
def test_values_by_one_index(value: Any) -> None:
    assert after("h", value)["rh"]["value"].to_list() == H


@pytest.mark.parametrize(
    "value",
    [
        C, np.array(C), np.array(C, dtype=np.float32), [np.array(row) for row in C], [pl.Series(row) for row in C],
        tuple(map(tuple, C)), dict(zip(KEYS, np.array(C).reshape(-1), strict=True)),
        pd.Series(np.array(C).reshape(-1), index=KEYS), pd.DataFrame({"c": np.array(C).reshape(-1)}, index=KEYS),
        pd.DataFrame({"c": np.array(C).reshape(-1)}, index=KEYS.set_names(["n1", "n2"])),
        pd.DataFrame({"n": [*"abc"] * 2, "c": np.array(C).reshape(-1)}, index=["j1"] * 3 + ["j2"] * 3),
    ],
)  # fmt: skip
def test_values_by_two_indices(value: Any) -> None:
    assert after("c", value)["rc"]["value"].to_list() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("value", [[7, 8], np.array([7, 8]), pl.Series([7, 8], dtype=pl.UInt8)])
def test_an_array_over_a_set_of_pairs(value: Any) -> None:
    assert after("q", value)["rq"].select("j", "n", "value").rows() == [("j1", "a", 7), ("j2", "c", 8)]


@pytest.mark.parametrize("value", ["2 h", "2h", "2[h]", "120 min", "7200[s]", " 2 h ", "1h60m", timedelta(hours=2), 2,
                                   np.float32(2), np.int64(2), Fraction(2), Decimal("2.0"), np.timedelta64(120, "m"),
                                   np.timedelta64(7200 * 10**9, "ns"), np.array(2.0)])  # fmt: skip
def test_single_values_with_units(value: Any) -> None:
    assert after("horizon", value).value("rt") == 2.0


@pytest.mark.parametrize("value", [JOBS, tuple(JOBS), pl.Series(JOBS), pd.Index(JOBS), np.array(JOBS), pd.Series(JOBS),
                                   iter(JOBS), pl.LazyFrame({"j": JOBS}), pl.DataFrame({"j": JOBS}),
                                   pd.DataFrame(index=JOBS)])  # fmt: skip
def test_sets(value: Any) -> None:
    assert after("J", value).table("rh")["j"].to_list() == JOBS


def test_sets_of_pairs_in_the_index_of_a_table() -> None:
    assert after("P", pd.DataFrame(index=KEYS[:2])).table("rq").height == 2


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("h", [1.0, 2.0, 3.0], "has 3 values, but `J` has 2 elements"),
        ("h", [], "has 0 values"),
        ("h", C, "has 1 axis, not 2"),
        ("c", [1.0, 2.0], "has 2 axes, not 1"),
        ("c", [[1.0, 2.0], [3.0]], "different lengths"),
        ("c", [[1.0, 2.0, 3.0], 4.0], "different lengths"),
        ("c", np.zeros((3, 2)), "lists for `J` have 3 values"),
        ("horizon", "2 kW", "units do not agree: `kW`, but `horizon` is in `h`"),
        ("horizon", "2 parsecs", "not a quantity"),
        ("horizon", "2", "needs numbers"),
        ("horizon", "soon", "needs numbers"),
        ("horizon", [2.0], "needs numbers"),
        ("horizon", 2**53 + 1, "not exact"),
        ("horizon", 10**400, "too large"),
        ("horizon", 1j, "needs numbers"),
        ("horizon", object(), "needs numbers"),
        ("plain", timedelta(1), "has no unit"),
        ("plain", "2 h", "has no unit"),
        ("h", {"j1": "2 kW", "j2": 1}, "units do not agree"),
        ("h", {"j1": object(), "j2": 1}, "neither a number nor a text"),
        ("h", {"j1": [1], "j2": 1}, "neither a number nor a text"),
        ("h", {b"j1": 1, "j2": 1}, "neither a number nor a text"),
        ("h", [{}, 1], "neither a number nor a text"),
        ("J", [object()], "neither a number nor a text"),
        ("J", [b"j1"], "neither a number nor a text"),
        ("J", [["j1"], ["j2", "j3"]], "has 1 component"),
        ("J", 3, "needs a list"),
        ("J", None, "needs a list"),
        ("J", b"ab", "neither a number nor a text|needs a list"),
        ("P", {"j1": 3}, "has 2 components"),
        ("h", pl.LazyFrame({"j": ["j1"]}).select("no"), 'the table for `h` cannot be computed: .*"no"'),
    ],
)
def test_what_cannot_be_set(name: str, value: Any, words: str) -> None:
    with pytest.raises(gs.DiagnosticError, match=words):
        after(name, value)


def test_texts_stay_texts() -> None:
    model = gs.loads(TEXT)
    model.set("name", {"j1": "2 h", "j2": "x"})
    model.set("kind", ["a", "c"])
    assert model.resolve()["name"]["value"].to_list() == ["2 h", "x"]
    assert model.resolve()["kind"]["value"].to_list() == ["a", "c"]


def test_an_array_follows_the_set() -> None:
    """The length is compared with the set at the time of the solve."""
    model = gs.loads(TEXT)
    model.set("h", [1, 2, 3])
    model.set("J", ["j3", "j1", "j2"])
    assert model.resolve()["rh"].rows() == [("j3", 1.0), ("j1", 2.0), ("j2", 3.0)]
    model.set("J", ["j1"])
    model.set("P", [])
    with raises_code("GSM2116", "3", "J", "1"):
        model.resolve()
    model.set("h", np.array([4.0]))
    assert model.resolve()["rh"].rows() == [("j1", 4.0)]
