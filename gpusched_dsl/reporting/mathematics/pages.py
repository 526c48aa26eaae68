"""A page for each file of a folder that declares models, and one that lists them."""

from __future__ import annotations

from pathlib import Path

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.reporting.mathematics.formulation import formulation
from gpusched_dsl.reporting.mathematics.rendering import to_markdown

INDEX = "README.md"


def pages(folder: Path) -> dict[str, str]:
    """Markdown by file name for the `.gsm` files of a folder but its oracles; raises DiagnosticError."""
    result: dict[str, str] = {}
    listed: list[str] = []
    for path in sorted(p for p in folder.glob("*.gsm") if not p.name.startswith("oracles_")):
        found = Diagnostics()
        workspace = load_workspace(path, found)
        found.raise_if_errors()
        assert workspace.main is not None
        own = [n for n, m in workspace.models.items() if m.span.source is workspace.main.source]
        if not own:
            continue
        models = [formulation(workspace, name) for name in own]
        name = f"{path.stem}.md"
        result[name] = to_markdown(models, f"`{path.name}`")
        for model in models:
            anchor = model.name.lower()
            listed.append(f"| [{model.name}]({name}#{anchor}) | `{path.name}` | {model.meaning} |")
    head = "# The models as mathematics\n\nMade from the files of `models/` by `make docs`.\n\n"
    table = "| model | file | what it decides |\n| --- | --- | --- |\n"
    result[INDEX] = head + table + "\n".join(listed) + "\n"
    return result


def write_pages(folder: Path, target: Path) -> None:
    """Write the pages of a folder; pages of files that are gone are removed."""
    target.mkdir(parents=True, exist_ok=True)
    made = pages(folder)
    for old in target.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (target / name).write_text(text, encoding="utf-8")
