"""The output of `explain` about aggregated elements, and about obstacles to aggregation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import small_cluster

Run = Callable[..., tuple[int, str, str]]

TEXT = """model Rented {
  set Nodes DECLARED;
  param price[Nodes];
  param rack[Nodes];
  var on[Nodes] binary;
  constraint two: sum[n in Nodes] on[n] >= 2;
  ROW
  minimize cost: sum[n in Nodes] price[n] * on[n];
}
scenario S for Rented { table Nodes: price rack = a 2 1 b 2 2 c 3 3 d 3 4 ; }
"""


def explained(folder: Path, gsdsl: Run, declared: str = "", row: str = "") -> tuple[str, list[dict[str, Any]]]:
    path = folder / "rented.gsm"
    path.write_text(TEXT.replace("DECLARED", declared).replace("ROW", row), encoding="utf-8")
    _, out, _ = gsdsl("explain", path, "--no-why", "--json", folder / "told.json")
    found: list[dict[str, Any]] = json.loads((folder / "told.json").read_text(encoding="utf-8"))["interchangeable"]
    return out, found


def test_classes_and_what_told_them_apart(tmp_path: Path, gsdsl: Run) -> None:
    out, (entry,) = explained(tmp_path, gsdsl)
    line = "4 elements of Nodes, 2 classes of interchangeable elements, distinguished by price: aggregated"
    assert line in out
    assert (entry["set"], entry["elements"], entry["classes"]) == ("Nodes", 4, 2)
    assert (entry["declared"], entry["counted"], entry["told_apart_by"]) == (False, True, ["price"])
    assert (entry["columns_before"], entry["rows_before"], entry["reason"]) == (4, 1, "")
    assert entry["columns"] <= 4
    assert entry["proofs"]


def test_an_obstacle_and_its_line(tmp_path: Path, gsdsl: Run) -> None:
    row = "constraint c[n in Nodes]: on[n] <= sum[m in Nodes] on[m] - 1;"
    out, (entry,) = explained(tmp_path, gsdsl, row=row)
    assert f"elements of Nodes are not aggregated ({tmp_path / 'rented.gsm'}, line 7): an expression of one" in out
    assert (entry["counted"], entry["line"], entry["columns"]) == (False, 7, None)
    assert entry["file"] == str(tmp_path / "rented.gsm")
    assert entry["reason"].startswith("an expression of one element of `Nodes`")


def test_elements_that_all_differ_are_not_worth_a_word(tmp_path: Path, gsdsl: Run) -> None:
    """Unless the author says that they do not."""
    row = "constraint c: sum[n in Nodes] rack[n] * on[n] <= 7;"
    out, entries = explained(tmp_path, gsdsl, row=row)
    assert "Nodes are not aggregated" not in out
    assert entries == []
    row = 'constraint c: on["a"] <= 0;'
    out, (entry,) = explained(tmp_path, gsdsl, "identical by price", row)
    assert f"elements of Nodes are not aggregated ({tmp_path / 'rented.gsm'}, line 7)" in out
    assert entry["declared"]
    out, (entry,) = explained(tmp_path, gsdsl, "", row)
    assert "not aggregated" not in out  # nothing was declared, and nobody knows whether there was something to gain
    assert entry["classes"] is None


def test_a_shipped_model(tmp_path: Path, gsdsl: Run) -> None:
    path = small_cluster.write(tmp_path)
    _, out, _ = gsdsl("explain", path, "--no-why")
    assert "4 elements of Nodes, all interchangeable: aggregated" in out
    assert "  exact because every element has one of the listed patterns" in out
    _, out, _ = gsdsl("explain", path, "--no-why", "--without", "aggregation")
    assert ": aggregated" not in out
