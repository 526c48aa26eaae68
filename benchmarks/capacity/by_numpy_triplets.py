"""Written by hand the usual way: (row, column, value) triplets per constraint, compressed by SciPy, one `passModel`."""

from pathlib import Path
from typing import Any

import highspy
import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array

from benchmarks.capacity.tables import read
from benchmarks.child import Lap


def run(folder: Path, lap: Lap) -> Any:
    t = read(folder)
    N, V, J, C = t.N, t.V, t.J, t.C
    lap("data")

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

    row_numbers, column_numbers, values, lowers, uppers = [], [], [], [], []
    rows = 0

    def block(shape: tuple[int, ...], lower: ArrayLike, upper: ArrayLike) -> np.ndarray:
        """The numbers of new rows, shaped like their index sets."""
        nonlocal rows
        count = int(np.prod(shape))
        lowers.append(np.broadcast_to(np.asarray(lower, dtype=float), shape).ravel())
        uppers.append(np.broadcast_to(np.asarray(upper, dtype=float), shape).ravel())
        rows += count
        return np.arange(rows - count, rows, dtype=np.int32).reshape(shape)

    def add(row: ArrayLike, column: ArrayLike, value: ArrayLike) -> None:
        """Entries whose row, column and value broadcast against one another."""
        row, column, value = np.broadcast_arrays(row, column, np.asarray(value, dtype=float))
        row_numbers.append(row.ravel())
        column_numbers.append(column.ravel())
        values.append(value.ravel())

    inf = np.inf
    r = block((N,), 0, 0)  # (1)
    add(r[:, None], hosts, 1)
    add(r, node_open, -1)
    r = block((J, N, C), -inf, 0)  # (2)
    add(r, run, 1)
    add(r, hosts[None, :, t.type_of], -1)
    r = block((J, N, C), -inf, 0)  # (3)
    add(r, run, 1)
    add(r, runs[:, None, None], -1)
    r = block((J, N), -inf, 0)  # (4)
    add(r[:, :, None], run, 1)
    add(r, node_open, -1)
    r = block((J,), 0, 0)  # (5)
    add(r[:, None, None], run, 1)
    add(r, runs, -1)
    r = block((N, V), -inf, t.gpus)  # (6)
    add(r[None, :, t.type_of], run, t.size_of)
    r = block((J,), -inf, t.deadline)  # (7)
    add(r[:, None, None], run, t.hours[:, None, :])
    add(r, tardy, -1)
    slowest = period + t.hours.max(axis=1)
    r = block((J,), -inf, t.deadline - slowest)  # (8)
    add(r, runs, -slowest)
    add(r, late, -1)
    r = block((1,), min(N, J), min(N, J))  # (9)
    add(r, node_open, 1)

    triplets = (np.concatenate(row_numbers), np.concatenate(column_numbers))
    matrix = coo_array((np.concatenate(values), triplets), shape=(rows, columns)).tocsr()
    row_lower, row_upper = np.concatenate(lowers), np.concatenate(uppers)
    lap("build")

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.passModel(
        columns, rows, matrix.nnz, int(highspy.MatrixFormat.kRowwise), int(highspy.ObjSense.kMinimize), 0.0,
        cost, np.zeros(columns), upper, row_lower, row_upper, matrix.indptr, matrix.indices, matrix.data, integer,
    )  # fmt: skip
    lap("load")
    return highs
