"""Build what the playground needs: `python docs/site/make_playground.py [FOLDER]`, by default `build/playground`.

The packages of npm are installed beside the folder. The front end of gsdsl and Lark are copied as they are, with a
replacement for msgspec, which is compiled.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import lark

import gpusched_dsl
from gpusched_dsl.cli import main as gsdsl
from gpusched_dsl.language.data_folders import data_folder
from gpusched_dsl.language.highlighting.words import word_classes

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OWN = HERE / "playground"
SCRIPTS = ("playground.js", "playground.css", "front_end.js", "solver.js")
# From the packages of npm, with their licences.
VENDORED = {
    "pyodide": ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"),
    "highs": ("build/highs.mjs", "build/highs.wasm"),
    "temml": ("dist/temml.mjs",),
}
# The parts of gsdsl that need no data and no solver; models are importable as `gsdsl:...`.
PARTS = ("options/**/*.py", "language/**/*.py", "reporting/mathematics/*.py")
DATA = {"grammar": "*", "models": "**/*.gsm"}
MODULES = ("__init__.py", "version.py")


def page_block(page: str, before: str) -> str:
    """The first model of a page after some words."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.search(r"```gsm\n(.*?)```", text[text.index(before) :], re.DOTALL)
    assert found is not None
    return found[1]


def examples() -> list[dict[str, str]]:
    """The examples with their compiled problems; the last two have errors, or a policy, and nothing to solve."""
    first = page_block("README.md", "## An example")
    policy = 'import "gsdsl:capacity_planning/model.gsm";\n\n' + page_block("README.md", "## Policies")
    hours = page_block("docs/tutorial.md", "`training.gsm`:")
    renting = page_block("docs/coming_from.md", "`renting.gsm`:")
    return [
        {"title": "Jobs on nodes", "text": first, "lp": problem(first)},
        {"title": "Hours with prices", "text": hours, "lp": problem(hours)},
        {"title": "Nodes for rent", "text": renting, "lp": problem(renting)},
        {"title": "A policy", "text": policy, "lp": ""},
        {"title": "A wrong subscript", "text": first.replace("price[n] * work", "price[j] * work"), "lp": ""},
    ]


def problem(text: str) -> str:
    """The LP file of a model with one scenario."""
    with tempfile.TemporaryDirectory() as folder:
        model, target = Path(folder) / "model.gsm", Path(folder) / "model.lp"
        model.write_text(text, encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()):
            assert gsdsl(["export", str(model), "--to", "lp", "--out", str(target)]) == 0
        return target.read_text(encoding="utf-8")


def front_end() -> Iterator[tuple[str, Path]]:
    """The files of the front end by their path in the archive."""
    package = Path(gpusched_dsl.__file__).parent
    for pattern in (*PARTS, *MODULES):
        for file in sorted(package.glob(pattern)):
            if file.is_file() and "__pycache__" not in file.parts:
                yield f"gpusched_dsl/{file.relative_to(package).as_posix()}", file
    for name, pattern in DATA.items():
        for file in sorted(data_folder(name).glob(pattern)):
            if file.is_file():
                yield f"gpusched_dsl/{name}/{file.relative_to(data_folder(name)).as_posix()}", file
    own = Path(lark.__file__).parent
    for file in sorted(own.rglob("*")):
        if file.suffix in (".py", ".lark"):
            yield f"lark/{file.relative_to(own).as_posix()}", file
    yield "examine.py", OWN / "examine.py"
    yield "msgspec.py", OWN / "msgspec.py"


def build(target: Path) -> None:
    """Build the folder anew."""
    packages = target.parent / f"{target.name}-npm"
    packages.mkdir(parents=True, exist_ok=True)
    shutil.copy2(OWN / "package.json", packages)
    npm = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"]
    subprocess.run(npm, cwd=packages, check=True)
    shutil.rmtree(target, ignore_errors=True)
    for name, files in VENDORED.items():
        (target / name).mkdir(parents=True)
        source = packages / "node_modules" / name
        for file in (*files, *(path.name for path in source.glob("LICENSE*"))):
            shutil.copy2(source / file, target / name)
    for script in SCRIPTS:
        shutil.copy2(OWN / script, target)
    with zipfile.ZipFile(target / "front_end.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in front_end():
            archive.write(file, name)
    classes = word_classes()
    names = (*classes.blocks, *classes.declarations, *classes.control, *classes.reserved, *classes.operators)
    words = dict.fromkeys((*names, *classes.aggregates, *classes.starting), "keyword")
    (target / "words.json").write_text(json.dumps(words), encoding="utf-8")
    (target / "examples.json").write_text(json.dumps(examples()), encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "playground").resolve())
