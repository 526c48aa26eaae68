"""`python -m benchmarks.reproduction.sample FILE CAMPAIGN --by nodes --every 20`: executes a sample of a campaign.

It takes the same share of the runs of every size, spread evenly over the other factors and the methods, so that the
time of the complete campaign can be extrapolated from them. `--every 1` executes all runs. The runs go to the store of
the campaign, with CPU seconds in place of seconds, since a long campaign rarely has a machine for itself. With
`--sizes 10 20` it takes only runs of these sizes, which is faster and less exact. Runs are executed one after another;
a sample that was stopped continues.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Container
from pathlib import Path

import msgspec

from gpusched_dsl.campaigns.execute import execute
from gpusched_dsl.campaigns.plan import PlannedRun, columns_of, make_plan
from gpusched_dsl.campaigns.store import Store
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproduction.sample", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("campaign")
    parser.add_argument("--store", type=Path, help="default: results/CAMPAIGN")
    parser.add_argument("--by", default="nodes", metavar="FACTOR", help="factor of the size")
    parser.add_argument("--sizes", nargs="+", metavar="VALUE", help="only these values of the factor; default: all")
    parser.add_argument("--every", type=int, default=20, metavar="N", help="one of N runs of each size")
    options = parser.parse_args()
    plan = make_plan(load_workspace(options.file, Diagnostics()), options.campaign, path=str(options.file))
    runs = sampled(plan.runs, options.by, options.every, options.sizes)
    with Store(options.store or Path("results") / options.campaign, options.campaign) as store:
        known = store.read_all(run.key for run in runs)
        for run in runs:
            if run.key not in known:
                start = time.process_time()
                record = execute(run.task)
                seconds = time.process_time() - start
                store.put(msgspec.structs.replace(record, seconds=round(seconds, 6)))
                print(f"{seconds:10.2f} CPU s  {record.state}  {run.run.title}", flush=True)
    return 0


def sampled(
    runs: tuple[PlannedRun, ...], by: str, every: int, values: Container[str] | None = None
) -> list[PlannedRun]:
    """Return one of `every` runs of each value of the factor, or of these `values`, rounded up, small values first.

    Within a size the runs are in the order of methods, then of the other factors, and evenly spaced; the offset differs
    from size to size, so that every method has runs of several sizes.
    """
    sizes: dict[str, list[PlannedRun]] = {}
    for run in runs:
        size = columns_of(run.run)[by]
        if values is None or size in values:
            sizes.setdefault(size, []).append(run)
    found = []
    for number, equal in enumerate(sizes.values()):
        equal.sort(key=lambda run: (run.run.label, [str(value) for value in columns_of(run.run).values()]))
        count = -(-len(equal) // every)
        step = len(equal) / count
        shift = (number * step / len(sizes)) % step
        found += [equal[int(shift + step * position) % len(equal)] for position in range(count)]
    return found


if __name__ == "__main__":
    raise SystemExit(main())
