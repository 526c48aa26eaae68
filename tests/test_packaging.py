"""The wheel contains every package and puts only `gpusched_dsl` on the path."""

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import gpusched_dsl
from gpusched_dsl.backends.registry import BUILT_IN
from gpusched_dsl.language.distributions import SPELLINGS

ROOT = Path(__file__).resolve().parent.parent
PLACES = {
    "gpusched_dsl": "gpusched_dsl",
    "backends": "gpusched_dsl.backends",
    "docs": "gpusched_dsl.docs",
    "grammar": "gpusched_dsl.grammar",
    "models": "gpusched_dsl.models",
}


def settings() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def packages_on_disk() -> set[str]:
    found = set()
    for folder, package in PLACES.items():
        for init in (ROOT / folder).glob("**/__init__.py"):
            parts = init.parent.relative_to(ROOT / folder).parts
            if folder != "gpusched_dsl" or parts[:1] not in {("backends",), ("grammar",), ("models",)}:
                found.add(".".join((package, *parts)))
    return found


def test_every_package_is_listed() -> None:
    assert packages_on_disk() == set(settings()["tool"]["setuptools"]["packages"])


def test_every_folder_with_python_files_is_a_package() -> None:
    for folder in PLACES:
        for file in (ROOT / folder).glob("**/*.py"):
            if folder == "models" and "data" in file.relative_to(ROOT / folder).parts:
                continue  # a script that makes the data beside it: run from a checkout, not shipped
            if folder == "docs" and file.relative_to(ROOT / folder).parts[0] in ("images", "site"):
                continue  # scripts that make images and the site: run from a checkout, not shipped
            assert (file.parent / "__init__.py").is_file(), f"{file.parent} has no __init__.py"


def test_every_file_of_models_and_grammar_is_package_data() -> None:
    patterns = settings()["tool"]["setuptools"]["package-data"]
    for folder in ("grammar", "models"):
        shipped = {file for pattern in patterns[PLACES[folder]] for file in (ROOT / folder).glob(pattern)}
        for file in (ROOT / folder).rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts and file.name != "__init__.py":
                assert file in shipped, f"{file} would be missing from the wheel"


def test_no_global_names(tmp_path: Path) -> None:
    code = "from importlib.util import find_spec as f; print([m for m in ('backends', 'grammar', 'models') if f(m)])"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_backends_refuses_to_be_a_top_level_package() -> None:
    code = "import sys; sys.path.insert(0, '.'); import backends"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "gpusched_dsl.backends" in done.stderr


def test_version_is_stated_once() -> None:
    assert "version" not in settings()["project"]
    assert metadata.version("gpusched-dsl") == gpusched_dsl.__version__


@pytest.mark.parametrize("name", ["package.json", "package-lock.json"])
def test_the_extension_of_the_editor_has_the_version_of_the_package(name: str) -> None:
    stated = json.loads((ROOT / "editors" / "vscode" / name).read_text(encoding="utf-8"))
    versions = [stated["version"], *(each["version"] for key, each in stated.get("packages", {}).items() if not key)]
    assert set(versions) == {gpusched_dsl.__version__}


def test_what_is_found_by_name_is_in_files_that_exist() -> None:
    for target in (*BUILT_IN.values(), *(one.made_by for one in SPELLINGS.values())):
        module, _, attribute = target.partition(":")
        if module.startswith("gpusched_dsl.backends"):
            module = module.removeprefix("gpusched_dsl.")
        file = ROOT / (module.replace(".", "/") + ".py")
        assert file.is_file(), f"{target}: {file} is missing"
        assert re.search(rf"^(class {attribute}\b|{attribute} = )", file.read_text(encoding="utf-8"), re.MULTILINE)
