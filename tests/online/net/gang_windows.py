"""Random blocks with windows and accumulated values whose jobs are gangs, as text and as plain numbers."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from itertools import product
from math import prod
from typing import Any, Final

from state_windows import StateWindowCase, drawn_state_window, smaller_state_window, text_of
from window_cases import WindowNode

RACKS: Final = ("r0", "r1")
FACTORS: Final = ((1.25, 2.0), (1.0, 1.5), (1.1, 1.3), (1.5, 1.5))
POLICY: Final = """policy Block for Net {
  order j in Jobs by price[j] descending;
  choose k in Nodes, h in Slots by tariff[h] * draw[k];
  occupies work[j] / 1[epoch];
  place cheapest_block;
}
"""
MOST_PLANS: Final = 400  # that one window may have, for all of them to be tried


@dataclass(frozen=True)
class GangWindowCase(StateWindowCase):
    rooms: tuple[int, ...] = ()  # GPUs of nodes
    racks: tuple[str, ...] = ()  # of nodes
    workers: tuple[int, ...] = ()  # of jobs
    across: tuple[float, float] = (1.25, 2.0)  # factors for several nodes, and for several racks
    method: str = "highs"

    @property
    def text(self) -> str:
        return text_of_gang_windows(self)

    def spreads(self, job: int, nodes: Iterable[int]) -> list[dict[int, int]]:
        """All ways to put the workers of a job on these nodes."""
        nodes = list(nodes)
        counts = product(*(range(self.rooms[n] + 1) for n in nodes))
        rows = (row for row in counts if sum(row) == self.workers[job])
        return [{n: c for n, c in zip(nodes, row, strict=True) if c} for row in rows]

    def factor(self, nodes: Iterable[int]) -> float:
        """How much longer a gang takes on these nodes than on one."""
        nodes = set(nodes)
        several = len({self.racks[n] for n in nodes}) > 1
        return 1.0 if len(nodes) < 2 else self.across[1] if several else self.across[0]


def drawn_gang_window(seed: int) -> GangWindowCase:
    rng = random.Random(f"gang window {seed}")
    base: Any = drawn_state_window(rng.randrange(10**9))
    kept = {f.name: getattr(base, f.name) for f in fields(base)}
    rooms = tuple(rng.randint(1, 2) for _ in range(rng.randint(2, 3)))
    workers = tuple(rng.choice((1, rng.randint(1, sum(rooms)), rng.randint(2, sum(rooms)))) for _ in base.jobs[:2])
    jobs = tuple(
        replace(job, price=job.price * count * rng.choice((1, 4)), length=job.length + rng.choice((0.5, 1.7)))
        for job, count in zip(base.jobs, workers, strict=False)
    )
    nodes = tuple(
        WindowNode(
            pace=rng.choice((1.0, 1.0, 2.0, 0.5)), power=round(rng.uniform(0.6, 1.6), 4), idle=0.0, boot=0.0,
            rent=0.0, mtbf=base.slot * rng.choice((1.5, 2, 3, 4.25)),
        )
        for _ in rooms
    )  # fmt: skip
    kept |= {
        "seed": seed, "jobs": jobs, "nodes": nodes, "power": base.power[: len(jobs)], "teams": base.teams[: len(jobs)],
        "rise": 2.5 * base.rise, "budget": 3 * base.budget,
        "costs": {**base.costs, **({"resize": 1.5} if rng.random() < 0.3 else {})},
        "delays": {**base.delays, **({"resize": base.slot / 2} if rng.random() < 0.2 else {})},
    }  # fmt: skip
    case = GangWindowCase(
        **kept, rooms=rooms, racks=rng.choice((tuple(rng.choice(RACKS) for _ in rooms), (*RACKS, "r0")[: len(rooms)])),
        workers=workers, across=rng.choice(FACTORS),
    )  # fmt: skip
    layouts = prod(1 + len(case.spreads(j, range(len(rooms)))) for j in range(len(jobs)))
    ahead = max(n for n in (1, 2, 3, 4) if n == 1 or layouts**n <= MOST_PLANS)
    ahead = min(ahead, case.lookahead)
    if rng.random() < 0.4:
        return by_policy(case)
    return replace(case, lookahead=ahead, commit=min(case.commit, ahead), every=min(case.every, ahead))


def by_policy(case: GangWindowCase) -> GangWindowCase:
    """The case with a policy for gangs in slots and long windows, without the rows that would change its plans."""
    return replace(
        case, method="Block", rise=0.0, guaranteed=0.0, ends=False, lookahead=max(case.lookahead, min(6, case.horizon))
    )


def text_of_gang_windows(case: GangWindowCase) -> str:
    """The case in the language: that of jobs with one node, in which the jobs are gangs."""
    several, racks = case.across
    changes = {
        "  set Jobs;  set Nodes;": """  set Jobs;  set Nodes;  set Racks;
  param workers[Jobs] integer >= 1;  param room[Nodes] integer >= 1;  param rack[Nodes] within Racks;""",
        "var train[Jobs, Nodes, Slots] binary;": """var train[j in Jobs, k in Nodes, Slots] integer >= 0 <= room[k];
  var runs[Jobs, Slots] binary;  var on[Jobs, Nodes, Slots] binary;  var in_rack[Jobs, Racks, Slots] binary;
  var several_nodes[Jobs, Slots] binary;  var several_racks[Jobs, Slots] binary;""",
        "(sum[k in Nodes, h in Slots] pace[k] * train[j, k, h]) + left": f"""(sum[h in Slots] 1[epoch] * (runs[j, h]
    - {1 - 1 / several!r} * several_nodes[j, h] - {1 / several - 1 / racks!r} * several_racks[j, h])) + left""",
        "constraint fits[k in Nodes, h in Slots]: sum[j in Jobs] train[j, k, h] <= 1;": """\
constraint fits[k in Nodes, h in Slots]: sum[j in Jobs] train[j, k, h] <= room[k];
  constraint uses_node[j in Jobs, k in Nodes, h in Slots]: train[j, k, h] <= workers[j] * on[j, k, h];
  constraint uses_rack[j in Jobs, k in Nodes, h in Slots]: on[j, k, h] <= in_rack[j, rack[k], h];
  constraint one_node[j in Jobs, h in Slots]: sum[k in Nodes] on[j, k, h] <= 1 + workers[j] * several_nodes[j, h];
  constraint one_rack[j in Jobs, h in Slots]: sum[r in Racks] in_rack[j, r, h] <= 1 + workers[j] * several_racks[j, h];
  constraint racks_are_nodes[j in Jobs, h in Slots]: several_racks[j, h] <= several_nodes[j, h];
  constraint only_if_it_runs[j in Jobs, h in Slots]: several_nodes[j, h] <= runs[j, h];""",
        "constraint one_place[j in Jobs, h in Slots]: sum[k in Nodes] train[j, k, h] <= 1;":
            "constraint all_or_none[j in Jobs, h in Slots]: sum[k in Nodes] train[j, k, h] == workers[j] * runs[j, h];",
        "lasts slot;  uses 1 of 1;": "lasts slot;  uses 1 of room[k];  workers workers[j];  rack rack[k];"
            f"  across_nodes {several!r};  across_racks {racks!r};",
    }  # fmt: skip
    text = (
        text_of(case)
        .replace("online Block", f"{POLICY}online Block")
        .replace("train[j, k, first(Slots)] == 1;", "train[j, k, first(Slots)] == workers[j];")
    )
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    data = "  ".join(f"n{n} {room} {rack}" for n, (room, rack) in enumerate(zip(case.rooms, case.racks, strict=True)))
    workers = "  ".join(f"j{j} {count}" for j, count in enumerate(case.workers))
    tables = f"Racks = {{ r0, r1 }};  table Nodes: room rack = {data};\n  table Jobs: workers = {workers};"
    return text.replace("  table Jobs:", f"  {tables}\n  table Jobs:")


def smaller_gang_window(case: GangWindowCase) -> list[GangWindowCase]:
    """Cases with less in them, for finding the smallest that fails."""
    found: list[Any] = smaller_state_window(replace(case, nodes=case.nodes[:1]))
    found = [replace(one, nodes=case.nodes) for one in found]
    for at, one in enumerate(found[: len(case.jobs)] if case.jobs[1:] else []):
        found[at] = replace(one, workers=case.workers[:at] + case.workers[at + 1 :])
    for n in range(len(case.rooms)) if case.rooms[1:] else ():
        columns = ("nodes", "rooms", "racks")
        found.append(replace(case, **{c: getattr(case, c)[:n] + getattr(case, c)[n + 1 :] for c in columns}))
    return found
