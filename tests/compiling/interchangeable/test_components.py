"""Components of the columns of an element: columns without rows stay together, and there are never too many."""

from __future__ import annotations

from pathlib import Path

import pytest
from exactness import Tally, check_same, loaded

from gpusched_dsl.compiling.interchangeable import components

TEXT = """model Apart {{
  set Nodes;
  set Jobs;
  param value[Jobs];
  var run[Jobs, Nodes] binary;
  var part[Jobs, Nodes] >= 0 <= 2;
  var times[Jobs, Nodes] integer >= 0 <= 2;
  maximize gain: sum[j in Jobs, n in Nodes] value[j] * (run[j, n] + 0.5 * part[j, n] + 0.3 * times[j, n]);
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 2;
  constraint most: sum[j in Jobs, n in Nodes] (run[j, n] + part[j, n] + times[j, n]) <= {most};
  {rows}
}}
scenario S for Apart {{ Nodes = 1..3; table Jobs: value = a 1 b 2.5 c 4 d -1; }}
"""
EACH = "constraint each[j in Jobs, n in Nodes]: run[j, n] + part[j, n] <= 2;"


def parts_of(folder: Path, rows: str, most: float = 7) -> int:
    """The number of parts; the optimum is that of all elements."""
    path = folder / "apart.gsm"
    path.write_text(TEXT.format(rows=rows, most=most), encoding="utf-8")
    made = check_same(loaded(path), "S", {}, Tally())
    return 0 if made.aggregated is None else len(made.aggregated.parts)


@pytest.mark.quick(3)
@pytest.mark.parametrize("most", [1, 4.5, 7, 100])
def test_columns_without_rows_stay_together(tmp_path: Path, most: float) -> None:
    """All `run`, all `part`, and each of the four `times`, which may be more than 1."""
    assert parts_of(tmp_path, "", most) == 2 + 4


def test_rows_keep_columns_apart(tmp_path: Path) -> None:
    assert parts_of(tmp_path, EACH.replace("part[j, n]", "times[j, n]")) == 4 + 1


def test_too_many_parts_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "FEW", 4)
    assert parts_of(tmp_path, "") == 0
