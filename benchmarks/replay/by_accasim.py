"""AccaSim: its FIFO dispatcher and first-fit allocator on one node with all GPUs, the trace in its own format.

Its schedule goes into a file, as it is meant to; statistics are not printed.
"""

from __future__ import annotations

import collections
import collections.abc
import json
import logging
from pathlib import Path

from benchmarks.child import Lap
from benchmarks.replay.data import GPUS, read


def run(folder: Path, lap: Lap) -> dict[str, float]:
    for name in ("Iterable", "Mapping", "MutableMapping", "Sequence"):  # imported from where they were years ago
        setattr(collections, name, getattr(collections.abc, name))
    from accasim.base.allocator_class import FirstFit
    from accasim.base.scheduler_class import FirstInFirstOut
    from accasim.base.simulator_class import Simulator

    logging.disable(logging.CRITICAL)
    lap("import")
    rows = read(folder)
    workload, system = folder / "trace.swf", folder / "system.json"
    with workload.open("w", encoding="utf-8") as file:
        for number, (submitted, gpus, seconds) in enumerate(rows, start=1):
            file.write(f"{number} {submitted} -1 {seconds} {gpus} -1 -1 {gpus} {seconds} -1 1 1 1 1 1 1 -1 -1\n")
    cluster = {
        "groups": {"node": {"core": GPUS}},
        "resources": {"node": 1},
        "equivalence": {"processor": {"core": 1}},
        "start_time": 0,
    }
    system.write_text(json.dumps(cluster), encoding="utf-8")
    lap("data")
    simulator = Simulator(
        str(workload),
        str(system),
        FirstInFirstOut(FirstFit()),
        statistics_output=False,
        show_statistics=False,
        RESULTS_FOLDER_PATH=str(folder),
    )
    simulator.start_simulation()
    lap("replay")
    waits = simulator.mapper.wtimes
    mean = sum(waits) / max(len(waits), 1) + sum(seconds for _, _, seconds in rows) / len(rows)
    waited = sum(wait > 0 for wait in waits)
    return {"finished": len(waits), "waited": waited, "mean seconds": float(f"{mean:.9g}")}
