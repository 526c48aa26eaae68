"""A text in a notebook: its models as mathematics."""

from __future__ import annotations

from html import escape

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.diagnostics.html import render_html
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.reporting.mathematics.formulation import formulation
from gpusched_dsl.reporting.mathematics.rendering import to_html


def model_html(workspace: Workspace) -> str:
    """Return the models of a file, or those of its scenarios if it declares none, and the names of its scenarios."""
    try:
        text = to_html([formulation(workspace, name) for name in _models(workspace)])
    except DiagnosticError as error:
        return render_html(error.diagnostics)
    main = workspace.main
    own = [n for n, s in workspace.scenarios.items() if main is not None and s.span.source is main.source]
    if own:
        text += f"<p>Scenarios: {', '.join(f'<code>{escape(name)}</code>' for name in own)}</p>"
    return text


def _models(workspace: Workspace) -> list[str]:
    main = workspace.main
    own = [n for n, m in workspace.models.items() if main is not None and m.span.source is main.source]
    if own:
        return own
    used = {s.model.text for s in workspace.scenarios.values() if s.model is not None}
    return [name for name in workspace.models if name in used] or list(workspace.models)
