"""A page for each file of the families that declares models, and one that lists them."""

from __future__ import annotations

from pathlib import Path

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.reporting.mathematics.formulation import formulation
from gpusched_dsl.reporting.mathematics.rendering import to_markdown

INDEX = "README.md"


def pages(folder: Path) -> dict[str, str]:
    """Markdown by path for the `.gsm` files of a folder of families, `model.gsm` first; raises DiagnosticError.

    The files of the folders within a family are left out: scenarios and tests.
    """
    result: dict[str, str] = {}
    listed: list[str] = []
    for path in sorted(folder.glob("*/*.gsm"), key=lambda p: (p.parent.name, p.name != "model.gsm", p.name)):
        found = Diagnostics()
        workspace = load_workspace(path, found)
        found.raise_if_errors()
        assert workspace.main is not None
        own = [n for n, m in workspace.models.items() if m.span.source is workspace.main.source]
        if not own:
            continue
        models = [formulation(workspace, name) for name in own]
        file = path.relative_to(folder)
        name = file.with_suffix(".md").as_posix()
        result[name] = to_markdown(models, f"`{file.as_posix()}`")
        for model in models:
            anchor = model.name.lower()
            listed.append(f"| [{model.name}]({name}#{anchor}) | `{file.as_posix()}` | {model.meaning} |")
    head = "# The models as mathematics\n\nMade from the files of `models/` by `make docs`.\n\n"
    table = "| model | file | what it decides |\n| --- | --- | --- |\n"
    result[INDEX] = head + table + "\n".join(listed) + "\n"
    return result


def write_pages(folder: Path, target: Path) -> None:
    """Write the pages of a folder; pages of files that are gone are removed."""
    made = pages(folder)
    for old in target.rglob("*.md"):
        if old.relative_to(target).as_posix() not in made:
            old.unlink()
    for name, text in made.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text, encoding="utf-8")
