"""Counts what of the package small commands load and enter: what a reader of that command would have to know.

    python -m benchmarks.code_entered [--rooms]

Each command runs in a process of its own, on the example of the README or on a model with two CSV files of three rows.
A module is *loaded* if it is imported, a function *entered* if it is called (class bodies and modules are left out). A
*room* is a folder of the package at the first level, or at the second in `language` and `compiling`; its changes are
counted along the calls. CPU seconds are without the counting, the least of ten runs, with bytecode that an earlier run
has cached; `gsdsl --help` and `python -c ""` are the measure for them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.packages import ROOT, package_folders, search_path

FIRST = "assign.gsm"  # the example of the README
COMMANDS = {
    "check, example of README": ["check", FIRST],
    "solve, example of README": ["solve", FIRST],
    "check": ["check", "small.gsm"],
    "solve": ["solve", "small.gsm"],
    "solve --method EDF": ["solve", "small.gsm", "--method", "EDF"],
    "run --live, one arrival": ["run", "small.gsm", "--live", "-", "--online", "EveryEvent", "--method", "EDF"],
}
IMPORT = 'import "gsdsl:capacity_planning/model.gsm";'
RUN = 'import "gsdsl:capacity_planning/online.gsm";'
LIBRARIES = ("numpy", "polars", "scipy", "highspy", "numba", "networkx", "rich", "lark", "msgspec")
RUNS = 10
EVENT = '{"event": "advance", "time": 1}\n'


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.code_entered", description=__doc__)
    parser.add_argument("--rooms", action="store_true", help="also the functions entered in each room")
    parser.add_argument("--child", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return _child(options.child)
    print(f"{'':26}{'modules':>8}{'lines':>8}{'files':>7}{'functions':>10}{'rooms':>7}{'CPU s':>7}  libraries")
    for name, command in COMMANDS.items():
        counts = _counted(command)
        files = counts["functions"]
        print(
            f"{name:26}{counts['modules']:8,}{counts['lines']:8,}{len(files):7,}{sum(files.values()):10,}"
            f"{counts['changes']:7,}{_seconds([str(Path(sys.executable).with_name('gsdsl')), *command]):7.2f}"
            f"  {' '.join(counts['libraries'])}"
        )
        if options.rooms:
            rooms: dict[str, int] = {}
            for file, number in files.items():
                rooms[_room(file)] = rooms.get(_room(file), 0) + number
            for room, number in sorted(rooms.items(), key=lambda each: -each[1]):
                print(f"    {room:30}{number:6,}")
    for name, words in {"gsdsl --help": ["-m", "gpusched_dsl", "--help"], "python": ["-c", ""]}.items():
        print(f"{name:66}{_seconds([sys.executable, *words]):7.2f}")
    return 0


def _in_folder(words: list[str]) -> tuple[str, float]:
    """Run a process in a new folder with the model; return its last line and its CPU seconds."""
    from benchmarks.calls_followed import FILES  # here, as it loads the libraries that are counted

    with tempfile.TemporaryDirectory() as folder:
        for name, text in (FILES | {FIRST: _example()}).items():
            (Path(folder) / name).write_text(text.replace(IMPORT, IMPORT + "\n" + RUN), encoding="utf-8")
        own = {**os.environ, "PYTHONPATH": search_path()}
        own.pop("PYTHONDONTWRITEBYTECODE", None)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ended = subprocess.run(words, cwd=folder, env=own, input=EVENT, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n{ended.stderr}")
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return (ended.stdout.strip().split("\n") or [""])[-1], cpu


def _example() -> str:
    """The first model in the README."""
    return (ROOT / "README.md").read_text(encoding="utf-8").split("```gsm\n")[1].split("```")[0]


def _seconds(words: list[str]) -> float:
    return min(_in_folder(words)[1] for _ in range(RUNS))


def _counted(command: list[str]) -> dict[str, Any]:
    line, _ = _in_folder([sys.executable, "-m", "benchmarks.code_entered", "--child", *command])
    result: dict[str, Any] = json.loads(line)
    return result


def _child(command: list[str]) -> int:
    """Run a command with its calls counted; the last line of the output is the counts."""
    folders = tuple(f"{folder}{os.sep}" for folder in package_folders().values())
    entered: set[tuple[str, int, str]] = set()
    changes, last = 0, ""

    def watch(frame: Any, event: str, _: object) -> None:
        nonlocal changes, last
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(folders) or not code.co_flags & 1:
            return  # modules and class bodies have no fast locals
        if code.co_name.startswith("<"):
            return  # comprehensions and lambdas belong to their function
        entered.add((code.co_filename, code.co_firstlineno, code.co_name))
        room = _room(code.co_filename)
        changes += room != last
        last = room

    sys.setprofile(watch)
    from gpusched_dsl.cli import main as gsdsl

    try:
        status = gsdsl(command)
    finally:
        sys.setprofile(None)
    loaded = [module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] in package_folders()]
    modules = {os.path.realpath(file) for file in loaded if file is not None}
    functions: dict[str, int] = {}
    for file, _, _ in entered:
        functions[file] = functions.get(file, 0) + 1
    lines = sum(Path(file).read_text(encoding="utf-8").count("\n") for file in modules)
    print()
    libraries = [name for name in LIBRARIES if name in sys.modules]
    counts = {"modules": len(modules), "lines": lines, "functions": functions, "changes": changes}
    print(json.dumps({**counts, "libraries": libraries}))
    return status


def _room(file: str) -> str:
    parts = Path(os.path.realpath(file)).relative_to(ROOT).parts
    parts = parts[1:] if parts[0] == "gpusched_dsl" else parts
    return "/".join(parts[: 2 if parts[0] in ("language", "compiling") and len(parts) > 2 else 1])


if __name__ == "__main__":
    raise SystemExit(main())
