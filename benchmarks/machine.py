"""The machine and versions of the measurements."""

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version

LIBRARIES = ("gpusched-dsl", "numpy", "polars", "highspy", "pyscipopt", "linopy", "xarray", "pyomo")


def describe() -> dict[str, str]:
    """Cores, memory, system, Python and library versions; nothing that names the machine or its user."""
    facts = {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    for library in LIBRARIES:
        try:
            facts[library] = version(library)
        except PackageNotFoundError:
            facts[library] = "not installed"
    if shutil.which("glpsol"):
        words = subprocess.run(["glpsol", "--version"], capture_output=True, text=True, check=False).stdout.split()
        facts["glpsol"] = next((word for word in words if word[:1].isdigit()), "present")
    return facts


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (ValueError, OSError):
        return "unknown"
