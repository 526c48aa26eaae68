"""Writes models of jobs that start in slots: `python -m benchmarks.windows.data FOLDER [JOBS SLOTS]`.

In all of them the capacity of four resources in a slot covers the jobs that started less than their length before.
"""

import sys
from pathlib import Path

# The index list of the sum, and whether the slots are an ordered set (else a range of integers).
FORMS: dict[str, tuple[str, bool]] = {
    "range": ("j in Jobs, s in max(0, t - d[j] + 1)..t", False),
    "and": ("j in Jobs, s in Slots where t - d[j] < s and s <= t", False),
    "chain": ("j in Jobs, s in Slots where t - d[j] < s <= t", False),
    "difference": ("j in Jobs, s in Slots where t - s < d[j] and t - s >= 0", False),
    "slots_first": ("s in Slots, j in Jobs where t < s + d[j] and s <= t", False),
    "ordered": ("j in Jobs, s in Slots where t - d[j] < s and s <= t", True),
    "ordered_slots_first": ("s in Slots, j in Jobs where t < s + d[j] and s <= t", True),
}

MODEL = """\
model Windows {{
  set Jobs;
  {slots}
  set Resources = 1..4;
  param d[Jobs] integer >= 1;
  param use[j in Jobs, k in Resources] = 1 + k;
  var start[Jobs, Slots] binary;
  maximize started: sum[j in Jobs, s in Slots] start[j, s];
  constraint once[j in Jobs]: sum[s in Slots] start[j, s] <= 1;
  constraint capacity[k in Resources, t in Slots]: sum[{form}] use[j, k] * start[j, s] <= 10 * k;
}}

scenario Large for Windows {{
  {given}
  table Jobs: d = {jobs};
}}
"""


def write(folder: Path, jobs: int = 200, slots: int = 300) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lengths = " ".join(f"j{j} {3 + j * 7919 % 13}" for j in range(jobs))
    for name, (form, ordered) in FORMS.items():
        declared = "set Slots ordered;" if ordered else f"set Slots = 0..{slots};"
        given = f"Slots = 0..{slots};" if ordered else ""
        text = MODEL.format(slots=declared, form=form, given=given, jobs=lengths)
        (folder / f"{name}.gsm").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:]))
