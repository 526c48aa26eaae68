"""Written results can be read again, for any labels."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import gpusched_dsl as gs

NASTY = ['"}, {"index": [', "a,b", 'q"q', "line\\break", "[1]", "null", "", " padded ", "Ω≈ç√", "-1e5", "=2+3", "'"]


def solved(labels: list[str]) -> gs.Result:
    text = """
      model M { set J; param w[J]; var x[J] >= 0 <= 3; var y >= 0 <= 1; maximize o: sum[j in J] w[j] * x[j] + y; }
      scenario S for M { }
    """
    model = gs.loads(text)
    model.set("J", labels)
    model.set("w", {label: float(at) for at, label in enumerate(labels)})
    return model.solve()


def test_json_and_csv_keep_every_label(tmp_path: Path) -> None:
    labels = [label for label in NASTY if label.strip()]
    result = solved(labels)
    result.to_json(tmp_path / "out.json")
    document = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert document["variables"]["x"] == [{"index": [label], "value": 3.0} for label in labels[1:]]
    assert document["variables"]["y"] == [{"index": [], "value": 1.0}]
    assert (tmp_path / "out.json").read_text(encoding="utf-8").count('\n      {"index"') == len(labels)
    result.to_csv(tmp_path)
    with open(tmp_path / "x.csv", encoding="utf-8", newline="") as file:
        rows = [row[0] for row in csv.reader(file)][1:]
    assert [row.removeprefix("'") if row[1:2] in tuple("=+-@") else row for row in rows] == labels[1:]


def test_a_result_and_its_file_start_the_next_solve_alike(tmp_path: Path) -> None:
    result = solved(["a", "b", "c"])
    result.to_json(tmp_path / "out.json")
    model = gs.loads(
        'model M { set J; var x[J] >= 0 <= 9 integer; minimize o: sum[j in J] x[j]; constraint c: x["b"] >= 2; }'
        "scenario S for M { J = { c, b, d }; }"
    )
    for start in (result, tmp_path / "out.json"):
        again = model.solve(warm_start=start)
        assert again.objective == 2
        assert {w.code for w in again.warnings} == {"GSM6009"}  # `y` and `a` have no place
