"""Models of other fields, solved by the command and by plain HiGHS: `python -m benchmarks.other_fields [NAME ...]`.

HiGHS reads the exported file. Both are processes with the same gap, limit and threads, in turn; the CPU seconds of a
process include its start. The best of `--rounds` counts. `more` is how much longer the command takes; the aim is 0.5 s.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.other_fields.models import MAKERS, write

PLAIN = """
import json, sys
import highspy
solver = highspy.Highs()
limits = {"time_limit": float(sys.argv[2]), "threads": int(sys.argv[3])}
for name, value in {"output_flag": False, "mip_rel_gap": 1e-4, **limits}.items():
    solver.setOptionValue(name, value)
solver.readModel(sys.argv[1])
solver.run()
found = solver.getInfo()
print(json.dumps({"objective": found.objective_function_value, "gap": found.mip_gap}))
"""


def cpu_of(command: list[str], folder: Path) -> tuple[float, str]:
    """The CPU seconds of a process and its children, and what it printed. Raises CalledProcessError if it fails."""
    before = os.times()
    printed = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system, printed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MAKERS)}")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--options", default="", help="more options of the command, in one text")
    arguments = parser.parse_args()
    gsdsl = str(Path(sys.executable).with_name("gsdsl"))
    print(f"{'model':<24} {'gsdsl':>7} {'plain':>7} {'more':>7}   objectives")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model in arguments.names or MAKERS:
            text = write(model, folder).name
            subprocess.run(
                [gsdsl, "export", text, "--to", "mps", "-o", f"{model}.mps"],
                cwd=folder,
                check=True,
                capture_output=True,
            )
            limit, threads = str(arguments.time_limit), str(arguments.threads)
            ours = [
                gsdsl,
                "solve",
                text,
                "--gap",
                "0.01%",
                "-t",
                limit,
                "--threads",
                threads,
                "--json",
                "found.json",
                "-q",
            ]
            ours += arguments.options.split()
            plain = [sys.executable, "-c", PLAIN, f"{model}.mps", limit, threads]
            seconds: tuple[list[float], list[float]] = ([], [])
            for _ in range(arguments.rounds):
                seconds[0].append(cpu_of(ours, folder)[0])
                cpu, printed = cpu_of(plain, folder)
                seconds[1].append(cpu)
            found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
            objective, other = found.get("objective"), json.loads(printed.splitlines()[-1])["objective"]
            first, second = (min(each) for each in seconds)
            print(
                f"{model:<24} {first:7.2f} {second:7.2f} {first - second:+7.2f}   {objective} {other:.10g}", flush=True
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
