"""JSON Lines to columns: one object a line, its members are the columns; a member that is absent is not given."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from gpusched_dsl.data.sources.files import Fault, FileColumns, FileLimits, Unreadable, check_text, missing_columns
from gpusched_dsl.data.sources.json_keys import check_line_keys
from gpusched_dsl.data.sources.untyped import series_of
from gpusched_dsl.language.diagnostics.diagnostic import Cell

_KEYS_LOOKED_AT = 1000
# Bytes that reading takes: copies of the text, a row, a cell with its value.
_COPIES, _ROW_BYTES, _CELL_BYTES = 2, 64, 64


def read_json_lines(
    raw: bytes, name: str, columns: Sequence[str], limits: FileLimits, digest: str | None = None
) -> FileColumns:
    """The named columns, typed where all cells agree; raises Unreadable (GSM2007 to GSM2011, GSM2014, GSM2060)."""
    import msgspec

    count = raw.count(b"\n") + 1
    limits.allow(_COPIES * len(raw) + count * (_ROW_BYTES + _CELL_BYTES * len(columns)), name)

    data = check_text(name, raw)
    if not data.strip():
        raise Unreadable(Fault("GSM2010", f"data file `{name}` is empty", help="each line must be a JSON object"))
    columns = list(dict.fromkeys(columns))
    fields = {f"c{i}": column for i, column in enumerate(columns)}
    row = msgspec.defstruct(
        "Row", [(field, int | float | str | bool | None, None) for field in fields], rename=fields, gc=False
    )
    decoder = msgspec.json.Decoder(row)
    try:
        rows = decoder.decode_lines(data)
    except (msgspec.DecodeError, RecursionError):
        raise Unreadable(_broken_line(name, data, decoder)) from None
    taken = {column: series_of([getattr(r, field) for r in rows]) for field, column in fields.items()}
    check_line_keys(name, data, {column: len(rows) - series.null_count() for column, series in taken.items()})
    absent = [column for column, series in taken.items() if series.null_count() == len(series)]
    if absent:
        _check_known(name, data, absent)
    lines = None
    if data.count(b"\n") + (not data.endswith(b"\n")) != len(rows):
        lines = np.array([i for i, line in enumerate(data.split(b"\n"), 1) if line.strip()], dtype=np.int64)
        if len(lines) != len(rows):  # the decoder also takes several objects from one line, or one from several
            raise Unreadable(_broken_line(name, data, decoder))
    return FileColumns(name, taken, len(rows), digest or hashlib.sha256(raw).hexdigest(), lines, 1)


def _broken_line(name: str, data: bytes, decoder: object) -> Fault:
    """The first line that does not decode."""
    import msgspec

    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            decoder.decode(line)  # type: ignore[attr-defined]
        except RecursionError:
            return Fault("GSM2008", f"a line of data file `{name}` is too deeply nested", Cell(name, number))
        except msgspec.ValidationError as error:
            code = "GSM2014" if "$." in str(error) else "GSM2008"
            what = (
                "contains a value that is neither a number nor a text" if code == "GSM2014" else "is not a JSON object"
            )
            return Fault(code, f"a line of data file `{name}` {what}", Cell(name, number), notes=(str(error),))
        except msgspec.DecodeError as error:
            notes = (str(error),)
            return Fault("GSM2008", f"a line of data file `{name}` is not JSON", Cell(name, number), notes=notes)
    return Fault("GSM2008", f"data file `{name}` is not JSON Lines", help="each line must be one JSON object")


def _check_known(name: str, data: bytes, absent: list[str]) -> None:
    """Raise for the columns that no object has (a column of nulls is there; it gives nothing)."""
    import msgspec

    lines = [line for line in data.split(b"\n") if line.strip()]
    known: dict[str, None] = {}
    for start in range(0, len(lines), _KEYS_LOOKED_AT):
        for line in lines[start : start + _KEYS_LOOKED_AT]:
            known.update(dict.fromkeys(msgspec.json.decode(line)))
        absent = [column for column in absent if column not in known]
        if not absent:
            return
    raise Unreadable(*missing_columns(name, absent, list(known)))
