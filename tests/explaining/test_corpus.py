"""Models with a known conflict, relaxation or ray: the first lines of each state the expected output of `explain`.

# status: infeasible
# rows: once[j7], due[j7]             the rows of the conflict, all of them
# lower, upper, whole: run            the variables whose bounds or integrality take part (when the line is there)
# relaxed: due[j7] +1.2               the least change: one of these rows, raised (+) or lowered (-) by so much
# ray: sold +1, bought +1             the variables that change together
# says: hours[j7] = 5.2 h             a piece of the text
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from json_schemas import complaints, published

import gpusched_dsl as gs
from gpusched_dsl.explaining.explanation import Explanation
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.names import entry_name

FOLDER = Path(__file__).parent / "infeasible"
FILES = sorted(FOLDER.glob("*.gsm"))
SCHEMA = published("explanation.schema.json")
HEADER = re.compile(r"# (status|rows|lower|upper|whole|relaxed|ray|says):(.*)")


@cache
def explained(path: Path) -> Explanation:
    return gs.load(path).explain()


def header(path: Path) -> list[tuple[str, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(m[1], m[2].strip()) for line in lines if (m := HEADER.fullmatch(line))]


def names(text: str) -> set[str]:
    return set(re.findall(r"[\w.]+(?:\[[^\]]*\])?", text))


@pytest.mark.quick(4)
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_what_is_found(path: Path) -> None:
    told = explained(path)
    text = str(told)
    for key, expected in header(path):
        match key:
            case "status":
                assert told.status == expected
            case "rows":
                assert rows_of(told) == names(expected)
                assert told.conflict is not None
                assert told.conflict.minimal
            case "lower" | "upper" | "whole":
                assert told.conflict is not None
                columns = {"lower": told.conflict.lower, "upper": told.conflict.upper, "whole": told.conflict.integer}
                assert variables_of(told, columns[key]) == names(expected)
            case "relaxed":
                check_relaxation(told, expected)
            case "ray":
                assert told.ray is not None
                assert told.ray.minimal
                assert steps_of(told) == expected.split(", ")
            case _:
                assert expected in text


def rows_of(told: Explanation) -> set[str]:
    assert told.conflict is not None
    problem = told.conflict.problem
    return {entry_name(problem.row_family(r), r) for r in told.conflict.rows.tolist()}


def variables_of(told: Explanation, columns: Codes) -> set[str]:
    assert told.conflict is not None
    return {told.conflict.problem.column_family(c).name for c in columns.tolist()}


def steps_of(told: Explanation) -> list[str]:
    assert told.ray is not None
    assert told.linear_problem is not None
    return [
        f"{entry_name(told.linear_problem.column_family(c), c)} {s:+g}"
        for c, s in zip(told.ray.columns.tolist(), told.ray.steps.tolist(), strict=True)
    ]


def check_relaxation(told: Explanation, expected: str) -> None:
    least = told.relaxations[0]
    assert least.verified
    assert least.proved
    assert told.linear_problem is not None
    (row,) = least.rows.tolist()
    name, change = expected.rsplit(" ", 1)
    assert entry_name(told.linear_problem.row_family(row), row) == name
    assert least.above[0] - least.below[0] == pytest.approx(float(change))


def test_every_answer_is_checked() -> None:
    assert len(FILES) > 8
    assert all(any(key == "status" for key, _ in header(path)) for path in FILES)


def test_documents_are_as_described() -> None:
    for path in FILES:
        told = explained(path)
        document = json.loads(json.dumps(told.to_dict(), allow_nan=False))
        assert list(complaints(document, SCHEMA)) == []
        assert set(SCHEMA["required"]) == set(document) == set(SCHEMA["properties"])
        assert document["status"] == told.status
        assert (document["conflict"] is None) == (told.conflict is None)
        if told.conflict is not None:
            assert len(document["conflict"]["rows"]) == len(told.conflict.rows)
            assert np.all([r["line"] for r in document["conflict"]["rows"]])
