"""Capacity planning on four nodes, small enough to be solved at once; and a store of boxes without an end."""

from __future__ import annotations

from pathlib import Path

TEXT = """import "gsdsl:capacity_planning/model.gsm";
scenario Four for CapacityPlanning {
  Nodes = { n1, n2, n3, n4 };
  table Types: gpus price[$/h] = small 1 0.9  middle 2 1.8  large 4 3.2 ;
  table Jobs: deadline[h] weight[$/h] = a 3 1.1  b 7 0.3  c 4 0.9  d 2 0.5  e 9 1.4 ;
  exec_time = JOBS;
}
"""
HOURS = {"a": 4.0, "b": 9.0, "c": 5.0, "d": 2.5, "e": 7.0}
GPUS = {"small": 1, "middle": 2, "large": 4}


def times(hours: dict[str, float] = HOURS) -> dict[tuple[str, str, int], float]:
    """Larger machines are faster, and so are more GPUs."""
    speed = {"small": 1.0, "middle": 1.25, "large": 1.5}
    return {
        (job, kind, g): round(alone / speed[kind] * (0.1 + 0.9 / g), 3)
        for job, alone in hours.items()
        for kind, most in GPUS.items()
        for g in range(1, most + 1)
    }


def text() -> str:
    rows = "\n".join(f"    {job} {kind} {g} {hours}" for (job, kind, g), hours in times().items())
    return TEXT.replace("  exec_time = JOBS;", f"  table Runnable: exec_time[h] =\n{rows} ;")


def write(folder: Path, more: str = "") -> Path:
    path = folder / "four.gsm"
    path.write_text(text() + more, encoding="utf-8")
    return path


STORE = """model Store {
  set Boxes;
  set Things;
  param size[Things];
  var open[Boxes] binary;
  var holds[Things, Boxes] binary;
  var more >= 0;
  constraint once[t in Things]: sum[b in Boxes] holds[t, b] == 1;
  constraint fits[b in Boxes]: sum[t in Things] size[t] * holds[t, b] <= 3 * open[b];
  ROW
  minimize boxes: sum[b in Boxes] open[b] TERM;
}
scenario Small for Store { Boxes = 1..4; table Things: size = x 2 y 2 z 1 ; }
"""


def store(row: str = "", term: str = "") -> str:
    return STORE.replace("ROW", row).replace("TERM", term)
