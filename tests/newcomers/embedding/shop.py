"""A package that embeds gsdsl and adds to it: a backend, a placing rule, a data format and a pass."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
import polars as pl

import gpusched_dsl as gs
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.policies.kernels.free_capacity import has_room
from gpusched_dsl.policies.workload import NONE, Schedule, Workload


class Enumeration:
    """A backend for small problems: all points of bounded integer columns."""

    name = "enumeration"
    capabilities = gs.Capabilities(warm_start=False, duals=False, time_limit=False, threads=False)

    def versions(self) -> dict[str, str]:
        return {"enumeration": "1.0"}

    def open(self, problem: gs.Problem) -> gs.Session:
        return _Enumerated(problem)


class _Enumerated(gs.Session):
    def __init__(self, problem: gs.Problem) -> None:
        self.problem = problem

    def solve(
        self, options: gs.SolveOptions, start: Floats | None = None, monitor: gs.Monitor | None = None
    ) -> gs.SolverResult:
        problem, [objective] = self.problem, self.problem.objectives
        ends = zip(problem.lower.tolist(), problem.upper.tolist(), strict=True)
        points = [np.array(p, dtype=float) for p in itertools.product(*(range(int(a), int(b) + 1) for a, b in ends))]
        fine = [point for point in points if self._satisfies(point)]
        if not fine:
            return gs.SolverResult(gs.Status.INFEASIBLE)
        sign = 1 if objective.sense == "minimize" else -1
        best = min(fine, key=lambda point: sign * objective.value(point))
        return gs.SolverResult(gs.Status.OPTIMAL, best, objective.value(best), objective.value(best))

    def _satisfies(self, point: Floats) -> bool:
        activity = self.problem.matrix.activity(point)
        return bool(((activity >= self.problem.row_lower) & (activity <= self.problem.row_upper)).all())

    def close(self) -> None:
        pass


def _last_with_room(work: Workload, plan: Schedule, job: int, way: int) -> tuple[int, int] | None:
    for node in range(len(plan.kind) - 1, -1, -1):
        if way != NONE and plan.jobs[node] and plan.kind[node] == work.kind[way] and has_room(work, plan, node, way):
            return node, way
    return None


last_used = gs.PlaceRule("last_used", "on the last node in use, of the kind of the way, that has room", _last_with_room)


def _read(raw: gs.Raw | None, settings: Mapping[str, gs.Setting]) -> gs.FormatTable:
    assert raw is not None
    cells = [line.split() for line in raw.data.decode().splitlines()]
    kept = [(name, int(gpus)) for name, gpus in cells if int(gpus) >= int(settings["least"])]
    dropped = (gs.Dropped("too few GPUs", len(cells) - len(kept)),) if len(kept) < len(cells) else ()
    return gs.FormatTable(pl.DataFrame(kept, schema=["job", "gpus"], orient="row"), len(cells), dropped)


orders = gs.Format(
    "orders",
    "Orders of the shop: a name and a number of GPUs per line.",
    (gs.FormatColumn("job", "name"), gs.FormatColumn("gpus", "GPUs")),
    _read,
    (gs.Option("least", "smallest number of GPUs", 1, least=0),),
)


class RoundBounds:
    """Integer columns between bounds that are not integers: l <= x <= u -> ceil(l) <= x <= floor(u)."""

    name: ClassVar[str] = "round_bounds"
    calls: ClassVar[int] = 0

    def accepts(self, analysis: gs.Analysis, target: gs.Target) -> bool:
        return bool(analysis.problem.integer.any())

    def apply(self, analysis: gs.Analysis, target: gs.Target) -> gs.PassResult:
        RoundBounds.calls += 1
        problem = analysis.problem
        lower = np.where(problem.integer, np.ceil(problem.lower - 1e-9), problem.lower)
        upper = np.where(problem.integer, np.floor(problem.upper + 1e-9), problem.upper)
        notes = (gs.Note(self.name, "bounds", "rounded", int(problem.integer.sum())),)
        return gs.PassResult(replace(problem, lower=lower, upper=upper), notes)
