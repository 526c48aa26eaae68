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

from net_hunt import EVENTS, GANG_WINDOWS, GANGS, STATE_WINDOWS, STATES, TYPED, WINDOWS

JOURNALS = 5  # one case in so many is recorded, killed and resumed
NETS = {
    "events": EVENTS, "typed": TYPED, "windows": WINDOWS, "states": STATES, "state_windows": STATE_WINDOWS,
    "gangs": GANGS, "gang_windows": GANG_WINDOWS,
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--cases", type=int, default=10**9, help="at most so many")
    parser.add_argument("--nets", choices=NETS, nargs="+", default=list(NETS), help="taken in turn")
    asked = parser.parse_args()
    until, counts = time.monotonic() + 60 * asked.minutes, Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        seed = asked.seed
        while time.monotonic() < until and seed < asked.seed + asked.cases:
            name = asked.nets[seed % len(asked.nets)]
            one_more(name, seed, Path(folder) if seed // len(asked.nets) % JOURNALS == 0 else None, counts)
            seed += 1
    print(f"seeds {asked.seed} to {seed - 1}: {dict(sorted(counts.items()))}")
    return 1 if counts["wrong"] or counts["crashed"] else 0


def one_more(name: str, seed: int, folder: Path | None, counts: Counter[str]) -> None:
    net = NETS[name]
    case = net.drawn(seed)
    counts.update({name: 1, "recorded": int(folder is not None)})
    try:
        told = net.check(case, folder)
    except Exception:
        counts["crashed"] += 1
        print(f"{name}, seed {seed}\n{traceback.format_exc()}\n{case.text}", flush=True)
        return
    counts.update({"replayed": int(told.replayed), "plans": told.plans, told.ended: 1})
    if told.wrong:
        counts["wrong"] += 1
        less = net.smallest(case, folder)
        print(f"{name}, seed {seed}: {told.wrong}\n{net.check(less, folder).wrong}\n{less.text}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
