"""The blocks of a problem without what links them: all that pricing reads, as bytes, and parts of it."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from msgspec import structs

from gpusched_dsl.engines.arrays import unpack
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.blocks import Blocks
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.solving.decomposition.blocks import BlockStructure


def share_of(parts: BlockStructure, first: int, stop: int) -> BlockStructure:
    """Return the blocks `first .. stop - 1` alone: their own columns in the same order, and the rows inside them.

    A block has the same problem, columns and use in the share as in the whole, so its price is the same.
    """
    place = own_slice(parts, first, stop)
    own = parts.own[place]
    rows = np.flatnonzero((parts.blocks.row >= first) & (parts.blocks.row < stop))
    columns = np.sort(own)
    number = np.full(parts.problem.columns, -1, dtype=np.int32)
    number[columns] = np.arange(len(columns), dtype=np.int32)
    matrix = parts.problem.matrix.take(rows)
    problem = parts.problem
    blocks = Blocks(
        parts.blocks.name,
        parts.blocks.labels[first:stop],
        (parts.blocks.column[columns] - first).astype(np.int32),
        (parts.blocks.row[rows] - first).astype(np.int32),
    )
    inner = Problem(
        name=problem.name,
        variables=(Family("own", 0, IntervalDomain(0, len(columns) - 1)),),
        lower=problem.lower[columns],
        upper=problem.upper[columns],
        integer=problem.integer[columns],
        constraints=(Family("inside", 0, IntervalDomain(0, len(rows) - 1)),),
        matrix=structs.replace(matrix, columns=number[matrix.columns]),
        row_lower=problem.row_lower[rows],
        row_upper=problem.row_upper[rows],
    )
    return _structure(inner, blocks, number[own].astype(np.int64), parts.use[:, place].tocsr(), parts.own_cost[place])


def own_slice(parts: BlockStructure, first: int, stop: int) -> slice:
    """Return the positions of the columns of some blocks in a row among the own columns."""
    return slice(*(int(at) for at in np.searchsorted(parts.block, [first, stop])))


def packed_share(parts: BlockStructure) -> dict[str, object]:
    """Return the values of a share for `pack`."""
    problem, blocks = parts.problem, parts.blocks
    return {
        "name": problem.name,
        "root": blocks.name,
        "labels": [str(label) for label in blocks.labels],
        "column_block": blocks.column,
        "row_block": blocks.row,
        "own": parts.own,
        "lower": problem.lower,
        "upper": problem.upper,
        "integer": problem.integer,
        "starts": problem.matrix.starts,
        "columns": problem.matrix.columns,
        "values": problem.matrix.values,
        "row_lower": problem.row_lower,
        "row_upper": problem.row_upper,
        "own_cost": parts.own_cost,
        "uses": parts.uses,
        "use_starts": parts.use.indptr,
        "use_columns": parts.use.indices,
        "use_values": parts.use.data,
    }


def share_from(data: bytes) -> BlockStructure:
    """Return the blocks of a packed share as bytes."""
    given = unpack(data)
    problem = Problem(
        name=given["name"],
        variables=(Family("own", 0, IntervalDomain(0, len(given["lower"]) - 1)),),
        lower=given["lower"],
        upper=given["upper"],
        integer=given["integer"],
        constraints=(Family("inside", 0, IntervalDomain(0, len(given["row_lower"]) - 1)),),
        matrix=Matrix(given["starts"], given["columns"], given["values"]),
        row_lower=given["row_lower"],
        row_upper=given["row_upper"],
    )
    blocks = Blocks(given["root"], tuple(given["labels"]), given["column_block"], given["row_block"])
    use = sp.csr_array(
        (given["use_values"], given["use_columns"], given["use_starts"]), shape=(given["uses"], len(given["own"]))
    )
    return _structure(problem, blocks, given["own"], use, given["own_cost"])


def _structure(problem: Problem, blocks: Blocks, own: Codes, use: sp.csr_array, own_cost: np.ndarray) -> BlockStructure:
    nothing, none = np.zeros(0), np.zeros(0, dtype=np.int64)
    return BlockStructure(
        problem=problem,
        blocks=blocks,
        shared=none,
        own=own,
        block=blocks.column[own].astype(np.int64),
        a=sp.csr_array((0, 0)),
        use=use,
        use_of=none,
        lower=nothing,
        upper=nothing,
        shared_cost=nothing,
        own_cost=own_cost,
        constant=0.0,
        sign=1.0,
    )
