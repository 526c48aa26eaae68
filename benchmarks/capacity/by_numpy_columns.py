"""A hand-written loader for speed: every column's entries in place, as HiGHS stores them; a bound for any tool."""

from pathlib import Path
from typing import Any

import highspy
import numpy as np

from benchmarks.capacity.tables import read
from benchmarks.child import Lap


def run(folder: Path, lap: Lap) -> Any:
    t = read(folder)
    N, V, J, C = t.N, t.V, t.J, t.C
    gpus, price, deadline, weight = t.gpus, t.price, t.deadline, t.weight
    type_of, size_of, hours = t.type_of, t.size_of, t.hours
    lap("data")

    # columns: open (N), hosts (N, V), runs (J), run (J, N, C), tardiness (J), postponed tardiness (J)
    X = J * N * C
    columns = N + N * V + J + X + 2 * J
    idle, period = 1.0, 1.0
    share = size_of / gpus[type_of] * price[type_of]
    cost = np.concatenate(
        [
            np.zeros(N),
            np.tile(idle * gpus, N),
            np.zeros(J),
            np.repeat(hours * share - idle * size_of, N, axis=0).ravel(),
            weight,
            100 * weight,
        ]
    )
    upper = np.ones(columns)
    upper[-2 * J :] = np.inf
    integer = np.ones(columns, dtype=np.int32)
    integer[-2 * J :] = 0

    # rows, in the order of the paper: (1) N, (2) X, (3) X, (4) J*N, (5) J, (6) N*V, (7) J, (8) J, (9) 1
    first = np.cumsum([0, N, X, X, J * N, J, N * V, J, J, 1])
    r1, r2, r3, r4, r5, r6, r7, r8, r9 = first[:-1]
    rows = int(first[-1])
    slowest = period + hours.max(axis=1)
    row_lower, row_upper = np.full(rows, -np.inf), np.zeros(rows)
    for begin, end in ((r1, r2), (r5, r6), (r9, rows)):
        row_lower[begin:end] = 0
    row_lower[r9:] = row_upper[r9:] = min(N, J)
    row_upper[r6:r7] = np.tile(gpus, N)
    row_upper[r7:r8] = deadline
    row_upper[r8:r9] = deadline - slowest

    # every column's entries, column by column
    x = np.arange(X, dtype=np.int32).reshape(J, N, C)
    n, j = np.arange(N), np.arange(J)
    of_open = np.empty((N, J + 2), dtype=np.int32)
    of_open[:, 0] = r1 + n
    of_open[:, 1:-1] = r4 + j * N + n[:, None]
    of_open[:, -1] = r9
    open_values = np.full((N, J + 2), -1.0)
    open_values[:, -1] = 1

    hosts = [np.concatenate([[r1 + i], (r2 + x[:, i, type_of == v]).ravel()]) for i in range(N) for v in range(V)]
    hosts_count = np.tile(1 + J * gpus, N)
    of_hosts = np.concatenate(hosts)
    hosts_values = np.full(len(of_hosts), -1.0)
    hosts_values[np.cumsum(hosts_count) - hosts_count] = 1

    of_runs = np.empty((J, N * C + 2), dtype=np.int32)
    of_runs[:, :-2] = r3 + x.reshape(J, -1)
    of_runs[:, -2] = r5 + j
    of_runs[:, -1] = r8 + j
    runs_values = np.full((J, N * C + 2), -1.0)
    runs_values[:, -1] = -slowest

    of_run = np.empty((J, N, C, 6), dtype=np.int32)
    of_run[..., 0] = r2 + x
    of_run[..., 1] = r3 + x
    of_run[..., 2] = (r4 + j[:, None] * N + n)[:, :, None]
    of_run[..., 3] = (r5 + j)[:, None, None]
    of_run[..., 4] = r6 + n[:, None] * V + type_of
    of_run[..., 5] = (r7 + j)[:, None, None]
    run_values = np.ones((J, N, C, 6))
    run_values[..., 4] = size_of
    run_values[..., 5] = hours[:, None, :]

    count = np.concatenate(
        [
            np.full(N, J + 2),
            hosts_count,
            np.full(J, N * C + 2),
            np.full(X, 6),
            np.ones(2 * J, dtype=np.int64),
        ]
    )
    start = np.concatenate([[0], np.cumsum(count)]).astype(np.int32)
    index = np.concatenate([of_open.ravel(), of_hosts, of_runs.ravel(), of_run.ravel(), r7 + j, r8 + j], dtype=np.int32)
    value = np.concatenate([
        open_values.ravel(), hosts_values, runs_values.ravel(), run_values.ravel(), np.full(2 * J, -1.0)
    ])  # fmt: skip
    lap("build")

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.passModel(
        columns, rows, len(value), int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMinimize), 0.0,
        cost, np.zeros(columns), upper, row_lower, row_upper, start, index, value, integer,
    )  # fmt: skip
    lap("load")
    return highs
