"""A page for each file of the families that declares models, and one that lists them."""

from __future__ import annotations

from pathlib import Path

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.reporting.mathematics.formulation import Formulation, formulation
from gpusched_dsl.reporting.mathematics.rendering import to_markdown
from gpusched_dsl.reporting.mathematics.symbol_tables import with_symbols

INDEX = "README.md"


def pages(folder: Path) -> dict[str, str]:
    """Markdown by path for the `.gsm` files of a folder of families, `model.gsm` first; raises DiagnosticError.

    The files of the folders within a family are left out: scenarios and tests.
    """
    result: dict[str, str] = {}
    listed: list[str] = []
    for file, models in _models(folder).items():
        name = file.with_suffix(".md").as_posix()
        result[name] = to_markdown(models, f"`{file.as_posix()}`")
        for model in models:
            anchor = model.name.lower()
            listed.append(f"| [{model.name}]({name}#{anchor}) | `{file.as_posix()}` | {model.meaning} |")
    head = "# The models as mathematics\n\nMade from the files of `models/` by `make docs`.\n\n"
    table = "| model | file | what it decides |\n| --- | --- | --- |\n"
    result[INDEX] = head + table + "\n".join(listed) + "\n"
    return result


def family_pages(folder: Path) -> dict[Path, str]:
    """Return the pages of the families, with their tables of a paper's symbols; raises DiagnosticError."""
    models = _models(folder)
    result: dict[Path, str] = {}
    for page in sorted(folder.glob(f"*/{INDEX}")):
        own = [m for file, of in models.items() if file.parent.name == page.parent.name for m in of]
        result[page] = with_symbols(page.read_text(encoding="utf-8"), own)
    return result


def _models(folder: Path) -> dict[Path, list[Formulation]]:
    """Return the models that each file of the families declares, by its path in the folder."""
    result: dict[Path, list[Formulation]] = {}
    for path in sorted(folder.glob("*/*.gsm"), key=lambda p: (p.parent.name, p.name != "model.gsm", p.name)):
        found = Diagnostics()
        workspace = load_workspace(path, found)
        found.raise_if_errors()
        assert workspace.main is not None
        own = [n for n, m in workspace.models.items() if m.span.source is workspace.main.source]
        if own:
            result[path.relative_to(folder)] = [formulation(workspace, name) for name in own]
    return result


def write_pages(folder: Path, target: Path) -> None:
    """Write the pages of a folder and the tables of its families; pages of files that are gone are removed."""
    made = pages(folder)
    for old in target.rglob("*.md"):
        if old.relative_to(target).as_posix() not in made:
            old.unlink()
    for name, text in made.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text, encoding="utf-8")
    for path, text in family_pages(folder).items():
        path.write_text(text, encoding="utf-8")
