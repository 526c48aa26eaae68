"""The published schema describes the written documents."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from json_schemas import complaints, published

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.reporting.result import Result

SCHEMA = published("result.schema.json")


def test_results_are_as_described(
    problem: Problem, linear: Problem, solved: Callable[..., Result], tmp_path: Path
) -> None:
    for number, one in enumerate((problem, linear)):
        result = solved(one, time_limit=60.0)
        result.to_json(tmp_path / f"{number}.json")
        found = json.loads((tmp_path / f"{number}.json").read_text(encoding="utf-8"))
        assert list(complaints(found, SCHEMA)) == []
        optional = {"calendar", "relaxed", "reports", "duals", "waiting", "alternatives", "members", "job_options"}
        assert set(SCHEMA["required"]) == set(found) == set(SCHEMA["properties"]) - optional


@pytest.mark.parametrize(
    ("key", "value"),
    [("status", "done"), ("objective", "1"), ("variables", {"run": [{"index": [1.5], "value": 1}]}), ("extra", 1),
     ("inputs_sha256", {"a": "b"}), ("build_seconds", -1), ("has_point", 1)],
)  # fmt: skip
def test_the_check_can_fail(problem: Problem, solved: Callable[..., Result], key: str, value: object) -> None:
    found = {**solved(problem).to_dict(), key: value}
    assert list(complaints(found, SCHEMA)) != []
