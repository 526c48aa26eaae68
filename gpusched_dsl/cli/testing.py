"""`gsdsl test`: run the test blocks of files and report like a test runner."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from typing import Any

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.documents import STDOUT, check_targets, write_document
from gpusched_dsl.cli.instance import permissions
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.paths import gsm_files
from gpusched_dsl.compiling.build import Permissions
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.text.numbers import seconds_text
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.reporting.document import diagnostics_document, json_text
from gpusched_dsl.workflows.model_tests import Run, Verdict, run_tests

SCHEMA_VERSION = 1
WORDS = {Verdict.PASSED: "PASS", Verdict.FAILED: "FAIL", Verdict.BROKEN: "ERROR", Verdict.SKIPPED: "SKIP"}
STYLES = {Verdict.PASSED: "32", Verdict.FAILED: "31", Verdict.BROKEN: "31", Verdict.SKIPPED: "33"}
IN_SUMMARY = {
    Verdict.PASSED: "passed", Verdict.FAILED: "failed", Verdict.BROKEN: "with errors", Verdict.SKIPPED: "skipped",
}  # fmt: skip


def run(options: argparse.Namespace, output: Output) -> int:
    start = time.perf_counter()
    check_targets(json=options.json)
    if options.json == STDOUT:
        output.only_diagnostics()
    files = gsm_files(options.files)
    counts: Counter[Verdict] = Counter()
    records: list[dict[str, Any]] = []
    for path in files:
        counts += _run_file(path, options, permissions(options), output, records, heading=len(files) > 1)
    _refuse_nothing(counts, output, options)
    if options.json is not None:
        write_document(json_text({"schema_version": SCHEMA_VERSION, "runs": records}), options.json, output)
    summary = ", ".join(f"{counts[o]} {word}" for o, word in IN_SUMMARY.items() if counts[o]) or "nothing was run"
    output.say(f"\n{summary} in {seconds_text(time.perf_counter() - start)}")
    return exits.BAD_INPUT if output.errors else exits.OK


def _run_file(
    path: Path,
    options: argparse.Namespace,
    allowed: Permissions,
    output: Output,
    records: list[dict[str, Any]],
    *,
    heading: bool,
) -> Counter[Verdict]:
    diagnostics = Diagnostics()
    workspace = load_workspace(path, diagnostics, allow_outside=options.allow_outside)
    output.report(diagnostics)
    counts: Counter[Verdict] = Counter()
    if diagnostics.has_errors:
        counts[Verdict.BROKEN] += 1
        records.append(_record(path, Run("", "", "", Verdict.BROKEN, diagnostics=tuple(diagnostics))))
        return counts
    for test_run in run_tests(
        workspace, permissions=allowed, containing=options.filter, backend=options.method, every=options.every_backend
    ):
        if heading and not counts:
            output.say(str(path))
        counts[test_run.outcome] += 1
        records.append(_record(path, test_run))
        _report(test_run, output)
    return counts


def _record(path: Path, run: Run) -> dict[str, Any]:
    return {
        "file": str(path),
        "test": run.test,
        "solve": run.solve,
        "method": run.method,
        "outcome": run.outcome.value,
        "seconds": run.seconds,
        "reason": run.reason,
        "findings": diagnostics_document(run.diagnostics),
    }


def _report(test_run: Run, output: Output) -> None:
    word = output.style(f"{WORDS[test_run.outcome]:<5}", STYLES[test_run.outcome])
    behind = (
        f"   ({test_run.reason})"
        if test_run.reason
        else f"   ({seconds_text(test_run.seconds)})"
        if test_run.method
        else ""
    )
    output.say(f"  {word} {test_run.title}{behind}")
    output.report(test_run.diagnostics, counted=False)


def _refuse_nothing(counts: Counter[Verdict], output: Output, options: argparse.Namespace) -> None:
    """Raise DiagnosticError (GSM6013) if no test ran: success without tests would be misleading."""
    if counts or output.errors:
        return
    narrowed = options.filter or options.method
    help = "check `--filter` and `--method`" if narrowed else "write a `test` block, or name a file that has one"
    raise DiagnosticError([Diagnostic("GSM6013", "there is no test to run", help=help)])
