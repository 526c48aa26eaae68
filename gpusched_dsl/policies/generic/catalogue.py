"""The policies for any model with a placement: names, sources, lines, and the roles of the placement that they need.

A line is a template: `{lasts}`, `{due}` and the like stand for the expressions of the placement (`instantiate.py`).
"""

from __future__ import annotations

from msgspec import Struct

from gpusched_dsl.language.checked import Role


class GenericPolicy(Struct, frozen=True):
    """`keys` sort the queue, `rules` place the jobs, `lets` are read by both. `needs` are roles that the placement must
    state.

    `preempts`: a plan may halt jobs that run. `standalone`: its rule finds the places of all jobs by itself.
    """

    name: str
    doc: str
    source: str
    keys: tuple[str, ...] = ("{arrived}",)
    rules: str = "best_fit, new_node, next_choice, wait"
    needs: tuple[Role, ...] = ()
    lets: tuple[str, ...] = ()
    preempts: bool = False
    standalone: bool = False


_SKIPPING = "best_fit, new_node, next_choice, postpone"

GENERIC: dict[str, GenericPolicy] = {
    policy.name: policy
    for policy in (
        GenericPolicy(
            "FIFO",
            "first in, first out: no job overtakes an earlier job",
            "The queue of most batch systems; see D. G. Feitelson, L. Rudolph, Parallel Job Scheduling: Issues and "
            "Approaches, JSSPP 1995.",
        ),
        GenericPolicy(
            "SJF",
            "shortest job first, by its time in the fastest way; no job overtakes a shorter one",
            "W. E. Smith, Various Optimizers for Single-Stage Production, Naval Research Logistics Quarterly 3, 1956.",
            ("{shortest}", "{arrived}"),
            needs=("lasts",),
        ),
        GenericPolicy(
            "SRTF",
            "shortest remaining time first, and any job that fits may run; preempts",
            "L. Schrage, A Proof of the Optimality of the Shortest Remaining Processing Time Discipline, Operations "
            "Research 16(3), 1968.",
            ("{shortest}", "{arrived}"),
            _SKIPPING,
            needs=("lasts",),
            preempts=True,
        ),
        GenericPolicy(
            "EDF",
            "earliest due date first: no job overtakes one that is due earlier",
            "J. R. Jackson, Scheduling a Production Line to Minimize Maximum Tardiness, UCLA Research Report 43, 1955.",
            ("{due}", "{arrived}"),
            needs=("due",),
        ),
        GenericPolicy(
            "ATC",
            "apparent tardiness cost: weight by time first, less with slack, and any job that fits may run; preempts",
            "A. P. J. Vepsalainen, T. E. Morton, Priority Rules for Job Shops with Weighted Tardiness Costs, "
            "Management Science 33(8), 1987.",
            (
                "{weight} / {shortest} * exp(-max(0, {due} - {shortest}) / (2 * {mean_time})) descending",
                "{arrived}",
            ),
            _SKIPPING,
            needs=("lasts", "due"),
            lets=("{mean_time} in {time} = sum[{job} in {jobs}] {shortest} / count({jobs});",),
            preempts=True,
        ),
        GenericPolicy(
            "LAS",
            "least attained service first, in GPUs times time, and any job that fits may run; preempts",
            "J. Gu et al., Tiresias: A GPU Cluster Manager for Distributed Deep Learning, NSDI 2019: two-dimensional "
            "LAS, without its discrete queues.",
            ("{attained}", "{arrived}"),
            _SKIPPING,
            preempts=True,
        ),
        GenericPolicy(
            "EASY",
            "EASY backfilling: jobs may overtake the first job without a place, but do not delay its reserved start",
            "D. A. Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995; A. W. Mu'alem, D. G. Feitelson, IEEE TPDS "
            "12(6), 2001.",
            rules="backfill",
            needs=("lasts",),
            standalone=True,
        ),
        GenericPolicy(
            "Conservative",
            "conservative backfilling: jobs may overtake, but delay the reserved start of no earlier job",
            "A. W. Mu'alem, D. G. Feitelson, Utilization, Predictability, Workloads, and User Runtime Estimates in "
            "Scheduling the IBM SP2 with Backfilling, IEEE TPDS 12(6), 2001.",
            rules="backfill conservative",
            needs=("lasts",),
            standalone=True,
        ),
        GenericPolicy(
            "FairShare",
            "weighted fair share: users take turns, fewest GPUs for their share first, up to their quota",
            "A. Ghodsi et al., Dominant Resource Fairness: Fair Allocation of Multiple Resource Types, NSDI 2011, for "
            "one resource; the Fair Scheduler of Apache Hadoop.",
            rules="fair_share",
            needs=("user",),
            standalone=True,
        ),
        GenericPolicy(
            "MaxMin",
            "max-min fairness over throughputs on different types of node, by shares of time; preempts",
            "D. Narayanan et al., Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads (Gavel), "
            "OSDI 2020.",
            rules="max_min",
            needs=("lasts",),
            preempts=True,
            standalone=True,
        ),
    )
}
