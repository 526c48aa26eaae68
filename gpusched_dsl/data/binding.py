"""Binds the values of a scenario to domains: the entry to the steps in `sets`, `params` and `ranges`."""

from __future__ import annotations

from gpusched_dsl.data.chunks import ColumnChunk, DataChunk, ValueChunk, columns_chunk, label_chunk, literal_chunk
from gpusched_dsl.data.params import BoundParam, ParamOrigin, bind_param
from gpusched_dsl.data.ranges import report_failed_check, report_out_of_range
from gpusched_dsl.data.sets import bind_root_set, bind_set
from gpusched_dsl.data.sources.reader import FileReader, chunk_of, read_matrix, read_set_cells, read_table

__all__ = [
    "BoundParam",
    "ColumnChunk",
    "DataChunk",
    "FileReader",
    "ParamOrigin",
    "ValueChunk",
    "bind_param",
    "bind_root_set",
    "bind_set",
    "chunk_of",
    "columns_chunk",
    "label_chunk",
    "literal_chunk",
    "read_matrix",
    "read_set_cells",
    "read_table",
    "report_failed_check",
    "report_out_of_range",
]
