"""docs/reference/gallery.md: models with their main formulas, and pictures of solved scenarios and runs.

`python docs/site/gallery.py` draws the pictures of docs/images/gallery again, by the commands that the page shows.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from markdown_tables import paragraph

DOCS = Path(__file__).parents[1]
PICTURES = DOCS / "images" / "gallery"


@dataclass(frozen=True)
class Exhibit:
    """A model of the gallery; `formulas` are names of its page of mathematics.

    `command` is run with `--figures`; `figure` is the file that is shown, with `alt` as its description. Without one,
    the operations of a job shop are drawn.
    """

    name: str
    title: str
    page: str
    model: str
    text: str
    formulas: tuple[str, ...]
    command: str
    figure: str
    alt: str


EXHIBITS = (
    Exhibit(
        "capacity_planning",
        "Which machines to rent, and what runs where",
        "capacity_planning/model.md",
        "CapacityPlanning",
        """Nodes are rented as VMs of some type; jobs run on some of their GPUs, or wait. Late jobs, idle GPUs and rent
        cost money. Interchangeable nodes are aggregated, so that thousands of them can be planned.""",
        ("total", "capacity"),
        "gsdsl solve gsdsl:gavel_40_jobs",
        "schedule-1",
        "Jobs on rented nodes, one bar each, from now to their end",
    ),
    Exhibit(
        "price_aware",
        "When to train, when electricity has a price by the hour",
        "price_aware/model.md",
        "PriceAware",
        """Nodes train jobs or serve inference services, or are off, slot by slot. Jobs move to cheap hours, unless
        their due dates forbid it; services always need enough nodes for their latency bound.""",
        ("energy_cost", "enough"),
        "gsdsl solve gsdsl:price_aware/tests/policies.gsm --scenario Baselines",
        "schedule-1",
        "Training and serving by node over a day, with the price as the background",
    ),
    Exhibit(
        "gpu_sharing",
        "Jobs of random length that share GPUs",
        "gpu_sharing/model.md",
        "GpuSharing",
        """A job gets GPUs, or a part of one GPU that several jobs share. Its number of epochs is random, and the
        expected lateness is exact.""",
        ("lateness_cost", "parts_fit"),
        "gsdsl solve gsdsl:cluster_10x20 --scenario Sharing10x20 --method STS",
        "schedule-1",
        "Jobs on ten nodes, some of which share a GPU",
    ),
    Exhibit(
        "job_shop",
        "Orders of operations: a job shop",
        "intervals/job_shop.md",
        "JobShop",
        """Intervals that may not overlap. CP-SAT takes them as they are; other solvers get rows. The published optimum
        of ft06 is 55.""",
        ("one", "order"),
        "gsdsl solve gsdsl:ft06 --method cpsat --show begin",
        "",
        "Six jobs on six machines, which end at 55",
    ),
    Exhibit(
        "gangs",
        "Jobs on many nodes at once",
        "gangs/model.md",
        "Gangs",
        """All workers of a job run, or none. On several nodes it is slower, on several racks slower still.""",
        ("all_or_none", "room"),
        "gsdsl run gsdsl:two_racks --online EveryEvent --method EASY",
        "schedule-1",
        "Twelve jobs on two racks of four nodes, placed by EASY backfilling",
    ),
    Exhibit(
        "cluster",
        "A cluster with teams, gangs and rules of the house",
        "cluster/model.md",
        "Cluster",
        """Jobs on one or on many nodes of several types, of teams with fair shares. Rules are options: here a team has
        at most half of the a100 GPUs, so that resnet waits for gpt_large of its team, and a4 and b4 are free for
        maintenance from 12:00 to 14:00.""",
        ("team_part", "maintained"),
        "gsdsl run gsdsl:shared_cluster --method SlurmFairShare --set team_share=always --set maintenance=yes",
        "schedule-1",
        "Twelve jobs, five of them on two nodes each, on eight nodes from 8:00 to 23:00",
    ),
    Exhibit(
        "defragmentation",
        "Which jobs move, so that a gang fits",
        "defragmentation/model.md",
        "Defragmentation",
        """Running jobs move or halt, so that the workers of waiting gangs start, at least lost work. During the change
        a moving job has its old and its new place.""",
        ("total", "during"),
        "gsdsl solve gsdsl:six_nodes",
        "schedule-1",
        "Eleven jobs on six nodes after the change: two nodes are free for the two workers of a gang",
    ),
    Exhibit(
        "allocation",
        "Queues of GPUs",
        "allocation/model.md",
        "Allocation",
        """All jobs are present, and each GPU runs its queue. An assignment problem: the p-th job from the end delays p
        jobs.""",
        ("completions", "one_job"),
        "gsdsl solve gsdsl:zeus --method EarliestFinishSJF",
        "schedule-1",
        "Sixty-nine jobs in the queues of four GPUs",
    ),
    Exhibit(
        "trace_replay",
        "Two weeks of a public trace",
        "trace_replay/model.md",
        "TraceReplay",
        """Each arrival and each end of a job asks which waiting job starts where. Queues replay years in seconds.""",
        ("one_place", "capacity"),
        "gsdsl run gsdsl:philly_sample --scenario PhillyNodes --method Backfilling",
        "utilisation-of-nodes-1",
        "Utilisation of twelve nodes over two weeks",
    ),
)


def page() -> str:
    """The text of the page."""
    intro = """Models that come with gsdsl, their main formulas, and pictures of the commands shown. [Models as
        mathematics](../models/README.md) has all formulas, [the library](../../models/README.md) all files, options
        and data. This page is made by `make docs`."""
    parts = ["# Gallery\n", paragraph(intro)]
    for item in EXHIBITS:
        own = (DOCS / "models" / item.page).read_text(encoding="utf-8")
        own = own[own.index(f"\n## {item.model}\n") :]
        parts += [
            f"## {item.title}\n",
            paragraph(item.text),
            *(f"```math\n{formula(own, name)}\n```\n" for name in item.formulas),
            f"![{item.alt}](../images/gallery/{item.name}.svg)\n",
            f"    {item.command}\n",
            f"[All formulas of `{item.model}`](../models/{item.page}#{item.model.lower()})\n",
        ]
    return "\n".join(parts)


def formula(text: str, name: str) -> str:
    """The first formula of that name on a page of mathematics, without its number."""
    found = re.search(rf"^\*\*{name}\*\*.*\n\n```math\n([^`]*)\n```$", text, re.MULTILINE)
    if found is None:
        raise LookupError(f"no formula `{name}`")
    return re.sub(r" \\tag\{\d+\}$", "", found[1])


def draw(item: Exhibit) -> None:
    """Run the command of an exhibit, and keep its picture."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    target = PICTURES / f"{item.name}.svg"
    if not item.figure:
        draw_job_shop(target)
        return
    from gpusched_dsl.cli import main

    with tempfile.TemporaryDirectory() as folder:
        if main([*shlex.split(item.command)[1:], "--figures", folder, "-q"]) != 0:
            raise RuntimeError(f"`{item.command}` failed")
        shutil.copyfile(Path(folder) / f"{item.figure}.svg", target)


def draw_job_shop(target: Path) -> None:
    """A row per machine of the instance ft06, a bar per operation, in the colour of its job."""
    from gpusched_dsl.language.diagnostics.extras import FIGURES_NEED, require_extra

    require_extra("figures", FIGURES_NEED)
    import matplotlib

    import gpusched_dsl as gs
    from gpusched_dsl.reporting.figures.drawing.style import JOBS, SETTINGS, WIDTH

    result = gs.load("gsdsl:ft06").solve(backend="cpsat", seed=0)
    begins, lasts, machines = (
        {(job, step): value for job, step, value in result.table(name).iter_rows()}
        for name in ("begin", "lasts", "machine")
    )
    with matplotlib.rc_context(SETTINGS):
        from matplotlib.figure import Figure

        drawn = Figure(figsize=(WIDTH, 2.9), layout="constrained")
        axes = drawn.subplots()
        jobs = sorted({job for job, _ in begins})
        axes.barh(sorted(set(machines.values())), 0)  # the order of the rows
        for (job, step), begin in begins.items():
            machine, length = machines[job, step], lasts[job, step]
            axes.barh(machine, length, left=begin, color=JOBS[jobs.index(job)], edgecolor="white", height=0.8)
            axes.text(begin + length / 2, machine, job, ha="center", va="center", fontsize=8)
        axes.set_xlabel("min")
        axes.set_ylabel("machine")
        axes.invert_yaxis()
        drawn.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    wanted = sys.argv[1:]
    for exhibit in EXHIBITS:
        if not wanted or exhibit.name in wanted:
            draw(exhibit)
