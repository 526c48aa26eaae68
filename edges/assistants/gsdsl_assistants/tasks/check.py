"""Checks a model, and repairs it by the fixes of its diagnostics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.render import render_text
from gpusched_dsl.language.formatting.formatter import format_text
from gpusched_dsl.workflows.check import check_all
from gsdsl_assistants.edits import edited_text
from gsdsl_assistants.repair import repair as repair_files
from gsdsl_assistants.tasks.reading import ModelFile, as_json


def check(file: ModelFile, *, deep: bool = False) -> dict[str, Any]:
    """Return all diagnostics with their edits, and the text with these edits made, if there are any."""
    found = _find(file, deep)
    objects = as_json(found)
    answer = {**_counts(objects), "diagnostics": objects, "report": render_text(dict.fromkeys(found))}
    edits = [edit for each in objects for edit in each["edits"] if edit["file"] == file.name]
    if edits:
        answer["fixed_text"] = edited_text(Path(file.name).read_bytes().decode("utf-8"), edits)
    return answer


def repair(file: ModelFile, *, deep: bool = False) -> dict[str, Any]:
    """Make the edits of diagnostics until none is left; return the new texts, and what is still found."""
    done = repair_files(Path(), lambda: as_json(_find(file, deep)))
    return {**_counts(list(done.found)), "rounds": done.rounds, "texts": done.texts, "diagnostics": list(done.found)}


def formatted(file: ModelFile) -> dict[str, Any]:
    """Return the text in the standard layout; texts with syntax errors are refused with their diagnostics."""
    return {"ok": True, "text": format_text(Path(file.name).read_bytes().decode("utf-8"), file.name)}


def _find(file: ModelFile, deep: bool) -> tuple[Diagnostic, ...]:
    workspace, diagnostics = file.read()
    if not diagnostics.has_errors:
        check_all(workspace, diagnostics, file.permissions, "highs" if deep else None)
    return tuple(diagnostics)


def _counts(objects: list[Any]) -> dict[str, Any]:
    errors = sum(each["severity"] == Severity.ERROR for each in objects)
    warnings = sum(each["severity"] == Severity.WARNING for each in objects)
    return {"ok": not errors, "errors": errors, "warnings": warnings}
