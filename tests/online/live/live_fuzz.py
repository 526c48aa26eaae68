"""Well-formed live events with extreme values, in any order: `python tests/online/live/live_fuzz.py [SECONDS] [SEED]`.

Every line must be answered, the run must not end before `end`, and a run that is killed and resumed must come to the
same decisions. Prints counts.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent))

from live_toy import line
from test_live_cluster import decisions, live

SMALL: Final = (0, -1, 1e-300, 1e-30, 1e-9, 1e-6, 0.5, 1, 3)
EXTREME: Final = (*SMALL, 1e6, 1e11, 1e15, 1e16, 1e20, 1e308, -1e11, -1e308, 10**30)
ODD: Final[tuple[Any, ...]] = (True, "", "x", "a,b", 10**400, 2**63, -(2**64))


def number(draw: random.Random, usual: float) -> Any:
    """Mostly a usual number, sometimes an extreme one, seldom none at all."""
    kind = draw.random()
    return usual * draw.uniform(0.5, 2) if kind < 0.6 else draw.choice(EXTREME) if kind < 0.93 else draw.choice(ODD)


def events(seed: int, count: int) -> list[bytes]:
    """Events of every kind of up to a dozen jobs and two nodes; times go on, back and far away."""
    draw, now, found = random.Random(seed), 0.0, []
    for k in range(count):
        now += draw.choice((0, 0, 0.1, 0.5, 1))
        when = draw.choices((now, None, now - 3, number(draw, now + 1)), (80, 8, 6, 6))[0]
        odd = draw.choice(("", 7, 10**20, "a,b"))
        name = draw.choice((f"j{draw.randrange(12)}", f"j{draw.randrange(12)}", "old", odd))
        id = f"e{k}" if draw.random() < 0.95 else f"e{draw.randrange(k + 1)}"
        kind = draw.choices(
            ("arrival", "completion", "progress", "withdrawal", "node_down", "node_up", "value", "tick"),
            (40, 15, 8, 5, 6, 8, 12, 6),
        )[0]
        others: dict[str, Any] = {}
        if kind == "arrival":
            ways = draw.choice(([["small", 1]], [["small", 1], ["large", 2]], [["large", 1]], [["small", 2]], []))
            times = {",".join(map(str, way)): number(draw, 2.0) for way in ways}
            values = {"deadline": number(draw, 4.0), "weight": number(draw, 1.0), "Runnable": ways, "exec_time": times}
            if draw.random() < 0.1:
                values.pop(draw.choice(tuple(values)))
            others = {"job": name, "values": values}
        elif kind in ("completion", "withdrawal"):
            others = {"job": name}
        elif kind == "progress":
            done = number(draw, 0.4)
            others = {"job": name, draw.choice(("fraction", "done")): done}
        elif kind in ("node_down", "node_up"):
            others = {"node": draw.choice(("n1", "n2", "n1", "n2", "n9"))}
        elif kind == "value":
            price = draw.choice((number(draw, 1.0), {"small": number(draw, 1.0)}, [["large", number(draw, 2.0)]]))
            name = draw.choice(("price", "idle_penalty", "period", "gpus", "weight", "nothing"))
            others = {"values": {name: number(draw, 2.0) if name in ("idle_penalty", "period") else price}}
        found.append(line(kind, id, when, **others))
    return found


def check(seed: int, count: int, folder: Path, method: str = "Greedy") -> Counter[str]:
    """One run of so many events, the same killed once and resumed. Raises AssertionError where they differ."""
    lines = [*events(seed, count), line("end", "end")]
    whole = live(lines, folder, method)
    answers = [r for r in whole if r["kind"] in ("ack", "error")]
    assert len(answers) == len(lines), f"seed {seed}: {len(lines)} lines, {len(answers)} answers"
    assert whole[-1]["kind"] == "finished", seed
    assert not any(r["kind"] == "error" and r["code"] == "GSM9999" for r in whole), f"seed {seed}: internal error"
    journal = str(folder / f"{seed}.db")
    # A line that was refused may be taken when it comes again later, so only lines without an answer are sent again.
    moments = [k for k in range(1, len(whole)) if whole[k]["kind"] not in ("ack", "error")]
    killed_at = random.Random(seed).choice(moments)
    first = live(lines, folder, method, journal, killed_at)
    answered = sum(r["kind"] in ("ack", "error") for r in first)
    second = live(lines[answered:], folder, method, journal)
    assert decisions([*first, *second]) == decisions(whole), f"seed {seed}, killed at {killed_at}"
    assert second[-1] == whole[-1], f"seed {seed}, killed at {killed_at}"
    found = Counter(r.get("code", r["kind"]) for r in whole)
    return found + Counter(runs=1, events=len(lines))


def main(seconds: float, seed: int) -> None:
    until, total = time.monotonic() + seconds, Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < until:
            total += check(seed, 40, Path(folder), "highs" if seed % 10 == 0 else "Greedy")
            seed += 1
    print(f"up to seed {seed - 1}:", json.dumps(dict(sorted(total.items()))))


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
