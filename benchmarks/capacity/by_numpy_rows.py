"""Written by hand, one block of compressed rows per printed constraint, and one `passModel`."""

from pathlib import Path
from typing import Any

import highspy
import numpy as np
from numpy.typing import ArrayLike

from benchmarks.capacity.tables import read
from benchmarks.child import Lap


def run(folder: Path, lap: Lap) -> Any:
    t = read(folder)
    N, V, J, C = t.N, t.V, t.J, t.C
    lap("data")

    # Column numbers of each variable, shaped like its index sets.
    sizes = {"open": (N,), "hosts": (N, V), "runs": (J,), "run": (J, N, C), "tardy": (J,), "late": (J,)}
    columns, at = 0, {}
    for name, shape in sizes.items():
        count = int(np.prod(shape))
        at[name] = np.arange(columns, columns + count, dtype=np.int32).reshape(shape)
        columns += count
    node_open, hosts, runs, run, tardy, late = at.values()

    idle, period = 1.0, 1.0
    cost = np.zeros(columns)
    cost[hosts] = idle * t.gpus
    cost[run] = (t.size_of / t.gpus[t.type_of] * t.price[t.type_of] * t.hours - idle * t.size_of)[:, None, :]
    cost[tardy] = t.weight
    cost[late] = 100 * t.weight
    upper = np.ones(columns)
    integer = np.ones(columns, dtype=np.int32)
    for free in (tardy, late):
        upper[free] = np.inf
        integer[free] = 0

    indices, values, counts, lowers, uppers = [], [], [], [], []

    def rows(columns_of: ArrayLike, values_of: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """A block of rows with equally many entries each: a (rows, entries) array of columns and their values."""
        columns_of = np.asarray(columns_of, dtype=np.int32)
        count, entries = columns_of.shape
        indices.append(columns_of.ravel())
        values.append(np.broadcast_to(values_of, columns_of.shape).ravel())
        counts.append(np.full(count, entries))
        lowers.append(np.broadcast_to(np.asarray(lower, dtype=float), count))
        uppers.append(np.broadcast_to(np.asarray(upper, dtype=float), count))

    X, inf = J * N * C, np.inf
    flat = run.reshape(X)
    rows(np.column_stack([hosts, node_open]), np.r_[np.ones(V), -1], 0, 0)  # (1)
    hosted = np.broadcast_to(hosts[None, :, t.type_of], (J, N, C)).reshape(X)
    rows(np.column_stack([flat, hosted]), [1, -1], -inf, 0)  # (2)
    rows(np.column_stack([flat, np.repeat(runs, N * C)]), [1, -1], -inf, 0)  # (3)
    rows(np.column_stack([run.reshape(J * N, C), np.tile(node_open, J)]), np.r_[np.ones(C), -1], -inf, 0)  # (4)
    rows(np.column_stack([run.reshape(J, N * C), runs]), np.r_[np.ones(N * C), -1], 0, 0)  # (5)
    for v in range(V):  # (6)
        mine = t.type_of == v
        on_type = run[:, :, mine].transpose(1, 0, 2).reshape(N, -1)
        rows(on_type, np.tile(t.size_of[mine], J), -inf, t.gpus[v])
    spent = np.column_stack([np.tile(t.hours, (1, N)), np.full(J, -1.0)])
    rows(np.column_stack([run.reshape(J, N * C), tardy]), spent, -inf, t.deadline)  # (7)
    slowest = period + t.hours.max(axis=1)
    rows(
        np.column_stack([runs, late]), np.column_stack([-slowest, np.full(J, -1.0)]), -inf, t.deadline - slowest
    )  # (8)
    rows(node_open[None, :], 1, min(N, J), min(N, J))  # (9)

    index, value = np.concatenate(indices), np.concatenate(values).astype(float)
    start = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int32)
    row_lower, row_upper = np.concatenate(lowers), np.concatenate(uppers)
    lap("build")

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.passModel(
        columns, len(row_lower), len(value), int(highspy.MatrixFormat.kRowwise), int(highspy.ObjSense.kMinimize), 0.0,
        cost, np.zeros(columns), upper, row_lower, row_upper, start, index, value, integer,
    )  # fmt: skip
    lap("load")
    return highs
