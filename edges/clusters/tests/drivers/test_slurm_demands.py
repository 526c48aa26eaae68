"""Acting on a simulated Slurm with jobs of others and with demands: no GPU stays idle that a managed job could use."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from drive_files import MODEL, write_files
from simulated_slurm import EPOCH, Job, Node, SimulatedSlurm

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gsdsl_clusters.drivers.drive import ACTIONS, DriveOptions, DriveSummary, drive
from gsdsl_clusters.drivers.records import read_records
from gsdsl_clusters.drivers.settings import read_settings

CLUSTER = """driver = "slurm"
model = "cluster.gsm"
online = "Live"
method = "Backfilling"
interval = 5

[slurm]
partition = "main"

[jobs]
submitted = "submitted"
needs = "gpus"
exec_time = { field = "comment", match = "length=([0-9.]+)", unit = "s" }

[guard]
changes_per_hour = 1000000
patience = 3
retry = 60
"""
PATIENCE, RETRY = 3, 12  # observations


def act(
    folder: Path, slurm: SimulatedSlurm, rounds: int, *, acts: bool = True, **options: Any
) -> tuple[DriveSummary, list[str]]:
    """Drive a simulated Slurm; return the summary and the messages."""
    names = ", ".join(node.name for node in slurm.nodes)
    lines = "\n".join(f'  gpus["{node.name}"] = {node.gpus};' for node in slurm.nodes)
    model = MODEL.replace("{ g1, g2 }", f"{{ {names} }}").replace("  gpus[n in Nodes] = 4;", lines)
    path = write_files(folder, model, CLUSTER)
    settings, cluster = read_settings(path, slurm.cluster())
    diagnostics = Diagnostics()
    workspace = load_workspace(settings.model, diagnostics)
    diagnostics.raise_if_errors()
    told: list[Diagnostic] = []
    given = DriveOptions(acts, rounds, now=slurm.now, wait=slurm.sleep, **options)
    summary = drive(workspace, settings, cluster, given, report=told.append)
    return summary, [diagnostic.message for diagnostic in told]


def two_nodes(**more: Any) -> SimulatedSlurm:
    return SimulatedSlurm([Node("g1", 4, **more), Node("g2", 4, **more)])


def states(slurm: SimulatedSlurm) -> dict[int, str]:
    return {id: job.state for id, job in slurm.jobs.items()}


def test_held_jobs_that_depend_on_another_one_take_no_gpus(tmp_path: Path) -> None:
    slurm = two_nodes()
    slurm.submit(gpus=4, seconds=20, after=(3,))
    slurm.submit(gpus=4, seconds=20, after=(3,))
    slurm.submit(gpus=4, seconds=20)
    act(tmp_path, slurm, 14)
    assert set(states(slurm).values()) == {"COMPLETED"}
    assert min(slurm.jobs[1].started, slurm.jobs[2].started) >= slurm.jobs[3].ended
    assert slurm.jobs[3].started <= EPOCH + 10


def test_what_others_occupy_is_not_planned_for(tmp_path: Path) -> None:
    """A job of another user runs on g1 and ends later: its end is an event."""
    slurm = two_nodes()
    slurm.submit(gpus=3, seconds=40, held="", asked=("g1",))
    slurm.step()
    for _ in range(3):
        slurm.submit(gpus=2, seconds=100)
    summary, _ = act(tmp_path, slurm, 12)
    assert [slurm.jobs[id].node for id in (2, 3)] == ["g2", "g2"]
    assert slurm.jobs[4].node == "g1"
    assert slurm.jobs[1].ended <= slurm.jobs[4].started <= slurm.jobs[1].ended + 12
    assert summary.left_out == {"1": "somebody else has started it"}


@pytest.mark.parametrize(
    ("demand", "node"),
    [
        ({"asked": ("g2",)}, "g2"),
        ({"excluded": ("g1", "g4")}, "g2"),
        ({"features": "fast&new"}, "g2"),
        ({"kind": "h200"}, "g2"),
        ({"reservation": "r1"}, "g3"),
        ({"exclusive": True, "gpus": 8}, "g4"),
    ],
)
def test_demands_are_obeyed(demand: dict[str, Any], node: str, tmp_path: Path) -> None:
    """The policy alone would place the job on the first node; other jobs go on beside it."""
    slurm = SimulatedSlurm([
        Node("g1", 4, "a100", ("fast",)), Node("g2", 4, "h200", ("fast", "new")),
        Node("g3", 4, "a100", reservation="r1"), Node("g4", 8, "a100"),
    ])  # fmt: skip
    slurm.submit(**{"gpus": 3, "seconds": 30, **demand})
    slurm.submit(gpus=3, seconds=30)
    summary, told = act(tmp_path, slurm, 20)
    job = slurm.jobs[1]
    assert (job.state, job.node, job.begun) == ("COMPLETED", node, 1), told
    assert (slurm.jobs[2].state, summary.left_out) == ("COMPLETED", {})
    assert job.listed == (node,)


@pytest.mark.parametrize(
    ("demand", "why"),
    [
        ({"features": "fast*2"}, "the features `fast*2` are no plain list with `&` or `|`"),
        ({"features": "nowhere"}, "it may run on no node of the model: it needs the features `nowhere`"),
        ({"kind": "v100"}, "it may run on no node of the model: it needs GPUs of type v100"),
        ({"exclusive": True}, "it may run on no node of the model: it takes whole nodes, with 3 GPUs of each"),
    ],
)
def test_demands_that_cannot_be_obeyed(demand: dict[str, Any], why: str, tmp_path: Path) -> None:
    slurm = two_nodes(kind="h200")
    slurm.submit(gpus=3, seconds=30, **demand)
    slurm.submit(gpus=4, seconds=10)
    summary, told = act(tmp_path, slurm, 6)
    assert summary.left_out == {"1": why}
    assert told == [f"job `1` is left out: {why}"]
    assert states(slurm) == {1: "PENDING", 2: "COMPLETED"}
    assert slurm.jobs[1].held


def test_shadow_plans_obey_demands_too(tmp_path: Path) -> None:
    """Slurm runs all jobs by itself; no plan places one where it must not run, or on GPUs of a job that is left out."""
    slurm = SimulatedSlurm([Node("g1", 4, "a100"), Node("g2", 4, "h200", ("new",)), Node("g3", 4, "h200")])
    slurm.submit(gpus=4, seconds=1000, held="", asked=("g3",), features="fast*2")
    slurm.misfit = lambda job, node, listed: "" if not listed or node.name in listed else "Resources"  # type: ignore[method-assign]
    slurm.step()
    for number in range(9):
        slurm.submit(gpus=3, seconds=12, held="", **({}, {"kind": "h200"}, {"features": "new"})[number % 3])
    summary, _ = act(tmp_path, slurm, 30, acts=False)
    planned: dict[str, set[str]] = {}
    for line in read_records(tmp_path / "shadow" / ACTIONS):
        if line.get("action") == "start":
            planned.setdefault(line["job"], set()).update(line["nodes"])
    assert list(summary.left_out) == ["1"]
    assert set().union(*planned.values()) == {"g1", "g2"}
    restricted = [str(job.id) for job in slurm.jobs.values() if job.id > 1 and (job.kind or job.features)]
    assert all(planned.get(name, {"g2"}) == {"g2"} for name in restricted)
    assert slurm.changes == []


def test_an_operators_hold_is_never_released(tmp_path: Path) -> None:
    slurm = two_nodes()
    slurm.submit(gpus=4, seconds=20, held="JobHeldAdmin")
    slurm.submit(gpus=4, seconds=50)
    slurm.submit(gpus=4, seconds=50)
    slurm.submit(gpus=4, seconds=20)
    slurm.at = [(EPOCH + 20, lambda: slurm.change(("hold", "4")))]
    act(tmp_path, slurm, 25)
    assert states(slurm) == {1: "PENDING", 2: "COMPLETED", 3: "COMPLETED", 4: "PENDING"}
    assert not any(word in change for change in slurm.changes for word in ("release 1", "release 4"))
    slurm.change(("release", "1"))
    slurm.change(("release", "4"))
    act(tmp_path, slurm, 15)
    assert set(states(slurm).values()) == {"COMPLETED"}


def test_a_hold_of_a_plug_in_is_released(tmp_path: Path) -> None:
    """A plug-in that holds new jobs says so in the AdminComment; the hold of an operator after it counts."""
    slurm = two_nodes()
    slurm.submit(gpus=4, seconds=20, held="JobHeldAdmin", admin_comment="gsdsl")
    act(tmp_path, slurm, 7)
    assert states(slurm) == {1: "COMPLETED"}


def test_a_released_job_that_does_not_start_gives_its_gpus_back(tmp_path: Path) -> None:
    """Both nodes are full of other things than GPUs (CPUs, say); one of them for a while only."""
    slurm = two_nodes()
    misfit = slurm.misfit
    free = {"g1": EPOCH + 1e9, "g2": EPOCH + 60}

    def full(job: Job, node: Node, listed: Any) -> str:
        return "Resources" if job.id == 1 and slurm.time < free[node.name] else misfit(job, node, listed)

    slurm.misfit = full  # type: ignore[method-assign]
    slurm.submit(gpus=4, seconds=20)
    slurm.submit(gpus=4, seconds=20)
    slurm.submit(gpus=4, seconds=20)
    _, told = act(tmp_path, slurm, 45)
    assert set(states(slurm).values()) == {"COMPLETED"}, told
    assert slurm.jobs[1].node == "g2"
    assert max(slurm.jobs[2].ended, slurm.jobs[3].ended) <= EPOCH + 80
    assert "job `1` has not started on g1 in 3 observations: Resources; its GPUs go to others" in told


def test_licences(tmp_path: Path) -> None:
    """Two jobs need the only licence: one waits without GPUs, and is tried again."""
    slurm = two_nodes()
    slurm.licences = {"matlab": 1}
    slurm.submit(gpus=2, seconds=50, licence="matlab")
    slurm.submit(gpus=4, seconds=50, licence="matlab")
    slurm.submit(gpus=4, seconds=30)
    _, told = act(tmp_path, slurm, 40)
    assert set(states(slurm).values()) == {"COMPLETED"}, told
    assert slurm.jobs[3].ended <= EPOCH + 80
    assert "job `2` has not started in 3 observations: Licenses; its GPUs go to others" in told


def test_a_user_excludes_the_only_node_that_is_free(tmp_path: Path) -> None:
    """Nothing is done again and again."""
    slurm = SimulatedSlurm([Node("g1", 4)])
    slurm.submit(gpus=4, seconds=20, excluded=("g1",))
    slurm.submit(gpus=4, seconds=20)
    summary, _ = act(tmp_path, slurm, 20)
    assert states(slurm) == {1: "PENDING", 2: "COMPLETED"}
    assert summary.changes == 1


def test_the_nodes_that_a_user_asked_for_are_kept_over_a_restart(tmp_path: Path) -> None:
    slurm = two_nodes()
    slurm.submit(gpus=4, seconds=1000, held="", asked=("g2",))
    slurm.step()
    slurm.submit(gpus=4, seconds=20, asked=("g1", "g2"))
    act(tmp_path, slurm, 3)
    assert slurm.jobs[2].admin_comment.endswith("[asked for g1,g2]")
    slurm.change(("requeuehold", "2"))
    act(tmp_path, slurm, 10)
    assert (slurm.jobs[2].state, slurm.jobs[2].node) == ("COMPLETED", "g1")


def test_a_node_drains(tmp_path: Path) -> None:
    """Jobs that run there go on, and no job is started there."""
    slurm = two_nodes()
    for _ in range(4):
        slurm.submit(gpus=2, seconds=60)
    slurm.submit(gpus=2, seconds=10)
    slurm.at = [(EPOCH + 20, lambda: setattr(slurm.nodes[0], "flags", ("REBOOT_ISSUED",)))]
    act(tmp_path, slurm, 25)
    assert set(states(slurm).values()) == {"COMPLETED"}
    assert {job.begun for job in slurm.jobs.values()} == {1}
    assert slurm.jobs[5].node == "g2"


def test_a_node_with_slices_only_is_left_out(tmp_path: Path) -> None:
    """The model says that it has four GPUs; everything else goes on."""
    slurm = two_nodes()
    slurm.submit(gpus=4, seconds=20)
    slurm.submit(gpus=4, seconds=20)
    document = slurm.documents

    def with_slices(what: str) -> dict[str, Any]:
        found = document(what)
        if what == "sinfo":
            found["nodes"][0]["gres"] = "gpu:1g.10gb:28"
        return found

    slurm.documents = with_slices  # type: ignore[method-assign]
    _, told = act(tmp_path, slurm, 14)
    assert told == ["28 slices of GPUs of node `g1` are left out: a slice is no GPU"]
    assert [(job.node, job.state) for job in slurm.jobs.values()] == [("g2", "COMPLETED")] * 2


def test_a_job_that_is_missing_comes_back(tmp_path: Path) -> None:
    """Two observations do not show a job that waits and one that runs; both end, and run once."""
    slurm = two_nodes()
    slurm.submit(gpus=4, seconds=40)
    slurm.submit(gpus=4, seconds=40)
    slurm.submit(gpus=4, seconds=10)
    document = slurm.documents

    def without_some(what: str) -> dict[str, Any]:
        found = document(what)
        if what == "squeue" and 9 < slurm.time - EPOCH < 26:
            found["jobs"] = [job for job in found["jobs"] if job["job_id"] == 2]
        return found

    slurm.documents = without_some  # type: ignore[method-assign]
    act(tmp_path, slurm, 25)
    assert [(job.state, job.begun) for job in slurm.jobs.values()] == [("COMPLETED", 1)] * 3


def test_what_is_not_understood_leaves_the_rest_alone(tmp_path: Path) -> None:
    """Job 2, which runs, is not understood for a while, and job 3, which waits; the others go on, told once."""
    slurm = SimulatedSlurm([Node("g1", 4), Node("g2", 4), Node("g3", 4)])
    for _ in range(6):
        slurm.submit(gpus=4, seconds=25)
    document = slurm.documents

    def wrong(what: str) -> dict[str, Any]:
        found = document(what)
        for job in found.get("jobs", []):
            if job["job_id"] in (2, 4) and 9 < slurm.time - EPOCH < 70:
                job["submit_time"] = "yesterday"
        return found

    slurm.documents = wrong  # type: ignore[method-assign]
    _, told = act(tmp_path, slurm, 30)
    assert [(job.state, job.begun) for job in slurm.jobs.values()] == [("COMPLETED", 1)] * 6
    assert max(slurm.jobs[id].started for id in (5, 6)) < EPOCH + 60 < slurm.jobs[4].started
    message = "is left out: `submit_time` is 'yesterday', which is not a number of Slurm"
    assert f"job `2` and 1 more {message}" in told
    assert len([text for text in told if message in text]) <= 2


def random_slurm(rng: random.Random) -> SimulatedSlurm:
    """A cluster with jobs of which each can end some day, but for those that an operator holds."""
    kinds = ("a100", "h200")
    nodes = [
        Node(f"g{n}", rng.choice((2, 4)), rng.choice(kinds), tuple(rng.sample(("fast", "new"), rng.randint(0, 2))))
        for n in range(1, rng.randint(3, 5))
    ]  # fmt: skip
    if rng.random() < 0.3:
        nodes[-1].reservation = "r1"
    slurm = SimulatedSlurm(nodes, {"matlab": 1})
    for _ in range(rng.randint(5, 12)):
        home = rng.choice(nodes)
        demand: dict[str, Any] = {"reservation": home.reservation}
        match rng.randrange(9):
            case 0:
                demand["asked"] = (home.name,)
            case 1:
                demand["excluded"] = tuple(n.name for n in nodes if n is not home and rng.random() < 0.6)
            case 2 if home.features:
                demand["features"] = "&".join(home.features[:2])
            case 3:
                demand["kind"] = home.kind
            case 4:
                demand["licence"] = "matlab"
            case 5 if slurm.jobs:
                demand["after"] = (rng.randint(1, len(slurm.jobs)),)
            case 6:
                demand["held"] = ""  # Slurm starts it
            case 7:
                demand["exclusive"] = True
        gpus = home.gpus if demand.get("exclusive") else rng.randint(1, home.gpus)
        submitted = EPOCH + rng.choice((0, 0, rng.randint(0, 60)))
        seconds = rng.randint(60, 300) if {"held", "licence"} & demand.keys() else rng.randint(5, 60)
        slurm.submit(gpus=gpus, seconds=seconds, submitted=submitted, **demand)
    if rng.random() < 0.3:
        id = rng.randint(1, len(slurm.jobs))
        held = [job for job in slurm.jobs.values() if job.id == id or id in job.after]
        if len(held) == 1:
            held[0].held = "JobHeldAdmin"
    return slurm


@pytest.mark.quick(4)
@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 500))])
def test_no_gpu_is_idle_that_a_managed_job_could_use(seed: int, tmp_path: Path) -> None:
    """A job that could start, observation after observation, starts after a time that its demands explain: the turns of
    other sets of nodes, and what was tried in vain. Every job ends, and starts once.
    """
    rng = random.Random(seed)
    slurm = random_slurm(rng)
    held = {job.id for job in slurm.jobs.values() if job.held == "JobHeldAdmin"}
    idle: Counter[int] = Counter()
    longest: Counter[int] = Counter()

    def observed(now: float) -> None:
        for job in slurm.jobs.values():
            could = job.id not in held and bool(slurm.could_start(job))
            idle[job.id] = idle[job.id] + 1 if could else 0
            longest[job.id] = max(longest[job.id], idle[job.id])

    def over() -> bool:
        return all(job.state == "COMPLETED" for job in slurm.jobs.values() if job.id not in held)

    _, told = act(tmp_path, slurm, 400, on_observation=observed, stop=over)
    assert {id for id, job in slurm.jobs.items() if job.state != "COMPLETED"} == held, told
    assert all(job.begun == (job.id not in held) for job in slurm.jobs.values())
    sets = {(j.asked, j.excluded, j.features, j.kind, j.reservation, j.exclusive * j.gpus) for j in slurm.jobs.values()}
    tried_in_vain = max(0, sum(bool(job.licence) for job in slurm.jobs.values()) - 1)  # each occupies GPUs for a while
    for job in slurm.jobs.values():
        limit = 4 + len(sets) + (PATIENCE + 1) * tried_in_vain + (RETRY if job.licence else 0)
        assert longest[job.id] <= limit, (job, told)
    over_full = [node.name for node in slurm.nodes if slurm.free(node) < 0]
    assert over_full == []
