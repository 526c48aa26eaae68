"""A plan evaluated in the rows of the model, share by share: no row of the complete problem is left out.

Each share is grounded again. Its rows of jobs are evaluated at once; what it adds to rows of nodes and of no job is
added up, and these are judged at the end. Rows of a node and a job are evaluated for the job that is there, and for all
jobs that are not, with the columns of each pattern that a node has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from gpusched_dsl.compiling.evaluation.frames import ranges
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Ints
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.ir.domains import Domain, ScalarDomain, TupleDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Family, Objective, Problem, Term
from gpusched_dsl.ir.tolerances import FEASIBILITY, INTEGRALITY
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.shares.cases import copies
from gpusched_dsl.solving.shares.planning import ChosenPlan
from gpusched_dsl.solving.shares.share import Share
from gpusched_dsl.solving.shares.tables import ShareTables, cases_with_hosts
from gpusched_dsl.solving.verification import NOT_FEASIBLE


@dataclass(frozen=True, eq=False)
class Evaluated:
    """The columns that are not zero, as a problem without rows of jobs and nodes, and the point; the largest violation
    of any row, relative to its magnitude, which is within the tolerance.
    """

    problem: Problem
    point: Floats
    row: float
    columns: int
    rows: int
    nonzeros: int
    integer: int


def evaluate(tables: ShareTables, plan: ChosenPlan) -> Evaluated:
    """Return the plan by names of the model; raise DiagnosticError (GSM4008) if a row of the model is violated."""
    return _Evaluation(tables, plan).run()


@dataclass(eq=False)
class _Columns:
    """Columns of one variable that are collected: index codes, values, bounds, and costs by term."""

    codes: list[tuple[Codes, ...]] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    lower: list[Floats] = field(default_factory=list)
    upper: list[Floats] = field(default_factory=list)
    costs: list[Floats] = field(default_factory=list)  # terms x columns


class _Evaluation:
    def __init__(self, tables: ShareTables, plan: ChosenPlan) -> None:
        self.tables, self.plan, self.common = tables, plan, tables.common
        self.base = tables.common.base
        self.own = plan.values[: len(self.common.own)]
        self.hubs = [self._hubs(at) for at in range(len(self.common.hosts))]
        self.patterns = [np.unique(hubs, axis=0) for hubs in self.hubs]
        self.nodes = self._nodes()
        problem = self.base.problem
        self.found = {family.name: _Columns() for family in problem.variables}
        self.constants = np.array([term.constant for term in problem.objectives[0].terms])
        self.largest = 0.0
        self.integer_columns = dict.fromkeys(self.found, False)
        self.size = np.zeros(4, dtype=np.int64)

    def run(self) -> Evaluated:
        base, rows = self.base, self.base.linking_rows
        own = self._own_columns(base)
        matrix = _sparse(base.problem.matrix.take(rows), base.problem.columns)
        self.activity, self.terms = matrix @ own, _largest_terms(matrix, own)
        self.lower, self.upper = base.problem.row_lower[rows].copy(), base.problem.row_upper[rows].copy()
        self.of_nodes = [self._rows_of_nodes(at) for at in range(len(self.hubs))]
        self._keep_own()
        for number in range(len(self.tables.shares)):
            checkpoint()
            self._evaluate(number)
        self._judge(self.activity, self.lower, self.upper, self.terms, base, rows)
        for at, host in enumerate(self.common.hosts):
            rows = self._common_rows(base, host.kind)
            lower, upper = base.problem.row_lower[rows], base.problem.row_upper[rows]
            shape = self.of_nodes[at].shape
            low, high = (np.broadcast_to(side, shape).reshape(-1) for side in (lower, upper))
            activity = self.of_nodes[at].reshape(-1)
            self._judge(activity, low, high, np.abs(activity), base, np.tile(rows, shape[0]))
        return self._result()

    # --- nodes -------------------------------------------------------------------------------------------------------

    def _pattern_of(self, at: int) -> Codes:
        """The pattern of each node of a class."""
        host, first = self.common.hosts[at], self.common.first_pattern[at]
        uses = np.rint(self.plan.values[first : first + len(host.hubs)]).astype(np.int64)
        return np.repeat(np.arange(len(uses)), uses)

    def _hubs(self, at: int) -> Ints:
        pattern = self._pattern_of(at)
        if len(pattern) != len(self.common.hosts[at].elements):
            raise _refused("the patterns of nodes are more or fewer than nodes", None)
        return self.common.hosts[at].hubs[pattern]

    def _nodes(self) -> list[Codes]:
        """The node of each job of each share, as a place in its class; -1 for none."""
        found = [np.full(len(share.jobs), -1, dtype=np.int64) for share in self.tables.shares]
        for at, host in enumerate(self.common.hosts):
            first, counts = self.common.first_place[at], host.counts[self._pattern_of(at)].T
            places = np.repeat(np.tile(np.arange(counts.shape[1]), len(counts)), counts.reshape(-1))
            starts = np.concatenate(([0], np.cumsum(counts.sum(axis=1))))
            taken = np.zeros(len(counts), dtype=np.int64)
            for share, ways, nodes in zip(self.tables.shares, self.plan.ways, found, strict=True):
                jobs = np.flatnonzero(ways >= 0)
                position = share.places[ways[jobs]].astype(np.int64) - first
                mine = (position >= 0) & (position < len(counts))
                jobs, position = jobs[mine], position[mine]
                order = np.argsort(position, kind="stable")
                number = np.bincount(position, minlength=len(counts))
                rank = ranges(number) + np.repeat(taken, number)
                taken += number
                if (taken > np.diff(starts)).any():
                    raise _refused("there are more jobs than places in the patterns of nodes", None)
                nodes[jobs[order]] = places[starts[position[order]] + rank]
        return found

    def _own_columns(self, share: Share) -> Floats:
        """Values of the columns of no job: those of nodes are means over their class."""
        values = np.zeros(share.problem.columns)
        values[np.flatnonzero((share.job_of_column < 0) & ~share.of_node)] = self.own
        for at, host in enumerate(self.common.hosts):
            values[self._hub_columns(share, host.kind)] = self.hubs[at].mean(axis=0)
        return values

    @staticmethod
    def _hub_columns(share: Share, kind: int) -> Codes:
        return np.flatnonzero((share.quotient.column_class == kind) & (share.job_of_column < 0))

    @staticmethod
    def _common_rows(share: Share, kind: int) -> Codes:
        return np.flatnonzero((share.quotient.row_class == kind) & (share.job_of_row < 0))

    def _rows_of_nodes(self, at: int) -> Floats:
        """What the columns of nodes and of the model add to the rows of nodes over all jobs (nodes x rows)."""
        base, kind = self.base, self.common.hosts[at].kind
        matrix = _sparse(base.problem.matrix.take(self._common_rows(base, kind)), base.problem.columns)
        shared = np.where(base.of_node, 0.0, self._own_columns(base))
        return np.asarray(self.hubs[at] @ matrix[:, self._hub_columns(base, kind)].T.toarray() + matrix @ shared)

    # --- a share -----------------------------------------------------------------------------------------------------

    def _evaluate(self, number: int) -> None:
        tables, ways = self.tables.shares[number], self.plan.ways[number]
        share = self.tables.model.ground(tables.jobs)
        problem = share.problem
        cases, _ = cases_with_hosts(share, self.common)
        jobs = len(share.jobs)
        way = ways if tables.number is None else np.append(tables.number, -1)[ways]
        case = np.where(way >= 0, way, len(cases.ways) + np.arange(jobs))
        if not cases.allowed[case].all():
            raise _refused("a job has a case that its rows exclude", None)
        values = np.zeros(problem.columns)
        placed = np.flatnonzero(way >= 0)
        taken = cases.ways[way[placed]]
        values[taken] = 1.0 / copies(share, taken)
        others = cases.values[case[share.job_of_column[cases.others]], cases.slot]
        integer = problem.integer[cases.others]
        near = np.abs(others - np.rint(others)) <= INTEGRALITY
        if not near[integer].all():
            raise _refused("an integer variable of a job has a fraction", None)
        others = np.where(integer, np.rint(others), others) + 0.0
        lower, upper = problem.lower[cases.others], problem.upper[cases.others]
        excess = np.maximum(lower - others, others - upper) / np.maximum(1.0, np.abs(others))
        self._judge_bounds(excess, cases.others, share)
        values[cases.others] = np.clip(others, lower, upper)

        rows = np.flatnonzero((share.job_of_row >= 0) & ~share.row_of_node)
        matrix = _sparse(problem.matrix.take(rows), problem.columns)
        sizes = _largest_terms(matrix, values)
        self._judge(matrix @ values, problem.row_lower[rows], problem.row_upper[rows], sizes, share, rows)
        rows = share.linking_rows
        matrix = _sparse(problem.matrix.take(rows), problem.columns)
        self.activity += matrix @ values
        self.terms = np.maximum(self.terms, _largest_terms(matrix, values))
        of_base = self.base.problem
        for mine, own, theirs in (
            (self.lower, problem.row_lower[rows], of_base.row_lower[self.base.linking_rows]),
            (self.upper, problem.row_upper[rows], of_base.row_upper[self.base.linking_rows]),
        ):
            finite = np.isfinite(theirs)
            mine[finite] += own[finite] - theirs[finite]
        self.constants += [
            t.constant - b.constant
            for t, b in zip(problem.objectives[0].terms, of_base.objectives[0].terms, strict=True)
        ]
        nodes = self.nodes[number]
        for at in range(len(self.common.hosts)):
            mine = share.quotient.column_class[taken] == self.common.hosts[at].kind
            self._evaluate_nodes(share, at, values, taken[mine], nodes[placed[mine]])
        self._count(share)
        self._keep(share, taken, self._codes_of_nodes(share, taken, nodes[placed]), np.ones(len(taken)))
        some = np.flatnonzero(values[cases.others])
        self._keep(share, cases.others[some], None, values[cases.others[some]])

    def _evaluate_nodes(self, share: Share, at: int, values: Floats, taken: Codes, nodes: Codes) -> None:
        problem, kind = share.problem, self.common.hosts[at].kind
        hub_columns = self._hub_columns(share, kind)
        shared = np.where(share.of_node, 0.0, values + np.where(share.job_of_column < 0, self._own_columns(share), 0.0))
        rows = self._common_rows(share, kind)
        matrix = _sparse(problem.matrix.take(rows), problem.columns)
        added = matrix[:, taken].T.tocoo()
        np.add.at(self.of_nodes[at], (nodes[added.row], added.col), added.data)

        rows = np.flatnonzero((share.quotient.row_class == kind) & (share.job_of_row >= 0))
        matrix = _sparse(problem.matrix.take(rows), problem.columns)
        lower, upper = problem.row_lower[rows], problem.row_upper[rows]
        fixed, of_hubs = matrix @ shared, matrix[:, hub_columns].tocsr()
        for pattern in self.patterns[at]:
            self._judge(fixed + of_hubs @ pattern, lower, upper, np.abs(fixed), share, rows)
        here = matrix[:, taken].tocsc()
        line, column = here.indices, np.repeat(np.arange(len(taken)), np.diff(here.indptr))
        of_node = np.asarray(of_hubs[line].multiply(self.hubs[at][nodes[column]]).sum(axis=1)).reshape(-1)
        sizes = np.maximum(np.abs(fixed[line]), np.abs(here.data))
        self._judge(fixed[line] + of_node + here.data, lower[line], upper[line], sizes, share, rows[line])

    def _codes_of_nodes(self, share: Share, columns: Codes, nodes: Codes) -> Codes | None:
        """The code of the node of each column; None for a model without nodes."""
        if not self.common.hosts:
            return None
        found = np.full(len(columns), -1, dtype=np.int64)
        for host in self.common.hosts:
            mine = share.quotient.column_class[columns] == host.kind
            found[mine] = host.elements[nodes[mine]]
        return found

    # --- judging -----------------------------------------------------------------------------------------------------

    def _judge(self, activity: Floats, lower: Floats, upper: Floats, sizes: Floats, share: Share, rows: Codes) -> None:
        """Raise DiagnosticError for a violated row, judged as `verify` does."""
        excess = np.maximum(lower - activity, activity - upper)
        if not len(excess):
            return
        side = np.where(lower > activity, np.abs(lower), np.abs(upper))
        broken = excess > 0
        scale = np.maximum(np.maximum(1.0, sizes), np.where(broken & np.isfinite(side), side, 0.0))
        relative = np.where(broken, excess / scale, 0.0)
        worst = int(np.argmax(relative))
        self.largest = max(self.largest, float(relative[worst]))
        if not relative[worst] <= FEASIBILITY:
            row = int(rows[worst])
            family = share.problem.row_family(row)
            raise _refused(f"`{entry_name(family, row)}` is {activity[worst]!r}", family)

    def _judge_bounds(self, excess: Floats, columns: Codes, share: Share) -> None:
        if len(excess) and not excess.max() <= FEASIBILITY:
            column = int(columns[int(np.argmax(excess))])
            family = share.problem.column_family(column)
            raise _refused(f"`{entry_name(family, column)}` is outside its bounds", family)

    # --- the columns that are kept -----------------------------------------------------------------------------------

    def _keep(self, share: Share, columns: Codes, nodes: Codes | None, values: Floats) -> None:
        """Keep columns of a share, of the given nodes, by the variable that they are of."""
        problem = share.problem
        costs = np.zeros((len(problem.objectives[0].terms), problem.columns))
        for number, term in enumerate(problem.objectives[0].terms):
            costs[number, term.columns] = term.coefficients
        for family in problem.variables:
            mine = np.flatnonzero((columns >= family.first) & (columns < family.stop))
            if not len(mine):
                continue
            codes = [c[columns[mine] - family.first] for c in family.domain.columns()]
            at = [k for k, part in enumerate(family.domain.components) if part is share.quotient.universe]
            if nodes is not None and at:
                codes[at[0]] = nodes[mine]
            kept = self.found[family.name]
            kept.codes.append(tuple(codes))
            kept.values.append(values[mine])
            kept.lower.append(problem.lower[columns[mine]])
            kept.upper.append(problem.upper[columns[mine]])
            kept.costs.append(costs[:, columns[mine]] / copies(share, columns[mine]))
            self.integer_columns[family.name] |= bool(problem.integer[family.slice].any())

    def _keep_own(self) -> None:
        base = self.base
        self._keep(base, self.common.own, None, self.own)
        for at, host in enumerate(self.common.hosts):
            columns = self._hub_columns(base, host.kind)
            node, hub = np.nonzero(self.hubs[at])
            self._keep(base, columns[hub], host.elements[node], self.hubs[at][node, hub].astype(np.float64))
        self._count(base)

    def _count(self, share: Share) -> None:
        """Count the columns, rows and entries that the complete problem has for a share."""
        size, of_base = share.quotient.full_size, self.base.quotient.full_size
        counted = np.array([size.columns, size.rows, size.nonzeros, size.integer])
        if share is not self.base:
            counted -= np.array([of_base.columns, of_base.rows, of_base.nonzeros, of_base.integer])
        self.size += counted

    def _result(self) -> Evaluated:
        base, variables, first = self.base.problem, [], 0
        parts: dict[str, list[Floats]] = {name: [] for name in ("values", "lower", "upper", "integer", "costs")}
        for family in base.variables:
            kept = self.found[family.name]
            arity = family.domain.arity
            codes = [_joined([c[k] for c in kept.codes], np.int64) for k in range(arity)]
            order = np.lexsort(codes[::-1]) if arity else np.arange(sum(map(len, kept.values)))
            domain: Domain = ScalarDomain()
            if arity:
                domain = TupleDomain(family.domain.components, tuple(c[order] for c in codes))
            parts["values"].append(_joined(kept.values, np.float64)[order])
            parts["lower"].append(_joined(kept.lower, np.float64)[order])
            parts["upper"].append(_joined(kept.upper, np.float64)[order])
            parts["integer"].append(np.full(len(order), float(self.integer_columns[family.name])))
            terms = len(base.objectives[0].terms)
            costs = np.concatenate(kept.costs, axis=1) if kept.costs else np.zeros((terms, 0))
            parts["costs"].append(costs[:, order])
            variables.append(Family(family.name, first, domain, family.span, family.unit, family.part, family.doc))
            first += len(order)
        costs = np.concatenate(parts["costs"], axis=1)
        point = np.concatenate(parts["values"])
        problem = Problem(
            name=base.name,
            variables=tuple(variables),
            lower=np.concatenate(parts["lower"]),
            upper=np.concatenate(parts["upper"]),
            integer=np.concatenate(parts["integer"]) > 0,
            constraints=(),
            matrix=Matrix.empty(),
            row_lower=np.zeros(0),
            row_upper=np.zeros(0),
            objectives=(self._objective(costs),),
        )
        return Evaluated(problem, point, self.largest, *(int(n) for n in self.size))

    def _objective(self, costs: Floats) -> Objective:
        stated = self.base.problem.objectives[0]
        terms = []
        for number, term in enumerate(stated.terms):
            used = np.flatnonzero(costs[number])
            constant = float(self.constants[number])
            terms.append(Term(term.name, used.astype(np.int32), costs[number][used], constant, term.span))
        return Objective(stated.sense, tuple(terms), stated.name, stated.unit, stated.span)


def _joined(parts: list[Any], kind: type) -> Any:
    return np.concatenate([np.zeros(0, dtype=kind), *parts])


def _sparse(matrix: Matrix, columns: int) -> Any:
    return sparse.csr_matrix((matrix.values, matrix.columns, matrix.starts), (len(matrix.starts) - 1, columns))


def _largest_terms(matrix: Any, values: Floats) -> Floats:
    """The largest term of each row in absolute value."""
    found = np.zeros(matrix.shape[0])
    rows: Bools = np.diff(matrix.indptr) > 0
    if rows.any():
        sizes = np.abs(matrix.data * values[matrix.indices])
        found[rows] = np.maximum.reduceat(sizes, matrix.indptr[:-1][rows])
    return found


def _refused(what: str, family: Family | None) -> DiagnosticError:
    span = None if family is None else family.span
    help = "solve without shares: `--decompose off`"
    return DiagnosticError([Diagnostic(NOT_FEASIBLE, f"the plan by shares is infeasible: {what}", span, help=help)])
