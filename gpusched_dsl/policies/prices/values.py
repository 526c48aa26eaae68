"""The prices that a policy reads, as parameters: dual values of the linear relaxation of its model.

A price is the cost of one more unit on the left side of a constraint: the change of the optimum of the relaxation per
unit by which its right side falls, for a maximum with the opposite sign. So it is at least 0 for `<=`, at most 0 for
`>=`, and `cost + sum of coefficient * price` over the constraints of a variable is its reduced cost.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import Param, ValueStore
from gpusched_dsl.compiling.interchangeable.quotient import Quotient, place_of
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.checked_policy import CheckedPolicy, CheckedPrice
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Label
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.prices.choice_rows import choice_rows_of
from gpusched_dsl.policies.prices.dual_ascent import ascend
from gpusched_dsl.policies.prices.relaxation import LinearRelaxation, NoDuals, duals_of, place_costs, relaxation_of
from gpusched_dsl.policies.prices.safe_bound import safe_bound

LARGE = 30_000  # columns, from which on dual values of choices are found by cutting planes


@dataclass(frozen=True, eq=False)
class Priced:
    """A store with the prices of a policy, and the bound on the first objective that they prove; None if none.

    Finding them took `seconds`.
    """

    store: ValueStore
    bound: float | None = None
    seconds: float = 0.0


def with_prices(
    policy: CheckedPolicy, store: ValueStore, limits: MemoryLimits, quotient: Quotient | None = None
) -> Priced:
    """Return the store with all prices that a policy reads; the same one if it reads none.

    `quotient` is that of the model with these data, if it has been grounded already.

    Raises DiagnosticError: GSM3021 for a constraint that is not linear, GSM3022 if the model has no linear relaxation
    with an optimum, and as grounding does.
    """
    if not policy.prices:
        return Priced(store)
    began = time.perf_counter()
    known = None if quotient is None else LinearRelaxation(quotient.problem, quotient)
    relaxation = known or relaxation_of(policy.model, store, limits)
    problem = relaxation.problem
    if not problem.is_linear:
        raise DiagnosticError([_not_linear(policy, price, problem) for price in policy.prices])
    duals = _duals(problem)
    if isinstance(duals, NoDuals):
        raise DiagnosticError([_no_optimum(policy, policy.prices[0], duals)])
    sign = -1.0 if problem.objectives[0].sense == "minimize" else 1.0
    values = sign * duals / relaxation.copies + 0.0  # no negative zeros
    evaluator = Evaluator(policy.model, store, limits)
    found = store.params.copy()
    for price in policy.prices:
        domain = evaluator.index_domain(price.param.indexing, price.param.span)
        if price.variable:
            assert policy.model.placement is not None
            own = place_costs(relaxation, policy.model.placement, sign * duals)
            found[price.param.name] = Param(domain, _costs_at(relaxation, price, domain, own))
        else:
            found[price.param.name] = Param(domain, _price_values(relaxation, price, domain, values))
    bound = safe_bound(problem, duals)
    return Priced(structs.replace(store, params=found), bound, time.perf_counter() - began)


def _duals(problem: Problem) -> Floats | NoDuals:
    """Return dual values of all rows; of large problems that consist of choices, near-optimal ones."""
    choices = choice_rows_of(problem) if problem.columns > LARGE else None
    found = None if choices is None else ascend(problem, choices)
    return duals_of(problem) if found is None else found


def _price_values(relaxation: LinearRelaxation, price: CheckedPrice, domain: Domain, values: Floats) -> Floats:
    """Return the price at each index tuple; 0 where there is no row. The parts of a chain are added up."""
    found = np.zeros(domain.size)
    for family in relaxation.problem.constraint(price.constraint):
        of_rows = values[family.slice]
        if price.omitted is not None:
            found += _means(family, price.omitted, domain, of_rows, relaxation.copies[family.slice])
        elif not domain.arity:
            found += of_rows
        else:
            rows = family.domain.locate(_of_representatives(relaxation, domain))
            found += np.where(rows >= 0, of_rows[np.maximum(rows, 0)], 0.0) if len(of_rows) else 0.0
    return found


def _costs_at(relaxation: LinearRelaxation, price: CheckedPrice, domain: Domain, costs: Floats) -> Floats:
    """Return the cost at each index tuple, the least one over an omitted node; infinite where there is no decision."""
    family = relaxation.problem.variable(price.variable)
    found = np.full(domain.size, np.inf)
    if price.omitted is None:
        at = family.domain.locate(_of_representatives(relaxation, domain))
        return np.where(at >= 0, costs[family.first + np.maximum(at, 0)], found) if family.size else found
    others = [codes for place, codes in enumerate(family.domain.columns()) if place != price.omitted]
    group = domain.locate(others) if others else np.zeros(family.size, dtype=np.int64)
    np.minimum.at(found, group, costs[family.slice])
    return found


def _means(family: Family, omitted: int, domain: Domain, of_rows: Floats, copies: Floats) -> Floats:
    """Return the mean of each group of rows that differ in one index only."""
    others = [codes for at, codes in enumerate(family.domain.columns()) if at != omitted]
    group = domain.locate(others) if others else np.zeros(len(of_rows), dtype=np.int64)
    total = np.bincount(group, weights=copies * of_rows, minlength=domain.size)
    count = np.bincount(group, weights=copies, minlength=domain.size)
    return np.asarray(total / np.maximum(count, 1.0))


def _of_representatives(relaxation: LinearRelaxation, domain: Domain) -> Sequence[Codes]:
    """Return the columns of a domain, with the representative of its class in the place of each element."""
    columns = list(domain.columns())
    small = relaxation.quotient
    at = None if small is None else place_of(domain, small.universe)
    if small is not None and at is not None:
        columns[at] = small.classes.first[small.classes.of[columns[at]]]
    return columns


def _not_linear(policy: CheckedPolicy, price: CheckedPrice, problem: Problem) -> Diagnostic:
    """Describe why a constraint has no price in a problem with nonlinear terms."""
    declared = sum(family.size for family in problem.variables)
    constraint = policy.model.constraints.get(price.constraint)
    help = "state it with linear terms, or use a key without this price"
    for family in () if constraint is None else problem.constraint(price.constraint):
        assert constraint is not None
        starts = problem.matrix.starts
        own = problem.matrix.columns[starts[family.first] : starts[family.stop]]
        conditional = (problem.conditions.rows >= family.first) & (problem.conditions.rows < family.stop)
        if (own >= declared).any() or conditional.any():
            what = "has nonlinear terms" if (own >= declared).any() else "holds under a condition"
            return Diagnostic(
                "GSM3021",
                f"constraint `{price.constraint}` has no price: it {what}",
                price.span,
                "no price",
                secondary=(Label(constraint.span, "this constraint"),),
                help=help,
            )
    guarded = (problem.row_family(int(row)).span for row in problem.conditions.rows[:1])
    place = next((s for s in (*(d.span for d in problem.definitions), *guarded) if s is not None), price.span)
    return Diagnostic(
        "GSM3022",
        f"there are no prices: model `{policy.model.name}` is not linear",
        price.span,
        "needs the linear relaxation of the model",
        secondary=(Label(place, "not linear"),),
        help="state the model with linear terms, or use a key without prices",
    )


def _no_optimum(policy: CheckedPolicy, price: CheckedPrice, why: NoDuals) -> Diagnostic:
    hints = {
        NoDuals.INFEASIBLE: "the model has no feasible plan with these data: `gsdsl solve` with a solver shows why",
        NoDuals.UNBOUNDED: "give the variables bounds, or correct the objective",
        NoDuals.UNSOLVED: "check the magnitudes of the data: `gsdsl explain` shows them",
    }
    return Diagnostic(
        "GSM3022",
        f"there are no prices: the linear relaxation of model `{policy.model.name}` is {why}",
        price.span,
        "a dual value of this relaxation",
        help=hints[why],
    )
