"""Sheets of Excel files to columns of text. The only file that imports fastexcel."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

from gpusched_dsl.data.sources.files import Fault, FileLimits, Unreadable, column_name, decoded_size_fault
from gpusched_dsl.data.sources.parquet_trial import UnreadableFile, try_sheet
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.extras import missing_extra

if TYPE_CHECKING:
    import polars as pl

MAGIC = b"PK\x03\x04"
_CELL_BYTES = 40  # of the rectangle around all cells, text and its copy
_DATE = r"^[+-]?\d{4,6}-\d{2}-\d{2}"  # the text of a cell that is formatted as a date, a time or a duration
_FIRST_DATE = 18_000  # days, 1949 or 1953 (Excel has two calendars): smaller numbers are lengths of time in any format


def read_sheet(data: bytes, name: str, sheet: str, limits: FileLimits, option: str | None = None) -> pl.DataFrame:
    """Return all cells of a sheet as text, without a header; row 0 is row 1 of the sheet.

    `sheet` is its name; an empty text means the only sheet. `option` is the option that names it, if one does. Dates
    are `2024-03-01 12:30:15`, times and durations `27:04:05`, integers have no decimal point. Raises Unreadable:
    GSM2019 without fastexcel, GSM2007, GSM2008, GSM2010, GSM2016.
    """
    import polars as pl

    fastexcel = _module()
    _check_size(data, name, limits)
    try:
        book = fastexcel.read_excel(data)
        names = list(book.sheet_names)
        chosen = _choose(name, sheet, names, option)
        _try(data, name, chosen, limits)
        found = book.load_sheet(chosen, header_row=None, skip_rows=0, dtypes="string").to_polars()
        found = found.with_columns(_lengths_of_time(book, chosen, found))
    except fastexcel.FastExcelError as error:
        note = str(error).splitlines()[0]
        raise Unreadable(Fault("GSM2008", f"`{name}` is damaged or not an Excel file", notes=(note,))) from None
    if not found.height or not found.width:
        raise Unreadable(Fault("GSM2010", f"sheet `{chosen}` of `{name}` is empty"))
    assert isinstance(found, pl.DataFrame)
    return found.with_columns(pl.all().cast(pl.String).str.strip_chars())


def _lengths_of_time(book: Any, sheet: str, found: pl.DataFrame) -> list[pl.Series]:
    """Return the columns with times and durations, whose texts are dates of 1900, with the texts `27:04:05` there.

    Excel stores a date, a time of day and a duration as the same number of days. Large numbers are durations where all
    cells of a column, from the first one to the last one with such a number, have the format of a duration.
    """
    places = [at for at, column in enumerate(found) if column.str.contains(_DATE).any()]
    if not places:
        return []
    options: dict[str, Any] = {"header_row": None, "skip_rows": 0, "use_columns": places, "dtypes": "duration"}
    days = book.load_sheet(sheet, **options).to_polars()
    columns = []
    for at, column in zip(places, days.iter_columns(), strict=True):
        milliseconds = column.dt.total_milliseconds()
        written = found.to_series(at)
        dated = written.str.contains(_DATE).fill_null(False)
        length = dated & (milliseconds.abs() < _FIRST_DATE * 86_400_000).fill_null(False)
        if (dated & ~length).any() and _are_durations(book, sheet, at, dated.arg_true()):
            length = dated
        columns.append(_clock_text(milliseconds).zip_with(length, written).alias(written.name))
    return columns


def _are_durations(book: Any, sheet: str, column: int, rows: pl.Series) -> bool:
    """Return whether all cells of a column between the first and the last of these rows have a duration's format."""
    import fastexcel
    import polars as pl

    first, last = rows[0], rows[-1]
    options = {"header_row": None, "skip_rows": first, "n_rows": last - first + 1, "use_columns": [column]}
    try:
        cells = book.load_sheet(sheet, **options, schema_sample_rows=None, dtype_coercion="strict").to_polars()
    except fastexcel.UnsupportedColumnTypeCombinationError:  # several formats
        return False
    return isinstance(cells.dtypes[0], pl.Duration)


def _clock_text(milliseconds: pl.Series) -> pl.Series:
    """Return `27:04:05`, or `27:04:05.250` if there are milliseconds."""
    import polars as pl

    size = milliseconds.abs()
    parts = {"sign": (milliseconds < 0), "h": size // 3_600_000, "m": size // 60_000 % 60, "s": size // 1000 % 60}
    frame = pl.DataFrame({**parts, "ms": size % 1000})
    two = (pl.col(part).cast(pl.String).str.zfill(2) for part in ("m", "s"))
    sign = pl.when("sign").then(pl.lit("-")).otherwise(pl.lit(""))
    thousandths = pl.format(".{}", pl.col("ms").cast(pl.String).str.zfill(3))
    ending = pl.when(pl.col("ms") == 0).then(pl.lit("")).otherwise(thousandths)
    return frame.select(pl.format("{}{}:{}:{}{}", sign, "h", *two, ending)).to_series()


def missing_package() -> Diagnostic:
    """Return the diagnostic of a missing fastexcel."""
    return missing_extra("excel", "Excel files need", "GSM2019", "export the sheet as CSV")


def _module() -> Any:
    try:
        import fastexcel
    except ImportError:
        missing = missing_package()
        raise Unreadable(Fault(missing.code, missing.message, help=missing.help)) from None
    return fastexcel


def _check_size(data: bytes, name: str, limits: FileLimits) -> None:
    """Refuse an archive that expands beyond the limit before anything expands it."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile as error:
        raise Unreadable(Fault("GSM2008", f"`{name}` is damaged or not an Excel file", notes=(str(error),))) from None
    if size > limits.decoded_bytes:
        raise Unreadable(decoded_size_fault(name, limits))


def _try(data: bytes, name: str, sheet: str, limits: FileLimits) -> None:
    """Read the sheet in another process first: a stray cell far away asks for any amount of memory and ends it."""
    try:
        rows, columns = try_sheet(data, sheet)
    except UnreadableFile as damage:
        message = f"sheet `{sheet}` of `{name}` cannot be read"
        help = "delete stray cells far to the right or below the table, or export the sheet as CSV"
        raise Unreadable(Fault("GSM2008", message, notes=(str(damage),), help=help)) from None
    if rows * columns * _CELL_BYTES > limits.decoded_bytes:
        raise Unreadable(decoded_size_fault(name, limits))


def _choose(name: str, sheet: str, names: list[str], option: str | None) -> str:
    shown = ", ".join(f"`{each}`" for each in names[:20])
    named = None if option is None else (option, sheet)
    if sheet and sheet not in names:
        raise Unreadable(
            Fault(
                "GSM2016",
                f"`{name}` has no sheet `{sheet}`",
                notes=(f"its sheets are {shown}",),
                help=did_you_mean(sheet, names),
                option=named,
            )
        )
    if not sheet and len(names) != 1:
        how = 'write `table "NAME"` after the file' if option is None else 'state the option `sheet = "NAME"`'
        raise Unreadable(
            Fault("GSM2016", f"`{name}` has {len(names)} sheets", notes=(f"its sheets are {shown}",), help=how)
        )
    return sheet or names[0]


def sheet_columns(name: str, cells: pl.DataFrame, header: int = 1) -> tuple[dict[str, pl.Series], Ints, list[str]]:
    """Return columns of text by the names in row `header`, the row of each record, and the header.

    Blank rows are skipped, and columns whose names occur twice. Raises Unreadable (GSM2010).
    """
    import polars as pl

    numbered = cells.with_row_index("_line", 1).filter(~pl.all_horizontal(pl.exclude("_line").is_null()))
    numbered = numbered.filter(pl.col("_line") >= header)
    if not numbered.height:
        raise Unreadable(Fault("GSM2010", f"`{name}` has no row {header}", help="a row must name the columns"))
    names = [column_name(cell or "") for cell in numbered.row(0)[1:]]
    body = numbered[1:]
    places = {each: at + 1 for at, each in enumerate(names) if each and names.count(each) == 1}
    columns = {each: body.to_series(at).alias(each) for each, at in places.items()}
    return columns, body["_line"].cast(pl.Int64).to_numpy(), names
