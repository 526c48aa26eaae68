"""The driver on a real Slurm: eight nodes, faults, and the decisions of the simulator."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from action_delay import action_delay
from drive_files import wait_for_actions
from slurm_service import NEEDS_SLURM, PATH, PROGRAMS, SlurmService, slurm_service
from test_slurm_dependencies import CLUSTER as CHAINS
from test_slurm_dependencies import MODEL as CHAIN_MODEL

from gsdsl_clusters.drivers.drive import HISTORY, ORIGIN
from gsdsl_clusters.drivers.protocol import (
    Action,
    ActionKind,
    ActionRefused,
    ClusterUnavailable,
    JobState,
    Observation,
    ObservedJob,
)
from gsdsl_clusters.drivers.records import read_records
from gsdsl_clusters.drivers.slurm.cluster import SlurmCluster
from gsdsl_clusters.drivers.slurm.commands import Commands
from gsdsl_clusters.drivers.slurm.rest import RestInterface

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), NEEDS_SLURM]
NODES, GPUS = 8, 4
MODEL = f"""import "gsdsl:trace_replay/policies.gsm";
scenario Cluster for TraceReplay {{
  Nodes = {{ {", ".join(f"g{n}" for n in range(1, NODES + 1))} }};
  gpus[n in Nodes] = {GPUS};
  Jobs = {{ }};
}}
online Live for TraceReplay {{
  arrive j in Jobs at submitted[j];
  replan on arrival, completion, failure, recovery;
  carry remaining[j] = remaining[j];
  carry clock = now;
}}
"""
CLUSTER = """driver = "slurm"
model = "cluster.gsm"
online = "Live"
method = "FIFO"
interval = 1

[slurm]
partition = "main"

[jobs]
submitted = "submitted"
needs = "gpus"
exec_time = { field = "comment", match = "length=([0-9.]+)", unit = "s" }

[guard]
changes_per_hour = 5000
"""


@pytest.fixture(scope="module")
def service() -> Iterator[SlurmService]:
    """A cluster in a folder that other users reach: slurmrestd does not run as root."""
    with (
        tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder,
        slurm_service(Path(folder), nodes=NODES, gpus=GPUS, cpus=32) as started,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("SLURM_CONF", started.environment["SLURM_CONF"])
        patch.setenv("PATH", PATH)
        yield started


@pytest.fixture(autouse=True)
def no_jobs(service: SlurmService) -> Iterator[None]:
    """Begin with an empty queue."""
    yield
    service.run("scancel", "-u", service.run("whoami"), check=False)
    end = time.monotonic() + 30
    while service.run("squeue", "-h") and time.monotonic() < end:
        time.sleep(0.5)


def write_files(folder: Path, cluster: str = CLUSTER) -> Path:
    (folder / "cluster.gsm").write_text(MODEL)
    (folder / "cluster.toml").write_text(cluster)
    return folder / "cluster.toml"


def submit(service: SlurmService, gpus: int, seconds: float, *options: str, held: bool = True) -> str:
    words = ["sbatch", "--parsable", f"--gres=gpu:{gpus}", "-n1", "--mem=10", f"--comment=length={seconds}",
             "--output=/dev/null", *options]  # fmt: skip
    return service.run(*words, *(["-H"] if held else []), "--wrap", f"sleep {seconds}")


def command(path: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "gpusched_dsl", "drive", str(path), *options]


def driver(service: SlurmService, path: Path, *options: str) -> subprocess.Popen[str]:
    """A process that drives the cluster."""
    log = (path.parent / "drive.log").open("a")
    return subprocess.Popen(
        command(path, *options), stdout=log, stderr=log, text=True, env=service.environment, start_new_session=True
    )


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def wait_until_done(names: list[str], seconds: float) -> Observation:
    """Wait until all jobs have ended; return the last observation."""
    until = time.monotonic() + seconds
    while True:
        seen = SlurmCluster("main").observe()
        if all(seen.jobs[name].state.has_ended for name in names):
            return seen
        assert time.monotonic() < until, {n: seen.jobs[n] for n in names if not seen.jobs[n].state.has_ended}
        time.sleep(1.0)


def wait_until_begun(path: Path, seconds: float = 120.0) -> None:
    """Wait until the driver has begun its run: jobs that end from then on are part of the report."""
    until = time.monotonic() + seconds
    while not (path.parent / "shadow" / ORIGIN).exists():
        assert time.monotonic() < until, (path.parent / "drive.log").read_text()[-3000:]
        time.sleep(0.2)


def wait_until_recorded(path: Path, names: list[str], seconds: float = 120.0) -> None:
    """Wait until the driver has recorded the ends of all jobs."""
    until, ends = time.monotonic() + seconds, {state.value for state in JobState if state.has_ended}
    while True:
        lines = read_records(path.parent / "shadow" / HISTORY)
        if set(names) <= {line.get("job") for line in lines if line.get("state") in ends}:
            return
        assert time.monotonic() < until, (path.parent / "drive.log").read_text()[-3000:]
        time.sleep(0.5)


def overloaded(seen: Observation, names: list[str]) -> list[tuple[str, float]]:
    """Nodes and times at which more GPUs were used than there are."""
    found = []
    stays = [seen.jobs[name] for name in names]
    for at in {job.started for job in stays}:
        used: dict[str, int] = {}
        for job in stays:
            if job.started is not None and job.ended is not None and job.started <= at < job.ended:  # type: ignore[operator]
                for node, gpus in job.ran_on.items():
                    used[node] = used.get(node, 0) + gpus
        found += [(node, at) for node, gpus in used.items() if gpus > GPUS]
    return found  # type: ignore[return-value]


def trace(jobs: int) -> list[tuple[int, float]]:
    """GPUs and seconds of jobs: a published mix of sizes, compressed in time."""
    sizes, lengths = (1, 1, 2, 1, 4, 2, 1, 1), (2, 3, 1, 4, 2, 1, 3, 2, 1)
    return [(sizes[n % len(sizes)], float(lengths[n % len(lengths)])) for n in range(jobs)]


@contextmanager
def rest_interface(service: SlurmService) -> Iterator[RestInterface]:
    """Run slurmrestd on a socket. Its user is not root: it may change its own jobs."""
    folder = service.folder / "rest"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    service.start(
        "slurmrestd", "slurmrestd", "-s", "v0.0.38", "-a", "rest_auth/local", f"unix:{folder}/socket",
        user="nobody" if os.getuid() == 0 else None,
    )  # fmt: skip
    until = time.monotonic() + 20
    while not (folder / "socket").exists() and time.monotonic() < until:
        time.sleep(0.2)
    try:
        yield RestInterface(f"unix:{folder}/socket", "v0.0.38")
    finally:
        service.kill("slurmrestd")
        (folder / "socket").unlink(missing_ok=True)


def test_observations_by_commands_and_by_rest_agree(service: SlurmService, tmp_path: Path) -> None:
    name = submit(service, 2, 20, held=False)
    held = submit(service, 1, 1)
    seen = SlurmCluster("main").observe()
    until = time.monotonic() + 20
    while seen.jobs[name].state is not JobState.RUNNING and time.monotonic() < until:
        time.sleep(0.5)
        seen = SlurmCluster("main").observe()
    assert (seen.jobs[name].state, sum(seen.jobs[name].allocation.values())) == (JobState.RUNNING, 2)
    assert (seen.jobs[held].state, seen.jobs[held].held) == (JobState.PENDING, True)
    assert [(n.name, n.gpus, n.up) for n in seen.nodes.values()] == [(f"g{n}", GPUS, True) for n in range(1, NODES + 1)]
    if PROGRAMS["slurmrestd"] is None:
        pytest.skip("slurmrestd is not installed: the REST interface is not compared")
    with rest_interface(service) as interface:
        rest = SlurmCluster("main", rest=interface)
        assert rest.observe() == SlurmCluster("main").observe()
    with pytest.raises(ClusterUnavailable, match="does not answer"):
        rest.observe()


def test_every_action_on_a_real_job(service: SlurmService, tmp_path: Path) -> None:
    """Another number of GPUs, a start, a stop and a start elsewhere, for each way to request GPUs."""
    cluster = SlurmCluster("main")

    def wait_for(name: str, state: JobState) -> ObservedJob:
        until = time.monotonic() + 30
        while (job := cluster.observe().jobs[name]).state is not state:
            assert time.monotonic() < until, job
            time.sleep(0.5)
        return job

    for request in ("--gres=gpu:1", "--gres=gpu:h200:1", "--gpus-per-node=1"):
        words = ["sbatch", "--parsable", "-H", request, "-n1", "--mem=10", "--output=/dev/null", "--wrap", "sleep 60"]
        name = service.run(*words)
        for action in (
            Action(ActionKind.RESIZE, name, {"g3": 3}, "gsdsl step 1"),
            Action(ActionKind.START, name, {"g3": 3}, "gsdsl step 1"),
        ):
            cluster.act(action)
        assert wait_for(name, JobState.RUNNING).allocation == {"g3": 3}, request
        cluster.act(Action(ActionKind.REQUEUE, name, reason="gsdsl step 2"))
        job = wait_for(name, JobState.PENDING)
        assert (job.held, job.restarts) == (True, 1)
        until = time.monotonic() + 30
        while cluster.observe().jobs[name].allocation and time.monotonic() < until:
            time.sleep(0.5)
        cluster.act(Action(ActionKind.START, name, {"g5": 3}, "gsdsl step 3"))
        job = wait_for(name, JobState.RUNNING)
        assert (job.allocation, job.fields["admin_comment"]) == ({"g5": 3}, "gsdsl step 3")
        with pytest.raises(ActionRefused):
            cluster.act(Action(ActionKind.START, name, {"g99": 3}, "gsdsl step 4"))
        service.run("scancel", name)
        assert wait_for(name, JobState.CANCELLED).ran_on == {"g5": 3}
        until = time.monotonic() + 30
        while cluster.observe().jobs[name].allocation and time.monotonic() < until:
            time.sleep(0.5)


def test_every_action_by_rest(service: SlurmService) -> None:
    """The same by REST: a job of the user of slurmrestd is resized, placed, held, released and put back.

    Without `scontrol`, all but putting back is still possible; jobs of others are refused.
    """
    if PROGRAMS["slurmrestd"] is None:
        pytest.skip("slurmrestd is not installed: actions by REST are not tested")
    words = ["sbatch", "--parsable", "-H", "--chdir=/tmp", "--gres=gpu:1", "-n1", "--mem=10", "--output=/dev/null",
             "--wrap", "sleep 60"]  # fmt: skip
    if os.getuid() == 0:
        words = ["runuser", "-u", "nobody", "--", "env", f"SLURM_CONF={service.environment['SLURM_CONF']}", *words]
    with rest_interface(service) as interface:
        with_commands = SlurmCluster("main", rest=interface, acts_by_rest=True)
        alone = SlurmCluster("main", Commands("/nowhere"), interface, acts_by_rest=True)

        def wait_for(name: str, state: JobState) -> ObservedJob:
            until = time.monotonic() + 60
            while (job := alone.observe().jobs[name]).state is not state or (
                state is JobState.PENDING and job.allocation
            ):
                assert time.monotonic() < until, job
                time.sleep(0.5)
            return job

        for cluster in (with_commands, alone):
            name = service.run(*words)
            cluster.act(Action(ActionKind.RESIZE, name, {"g3": 3}, "gsdsl step 1"))
            cluster.act(Action(ActionKind.START, name, {"g3": 3}, "gsdsl step 1"))
            job = wait_for(name, JobState.RUNNING)
            assert job.allocation == {"g3": 3}
            put_back = Action(ActionKind.REQUEUE, name, reason="gsdsl step 2")
            if cluster is alone:
                with pytest.raises(ActionRefused, match="there is no `scontrol`"):
                    cluster.act(put_back)
            else:
                assert job.fields["admin_comment"] == "gsdsl step 1"
                cluster.act(put_back)
                assert wait_for(name, JobState.PENDING).held
                cluster.act(Action(ActionKind.START, name, {"g5": 3}, "gsdsl step 3"))
                assert wait_for(name, JobState.RUNNING).allocation == {"g5": 3}
            service.run("scancel", name)
        array = service.run(*words, "--array=5-7")
        start = Action(ActionKind.START, f"{array}_6", {"g4": 1}, "gsdsl step 1")
        with pytest.raises(ActionRefused, match="changes no single task"):
            alone.act(start)
        with_commands.act(start)
        assert wait_for(f"{array}_6", JobState.RUNNING).allocation == {"g4": 1}
        assert {alone.observe().jobs[f"{array}_{task}"].held for task in (5, 7)} == {True}
        service.run("scancel", array)
        waiting = service.run(*words)
        alone.rest.change(waiting, {"hold": False, "begin_time": "now+1hour"})  # type: ignore[union-attr]
        assert service.run("squeue", "-h", "-j", waiting, "-o", "%r") != "JobHeldUser"
        alone.act(Action(ActionKind.HOLD, waiting))
        assert service.run("squeue", "-h", "-j", waiting, "-o", "%r") == "JobHeldUser"
        with pytest.raises(ActionRefused):
            alone.act(Action(ActionKind.START, waiting, {"g99": 1}, "gsdsl step 4"))
        service.run("scancel", waiting)
        if os.getuid() == 0:
            foreign = submit(service, 1, 1)
            with pytest.raises(ActionRefused):
                alone.act(Action(ActionKind.START, foreign, {"g3": 1}, "gsdsl step 5"))


def test_gpus_that_slurm_cannot_change(service: SlurmService) -> None:
    """Slurm accepts another number for a job that requests its GPUs in all, and ignores it: that is a refusal."""
    words = ["sbatch", "--parsable", "-H", "--gpus=1", "-n1", "--mem=10", "--output=/dev/null", "--wrap", "sleep 60"]
    name = service.run(*words)
    with pytest.raises(ActionRefused):
        SlurmCluster("main").act(Action(ActionKind.RESIZE, name, {"g3": 3}, "gsdsl step 1"))


def test_two_hundred_jobs_end_as_in_the_simulator(service: SlurmService, tmp_path: Path) -> None:
    """Every job ends once, as in the simulation of the same arrivals and lengths, and in the same order of starts."""
    path = write_files(tmp_path)
    jobs = trace(200)
    names = [submit(service, gpus, seconds) for gpus, seconds in jobs]
    process = driver(service, path, "--act")
    try:
        seen = wait_until_done(names, 300)
        time.sleep(3.0)
    finally:
        end(process)
    simulated = simulate(path, names, jobs)
    assert {name: seen.jobs[name].state for name in names} == dict.fromkeys(simulated, JobState.DONE)
    assert overloaded(seen, names) == []
    assert {seen.jobs[name].restarts for name in names} == {0}
    real = {name: seen.jobs[name].started or 0.0 for name in names}
    first = min(real.values())
    # FIFO starts in the order of submission; the clock of Slurm has seconds, and plans wait for an observation
    order = [real[name] for name in names]
    assert all(later >= earlier - 1.0 for earlier, later in itertools.pairwise(order))
    assert sorted(simulated, key=lambda n: (simulated[n][0], int(n))) == names
    assert max(job.ended or 0.0 for job in seen.jobs.values()) - first >= max(e for _, e in simulated.values()) - 2.0


@pytest.mark.parametrize("held", [True, False])
def test_tasks_of_an_array_run_by_the_plan(service: SlurmService, tmp_path: Path, held: bool) -> None:
    """Tasks are started alone, on nodes of the plan, and never more of them than the array allows."""
    path = write_files(tmp_path)
    array = submit(service, 2, 4.0, "--array=1,3-9:2,100-140:8%3", held=held)
    tasks = [f"{array}_{task}" for task in (1, 3, 5, 7, 9, 100, 108, 116, 124, 132, 140)]
    assert {*tasks} <= SlurmCluster("main").observe().jobs.keys()
    process = driver(service, path, "--act")
    try:
        seen = wait_until_done(tasks, 240)
    finally:
        end(process)
    jobs = [seen.jobs[name] for name in tasks]
    assert {job.state for job in jobs} == {JobState.DONE}
    assert overloaded(seen, tasks) == []
    times = [(job.started or 0.0, job.ended or 0.0) for job in jobs]
    assert max(sum(start <= at < end for start, end in times) for at, _ in times) == 3
    if held:
        assert all(str(job.fields["admin_comment"]).startswith("gsdsl step ") for job in jobs)
        assert [start for start, _ in times] == sorted(start for start, _ in times)


def test_jobs_keep_away_from_nodes_that_will_be_maintained(service: SlurmService, tmp_path: Path) -> None:
    """Seven nodes are maintained in ten minutes: a job without a limit starts on the eighth, a short one at once."""
    path = write_files(tmp_path)
    words = (
        "ReservationName=maint",
        "StartTime=now+10minutes",
        "Duration=60",
        "Nodes=g[1-7]",
        "Flags=MAINT",
        "Users=root",
    )
    service.run("scontrol", "create", "reservation", *words)
    try:
        long = [submit(service, 4, 3.0) for _ in range(2)]
        short = submit(service, 4, 3.0, "-t", "5")
        assert set(SlurmCluster("main").observe().jobs[long[0]].misfits) == {f"g{n}" for n in range(1, 8)}
        process = driver(service, path, "--act")
        try:
            seen = wait_until_done([*long, short], 180)
        finally:
            end(process)
    finally:
        service.run("scontrol", "delete", "ReservationName=maint")
    assert [seen.jobs[name].ran_on for name in long] == [{"g8": 4}] * 2
    assert (seen.jobs[short].started or 0.0) < max(seen.jobs[name].started or 0.0 for name in long)


def test_dependencies_are_part_of_the_plan(service: SlurmService, tmp_path: Path) -> None:
    """Jobs, a task, an array and a singleton wait for others by the model's own row, and start in their order.

    Slurm looks at the dependencies of held jobs once a minute; until then such a job leaves the queue.
    """
    path = write_files(tmp_path, CHAINS.replace("interval = 5", "interval = 1"))
    nodes = ", ".join(f"g{n}" for n in range(1, NODES + 1))
    (tmp_path / "cluster.gsm").write_text(CHAIN_MODEL.replace("g1, g2", nodes))
    first = submit(service, 4, 3.0)
    second = submit(service, 2, 3.0, "-d", f"afterok:{first}")
    array = submit(service, 1, 3.0, "--array=1-2", "-d", f"afterany:{first}")
    last = submit(service, 1, 3.0, "-d", f"afterok:{array}_2,afterok:{first}")
    single = [submit(service, 1, 3.0, "-J", "one", "-d", "singleton") for _ in range(2)]
    seen = SlurmCluster("main").observe()
    assert {name: job.after for name, job in seen.jobs.items() if job.after} == {
        second: (first,), f"{array}_1": (first,), f"{array}_2": (first,), last: (f"{array}_2", first),
        single[1]: (single[0],),
    }  # fmt: skip
    names = [first, second, f"{array}_1", f"{array}_2", last, *single]
    process = driver(service, path, "--act")
    try:
        ended = wait_until_done(names, 300).jobs
    finally:
        end(process)
    assert {ended[name].state for name in names} == {JobState.DONE}
    for name, job in seen.jobs.items():
        for before in job.after:
            assert (ended[before].ended or 0.0) <= (ended[name].started or 0.0)


def simulate(path: Path, names: list[str], jobs: list[tuple[int, float]]) -> dict[str, tuple[float, float]]:
    """The start and end in seconds of each job in a simulated cluster without delays."""
    import gpusched_dsl

    rows = "\n".join(f"    {n} {g} {s / 3600!r}" for n, (g, s) in zip(names, jobs, strict=True))
    text = MODEL.replace("  Jobs = { };", f"  table Jobs: needs exec_time[h] =\n{rows} ;")
    simulated = path.parent / "simulated.gsm"
    simulated.write_text(text)
    result = gpusched_dsl.load(simulated).run(online="Live", method="FIFO")
    table: Any = result.jobs
    columns = zip(table["job"], table["start"], table["end"], strict=True)
    return {str(job): (start * 3600, finish * 3600) for job, start, finish in columns}


def test_killed_drivers_and_a_killed_controller(service: SlurmService, tmp_path: Path) -> None:
    """The driver is killed four times and the controller once; every job still runs once.

    Slurm saves its state every few seconds: a job whose end it has noted but not saved before a kill still runs for
    the restarted controller. So no job ends in the seconds before the kill; the first eight end while it is down.
    """
    path = write_files(tmp_path)
    names = [submit(service, gpus, seconds) for gpus, seconds in trace(60)]
    for actions in (1, 9, 15, 30):
        process = driver(service, path, "--act")
        wait_for_actions(path, actions)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
    process = driver(service, path, "--act")
    try:
        wait_until_done(names, 240)
        running = [submit(service, GPUS, 30) for _ in range(NODES)]
        waiting = [submit(service, gpus, seconds) for gpus, seconds in trace(20)]
        names += running + waiting
        until = time.monotonic() + 60
        while {job.state for name, job in SlurmCluster("main").observe().jobs.items() if name in running} != {
            JobState.RUNNING
        }:
            assert time.monotonic() < until
            time.sleep(0.5)
        time.sleep(8.0)
        service.kill("slurmctld")
        time.sleep(25.0)
        service.start_controller()
        seen = wait_until_done(names, 240)
    finally:
        end(process)
    assert {seen.jobs[name].state for name in names} == {JobState.DONE}
    assert {seen.jobs[name].restarts for name in names} == {0}
    assert overloaded(seen, names) == []


def test_a_node_fails(service: SlurmService, tmp_path: Path) -> None:
    """Slurm puts the jobs of a failed node back, and the plan starts them elsewhere."""
    path = write_files(tmp_path)
    names = [submit(service, 4, 12) for _ in range(4)]
    process = driver(service, path, "--act")
    try:
        until = time.monotonic() + 60
        running: list[str] = []
        while not running and time.monotonic() < until:
            time.sleep(1.0)
            seen = SlurmCluster("main").observe()
            running = [n for name in names for n in seen.jobs[name].allocation]
        service.run("scontrol", "update", f"nodename={running[0]}", "state=down", "reason=test")
        seen = wait_until_done(names, 100)  # Slurm alone would start it again after two minutes
    finally:
        end(process)
        service.run("scontrol", "update", f"nodename={running[0]}", "state=resume", check=False)
    assert {seen.jobs[name].state for name in names} == {JobState.DONE}
    assert sum(seen.jobs[name].restarts for name in names) == 1


def test_what_jobs_demand_and_others_occupy(service: SlurmService, tmp_path: Path) -> None:
    """On two of the nodes: jobs of others, dependencies, node lists, exclusions, and the hold of an operator."""
    text = CLUSTER.replace("[guard]", "[guard]\npatience = 4\nretry = 30")
    path = write_files(tmp_path, text)
    (tmp_path / "cluster.gsm").write_text(MODEL.replace(", ".join(f"g{n}" for n in range(1, NODES + 1)), "g1, g2"))
    foreign = submit(service, 3, 40, "-w", "g1", held=False)
    after = [submit(service, 4, 2, "-d", f"afterok:{foreign}") for _ in range(2)]
    long = submit(service, 2, 25)  # beside the job on g1 there is no room for it
    asked = submit(service, 2, 2, "-w", "g2")
    excluding = submit(service, 1, 2, "-x", "g1")
    elsewhere = submit(service, 1, 2, "-w", "g5")
    held = submit(service, 1, 2)
    service.run("scontrol", "hold", held)
    process = driver(service, path, "--act")
    try:
        seen = wait_until_done([foreign, *after, long, asked, excluding], 150)
    finally:
        end(process)
    jobs = seen.jobs
    assert {jobs[name].state for name in (foreign, *after, long, asked, excluding)} == {JobState.DONE}
    assert [list(jobs[name].ran_on) for name in (foreign, long, asked, excluding)] == [["g1"], ["g2"], ["g2"], ["g2"]]
    assert min(jobs[name].started or 0.0 for name in after) >= (jobs[foreign].ended or 0.0)
    assert (jobs[long].started or 0.0) < (jobs[foreign].ended or 0.0)
    assert (jobs[held].state, jobs[held].reason) == (JobState.BLOCKED, "an operator holds it")
    assert (jobs[elsewhere].state, jobs[elsewhere].held) == (JobState.PENDING, True)
    log = (tmp_path / "drive.log").read_text()
    assert f"job `{elsewhere}` is left out: it may run on no node of the model: it asks for g5" in log


def test_a_shadow_run_and_its_report(service: SlurmService, tmp_path: Path) -> None:
    """Slurm schedules on its own; the driver changes nothing, and reports what FIFO and SJF would have cost."""
    path = write_files(tmp_path)
    process = driver(service, path)
    try:
        wait_until_begun(path)
        names = [submit(service, gpus, seconds, held=False) for gpus, seconds in trace(30)]
        wait_until_done(names, 180)
        wait_until_recorded(path, names)
    finally:
        end(process)
    page = tmp_path / "report.html"
    done = subprocess.run(
        command(path, "--report", "--methods", "FIFO,SJF", "--html", str(page)),
        capture_output=True, text=True, env=service.environment, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "compared: 30 jobs" in done.stdout
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_from_event_to_action_takes_less_than_a_second(service: SlurmService, tmp_path: Path) -> None:
    """400 jobs: eleven run, the others need a whole node and wait, and the last one fits beside a running job."""
    for number in range(399):
        submit(service, 1 if number < 5 else GPUS, 1000 if number < 5 else 2000)

    def before(number: int) -> None:
        if number == 5:
            submit(service, 1, 1000)

    path = write_files(tmp_path, CLUSTER.replace('"FIFO"', '"SJFSkipping"'))
    delay = action_delay(path, [service.running["slurmctld"].pid], 5, before)
    assert delay < 1.0  # with the plan
