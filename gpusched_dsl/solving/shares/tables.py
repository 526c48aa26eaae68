"""The complete problem as tables: for each job its ways with costs and uses, and what all jobs have in common.

    minimize  offset + sum of the costs of the ways taken + costs' v
    row r:    lower_r <= sum of the uses of the ways taken + matrix_r v <= upper_r
    at most one way of each job, exactly one where the job cannot be without

with the columns v of no job: numbers of nodes by pattern, and what the model has itself. A job that can be without a
way has costs and uses relative to that case. Way by way a table has 10 bytes, for uses of places one number of a row;
other uses take 12 bytes each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.solving.shares.cases import Cases, cases_of, copies, uses_of
from gpusched_dsl.solving.shares.hosts import HostedColumns, Hosts, hosted_columns, hosts_of
from gpusched_dsl.solving.shares.share import Share, ShareModel

SAMPLE = 2_000  # jobs, from which the patterns of nodes are read
CELLS = 6_000_000  # of a share: cases times other columns and rows of a job
MOST_JOBS = 10_000  # of a share
FEWEST_JOBS = 100


@dataclass(frozen=True, eq=False)
class WayTable:
    """The ways of the jobs of a share: job k has the ways `first[k]` up to `first[k + 1]`.

    `number[i]` is the case that way i is (`cases.py`), None where each is its own. `places[i]` is the row of places
    that it takes, -1 for none. `exact` jobs must have a way. `fixed_cost` and `fixed_use` are sums over the
    cases without a way, to which costs and uses are relative.
    """

    jobs: Codes
    first: Codes
    cost: Floats
    places: np.ndarray
    uses: Any  # sparse, ways x rows
    exact: Bools
    number: Codes | None
    fixed_cost: float
    fixed_use: Floats

    @property
    def count(self) -> int:
        return len(self.cost)


@dataclass(frozen=True, eq=False)
class Common:
    """What jobs have in common. Rows: first the linking rows of the model, `linking` of them, then the places of the
    positions of each class of nodes, then the number of nodes of each class.

    Columns: `own` of the model, with these numbers in the base, then the patterns of each class, from `first_pattern`
    on. `sign` is 1 for a minimum, -1 for a maximum. `last_hosted` has the columns of jobs on nodes of the last share
    that was examined: those of the next one are the same if it has the same structure.
    """

    base: Share
    hosts: tuple[Hosts, ...]
    linking: int
    own: Codes
    first_pattern: tuple[int, ...]
    first_place: tuple[int, ...]
    matrix: Any  # sparse, rows x columns
    lower: Floats
    upper: Floats
    column_lower: Floats
    column_upper: Floats
    integer: Bools
    costs: Floats
    offset: float
    sign: float
    last_hosted: list[tuple[Share, list[HostedColumns]]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return len(self.lower)


@dataclass(frozen=True, eq=False)
class ShareTables:
    """`shares` have the ways of all jobs; the sides of `common` are those with all constants of jobs."""

    model: ShareModel
    common: Common
    shares: tuple[WayTable, ...]

    @property
    def jobs(self) -> int:
        return sum(len(share.jobs) for share in self.shares)


class NoWay(Exception):
    """A job that has no way, and cannot be without one: the problem has no plan."""

    def __init__(self, job: int) -> None:
        super().__init__(job)
        self.job = job


def form_of(model: ShareModel, sample: int = SAMPLE) -> tuple[Common, Cases]:
    """Return what all jobs have in common, and the cases of a sample of them; raises Obstacle for another form."""
    if len(model.model.objectives) != 1:
        raise Obstacle(f"it has {len(model.model.objectives) or 'no'} objectives, and prices need exactly one")
    sign = 1.0 if model.model.objectives[0].sense == "minimize" else -1.0
    count = len(model.jobs.labels)
    seen = model.ground(np.unique(np.linspace(0, count - 1, min(sample, count)).astype(np.int64)))
    kinds = range(model.classes.count if model.nodes is not None else 0)
    hosts = tuple(hosts_of(seen, kind) for kind in kinds if (seen.quotient.column_class == kind).any())
    common = _common(model, hosts, sign)
    return common, cases_with_hosts(seen, common)[0]


def tables_of(model: ShareModel, most_jobs: int = MOST_JOBS, sample: int = SAMPLE) -> ShareTables:
    """Make the tables, a share at a time; raises Obstacle for a model of another form, and NoWay."""
    common, seen = form_of(model, sample)
    count, each = len(model.jobs.labels), _cells_a_job(seen)
    step = max(min(most_jobs, FEWEST_JOBS), min(most_jobs, int(CELLS / each)))
    found, offset, lower, upper = [], common.offset, common.lower.copy(), common.upper.copy()
    for jobs in shares(count, step):
        checkpoint()
        share = model.ground(jobs)
        ways, constant, sides = _ways(share, common)
        found.append(ways)
        offset += constant
        lower[: common.linking] += sides
        upper[: common.linking] += sides
    changed = {"offset": offset, "lower": lower, "upper": upper}
    return ShareTables(model, Common(**{**common.__dict__, **changed}), tuple(found))


def shares(count: int, step: int) -> Iterator[Codes]:
    """The jobs, cut into shares."""
    for first in range(0, count, step):
        yield np.arange(first, min(first + step, count))


def cases_with_hosts(share: Share, common: Common) -> tuple[Cases, list[HostedColumns]]:
    """The cases of a share, and its columns on the nodes of each class."""
    known = common.last_hosted[0] if common.last_hosted else None
    if known is not None and share.has_structure_of(known[0]):
        hosted = known[1]
    else:
        hosted = [hosted_columns(share, hosts) for hosts in common.hosts]
        common.last_hosted[:] = [(share, hosted)]
    columns = np.concatenate([h.columns for h in hosted] or [np.zeros(0, dtype=np.int64)])
    return cases_of(share, np.sort(columns), common.sign), hosted


def _cells_a_job(cases: Cases) -> float:
    share = cases.share
    rows = int(((share.job_of_row >= 0) & ~share.row_of_node).sum()) / max(1, len(share.jobs))
    width = cases.values.shape[1] + rows + 1
    return max(1.0, float(len(cases.job) / max(1, len(share.jobs)) * width))


def _common(model: ShareModel, hosts: Sequence[Hosts], sign: float) -> Common:
    """What the share of no job has, with its hub columns replaced by patterns."""
    base = model.ground(np.zeros(0, dtype=np.int64))
    problem, rows = base.problem, base.linking_rows
    own = np.flatnonzero(~base.of_node)
    costs = sign * problem.objectives[0].costs(problem.columns)
    matrix = problem.matrix.take(rows)
    linking = sparse.csr_matrix((matrix.values, matrix.columns, matrix.starts), (len(rows), problem.columns))
    blocks = [linking[:, own]]
    lower, upper = [problem.row_lower[rows]], [problem.row_upper[rows]]
    column_lower, column_upper, integer = [problem.lower[own]], [problem.upper[own]], [problem.integer[own]]
    all_costs = [costs[own]]
    first_pattern, first_place = [], []
    width, height = len(own), len(rows)
    below: list[Any] = []
    for host in hosts:
        columns = _hub_columns(base, host)
        each = 1.0 / copies(base, columns)
        blocks.append(linking[:, columns] @ sparse.diags(each) @ sparse.csr_matrix(host.hubs.T.astype(np.float64)))
        all_costs.append(host.hubs @ (costs[columns] * each))
        patterns, size = len(host.hubs), float(len(host.elements))
        column_lower.append(np.zeros(patterns))
        column_upper.append(np.full(patterns, size))
        integer.append(np.ones(patterns, dtype=np.bool_))
        first_pattern.append(width)
        width += patterns
    for host, first in zip(hosts, first_pattern, strict=True):
        positions = host.counts.shape[1]
        below.append(_at(sparse.csr_matrix(-host.counts.T.astype(np.float64)), first, width))
        first_place.append(height)
        height += positions
        lower.append(np.full(positions, -np.inf if host.closed else 0.0))
        upper.append(np.zeros(positions))
    for host, first in zip(hosts, first_pattern, strict=True):
        below.append(_at(sparse.csr_matrix(np.ones((1, len(host.hubs)))), first, width))
        lower.append(np.array([float(len(host.elements))]))
        upper.append(np.array([float(len(host.elements))]))
    return Common(
        base=base,
        hosts=tuple(hosts),
        linking=len(rows),
        own=own,
        first_pattern=tuple(first_pattern),
        first_place=tuple(first_place),
        matrix=sparse.vstack([sparse.hstack(blocks), *below]).tocsr(),
        lower=np.concatenate(lower),
        upper=np.concatenate(upper),
        column_lower=np.concatenate(column_lower),
        column_upper=np.concatenate(column_upper),
        integer=np.concatenate(integer),
        costs=np.concatenate(all_costs),
        offset=sign * problem.objectives[0].offset,
        sign=sign,
    )


def _at(block: Any, first: int, width: int) -> Any:
    left, right = first, width - first - block.shape[1]
    parts = [sparse.csr_matrix((block.shape[0], left)), block, sparse.csr_matrix((block.shape[0], right))]
    return sparse.hstack(parts).tocsr()


def _hub_columns(base: Share, host: Hosts) -> Codes:
    """The columns of the base that are the hubs of a sample: nodes have the same columns in both."""
    columns = np.flatnonzero(base.quotient.column_class == host.kind)
    if len(columns) != len(host.hub_keys):
        raise Obstacle(f"the columns of one element of `{base.quotient.root}` differ between jobs")
    return columns


def _ways(share: Share, common: Common) -> tuple[WayTable, float, Floats]:
    """The ways of a share, the constant that it adds to the objective, and what it adds to the linking sides."""
    check_common(share, common.base)
    cases, hosted = cases_with_hosts(share, common)
    places = np.full(len(cases.ways), -1, dtype=np.int16 if common.rows < 1 << 15 else np.int32)
    order = np.argsort(cases.ways)
    for columns, first in zip(hosted, common.first_place, strict=True):
        places[order[np.searchsorted(cases.ways[order], columns.columns)]] = first + columns.position
    uses = uses_of(cases, share.linking_rows)
    count, jobs = len(cases.ways), len(share.jobs)
    without = cases.allowed[count:]
    kept = np.flatnonzero(cases.allowed[:count])
    job = cases.job[kept]
    number = np.bincount(job, minlength=jobs)
    stuck = np.flatnonzero(~without & (number == 0))
    if len(stuck):
        raise NoWay(int(share.jobs[stuck[0]]))
    base_cost = np.where(without, cases.cost[count:], 0.0)
    base_use = sparse.diags(without.astype(np.float64)) @ uses[count:]
    relative = uses[kept] - base_use[job] if uses.nnz else sparse.csr_matrix((len(kept), uses.shape[1]))
    relative = relative.tocsr()
    relative.eliminate_zeros()
    ways = WayTable(
        share.jobs,
        np.concatenate(([0], np.cumsum(number))).astype(np.int64),
        cases.cost[kept] - base_cost[job],
        places[kept],
        relative,
        ~without,
        None if len(kept) == count else kept,
        float(base_cost.sum()),
        np.asarray(base_use.sum(axis=0)).reshape(-1),
    )
    objective, of_base = share.problem.objectives[0], common.base.problem.objectives[0]
    return ways, common.sign * (objective.offset - of_base.offset), _side_changes(share, common.base)


def check_common(share: Share, base: Share) -> None:
    """Refuse a share with other rows or columns of no job than the base."""
    mine, theirs = share.problem, base.problem
    rows, of_base = share.linking_rows, base.linking_rows
    same = len(rows) == len(of_base)
    if same:
        families = [(mine.row_family(int(r)).name, mine.row_family(int(r)).part) for r in rows.tolist()]
        same = families == [(theirs.row_family(int(r)).name, theirs.row_family(int(r)).part) for r in of_base.tolist()]
    own = np.flatnonzero(share.job_of_column < 0)
    all_of_base = np.arange(theirs.columns)
    same = same and len(own) == len(all_of_base)
    if same:
        number = np.full(mine.columns, -1, dtype=np.int64)
        number[own] = all_of_base
        one, other = mine.matrix.take(rows), theirs.matrix.take(of_base)
        inside = number[one.columns] >= 0
        same = (
            np.array_equal(mine.lower[own], theirs.lower)
            and np.array_equal(mine.upper[own], theirs.upper)
            and np.array_equal(mine.integer[own], theirs.integer)
            and np.array_equal(one.row_of[inside], other.row_of)
            and np.array_equal(number[one.columns[inside]], other.columns)
            and np.array_equal(one.values[inside], other.values)
            and np.array_equal(mine.objectives[0].costs(mine.columns)[own], theirs.objectives[0].costs(theirs.columns))
        )
    if not same:
        raise Obstacle(f"the constraints of no element of `{share.universe.name}` are not sums over its elements")


def _side_changes(share: Share, base: Share) -> Floats:
    """What a share adds to the sides of linking rows; both sides move together."""
    changes = []
    for side in ("row_lower", "row_upper"):
        own = getattr(share.problem, side)[share.linking_rows]
        of_base = getattr(base.problem, side)[base.linking_rows]
        finite = np.isfinite(of_base)
        if (np.isfinite(own) != finite).any():
            raise Obstacle(f"the constraints of no element of `{share.universe.name}` are not sums over its elements")
        changes.append(np.where(finite, own - np.where(finite, of_base, 0.0), np.nan))
    lower, upper = changes
    return np.asarray(np.where(np.isnan(lower), np.where(np.isnan(upper), 0.0, upper), lower))
