"""Path (d): an operator adds five rules that no role of a placement says, and every policy obeys them over a month.

A team's share of the A100s in office hours, a node for one user, jobs of a group in one rack, 25 kW for a rack, and
emissions of all nodes. The check knows the drawn data and the schedule alone. A limit that falls while jobs run may be
exceeded by what runs, but nothing may start then that adds to it.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from gpusched_dsl.cli import main

TEXT = Path(__file__).with_name("house_rules") / "rules.gsm"
QUEUES = ("FIFO", "SJF", "EASY", "Conservative", "FairShare")
PREEMPTING = ("LAS", "SRTF", "MaxMin")
WRITTEN = ("Greedy", "Drawn", "LocalSearch")
SHARE, RACK_POWER, EMISSIONS = 0.4, 25.0, 32.0
KINDS = {"a100": (8, 10.0), "v100": (4, 3.0), "k80": (4, 2.2)}  # GPUs and kW of a node


@dataclass(frozen=True)
class Part:
    """A job on a node from `start` to `end` in hours."""

    job: str
    node: str
    start: float
    end: float


def draw(folder: Path, jobs: int, days: float) -> None:
    """Write nodes.csv and jobs.csv."""
    rng = np.random.default_rng(5)
    with (folder / "nodes.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["node", "rack", "kind", "gpus", "kw"])
        for i in range(30):
            kind = list(KINDS)[i % 3]
            writer.writerow([f"n{i:02d}", f"r{i // 6}", kind, *KINDS[kind]])
    with (folder / "jobs.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["job", "user", "team", "grp", "gpus", "hours", "at", "value"])
        for i, at in enumerate(np.sort(rng.uniform(0, 24 * days, jobs))):
            user, group = int(rng.integers(24)), int(rng.integers(max(jobs * 2 // 3, 1)))
            gpus = int(rng.choice([1, 2, 4, 8], p=[0.5, 0.25, 0.15, 0.1]))
            hours, value = rng.lognormal(2.1, 1.0), rng.uniform(1, 9)
            row = (
                f"j{i:03d}",
                f"u{user}",
                f"t{user % 4}",
                f"g{group}",
                gpus,
                f"{hours:.2f}",
                f"{at:.3f}",
                f"{value:.2f}",
            )
            writer.writerow(row)


def rows_of(path: Path) -> dict[str, dict[str, str]]:
    with path.open(newline="") as file:
        return {row[next(iter(row))]: row for row in csv.DictReader(file)}


def broken(folder: Path, schedule: list[Part]) -> Iterator[str]:
    """Name each rule that a start breaks."""
    nodes, jobs = rows_of(folder / "nodes.csv"), rows_of(folder / "jobs.csv")
    a100s = sum(int(n["gpus"]) for n in nodes.values() if n["kind"] == "a100")
    for now in sorted({part.start for part in schedule}):
        runs = [part for part in schedule if part.start <= now < part.end]
        new = {part.job for part in runs if part.start == now}
        hour, weekday = now % 24, int(now // 24) % 7
        office = weekday < 5 and 9 <= hour < 18
        carbon = 0.2 if 10 <= hour < 16 else 0.4
        used: dict[str, float] = defaultdict(float)
        adds: set[str] = set()
        users, racks = defaultdict(set), defaultdict(set)
        for part in runs:
            node, job = nodes[part.node], jobs[part.job]
            kw = float(node["kw"]) * int(job["gpus"]) / int(node["gpus"])
            amounts = {f"room {part.node}": float(job["gpus"]), f"power {node['rack']}": kw, "green": carbon * kw}
            if node["kind"] == "a100":
                amounts[f"team {job['team']}"] = float(job["gpus"])
            for row, amount in amounts.items():
                used[row] += amount
                if part.job in new:
                    adds.add(row)
            users[part.node].add(job["user"])
            racks[job["grp"]].add(node["rack"])
        limits = {row: RACK_POWER for row in used if row.startswith("power")} | {"green": EMISSIONS}
        limits |= {row: float(nodes[row.split()[1]]["gpus"]) for row in used if row.startswith("room")}
        limits |= {row: a100s * (SHARE if office else 1.0) for row in used if row.startswith("team")}
        for row in sorted(adds):
            if used[row] > limits[row] + 1e-6:
                yield f"{row} at {now}: {used[row]:g} of {limits[row]:g}"
        yield from (f"users of {node} at {now}: {names}" for node, names in users.items() if len(names) > 1)
        yield from (f"racks of {group} at {now}: {names}" for group, names in racks.items() if len(names) > 1)


def run(folder: Path, method: str, *options: str) -> list[Part]:
    (folder / "rules.gsm").write_text(TEXT.read_text(encoding="utf-8"), encoding="utf-8")
    out = folder / "run.json"
    code = main(["run", str(folder / "rules.gsm"), "--method", method, "--json", str(out), *options])
    assert code in (0, 3)  # 3: what ran exceeded a limit that fell
    found = json.loads(out.read_text(encoding="utf-8"))
    return [Part(row["job"], row["node"], row["start"], row["end"]) for row in found["schedule"]]


@pytest.mark.quick(1)
@pytest.mark.parametrize("method", ["FIFO", "EASY", "SRTF", "LocalSearch"])
def test_two_days(method: str, tmp_path: Path) -> None:
    draw(tmp_path, 30, 0.5)
    schedule = run(tmp_path, method)
    assert list(broken(tmp_path, schedule)) == []
    assert len({part.job for part in schedule}) == 30


def test_the_check_finds_what_is_broken(tmp_path: Path) -> None:
    """Without the rules each of them is broken by the same queue, so that the test above could fail."""
    draw(tmp_path, 70, 0.5)  # starts in office hours
    text = TEXT.read_text(encoding="utf-8")
    for name in ("team_share", "own_node", "own_rack", "power", "green"):
        text = text.replace(f"constraint {name}", f"#constraint {name}", 1)
    text = text.replace("    <= (if office", "#    <= (if office")
    (tmp_path / "free.gsm").write_text(text, encoding="utf-8")
    out = tmp_path / "run.json"
    assert main(["run", str(tmp_path / "free.gsm"), "--method", "EASY", "--json", str(out)]) == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    schedule = [Part(row["job"], row["node"], row["start"], row["end"]) for row in found["schedule"]]
    kinds = {each.split()[0] for each in broken(tmp_path, schedule)}
    assert kinds == {"team", "power", "green", "users", "racks"}


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("method", [*QUEUES, *PREEMPTING, *WRITTEN, "Ahead"])
def test_a_month(method: str, tmp_path: Path) -> None:
    draw(tmp_path, 859, 30.0)
    schedule = run(tmp_path, method)
    assert list(broken(tmp_path, schedule)) == []
    assert len({part.job for part in schedule}) == 859
