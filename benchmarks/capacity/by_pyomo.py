"""Pyomo: a concrete model from dictionaries, handed to HiGHS by one of its routes (`standard_form` is the fastest)."""

from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pyomo.environ as pyo

from benchmarks.capacity.tables import rows
from benchmarks.child import Lap


def build(folder: Path, lap: Lap) -> pyo.ConcreteModel:
    nodes = [row["node"] for row in rows(folder / "nodes.csv")]
    types, given = rows(folder / "types.csv"), rows(folder / "instance_jobs.csv")
    gpus = {row["vm_type"]: int(row["gpus"]) for row in types}
    price = {row["vm_type"]: float(row["price_usd_per_h"]) for row in types}
    deadline = {row["job"]: float(row["deadline_h"]) for row in given}
    weight = {row["job"]: float(row["weight_usd_per_h"]) for row in given}
    times = rows(folder / "instance_times.csv")
    hours = {(row["job"], row["vm_type"], int(row["gpus"])): float(row["hours"]) for row in times}
    lap("data")

    jobs, configs = list(deadline), [(v, g) for v in gpus for g in range(1, gpus[v] + 1)]
    idle, period = 1.0, 1.0
    slowest = {j: max(hours[j, v, g] for v, g in configs) for j in jobs}

    m = pyo.ConcreteModel()
    m.J, m.N = pyo.Set(initialize=jobs), pyo.Set(initialize=nodes)
    m.V, m.C = pyo.Set(initialize=list(gpus)), pyo.Set(initialize=configs, dimen=2)
    m.open = pyo.Var(m.N, domain=pyo.Binary)
    m.hosts = pyo.Var(m.N, m.V, domain=pyo.Binary)
    m.runs = pyo.Var(m.J, domain=pyo.Binary)
    m.run = pyo.Var(m.J, m.N, m.C, domain=pyo.Binary)
    m.tardy = pyo.Var(m.J, domain=pyo.NonNegativeReals)
    m.late = pyo.Var(m.J, domain=pyo.NonNegativeReals)

    m.total = pyo.Objective(
        expr=pyo.quicksum(weight[j] * m.tardy[j] for j in jobs)
        + pyo.quicksum(100 * weight[j] * m.late[j] for j in jobs)
        + pyo.quicksum(idle * gpus[v] * m.hosts[n, v] for n in nodes for v in gpus)
        + pyo.quicksum(
            (g / gpus[v] * price[v] * hours[j, v, g] - idle * g) * m.run[j, n, v, g]
            for j in jobs
            for n in nodes
            for v, g in configs
        )
    )
    m.one_type = pyo.Constraint(m.N, rule=lambda m, n: pyo.quicksum(m.hosts[n, v] for v in gpus) == m.open[n])
    m.on_hosted_type = pyo.Constraint(m.J, m.N, m.C, rule=lambda m, j, n, v, g: m.run[j, n, v, g] <= m.hosts[n, v])
    m.only_if_run = pyo.Constraint(m.J, m.N, m.C, rule=lambda m, j, n, v, g: m.run[j, n, v, g] <= m.runs[j])
    m.only_on_open = pyo.Constraint(
        m.J, m.N, rule=lambda m, j, n: pyo.quicksum(m.run[j, n, v, g] for v, g in configs) <= m.open[n]
    )
    m.one_place = pyo.Constraint(
        m.J, rule=lambda m, j: pyo.quicksum(m.run[j, n, v, g] for n in nodes for v, g in configs) == m.runs[j]
    )
    m.capacity = pyo.Constraint(
        m.N,
        m.V,
        rule=lambda m, n, v: (
            pyo.quicksum(g * m.run[j, n, v, g] for j in jobs for g in range(1, gpus[v] + 1)) <= gpus[v]
        ),
    )
    m.due = pyo.Constraint(
        m.J,
        rule=lambda m, j: (
            pyo.quicksum(hours[j, v, g] * m.run[j, n, v, g] for n in nodes for v, g in configs)
            <= deadline[j] + m.tardy[j]
        ),
    )
    m.due_if_postponed = pyo.Constraint(
        m.J, rule=lambda m, j: (period + slowest[j]) * (1 - m.runs[j]) <= deadline[j] + m.late[j]
    )
    m.use_all_nodes = pyo.Constraint(expr=pyo.quicksum(m.open[n] for n in nodes) == min(len(nodes), len(jobs)))
    lap("build")
    return m


def run(folder: Path, lap: Lap, route: str = "standard_form") -> Any:
    """`route`: `standard_form` (matrices, one `passModel`), `appsi` (the persistent interface) or `lp` (a file)."""
    m = build(folder, lap)
    highs = {"standard_form": by_standard_form, "appsi": by_appsi, "lp": by_lp}[route](m, folder)
    lap("load")
    return highs


def by_standard_form(m: pyo.ConcreteModel, _: Path) -> Any:
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    form = LinearStandardFormCompiler().write(m, mixed_form=True, set_sense=None)
    matrix, kinds = form.A.tocsr(), np.array([row.bound_type for row in form.rows])  # -1: >=, 0: ==, 1: <=
    lower = np.where(kinds == 1, -np.inf, form.rhs)
    upper = np.where(kinds == -1, np.inf, form.rhs)
    bounds = [v.bounds for v in form.columns]
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.passModel(
        len(form.columns), len(form.rows), matrix.nnz, int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize), float(form.c_offset[0]), form.c.toarray().ravel(),
        np.array([-np.inf if low is None else low for low, _ in bounds]),
        np.array([np.inf if high is None else high for _, high in bounds]),
        lower, upper, matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data,
        np.array([not v.is_continuous() for v in form.columns], dtype=np.int32),
    )  # fmt: skip
    return highs


def by_appsi(m: pyo.ConcreteModel, _: Path) -> Any:
    from pyomo.contrib.appsi.solvers import Highs

    solver = Highs()
    solver.set_instance(m)
    return solver._solver_model


def by_lp(m: pyo.ConcreteModel, folder: Path) -> Any:
    path = str(folder / "pyomo.lp")
    m.write(path, format="lp")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(path)
    return highs
