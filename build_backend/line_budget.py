"""The balance of lines and files: of the core and all edges, now and at the last release; fails above the maximum.

`make lint` runs it. `[tool.line_budget]` in pyproject.toml has the maximum of the core and the figures of the last
release: a change that needs more lines than it removes is seen, and the maximum is raised only on purpose.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def counted(*folders: str) -> tuple[int, int]:
    """Lines and files of the Python sources under version control in these folders."""
    command = ["git", "ls-files", "-z", "--", *(f"{folder}/**.py" for folder in folders)]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in listed.split("\0") if name and "tests" not in Path(name).parts]
    present = [file for file in files if file.is_file()]
    return sum(file.read_bytes().count(b"\n") for file in present), len(present)


def main() -> int:
    budget = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["line_budget"]
    core, edges = counted("gpusched_dsl", "backends"), counted("edges")
    lines, files = (one + other for one, other in zip(core, edges, strict=True))
    old_lines, old_files = budget["released"]
    print(
        f"core: {core[0]:,} lines in {core[1]:,} files (at most {budget['lines']:,} in {budget['files']:,}); "
        f"edges: {edges[0]:,} in {edges[1]:,}; since {budget['release']}: {lines - old_lines:+,} lines, "
        f"{files - old_files:+,} files"
    )
    if core[0] <= budget["lines"] and core[1] <= budget["files"]:
        return 0
    print(
        "the core is above its maximum: remove what the change replaces, or raise `[tool.line_budget]` in "
        "pyproject.toml and say why in the commit",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
