"""Checks, formats and explains a text; runs in the browser, on the unmodified front end of gsdsl."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from gpusched_dsl.language.blocks.blocks import check_blocks
from gpusched_dsl.language.blocks.policies.describe import policy_in_words
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.checking import check_workspace
from gpusched_dsl.language.diagnostics.codes import CODES
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.diagnostics.render import in_order, render_text
from gpusched_dsl.language.formatting.formatter import format_text
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import Workspace, workspace_from_text
from gpusched_dsl.reporting.mathematics.formulation import formulation

NAME = "model.gsm"


def checked(text: str) -> str:
    """The diagnostics of a text as JSON: place, words, and the text that the command line prints."""
    found, _ = _check(text)
    rows = []
    for each in in_order(found):
        place = each.primary if isinstance(each.primary, Span) and each.primary.source.name == NAME else None
        rows.append(
            {
                "code": each.code,
                "anchor": re.sub(r"[^a-z0-9]+", "-", f"{each.code} {CODES[each.code]}".lower()).strip("-"),
                "severity": str(each.severity),
                "from": None if place is None else _units(text, place.start),
                "to": None if place is None else _units(text, place.end),
                "text": render_text([each]).strip(),
            }
        )
    return json.dumps(rows)


def formatted(text: str) -> str:
    """The formatted text; the text itself if it has syntax errors."""
    try:
        return format_text(text)
    except DiagnosticError:
        return text


def explained(text: str) -> str:
    """The models as mathematics and the policies in English, as JSON; nothing for a text with errors."""
    found, workspace = _check(text)
    if found.has_errors or workspace.main is None:
        return json.dumps({"models": [], "policies": []})
    own = workspace.main.source
    models = [_model(workspace, name) for name, block in workspace.models.items() if block.span.source is own]
    policies = []
    for name, block in workspace.policies.items():
        policy = check_policy(workspace, block, Diagnostics()) if block.span.source is own else None
        if policy is not None:
            policies.append({"name": name, "lines": policy_in_words(policy)})
    return json.dumps({"models": models, "policies": policies})


def _check(text: str) -> tuple[Diagnostics, Workspace]:
    found = Diagnostics()
    workspace = workspace_from_text(text, NAME, found, Path("/tmp"))
    if not found.has_errors:
        check_workspace(workspace, found)
        check_blocks(workspace, found)
        for name in workspace.scenarios:
            check_scenario(workspace, name, {}, found)
    return found, workspace


def _model(workspace: Workspace, name: str) -> dict[str, Any]:
    model = formulation(workspace, name)
    equations = [*model.definitions, *model.objectives, *model.constraints]
    rows = [
        {
            "name": each.name,
            "meaning": each.meaning,
            "latex": each.latex + (rf" \qquad \forall\, {each.over}" if each.over else ""),
        }
        for each in equations
    ]
    return {"name": name, "meaning": model.meaning, "equations": rows}


def _units(text: str, position: int) -> int:
    """A position as a browser counts it, in units of UTF-16."""
    return len(text[:position].encode("utf-16-le", "surrogatepass")) // 2
