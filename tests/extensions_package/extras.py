"""One thing of every kind that other packages may add, each as small as it can be."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

import numpy as np
import polars as pl

from gpusched_dsl import (
    Analysis,
    Capabilities,
    Definition,
    Distribution,
    Dropped,
    Exporter,
    Format,
    FormatColumn,
    FormatTable,
    Monitor,
    NamedDistribution,
    Note,
    Option,
    PassResult,
    PlaceRule,
    Problem,
    Raw,
    Report,
    Reporter,
    Result,
    Session,
    Setting,
    SolveOptions,
    SolverResult,
    Status,
    Target,
)
from gpusched_dsl.compiling.passes.problem_builder import ProblemBuilder
from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.definitions import Affines, MinMax
from gpusched_dsl.ir.definitions.base import Block
from gpusched_dsl.ir.definitions.intervals import Interval
from gpusched_dsl.ir.distributions.base import INF, StoredDistribution, as_floats, require
from gpusched_dsl.ir.distributions.restricted import Restrictable
from gpusched_dsl.ir.matrix import stack
from gpusched_dsl.language.distributions import spelling
from gpusched_dsl.policies.kernels.free_capacity import has_room
from gpusched_dsl.policies.workload import NONE, Schedule, Workload
from gsdsl_clusters.drivers.protocol import Action, ActionRefused, Observation, ObservedNode

# --- a placing rule ---------------------------------------------------------------------------------------------------


def _last_with_room(work: Workload, plan: Schedule, job: int, way: int) -> tuple[int, int] | None:
    for node in range(len(plan.kind) - 1, -1, -1):
        if way != NONE and plan.jobs[node] and plan.kind[node] == work.kind[way] and has_room(work, plan, node, way):
            return node, way
    return None


last_fit = PlaceRule("last_fit", "on the last node in use, of the kind of the way, that has room", _last_with_room)

# --- a distribution ---------------------------------------------------------------------------------------------------


class ParetoLaw(StoredDistribution, tag="pareto"):
    """P(W > x) = (scale / x)^shape for x >= scale."""

    scale: float
    shape: float

    def distribution(self, place: str) -> Distribution:
        return Pareto(self.scale, self.shape)


@dataclass(frozen=True)
class Pareto(Restrictable):
    """P(W > x) = (scale / x)^shape for x >= scale, with shape > 1."""

    scale: float
    shape: float

    form: ClassVar[type[StoredDistribution] | None] = ParetoLaw
    parameters: ClassVar[tuple[str, ...]] = ("scale", "shape")

    def __post_init__(self) -> None:
        require(self.shape > 1, "the mean is infinite unless the shape is above 1")

    @property
    def mean(self) -> float:
        return self.scale * self.shape / (self.shape - 1)

    @property
    def support(self) -> tuple[float, float]:
        return self.scale, INF

    def survival(self, x: Floats) -> Floats:
        return np.asarray((self.scale / np.maximum(as_floats(x), self.scale)) ** self.shape)

    def stop_loss(self, x: Floats) -> Floats:
        top = np.maximum(as_floats(x), self.scale)
        return np.maximum(self.scale - x, 0.0) + self.scale * (self.scale / top) ** (self.shape - 1) / (self.shape - 1)

    def partial_expectation(self, x: Floats) -> Floats:
        return np.asarray(self.mean - self.stop_loss(x))

    def inv_lo(self, y: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(self.scale * np.clip(y, 0.0, 1.0) ** (-1.0 / self.shape))

    def to_struct(self) -> StoredDistribution:
        return ParetoLaw(self.scale, self.shape)


pareto = NamedDistribution(
    Pareto, lambda given: Pareto(given["scale"], given["shape"]), spelling("scale shape", plain="shape")
)

# --- a kind of definition, and the pass that knows it ---------------------------------------------------------------


class ExcessBlock(Block, tag="excess"):
    """Entry i is how far argument i lies outside of -1 .. 1."""

    def definition(self, common: dict[str, Any], laws: Sequence[Distribution]) -> Definition:
        return Excess(**common)


@dataclass(frozen=True, eq=False)
class Excess(Definition):
    """max(|x| - 1, 0) of one argument."""

    op: ClassVar[str] = "excess"
    block: ClassVar[type[Block] | None] = ExcessBlock

    def evaluate(self, arguments: Floats) -> Floats:
        return np.maximum(np.abs(arguments) - 1.0, 0.0)

    def image(self, low: Floats, high: Floats) -> Interval:
        crosses = (low <= 0) & (high >= 0)
        least = np.where(crosses, 0.0, np.minimum(np.abs(low), np.abs(high)))
        return self.evaluate(least), self.evaluate(np.maximum(np.abs(low), np.abs(high)))

    def convexity_of_moving(self, low: Floats, high: Floats, moving: np.ndarray) -> tuple[Bools, Bools]:
        return np.ones(self.size, dtype=np.bool_), np.zeros(self.size, dtype=np.bool_)

    def to_block(self, common: dict[str, Any], laws: dict[Distribution, int]) -> Block:
        return ExcessBlock(**common)


class ExcessAsMaximum:
    """max(|x| - 1, 0) -> max(x - 1, -x - 1, 0)."""

    name: ClassVar[str] = "excess_as_maximum"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return any(isinstance(d, Excess) and d.size for d in analysis.problem.definitions)

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        builder = ProblemBuilder(analysis.problem)
        for one in analysis.problem.definitions:
            if isinstance(one, Excess) and one.size:
                builder.replace(one, None, (self._maximum(one),))
                builder.notes.append(Note(self.name, one.name, "written as a maximum", one.size, span=one.span))
        return builder.step()

    def _maximum(self, one: Excess) -> MinMax:
        matrix, constants, size = one.arguments.matrix, one.arguments.constants, one.size
        opposite = type(matrix)(matrix.starts, matrix.columns, -matrix.values)
        nothing = type(matrix)(np.zeros(size + 1, dtype=np.int64), matrix.columns[:0], np.zeros(0))
        all_three = Affines(
            stack([matrix, opposite, nothing]), np.concatenate((constants - 1, -constants - 1, np.zeros(size)))
        )
        by_entry = np.arange(3 * size).reshape(3, size).T.reshape(-1)
        starts = 3 * np.arange(size + 1, dtype=np.int64)
        return MinMax(one.results, starts, all_three.take(by_entry), one.span, one.name)


# --- a backend --------------------------------------------------------------------------------------------------------


class Enumeration:
    """All points of small problems whose columns are whole and bounded."""

    name = "enumeration"
    capabilities = Capabilities(warm_start=False, duals=False, time_limit=False, threads=False)

    def versions(self) -> dict[str, str]:
        return {"enumeration": "1.0"}

    def open(self, problem: Problem) -> Session:
        return _Enumerated(problem)


class _Enumerated(Session):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def solve(self, options: SolveOptions, start: Floats | None = None, monitor: Monitor | None = None) -> SolverResult:
        problem, [objective] = self.problem, self.problem.objectives
        ends = zip(problem.lower.tolist(), problem.upper.tolist(), strict=True)
        points = [np.array(p, dtype=float) for p in itertools.product(*(range(int(a), int(b) + 1) for a, b in ends))]
        fine = [p for p in points if self._keeps_rows(p)]
        if not fine:
            return SolverResult(Status.INFEASIBLE)
        sign = 1 if objective.sense == "minimize" else -1
        best = min(fine, key=lambda p: sign * objective.value(p))
        return SolverResult(Status.OPTIMAL, best, objective.value(best), objective.value(best))

    def _keeps_rows(self, point: Floats) -> bool:
        activity = self.problem.matrix.activity(point)
        return bool(((activity >= self.problem.row_lower) & (activity <= self.problem.row_upper)).all())


# --- a trace format ---------------------------------------------------------------------------------------------------


def _read(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    assert raw is not None
    rows = [line.split("|") for line in raw.data.decode().splitlines()]
    kept = [(name, int(gpus)) for name, gpus in rows if int(gpus) > 0]
    dropped = (Dropped("no GPU", len(rows) - len(kept)),) if len(kept) < len(rows) else ()
    return FormatTable(pl.DataFrame(kept, schema=["job", "gpus"], orient="row"), len(rows), dropped)


pipes = Format(
    "pipes",
    "Jobs and their GPUs, with a bar between.",
    (FormatColumn("job", "name"), FormatColumn("gpus", "GPUs")),
    _read,
)

# --- a generator ------------------------------------------------------------------------------------------------------


def _draw(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    jobs = int(settings["jobs"])
    return FormatTable(pl.DataFrame({"job": range(jobs), "gpus": range(1, jobs + 1)}), jobs)


ladder = Format(
    "ladder",
    "Jobs with 1, 2, 3, ... GPUs.",
    (FormatColumn("job", "number"), FormatColumn("gpus", "GPUs")),
    _draw,
    (Option("jobs", "number of jobs", 3, least=1),),
)

# --- an exporter ------------------------------------------------------------------------------------------------------


def _write(problem: Problem, file: BinaryIO) -> None:
    file.write(f"{len(problem.lower)} columns, {len(problem.row_lower)} rows\n".encode())


counts = Exporter("counts", "The size of a problem.", _write)


# --- a format of reports ----------------------------------------------------------------------------------------------


def _write_line(result: Result, file: BinaryIO) -> None:
    file.write(f"{result.status}: {result.objective:g}\n".encode())


line = Reporter("line", "The status and the objective of a solve, in one line.", _write_line, (Result,))


def _write_nothing(report: Report, file: BinaryIO) -> None:
    file.write(b"never seen")
    raise ValueError("the printer is out of paper")


printer = Reporter("printer", "A format that fails.", _write_nothing)

# --- a driver of a cluster --------------------------------------------------------------------------------------------


class Shelf:
    """A cluster of one node without jobs."""

    fields = frozenset({"owner"})

    def __init__(self, gpus: int) -> None:
        self.gpus = gpus

    def observe(self) -> Observation:
        return Observation({}, {"shelf": ObservedNode("shelf", self.gpus)})

    def act(self, action: Action) -> None:
        raise ActionRefused(f"there is no job {action.job}")


def shelf(settings: Mapping[str, Any]) -> Shelf:
    """The driver of `driver = "shelf"`."""
    return Shelf(int(settings["gpus"]))
