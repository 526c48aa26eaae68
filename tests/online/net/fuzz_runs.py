"""Random runs for some minutes: `python tests/online/net/fuzz_runs.py --minutes 60 --seed 100000`. Prints counts.

Each case goes by all roads; one that fails is made smaller and printed, and the hunt goes on.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from net_cases import drawn
from net_roads import check, smallest

JOURNALS = 5  # one case in so many is recorded, killed and resumed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--cases", type=int, default=10**9, help="at most so many")
    asked = parser.parse_args()
    until, counts = time.monotonic() + 60 * asked.minutes, Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        seed = asked.seed
        while time.monotonic() < until and seed < asked.seed + asked.cases:
            case, place = drawn(seed), Path(folder) if seed % JOURNALS == 0 else None
            counts["cases"] += 1
            counts["recorded"] += place is not None
            try:
                told = check(case, place)
            except Exception:
                counts["crashed"] += 1
                print(f"seed {seed}\n{traceback.format_exc()}\n{case.text}", flush=True)
                seed += 1
                continue
            counts["replayed"] += told.replayed
            counts["plans"] += told.plans
            counts[told.ended] += 1
            if told.wrong:
                counts["wrong"] += 1
                less = smallest(case, place)
                print(f"seed {seed}: {told.wrong}\n{check(less, place).wrong}\n{less.text}", flush=True)
            seed += 1
    print(f"seeds {asked.seed} to {seed - 1}: {dict(sorted(counts.items()))}")
    return 1 if counts["wrong"] or counts["crashed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
