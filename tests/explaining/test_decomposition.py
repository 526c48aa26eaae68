"""The blocks of a problem and their use, as text and as JSON."""

from __future__ import annotations

import json

import pytest
from json_schemas import complaints, published

import gpusched_dsl as gs
from gpusched_dsl.solving.decomposition import selection as by_blocks

SCHEMA = published("explanation.schema.json")
MODEL = """
model Assign {
  set Jobs; set Nodes;
  var x[Jobs, Nodes] binary; var late[Jobs] >= 0; var open[Nodes] binary; var gap >= 0;
  minimize total: sum[j in Jobs] late[j] + sum[n in Nodes] open[n] + gap;
  constraint once[j in Jobs]: sum[n in Nodes] x[j, n] == 1;
  constraint due[j in Jobs]: late[j] >= x[j, "n1"];
  constraint room[n in Nodes]: sum[j in Jobs] x[j, n] <= 2 * open[n];
  constraint least: sum[j in Jobs] late[j] >= gap;
  STATEMENT
}
scenario S for Assign { Jobs = { a, b, c }; Nodes = { n1, n2 }; }
"""

TABLE = """
blocks by Jobs
           in blocks  in one block  outside
  -------  ---------  ------------  ---------
  columns          9             3  3 shared
  rows             6             2  3 linking
"""


def model(statement: str = "decompose by Jobs;") -> gs.Model:
    return gs.loads(MODEL.replace("STATEMENT", statement))


def test_blocks_are_counted() -> None:
    told = model().explain(why=False, without=["all"])
    text = str(told)
    assert TABLE in text
    reason = "its 8 integer columns are few enough for a solver (fewer than 2,500)"
    assert f"not decomposed by Jobs, 3 blocks: {reason}\n" in text
    data = told.to_dict()
    assert data["decomposition"] == {
        "set": "Jobs", "used": False, "reason": reason,
        "blocks": 3, "columns": 9, "shared_columns": 3, "rows": 6, "linking_rows": 3,
    }  # fmt: skip
    assert list(complaints(json.loads(json.dumps(data)), SCHEMA)) == []


def test_blocks_that_are_used_need_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_blocks, "LEAST_INTEGERS", 8)
    monkeypatch.setattr(by_blocks, "LEAST_BLOCKS", 3)
    told = model().explain(why=False, without=["all"])
    assert "\ndecomposed by Jobs, 3 blocks\n" in str(told)
    assert told.to_dict()["decomposition"]["reason"] is None


def test_models_that_name_no_blocks_are_told_nothing() -> None:
    told = model("").explain(why=False)
    assert told.decomposition is None
    assert "decompose" not in str(told)
    assert told.to_dict()["decomposition"] is None
