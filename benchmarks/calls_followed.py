"""Counts the functions that one value passes through, from its cell in a CSV file to the printed schedule.

    python -m benchmarks.calls_followed [--list]

A small scenario is solved on the command line. One of its deadlines is a number that occurs nowhere else; so are its
negative and the lateness that follows from it. A function *handles* the value if it receives it as an argument or
returns it, as a number, as text or bytes, or in an array, list or dictionary; with `--objects` also in a data class or
a table. `self` does not count. Whoever follows the value reads these functions and all their callers. Comprehensions,
generator expressions and lambdas are functions for Python; they are also counted separately.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import polars as pl
from msgspec import Struct

from benchmarks.packages import ROOT, package_folders
from gpusched_dsl.cli import main as gsdsl

PACKAGES = tuple(map(str, package_folders().values()))

DEADLINE, LASTS = 20.251953125, 45
NUMBERS = (DEADLINE, -DEADLINE, LASTS - DEADLINE, DEADLINE - LASTS)
TEXT = re.compile(r"20\.251953125|(?<![\d.])24\.7[45]")
LONGEST, MOST = 4000, 60  # of texts in characters, of lists in entries
FILES = {
    "small.gsm": """import "gsdsl:capacity_planning/model.gsm";
scenario Small for CapacityPlanning {
  Nodes = { n1, n2, n3 };
  period = 72[h];
  Types = { v };
  gpus[v] = 2;
  table Types: price[$/h] = v 3 ;
  data "jobs.csv" { Jobs = job; deadline[job] = deadline_h[h]; weight[job] = weight[$/h]; }
  data "times.csv" { Runnable = (job, vm_type, gpus); exec_time[job, vm_type, gpus] = hours[h]; }
}
""",
    "jobs.csv": f"job,deadline_h,weight\na,137.03125,0.5\nb,90.5,0.25\nc,{DEADLINE},2\n",
    "times.csv": f"job,vm_type,gpus,hours\na,v,1,100\na,v,2,60\nb,v,1,50\nb,v,2,30\nc,v,1,80\nc,v,2,{LASTS}\n",
}
EXPRESSION = re.compile(r"<(listcomp|setcomp|dictcomp|genexpr|lambda)>$")

Function = tuple[str, str]  # a file below the root, and the name of a function in it


@dataclasses.dataclass(frozen=True)
class Followed:
    """`handling`: how often each function handles the value; `calls`: who called whom, up to the outermost caller."""

    handling: Counter[Function]
    calls: frozenset[tuple[Function, Function]]

    @property
    def functions(self) -> set[Function]:
        """The functions that handle the value, and all their callers."""
        return {function for call in self.calls for function in call} | self.handling.keys()


def follow(*, objects: bool = False) -> Followed:
    """Solve the scenario and follow the deadline; `objects`: also in data classes and tables."""
    handling: Counter[Function] = Counter()
    calls: set[tuple[Function, Function]] = set()
    looking = False  # what looks for the value is not followed

    def watch(frame: FrameType, event: str, result: object) -> None:
        nonlocal looking
        if looking or event not in ("call", "return") or not frame.f_code.co_filename.startswith(PACKAGES):
            return
        looking = True
        try:
            given = _arguments(frame) if event == "call" else [result]
            if any(_holds(value, objects) for value in given):
                stack = list(_stack(frame))
                handling[stack[0]] += 1
                calls.update(zip(stack[1:], stack, strict=False))
        finally:
            looking = False

    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
        for name, text in FILES.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        before = sys.getprofile()
        sys.setprofile(watch)
        try:
            gsdsl(["solve", str(Path(folder, "small.gsm")), "--color", "never"])
        finally:
            sys.setprofile(before)
    assert TEXT.search(out.getvalue()), "the lateness is not in the schedule"
    return Followed(handling, frozenset(calls))


def _arguments(frame: FrameType) -> list[object]:
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [frame.f_locals.get(name) for name in names if name != "self"]


def _stack(frame: FrameType | None) -> Iterator[Function]:
    """The functions of the package that are running, the innermost first."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(PACKAGES):
            yield str(Path(code.co_filename).relative_to(ROOT)), code.co_qualname
        frame = frame.f_back


def _holds(value: Any, objects: bool, depth: int = 0) -> bool:
    """Whether the deadline, or what follows from it, is in a value."""
    found = False
    if isinstance(value, float | np.floating):
        found = float(value) in NUMBERS
    elif isinstance(value, str | bytes):
        text = value if isinstance(value, str) else value.decode("latin-1")
        found = len(text) < LONGEST and TEXT.search(text) is not None
    elif isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            found = bool(np.isin(value, NUMBERS).any())
        else:
            found = value.dtype.kind in "OU" and any(_holds(v, objects, depth) for v in value.ravel().tolist())
    elif depth < 3:
        found = any(_holds(part, objects, depth + 1) for part in _parts(value, objects))
    return found


def _parts(value: Any, objects: bool) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value[:MOST])
    if isinstance(value, dict):
        return list(value.values())[:MOST]
    if objects and isinstance(value, pl.Series):
        return value.to_list() if value.dtype in (pl.Float64, pl.String) else []
    if objects and isinstance(value, pl.DataFrame):
        return value.get_columns()
    if objects and isinstance(value, Struct):
        return [getattr(value, name, None) for name in value.__struct_fields__]
    if objects and dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    return []


def main() -> None:
    """Print the figures, and with `--list` the functions."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--objects", action="store_true", help="follow the value in data classes and tables too")
    options.add_argument("--list", action="store_true", help="list the functions; * handles the value")
    chosen = options.parse_args()
    found = follow(objects=chosen.objects)
    functions = found.functions
    named = {f for f in functions if not EXPRESSION.search(f[1])}
    if chosen.list:
        for file, name in sorted(functions):
            print("*" if (file, name) in found.handling else " ", file, name)
    print(
        f"{len(functions)} functions in {len({file for file, _ in functions})} files, {len(named)} of them with a name"
    )
    print(f"{len(found.handling)} handle the value, {found.handling.total()} times")


if __name__ == "__main__":
    main()
