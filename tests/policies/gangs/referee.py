"""Checks a run with gangs by its schedule alone: what each plan started, where, and what it had to leave waiting.

Independent of the package: it knows nothing of placements, kernels or the loop. It takes the choice among equally good
nodes from the run, and everything else from the rules: all workers or none, the fewest racks and nodes, the order of
the queue, times by the slowest node and the factors of nodes and racks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

from gang_clusters import Racks

NEAR = 1e-6
Key = Callable[[int], tuple[float, ...]]


@dataclass(frozen=True)
class Stay:
    """All workers of a job, by node, from `start` to `end`."""

    job: int
    workers: dict[int, int]
    start: float
    end: float


class Referee:
    def __init__(self, racks: Racks, stays: list[Stay], fastest_first: bool = True) -> None:
        self.racks, self.stays, self.fastest_first = racks, stays, fastest_first

    def capacity(self, n: int, job: int, held: dict[tuple[int, int], int]) -> int:
        """The workers of a job that a node has room for, beside those that are held there."""
        node, own = self.racks.nodes[n], self.racks.jobs[job]
        gpus = node.gpus - sum(count for (at, _), count in held.items() if at == n)
        memory = node.memory - sum(count * self.racks.jobs[j].takes for (at, j), count in held.items() if at == n)
        return max(0, min(gpus, int(memory / own.takes + NEAR), own.need))

    def levels(self, job: int) -> list[set[int]]:
        """The nodes that a job may have: first the fastest, then slower ones too."""
        paces = sorted({node.pace for node in self.racks.nodes}, reverse=True)
        paces = paces if self.fastest_first else paces[-1:]
        return [{n for n, node in enumerate(self.racks.nodes) if node.pace >= pace} for pace in paces]

    def least(self, job: int, held: dict[tuple[int, int], int]) -> tuple[int, tuple[int, int]] | None:
        """The first level with room, and there the fewest racks, then the fewest nodes; None without room."""
        need = self.racks.jobs[job].need
        for level, allowed in enumerate(self.levels(job)):
            room = {n: c for n in allowed if (c := self.capacity(n, job, held))}
            if sum(room.values()) >= need:
                sets = (s for size in range(1, len(room) + 1) for s in combinations(room, size))
                fits = [s for s in sets if sum(room[n] for n in s) >= need]
                return level, min((len({self.racks.nodes[n].rack for n in s}), len(s)) for s in fits)
        return None

    def time(self, job: int, workers: dict[int, int]) -> float:
        """The time of a complete job on some nodes."""
        nodes = [self.racks.nodes[n] for n in workers]
        factor = 1.5 if len({n.rack for n in nodes}) > 1 else 1.2 if len(nodes) > 1 else 1.0
        return self.racks.jobs[job].length / min(n.pace for n in nodes) * factor

    def check(self, key: Key, waits: bool) -> None:
        """Check each time at which a plan was made, for queues that keep running jobs on their nodes."""
        by_job = {stay.job: stay for stay in self.stays}
        assert len(by_job) == len(self.stays), "a job ran twice"
        for stay in self.stays:
            need = self.racks.jobs[stay.job].need
            assert sum(stay.workers.values()) == need, "not all workers, or too many"
            assert abs(stay.end - stay.start - self.time(stay.job, stay.workers)) < NEAR
        for now in sorted({j.submitted for j in self.racks.jobs} | {s.end for s in self.stays}):
            held = {
                (n, s.job): count
                for s in self.stays
                if s.start < now - NEAR and s.end > now + NEAR
                for n, count in s.workers.items()
            }
            waiting = [
                j
                for j, job in enumerate(self.racks.jobs)
                if job.submitted <= now + NEAR and (j not in by_job or by_job[j].start > now - NEAR)
            ]
            blocked = False
            for j in sorted(waiting, key=lambda j: (*key(j), self.racks.jobs[j].submitted, j)):
                found = None if blocked else self.least(j, held)
                started = j in by_job and abs(by_job[j].start - now) < NEAR
                assert started == (found is not None), f"job {j} at {now}: {found}"
                if found is None:
                    blocked = blocked or waits
                    continue
                self.check_nodes(by_job[j], found, held)
                held |= {(n, j): count for n, count in by_job[j].workers.items()}

    def check_preempting(self, key: Callable[[int, float, float], float]) -> None:
        """Check each time at which a plan was made, for queues that place all jobs anew.

        `key` is that of a job, its GPU time and the fraction of its work that is left. All jobs that fit run.
        """
        for j, job in enumerate(self.racks.jobs):
            own = [s for s in self.stays if s.job == j]
            assert all(sum(s.workers.values()) == job.need for s in own), "not all workers, or too many"
            assert abs(self.left(j, max(s.end for s in own))) < NEAR
        ends = {j: max(s.end for s in self.stays if s.job == j) for j in range(len(self.racks.jobs))}
        for now in sorted({j.submitted for j in self.racks.jobs} | set(ends.values())):
            present = [j for j, g in enumerate(self.racks.jobs) if g.submitted <= now + NEAR and ends[j] > now + NEAR]
            keys = {j: round(key(j, self.attained(j, now), self.left(j, now)), 7) for j in present}
            held: dict[tuple[int, int], int] = {}
            for j in sorted(present, key=lambda j: (keys[j], self.racks.jobs[j].submitted, j)):
                found = self.least(j, held)
                runs = [s for s in self.stays if s.job == j and s.start <= now + NEAR < s.end]
                assert bool(runs) == (found is not None), f"job {j} at {now}: {found}"
                if found is not None:
                    self.check_nodes(runs[0], found, held)
                    held |= {(n, j): count for n, count in runs[0].workers.items()}

    def attained(self, job: int, now: float) -> float:
        """The GPU time of a job so far."""
        own = [s for s in self.stays if s.job == job and s.start < now]
        return self.racks.jobs[job].need * sum(min(s.end, now) - s.start for s in own)

    def left(self, job: int, now: float) -> float:
        """The fraction of the work of a job that is left."""
        own = [s for s in self.stays if s.job == job and s.start < now]
        return 1.0 - sum((min(s.end, now) - s.start) / self.time(job, s.workers) for s in own)

    def check_reserved_starts(self) -> None:
        """Check EASY backfilling: the first job without a place starts when the jobs that run then leave it room."""
        by_job = {stay.job: stay for stay in self.stays}
        for now in sorted({j.submitted for j in self.racks.jobs} | {s.end for s in self.stays}):
            came = [j for j, job in enumerate(self.racks.jobs) if job.submitted <= now + NEAR]
            waiting = [j for j in came if by_job[j].start > now + NEAR]
            if not waiting:
                continue
            head = min(waiting, key=lambda j: (self.racks.jobs[j].submitted, j))
            first = (self.racks.jobs[head].submitted, head)
            runs = [
                s
                for s in self.stays
                if s.end > now + NEAR
                and (
                    s.start < now - NEAR
                    or (s.start <= now + NEAR and (self.racks.jobs[s.job].submitted, s.job) < first)
                )
            ]
            for end in sorted({now} | {s.end for s in runs}):
                held = {(n, s.job): c for s in runs if s.end > end + NEAR for n, c in s.workers.items()}
                if self.least(head, held) is not None:
                    assert by_job[head].start <= end + NEAR, f"job {head} at {now}"
                    break

    def check_nodes(self, stay: Stay, found: tuple[int, tuple[int, int]], held: dict[tuple[int, int], int]) -> None:
        level, least = found
        nodes = list(stay.workers)
        assert all(count <= self.capacity(n, stay.job, held) for n, count in stay.workers.items())
        assert set(nodes) <= self.levels(stay.job)[level]
        assert (len({self.racks.nodes[n].rack for n in nodes}), len(nodes)) == least

    def check_load(self) -> None:
        """No node ever has more workers than GPUs, nor more memory in use than it has."""
        for now in sorted({s.start for s in self.stays}):
            at = [s for s in self.stays if s.start <= now + NEAR < s.end - NEAR]
            for n, node in enumerate(self.racks.nodes):
                assert sum(s.workers.get(n, 0) for s in at) <= node.gpus
                used = sum(s.workers.get(n, 0) * self.racks.jobs[s.job].takes for s in at)
                assert used <= node.memory + NEAR
