"""Het jobs of Slurm: one job with components that start together and end by themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import plain_queue
import polars as pl
import pytest

from gpusched_dsl.data.formats.shape import Raw
from gpusched_dsl.data.sources.files import FileLimits
from gpusched_dsl.explaining.job_reason import NEVER, NO_ROOM, ROOM
from gsdsl_clusters.inspecting.blocking import blocking_jobs
from gsdsl_clusters.inspecting.inspection import inspect
from gsdsl_clusters.inspecting.queue_simulation import QueueRule
from gsdsl_clusters.inspecting.readers.sacct import read_sacct
from gsdsl_clusters.inspecting.reading import read_snapshot
from gsdsl_clusters.inspecting.reasons import waiting_reasons
from gsdsl_clusters.inspecting.snapshot import JOB_COLUMNS, LIMIT_COLUMNS, NODE_COLUMNS, ClusterSnapshot, frame
from gsdsl_clusters.inspecting.starts import QueueOrder, estimate_starts
from gsdsl_clusters.inspecting.written_model import model_folder

RECORDS = Path(__file__).parent / "records"
LIMITS = FileLimits(allow_outside=True)
ORDER = QueueOrder(False, QueueRule.EASY)
TYPES = ("a100", "v100")
HEADER = "JobID|User|Account|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|ReqTRES|AllocTRES|NodeList|Reason"


def sacct(*lines: str) -> ClusterSnapshot:
    return read_sacct(Raw("sacct", "\n".join([HEADER, *lines]).encode(), limits=LIMITS))


def waits(job: str, tres: str, reason: str = "Resources", minutes: int = 60, state: str = "PENDING") -> str:
    return f"{job}|v|t|2026-01-01T03:00:00|Unknown|Unknown|0|{minutes}|{state}|gres/gpu{tres}||None assigned|{reason}"


def runs(job: str, tres: str, nodes: str, minutes: int) -> str:
    start = "2026-01-01T01:00:00"
    return f"{job}|u|t|{start}|{start}|Unknown|7200|{minutes}|RUNNING|gres/gpu{tres}|gres/gpu{tres}|{nodes}|None"


def ended(job: str, tres: str, nodes: str, state: str = "COMPLETED") -> str:
    times = "2026-01-01T01:00:00|2026-01-01T01:00:00|2026-01-01T02:00:00|3600"
    return f"{job}|u|t|{times}|600|{state}|gres/gpu{tres}|gres/gpu{tres}|{nodes}|None"


FULL = (
    runs("1", ":a100=8,node=1", "n1", 600),
    runs("2", ":v100=8,node=1", "n2", 900),
    ended("0", ":v100=8,node=1", "n3"),
)


# --- reading ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["json", "text"])
def test_components_of_a_real_slurm(form: str) -> None:
    """Printed by a `slurmctld` of 22.05.8. One component of job 3 requests no GPU."""
    found = read_snapshot(str(RECORDS / f"slurm_22_05_het_{form}"), LIMITS)
    jobs = {row["job"]: row for row in found.jobs.iter_rows(named=True)}
    assert sorted(jobs) == ["1+0", "1+1", "10", "3+0", "3+1", "6+0", "6+1", "8+0", "8+1"]
    assert {name: row["het_job"] for name, row in jobs.items()} == {
        n: n.partition("+")[0].replace("10", "") for n in jobs
    }
    assert [(jobs[n]["on_nodes"], jobs[n]["limit"]) for n in ("1+0", "1+1")] == [(["g1"], 3600), (["g2", "g3"], 1800)]
    shapes = [(jobs[n]["gpus"], jobs[n]["nodes"], jobs[n]["gpu_types"]) for n in ("3+0", "3+1", "6+1")]
    assert shapes == [(4, 1, ["v100"]), (3, 2, []), (3, 0, [])]
    assert [jobs[n]["after"] for n in ("8+0", "8+1", "10")] == [["1+0", "1+1"], ["1+0", "1+1"], ["3+0", "3+1"]]


def test_one_job_in_an_inspection() -> None:
    """Slurm planned its last component for the end of component 1+1, at 22:00."""
    found = inspect(read_snapshot(str(RECORDS / "slurm_22_05_het_json"), LIMITS))
    assert "1 job runs, 1 waits for 10 GPUs, 3 are blocked" in found.headline()
    assert found.by_team.select("running", "waiting", "blocked").row(0) == (1, 1, 3)
    assert [job.job for job in found.waiting] == ["3", "6", "8", "10"]
    text = str(found)
    assert "needs 4 GPUs of type v100 and 2 nodes with 3 GPUs each at once" in text
    assert "next end: 1+1 at Mon 22:00 on g2, g3" in text
    assert "waits for the end of 1\n" in text
    starts = found.starts.table.to_dicts()
    assert [row["job"] for row in starts] == ["3"]
    end = found.snapshot.jobs.filter(pl.col("job") == "1+1").select(pl.col("started") + pl.col("limit")).item()
    assert starts[0]["q50"] == pytest.approx(end - found.snapshot.now)
    assert found.blocking["job"].to_list() == ["1+1"]
    needs = found.to_dict()["waiting"][0]["reason"]
    assert [need["amounts"] for need in needs["needs"]] == [{"GPU": 4.0}, {"GPU": 3.0}]
    assert [need["amounts"] for need in needs["lacking"]] == [{"GPU": 3.0}]


ODD: dict[str, tuple[Sequence[str], Sequence[str], str]] = {
    "one component runs, the other has ended": (
        [runs("4+0", ":v100=4,node=1", "n3", 500), ended("4+1", ":v100=2,node=1", "n4")],
        [],
        "3 jobs run, none waits",
    ),
    "its first component has lost `+0`": (
        [waits("4", "=4,node=1"), waits("4+1", ":a100=8,node=1")],
        ["needs 4 GPUs and 8 GPUs of type a100 at once, there is no room for 8 GPUs of type a100"],
        "1 waits for 12 GPUs",
    ),
    "a component of 0 GPUs": (
        [waits("4+0", "=0,node=1"), waits("4+1", ":v100=8,node=1")],
        ["needs 8 GPUs"],
        "1 waits for 8 GPUs",
    ),
    "rows of steps": (
        [waits("4+0", "=8,node=1"), waits("4+0.batch", "=8,node=1"), waits("4+1", "=8,node=1")],
        ["needs 2 times 8 GPUs at once, there is room for each of them but not for all at once"],
        "1 waits for 16 GPUs",
    ),
    "a cancelled component": (
        [waits("4+0", "=8,node=1"), waits("4+1", "=8,node=1", state="CANCELLED by 0")],
        ["needs 8 GPUs, and n3 has room for it"],
        "1 waits for 8 GPUs",
    ),
    "more components than nodes": (
        [waits(f"4+{at}", "=8,node=1") for at in range(4)],
        ["can never run: it needs 4 times 8 GPUs at once, and the empty cluster has no room for all of them at once"],
        "1 waits for 32 GPUs",
    ),
    "a component that no node holds": (
        [waits("4+0", "=8,node=1"), waits("4+1", "=9,node=1")],
        ["and the empty cluster has no room for 9 GPUs"],
        "1 waits for 17 GPUs",
    ),
    "one of its components is held": (
        [waits("4+0", "=1,node=1"), waits("4+1", "=1,node=1", "JobHeldUser")],
        ["its user holds it"],
        "none waits, 1 is blocked",
    ),
    "components that fit": (
        [waits("4+0", "=2,node=1"), waits("4+1", "=2,node=1")],
        ["needs 2 times 2 GPUs at once, and there is room for it on n3"],
        "1 waits for 4 GPUs",
    ),
    "a job of the same number in an array, and a component that waits again while the other runs": (
        [waits("44_1", "=1,node=1"), runs("4+0", ":v100=4,node=1", "n3", 500), waits("4+1", "=4,node=1")],
        ["needs 4 GPUs, and n3 has room for it"],
        "3 jobs run, 2 wait for 5 GPUs",
    ),
}


@pytest.mark.parametrize(("lines", "texts", "headline"), ODD.values(), ids=ODD.keys())
def test_odd_records(lines: Sequence[str], texts: Sequence[str], headline: str) -> None:
    found = inspect(sacct(*FULL, *lines))
    assert headline in found.headline()
    shown = " ".join(str(found).split())
    assert all(text in shown for text in texts)
    assert len(found.waiting) == found.by_team.select(pl.col("waiting") + pl.col("blocked")).sum().item()


# --- reasons and starts against plain counts -------------------------------------------------------------------------


def made_cluster(
    seed: int,
) -> tuple[ClusterSnapshot, list[plain_queue.Node], list[dict[str, Any]], list[plain_queue.Job]]:
    """Nodes with running jobs, and one het job of two or three components that waits."""
    draw = Random(seed)
    nodes = [plain_queue.Node(draw.choice((4, 8)), draw.choice(TYPES)) for _ in range(4)]
    running = [
        {
            "job": f"r{at}", "state": "running", "gpus": used, "nodes": 1, "submitted": 0.0, "started": 0.0,
            "limit": float(draw.randint(200, 900)), "on_nodes": [f"n{at}"], "on_gpus": [used],
        }
        for at, node in enumerate(nodes) if draw.random() < 0.8 for used in [draw.randint(1, node.gpus)]
    ]  # fmt: skip
    parts = []
    for _ in range(draw.choice((2, 2, 3))):
        kinds = frozenset(TYPES) if draw.random() < 0.5 else frozenset({draw.choice(TYPES)})
        gpus, wanted = draw.choice(((2, 1), (4, 1), (6, 1), (3, 2), (5, 0), (9, 0)))
        parts.append(plain_queue.Job(0.0, gpus, wanted, kinds, 100.0, 100.0))
    waiting = [
        {
            "job": f"7+{at}", "het_job": "7", "state": "waiting", "gpus": part.gpus, "nodes": part.nodes,
            "gpu_types": [] if len(part.kinds) == 2 else sorted(part.kinds), "submitted": 1.0, "limit": 100.0,
        }
        for at, part in enumerate(parts)
    ]  # fmt: skip
    table = [{"node": f"n{at}", "gpu_type": node.kind, "gpus": node.gpus} for at, node in enumerate(nodes)]
    jobs = frame([*running, *waiting], JOB_COLUMNS)
    return ClusterSnapshot("made", 100.0, frame(table, NODE_COLUMNS), jobs), nodes, running, parts


def assignments(
    free: dict[int, int], part: plain_queue.Job, nodes: Sequence[plain_queue.Node]
) -> Iterator[dict[int, int]]:
    """All ways to place a part on whole nodes of its kinds, or, without a number of nodes, to spread it."""
    own = [n for n, node in enumerate(nodes) if node.kind in part.kinds]
    if part.nodes:
        for chosen in combinations([n for n in own if free[n] >= part.gpus], part.nodes):
            yield dict.fromkeys(chosen, part.gpus)
        return

    def spread(left: int, rest: list[int]) -> Iterator[dict[int, int]]:
        if not rest:
            if not left:
                yield {}
            return
        for here in range(min(left, free[rest[0]]) + 1):
            for others in spread(left - here, rest[1:]):
                yield {rest[0]: here, **others}

    yield from spread(part.gpus, own)


def fits_somehow(free: dict[int, int], parts: Sequence[plain_queue.Job], nodes: Sequence[plain_queue.Node]) -> bool:
    if not parts:
        return True
    return any(
        fits_somehow({n: g - taken.get(n, 0) for n, g in free.items()}, parts[1:], nodes)
        for taken in assignments(free, parts[0], nodes)
    )


@pytest.mark.quick(1)
@pytest.mark.parametrize("part", range(4))
def test_reasons_and_starts_equal_plain_counts(part: int) -> None:
    """A job starts when its components fit one after another; then they fit, and hardly ever do they fit before."""
    kinds = dict.fromkeys((ROOM, NO_ROOM, NEVER), 0)
    missed = 0
    for seed in range(30 * part, 30 * part + 30):
        snapshot, nodes, running, parts = made_cluster(seed)

        def free(time: float, nodes: Any = nodes, running: Any = running) -> dict[int, int]:
            left = {n: node.gpus for n, node in enumerate(nodes)}
            for job in running:
                if job["limit"] > time:
                    left[int(job["on_nodes"][0][1:])] -= job["gpus"]
            return left

        def fits(time: float, parts: Any = parts, nodes: Any = nodes, free: Any = free) -> bool:
            return plain_queue.choose_all(free(time), plain_queue.placing_order(parts, nodes), nodes) is not None

        [found] = waiting_reasons(snapshot, ORDER)
        assert found.job == "7"
        assert found.reason is not None
        kinds[found.reason.kind] += 1
        assert found.reason.kind == (ROOM if fits(100.0) else NO_ROOM if fits(math.inf) else NEVER), seed
        ends = sorted(job["limit"] for job in running)
        expected = next((end for end in ends if fits(end)), None)
        if found.reason.kind == NO_ROOM:
            assert found.reason.room_at == expected, seed
        at = {ROOM: 100.0, NO_ROOM: expected, NEVER: math.inf}[found.reason.kind]
        assert at is not None
        [start] = estimate_starts(snapshot).table["q50"].to_list()
        assert start == pytest.approx(at - 100.0), seed
        assert found.reason.kind == NEVER or fits_somehow(free(at), parts, nodes)
        before = [100.0, *ends] if found.reason.kind == NEVER else [t for t in (100.0, *ends) if t < at]
        missed += any(fits_somehow(free(time), parts, nodes) for time in before)
        blocks = dict(blocking_jobs(snapshot).select("job", "blocks").iter_rows())
        for job in running:
            without = {n: g + job["gpus"] * (job["on_nodes"] == [f"n{n}"]) for n, g in free(100.0).items()}
            order = plain_queue.placing_order(parts, nodes)
            helps = not fits(100.0) and plain_queue.choose_all(without, order, nodes) is not None
            assert blocks.get(job["job"], 0) == helps, (seed, job["job"])
    assert min(kinds.values()) > 1
    assert missed <= 2


# --- limits, later jobs, written models ------------------------------------------------------------------------------


def test_components_count_together_in_a_limit() -> None:
    """Each of them alone would be within it."""
    nodes = frame([{"node": "n0", "gpus": 8}], NODE_COLUMNS)
    row = {"state": "waiting", "gpus": 2, "nodes": 1, "team": "t", "submitted": 0.0, "limit": 60.0}
    jobs = frame([{**row, "job": f"7+{at}", "het_job": "7"} for at in range(2)], JOB_COLUMNS)
    limits = frame([{"scope": "team", "owner": "t", "gpus": 3}], LIMIT_COLUMNS)
    snapshot = ClusterSnapshot("made", 0.0, nodes, jobs, limits=limits)
    [found] = waiting_reasons(snapshot, ORDER)
    assert found.notes == ("team t uses 0 of at most 3 GPUs",)
    assert estimate_starts(snapshot).table["q50"].to_list() == [math.inf]


def test_a_written_model_leaves_it_out_by_its_number() -> None:
    folder = model_folder(read_snapshot(str(RECORDS / "slurm_22_05_het_json"), LIMITS))
    assert "1 het job (3), whose components start together" in folder.left_out
    jobs = [line.partition(",")[0] for line in folder.files["jobs.csv"].splitlines()[1:]]
    assert sorted(jobs) == ["1+0", "1+1"]  # that run, and occupy their GPUs
