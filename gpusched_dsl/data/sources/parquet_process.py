"""The other end of `parquet_trial.py`: a process that reads Parquet files for a trial until its input ends.

A damaged file can ask for any amount of memory, which ends the process that reads it: no exception is raised. So this
process reads it first, with a limit on its memory, and its parent outlives it.

A request is a line of JSON and the bytes of a file; an answer is a line of JSON.
"""

from __future__ import annotations

import io
import json
import os
import sys
from typing import IO, Any

import polars as pl


def main(memory: int) -> None:
    """Serve standard input and output; `memory`: the largest number of bytes for a file. Never returns."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    _limit(memory)
    while request := sys.stdin.buffer.readline():
        wanted = json.loads(request)
        answer = answer_request(wanted, sys.stdin.buffer)
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()
    os._exit(0)


def answer_request(wanted: dict[str, Any], source: IO[bytes]) -> dict[str, Any]:
    """The answer to one request: `names` of all columns, and `rows` where they were read; or `damaged`."""
    data = source.read(wanted["size"])
    try:
        if "sheet" in wanted:
            return read_sheet(data, wanted["sheet"])
        return read(data, **{key: wanted[key] for key in ("columns", "cells")})
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as failure:  # a panic of the library is no Exception
        if type(failure).__name__ == "PanicException":
            return {"damaged": "the library for this format cannot read its contents"}
        return {"damaged": (str(failure).splitlines() or [type(failure).__name__])[0]}


def read(data: bytes, columns: list[str] | None, cells: int) -> dict[str, Any]:
    """Read the columns, None: only their names; where one is missing or there are too many cells nothing is read."""
    names = list(pl.read_parquet_schema(io.BytesIO(data)))
    answer: dict[str, Any] = {"names": names}
    if columns is None or not set(columns) <= set(names):
        return answer
    # A few bytes can stand for very many rows: ask before they are spread out.
    rows = int(pl.scan_parquet(io.BytesIO(data)).select(pl.len()).collect().item())
    if rows * max(len(columns), 1) > cells:
        return {**answer, "too_large": True}
    if columns:  # earlier versions of Polars fail for none
        rows = pl.read_parquet(io.BytesIO(data), columns=columns).height
    return {**answer, "rows": rows}


def read_sheet(data: bytes, sheet: str) -> dict[str, Any]:
    """Read a sheet of an Excel file: `rows` and `columns` of the rectangle around all cells."""
    import fastexcel

    found = fastexcel.read_excel(data).load_sheet(sheet, header_row=None, skip_rows=0, dtypes="string")
    return {"rows": found.height, "columns": found.width}


def _limit(memory: int) -> None:
    """Limit memory so that allocations that no valid file needs fail before they harm other processes."""
    if sys.platform == "win32":
        return  # which has no such limit
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as statm:
            taken = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        wanted = taken + memory
        resource.setrlimit(resource.RLIMIT_AS, (wanted if most < 0 else min(wanted, most), most))
    except (ImportError, OSError, ValueError):
        return  # the platform has no such limit
