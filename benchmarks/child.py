"""One measured run of one arm, in a process of its own: `python -m benchmarks.child MODULE FOLDER [ARGUMENT ...]`.

The arm's module is imported first (its imports are timed as `import`), then its `run(folder, lap, *arguments)` is
called. `lap("name")` ends a phase. `run` returns the loaded HiGHS model, a dictionary of facts, or None; the peak of
resident memory is read before that result is looked at. The last line printed is one JSON object. All arms have the
settings of the process of the command `gsdsl`.
"""

import importlib
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from gpusched_dsl.engines.own_process import collect_rarely, keep_freed_memory

Lap = Callable[[str], None]


def peak_megabytes() -> float:
    """The highest resident memory so far of this process or of any child it has waited for."""
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024


def cpu_seconds() -> float:
    """CPU time so far of this process, all its threads, and the children it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main(module: str, folder: str, *arguments: str) -> None:
    collect_rarely()
    keep_freed_memory()
    phases: dict[str, float] = {}
    cpu_phases: dict[str, float] = {}
    last, last_cpu = time.perf_counter(), cpu_seconds()

    def lap(name: str) -> None:
        nonlocal last, last_cpu
        now, now_cpu = time.perf_counter(), cpu_seconds()
        phases[name] = phases.get(name, 0.0) + now - last
        cpu_phases[name] = cpu_phases.get(name, 0.0) + now_cpu - last_cpu
        last, last_cpu = now, now_cpu

    arm = importlib.import_module(module)
    lap("import")
    loaded = arm.run(Path(folder), lap, *arguments)
    peak = peak_megabytes()
    if loaded is None or isinstance(loaded, dict):
        facts = loaded or {}
    else:
        from benchmarks.fingerprint import fingerprint

        facts = fingerprint(loaded)
    print(json.dumps({"phases": phases, "cpu_phases": cpu_phases, "peak_mb": peak, "facts": facts}))


if __name__ == "__main__":
    main(*sys.argv[1:])
