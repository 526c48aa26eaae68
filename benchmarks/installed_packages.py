"""Size and import time of the packages that gsdsl needs, as the tables of docs/installing.md.

`python -m benchmarks.installed_packages [--write]`, in an environment with gsdsl and all extras of users.

A package that no requirement of pyproject.toml names counts for the requirements that bring it: for one alone in the
column of that one, else among the shared ones. Sizes are those of the files of the wheel, in units of 10^6 bytes.
Import times are the processor time of `import` in a fresh process beyond that of an empty one, the least of several.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "installing.md"
REPEATS: Final = 5
MODULES: Final = {"scikit-learn": "sklearn", "prometheus-client": "prometheus_client",
                  "marimo-base": "marimo", "ipython": "IPython", "dask-jobqueue": "dask_jobqueue"}  # fmt: skip
PURPOSES: Final = {
    "lark": "parser of the language",
    "numpy": "arrays",
    "scipy": "sparse matrices, special functions",
    "polars": "tables: reading data, building models, results",
    "networkx": "order of declarations; isomorphism of alternatives",
    "jinja2": "pages and formulas from templates",
    "highspy": "solver HiGHS, the default",
    "pyscipopt": "solver SCIP: `--backend scip`",
    "cvxpy": "convex models by Clarabel and others: `--backend cvxpy`",
    "msgspec": "typed records, JSON",
    "rich": "tables and progress on terminals",
    "pygments": "colours of `.gsm` text; rich needs it too",
    "numba": "compiled kernels of policies and searches",
    "tzdata": "time zones, where the system has none: Windows, small images",
    "figures": "files of figures, SVG and PNG: `--figures`, `to_figures`",
    "notebook": "`%%gsm` and `%gsm` in Jupyter and IPython, with figures",
    "predict": "prediction of execution times from profiles",
    "excel": "data from Excel files",
    "cpsat": "solver CP-SAT: `--backend cpsat`",
    "dask": "campaigns on Dask",
    "slurm": "campaigns on Slurm",
    "lsp": "language server for editors",
    "mcp": "tools for assistants",
    "kubernetes": "driver of Kubernetes",
    "serve": "`gsdsl serve`, and metrics of `gsdsl drive`",
}
FOR_DEVELOPERS: Final = {"dev", "bench", "docs", "browser"}


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ordinary = [_name(requirement) for requirement in project["dependencies"]]
    extras = {
        extra: [_name(requirement) for requirement in requirements]
        for extra, requirements in project["optional-dependencies"].items()
        if extra not in FOR_DEVELOPERS
    }
    text = _page_tables(ordinary, extras)
    if sys.argv[1:] != ["--write"]:
        print(text)
        return
    head, begin, rest = PAGE.read_text(encoding="utf-8").partition("<!-- tables -->\n")
    _, end, tail = rest.partition("<!-- end of tables -->\n")
    PAGE.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")


def _page_tables(ordinary: list[str], extras: dict[str, list[str]]) -> str:
    everything = closure(ordinary)
    brought = {name: _brought_alone(name, ordinary) for name in ordinary}
    shared = everything - set(ordinary) - {part for parts in brought.values() for part in parts}
    rows = sorted(((name, brought[name]) for name in ordinary), key=lambda row: -sum(map(size, [row[0], *row[1]])))
    lines = ["| package | MB | brings | MB of these | import [s] | for |", "| --- | ---: | --- | ---: | ---: | --- |"]
    for name, parts in rows:
        words = (
            name,
            f"{size(name):.1f}",
            ", ".join(parts),
            _total(parts),
            f"{import_seconds(name):.2f}",
            PURPOSES[name],
        )
        lines.append(f"| {' | '.join(words)} |")
    lines += [f"| {name} | {size(name):.1f} | | | | shared |" for name in sorted(shared)]
    total, own = sum(map(size, everything)), size("gpusched-dsl")
    lines += ["", f"{len(everything)} packages with {total:.0f} MB, and gsdsl itself with {own:.0f} MB.", ""]
    lines += ["| extra | packages | MB more | import [s] | for |", "| --- | --- | ---: | ---: | --- |"]
    for extra, names in sorted(extras.items()):
        more = closure(names) - everything
        seconds = sum(import_seconds(name) for name in names)
        lines.append(f"| `{extra}` | {', '.join(names)} | {_total(more)} | {seconds:.2f} | {PURPOSES[extra]} |")
    return "\n".join(lines) + "\n"


def _brought_alone(name: str, ordinary: list[str]) -> list[str]:
    """Return the packages that only this requirement brings, itself or by packages that are no requirements."""
    others = {part for other in ordinary if other != name for part in closure([other], stops=ordinary)}
    return sorted(closure([name], stops=ordinary) - others - set(ordinary))


def closure(names: Iterable[str], stops: Iterable[str] = ()) -> set[str]:
    """Return the packages and all that they need here; what a package of `stops` needs counts only at the start."""
    found, open_names = set(names), list(names)
    while open_names:
        for needed in requirements(open_names.pop()):
            if needed not in found:
                found.add(needed)
                open_names += [needed] * (needed not in set(stops))
    return found


@cache
def requirements(name: str) -> tuple[str, ...]:
    """Return what a package needs on this system, without its extras."""
    needed = (Requirement(text) for text in metadata.requires(name) or ())
    return tuple(_name(r.name) for r in needed if r.marker is None or r.marker.evaluate({"extra": ""}))


@cache
def size(name: str) -> float:
    """Return the size of the files of a package in units of 10^6 bytes, without compiled Python."""
    files = metadata.files(name)
    assert files, f"{name} lists no files"
    paths = (Path(str(file.locate())) for file in files)
    return sum(path.stat().st_size for path in paths if path.suffix != ".pyc" and path.is_file()) / 1e6


@cache
def import_seconds(name: str) -> float:
    """Return the processor time of an import in seconds."""
    module = MODULES.get(name, name.replace("-", "_"))
    return max(0.0, _process_seconds(f"import {module}") - _process_seconds("pass"))


def _process_seconds(statement: str) -> float:
    code = f"import sys, time; {statement}; print(time.process_time())"
    words = [sys.executable, "-c", code]
    return min(
        float(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[-1])
        for _ in range(REPEATS)
    )


def _total(names: Iterable[str]) -> str:
    found = [size(name) for name in names]
    return f"{sum(found):.1f}" if found else ""


def _name(requirement: str) -> str:
    """Return the normalised name of a requirement such as `lark>=1.2`."""
    return canonicalize_name(Requirement(requirement).name)


if __name__ == "__main__":
    main()
