"""AccaSim: its FIFO dispatcher and first-fit allocator on one node with all GPUs, the trace in Standard Workload Format.

Its schedule goes into a file, as it is meant to; statistics are not printed.
"""

from __future__ import annotations

import collections
import collections.abc
import json
import logging
import sys
from pathlib import Path

for name in ("Iterable", "Mapping", "MutableMapping", "Sequence"):  # its last version imports them from where they were
    setattr(collections, name, getattr(collections.abc, name))

from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import FirstInFirstOut
from accasim.base.simulator_class import Simulator

from benchmarks.child import Lap
from benchmarks.replay.data import GPUS, read


def run(folder: Path, lap: Lap) -> dict[str, float]:
    logging.disable(logging.CRITICAL)
    rows = read(folder)
    workload, system = folder / "trace.swf", folder / "system.json"
    with workload.open("w", encoding="utf-8") as file:
        for number, (submitted, gpus, seconds) in enumerate(rows, start=1):
            file.write(f"{number} {submitted} -1 {seconds} {gpus} -1 -1 {gpus} {seconds} -1 1 1 1 1 1 1 -1 -1\n")
    system.write_text(
        json.dumps({
            "groups": {"node": {"core": GPUS}},
            "resources": {"node": 1},
            "equivalence": {"processor": {"core": 1}},
            "start_time": 0,
        }),
        encoding="utf-8",
    )  # fmt: skip
    lap("data")
    simulator = Simulator(
        str(workload), str(system), FirstInFirstOut(FirstFit()),
        statistics_output=False, show_statistics=False, RESULTS_FOLDER_PATH=str(folder),
    )  # fmt: skip
    sys.stdout.flush()
    simulator.start_simulation()
    lap("replay")
    waits = simulator.mapper.wtimes
    mean = sum(waits) / max(len(waits), 1) + sum(seconds for _, _, seconds in rows) / len(rows)
    return {"finished": len(waits), "mean seconds": float(f"{mean:.9g}")}
