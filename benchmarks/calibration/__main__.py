"""`python -m benchmarks.calibration`: how often the real start is at most the median and the 90 % quantile.

The trace is the sample of Philly in the models, on a cluster that is small enough for queues. Its first third is the
history: the lengths of later jobs are known, or drawn from the lengths of the history. Futures have drawn arrivals
or none. Rows are by policy.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.calibration.replay import LiveReplay, read_trace, timed

TRACE = Path(__file__).resolve().parents[2] / "models/trace_replay/data/philly/philly_sample.csv"
METHODS = ("FIFO", "Backfilling", "SJF", "SJFSkipping", "LargestFirst")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--trace", type=Path, default=TRACE)
    parser.add_argument("--nodes", type=int, default=5)
    parser.add_argument("--gpus", type=int, default=16)
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--every", type=int, default=2, help="ask for every n-th job that waits")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--lengths", nargs="*", choices=("known", "unknown"), default=("known", "unknown"))
    parser.add_argument("--arrivals", nargs="*", choices=("none", "drawn"), default=("none", "drawn"))
    options = parser.parse_args()
    jobs = [job for job in read_trace(options.trace) if job.gpus <= options.gpus]
    past = len(jobs) // 3
    print(f"{len(jobs)} jobs on {options.nodes} x {options.gpus} GPUs, the first {past} of them the history")
    print("method        lengths  arrivals  asked  <= median  <= 90 %   waited  expected (median)  CPU s")
    for method in options.methods.split(","):
        for lengths in options.lengths:
            for arrivals in options.arrivals:
                with tempfile.TemporaryDirectory() as folder:
                    replay = LiveReplay(
                        jobs, past, options.nodes, options.gpus, method, lengths == "known", Path(folder),
                        arrivals == "drawn", options.samples,
                    )  # fmt: skip
                    found, seconds = timed(replay, options.every)
                print(f"{method:13} {lengths:8} {arrivals:8} {found.row()} {seconds:12.1f}", flush=True)


if __name__ == "__main__":
    main()
