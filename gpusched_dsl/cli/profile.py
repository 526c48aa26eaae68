"""`gsdsl profile`: predictors from measured profiles, and profiles from samples."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.output import Output
from gpusched_dsl.data.sources.writing import cannot_write, check_writable, replace_file, write_text
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.text.numbers import count_text

if TYPE_CHECKING:
    import polars as pl

STDOUT = "-"
PARQUET = (".parquet", ".pq")


def run(options: argparse.Namespace, output: Output) -> int:
    for path in (options.out, options.json):
        if path not in (None, STDOUT):
            check_writable(Path(path))
    _check_kind(options.out)
    if STDOUT in (options.out, options.json):
        output.only_diagnostics()
    diagnostics = Diagnostics()
    try:
        frame = _fit(options, output, diagnostics) if options.action == "fit" else _summarise(options, diagnostics)
    except DiagnosticError as error:
        output.report([*diagnostics, *error.diagnostics])
        return exits.BAD_INPUT
    output.report(diagnostics)
    if frame is None:
        return exits.BAD_INPUT
    if options.out is not None or options.action == "summarise":
        _write(frame, options.out or STDOUT, output)
    return exits.OK


def _fit(options: argparse.Namespace, output: Output, diagnostics: Diagnostics) -> pl.DataFrame | None:
    from gpusched_dsl.profiles.fitting import FitSettings, fit_profile
    from gpusched_dsl.profiles.learners import require
    from gpusched_dsl.profiles.profile import read_profile
    from gpusched_dsl.profiles.report import document_of, lines_of

    require()
    profile = read_profile(Path(options.table), diagnostics, jobs=_path(options.jobs), gpus=_path(options.gpus))
    if profile is None:
        return None
    settings = FitSettings(options.folds, options.seed, options.group, options.learner)
    fitted = fit_profile(profile, settings, diagnostics)
    if fitted is None:
        return None
    for line in lines_of(fitted):
        output.say(line)
    if options.json is not None:
        text = json.dumps(document_of(fitted), indent=2) + "\n"
        if options.json == STDOUT:
            print(text, end="")
        else:
            write_text(Path(options.json), text)
    return fitted.table()


def _summarise(options: argparse.Namespace, diagnostics: Diagnostics) -> pl.DataFrame | None:
    from gpusched_dsl.profiles.summary import summarise

    return summarise(Path(options.table), diagnostics, split=options.split, gpus=_path(options.gpus))


def _path(name: str | None) -> Path | None:
    return None if name is None else Path(name)


def _check_kind(name: str | None) -> None:
    if name not in (None, STDOUT) and not str(name).lower().endswith((".csv", *PARQUET)):
        message = f"cannot write `{name}`: the name has no known extension"
        raise DiagnosticError([Diagnostic("GSM6008", message, help="end the name in `.csv` or `.parquet`")])


def _write(frame: pl.DataFrame, name: str, output: Output) -> None:
    if name == STDOUT:
        print(frame.write_csv(), end="")
        return
    path = Path(name)
    try:
        with replace_file(path) as beside:
            if path.suffix.lower() in PARQUET:
                content = io.BytesIO()
                frame.write_parquet(content)
                beside.write_bytes(content.getvalue())
            else:
                beside.write_text(frame.write_csv(), encoding="utf-8", newline="")
    except OSError as failure:
        raise DiagnosticError([cannot_write(path, failure)]) from failure
    output.say(f"wrote {name}: {count_text(frame.height, 'row')}")
