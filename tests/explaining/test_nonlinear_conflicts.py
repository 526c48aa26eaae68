"""Conflicts of rows with nonlinear terms: what excludes each other, in the words of the model, and minimal."""

from __future__ import annotations

import itertools
from random import Random

import pytest

import gpusched_dsl as gs
from gpusched_dsl.explaining.explanation import Explanation

HEAD = "model M { var x >= 0 <= 4; var y >= 0 <= 3; var z >= 0 <= 9; var b binary; "


def explained(text: str, backend: str) -> tuple[list[str], Explanation]:
    """The rows of the conflict, and all that is said."""
    told = gs.loads(text).explain(backend=backend)
    assert told.status == "infeasible"
    assert told.conflict is not None
    assert told.conflict.minimal
    return [told.conflict.problem.row_family(r).name for r in told.conflict.rows.tolist()], told


def test_terms_of_the_objective_have_no_part_in_it() -> None:
    text = HEAD + "minimize t: x^2 + x*y + y^2 + z; constraint a: x + y >= 8; constraint c: z >= 1; }"
    rows, told = explained(text, "highs")
    assert rows == ["a"]
    assert "with 7 instead of 8 in `a`" in str(told)


def test_rows_with_terms_and_conditions() -> None:
    text = (
        HEAD
        + """minimize t: z; constraint a: b == 1 => x^2 + y^2 <= 1; constraint c: x + y >= 3;
      constraint d: b >= 1; constraint e: z >= x; }"""
    )
    rows, told = explained(text, "scip")
    assert rows == ["a", "c", "d"]
    assert "a: x^2 + y^2 <= 1 if b == 1" in str(told)


def test_a_backend_that_takes_the_terms_is_asked() -> None:
    """The bounds alone contradict a row, which needs no backend to be proved, but one to be proved minimal."""
    rows, told = explained(HEAD + "minimize t: z; constraint a: log(1 + x) + log(1 + y) >= 3.2; }", "highs")
    assert rows == ["a"]
    assert "a: log(1 + x) + log(1 + y) >= 3.2" in str(told)
    assert told.conflict is not None
    assert sorted(told.conflict.upper.tolist()) == [0, 1]


ROWS = (
    "x^2 + y^2 <= {}", "x * y >= {}", "x + y >= {}", "x - y <= -{}", "x^2 - 2*y >= {}", "2*x + 3*y <= {}",
    "abs(x - y) >= {}",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["scip"])
@pytest.mark.parametrize("seed", range(25))
def test_random_conflicts_are_minimal(seed: int, backend: str) -> None:
    """Against enumeration: the conflict has no point, and what is left of it without one row has some."""
    draw = Random(seed)
    rows = [row.format(draw.randint(1, 9)) for row in draw.sample(ROWS, 4)]
    stated = " ".join(f"constraint c{k}: {row};" for k, row in enumerate(rows))
    text = f"model M {{ var x integer >= 0 <= 4; var y integer >= 0 <= 4; minimize t: x; {stated} }}"

    def has_point(some: list[str], low: list[int], high: list[int]) -> bool:
        axes = [range(0 if k in low else -30, 5 if k in high else 31) for k in range(2)]
        python = [row.replace("^", "**") for row in some]
        return any(all(eval(row, {"x": x, "y": y}) for row in python) for x, y in itertools.product(*axes))

    told = gs.loads(text).explain(backend=backend)
    if has_point(rows, [0, 1], [0, 1]):
        assert told.status == "feasible"
        return
    conflict = told.conflict
    assert conflict is not None
    names = [conflict.problem.row_family(r).name for r in conflict.rows.tolist()]
    own = [rows[int(name[1])] for name in names if "." not in name]
    if len(own) < len(names) or conflict.columns.max(initial=0) > 1:
        return  # rows that came of reformulating have no text, and bounds of terms stand for others
    low, high = ([c for c in bound.tolist() if c < 2] for bound in (conflict.lower, conflict.upper))
    assert not has_point(own, low, high)
    if len(conflict.integer) == 2 and conflict.minimal:
        for at in range(len(own)):
            assert has_point([*own[:at], *own[at + 1 :]], low, high), (own, at)
