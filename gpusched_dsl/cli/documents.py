"""Documents that commands write to a file or to standard output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.tables import show_with_note
from gpusched_dsl.language.text.numbers import count_text

if TYPE_CHECKING:
    import argparse

    from gpusched_dsl.reporting.trials import Trials

STDOUT = "-"


def check_targets(**targets: str | None) -> None:
    """Check before a long computation that files can be written, and that no two documents go to one place.

    `targets` are values of options by their names. Raises DiagnosticError (GSM6008), CommandLineError (GSM6002).
    """
    printed = [f"`--{name} -`" for name, target in targets.items() if target == STDOUT]
    if len(printed) > 1:
        message = f"{printed[0]} and {printed[1]} both write to standard output"
        raise CommandLineError("GSM6002", message, "give one of them a file")
    seen: set[Path] = set()
    for target in targets.values():
        if target is None or target == STDOUT:
            continue
        from gpusched_dsl.data.sources.writing import check_writable

        path = Path(target)
        check_writable(path)
        if path.is_file() or not path.exists():  # not a device
            if path.resolve() in seen:
                raise CommandLineError(
                    "GSM6002", f"two documents cannot both go to `{target}`", "give each its own file"
                )
            seen.add(path.resolve())


def write_document(text: str, target: str, output: Output) -> None:
    """Write a text to a file and report it, or write it to standard output."""
    if target == STDOUT:
        print(text, end="")
    else:
        from gpusched_dsl.data.sources.writing import write_text

        write_text(Path(target), text)
        output.note(f"wrote {target}")


def check_reports(reports: Sequence[tuple[str, str]], kind: type) -> None:
    """Check before a long computation that formats of other packages can write a class of reports.

    Raises DiagnosticError (GSM6008, GSM6024).
    """
    for name, target in reports:
        from gpusched_dsl.data.sources.writing import check_writable
        from gpusched_dsl.reporting.reporters import reporter

        check_writable(Path(target))
        reporter(name, kind)


def write_forms(report: Any, options: argparse.Namespace, output: Output) -> None:
    """Write a report to all outputs that the options of a command name: `--json`, `--csv`, `--html`, `--figures`, and
    `--report` in formats of other packages. CSV is a folder if the report has several tables.
    """
    from gpusched_dsl.reporting.report import IllustratedReport

    asked = vars(options)
    texts = {"json": report.json_text, "html": getattr(report, "html_text", None)}
    if not isinstance(report, IllustratedReport):
        texts["csv"] = getattr(report, "csv_text", None)
    for form in ("json", "csv", "html"):
        target = asked.get(form)
        if target is not None and form in texts:
            write_document(texts[form](), target, output)
        elif target is not None:
            _note_files(report.to_csv(target), target, output)
    if asked.get("figures") is not None:
        _note_files(report.to_figures(asked["figures"]), asked["figures"], output)
    for name, target in asked.get("report", ()):
        report.export(target, to=name)
        output.note(f"wrote {target}")


def _note_files(files: Sequence[Path], folder: str, output: Output) -> None:
    output.note(f"wrote {count_text(len(files), 'file')} into {folder}")


def report_trials(trials: Trials[Any], options: argparse.Namespace, output: Output) -> None:
    """Print a comparison, and write it to all outputs that the options of a command name."""
    for grid in trials.grids():
        show_with_note(grid, output)
        output.say()
    for line in trials.footer():
        output.say_wrapped(line)
    output.report(diagnostic for row in trials.rows for diagnostic in row.diagnostics)
    output.report((*trials.warnings, *trials.contradictions))
    write_forms(trials, options, output)


def check_figures(folder: str | None) -> None:
    """Refuse `--figures` before a long command: without Matplotlib (GSM6023), or if the folder cannot be written."""
    if folder is not None:
        from gpusched_dsl.language.diagnostics.extras import FIGURES_NEED, require_extra

        require_extra("figures", FIGURES_NEED)
        from gpusched_dsl.data.sources.writing import check_writable

        check_writable(Path(folder), folder=True)
