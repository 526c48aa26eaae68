"""The wheel contains every package, and no links are needed to find them."""

import ast
import base64
import hashlib
import io
import json
import re
import subprocess
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import gpusched_dsl
from benchmarks.packages import ROOT, package_folders, sources
from gpusched_dsl.data.formats.registry import FORMATS_GROUP, GENERATORS_GROUP
from gpusched_dsl.language.distributions import SPELLINGS
from gsdsl_backends.registry import BUILT_IN

DATA = ("docs", "grammar", "models")  # folders of data beside the package, which a wheel has within it


def settings() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def packages_on_disk() -> set[str]:
    found = {f"gpusched_dsl.{name}" for name in DATA}
    for package, folder in package_folders().items():
        parts = {file.parent.relative_to(folder).parts for file in folder.rglob("*.py")}
        found.update(".".join((package, *each)) for each in parts)
    return found


def test_every_package_is_listed() -> None:
    assert packages_on_disk() == set(settings()["tool"]["setuptools"]["packages"])


def test_no_init_is_trivial() -> None:
    """A folder is a package without it; only the outermost need one, to come before folders of the same name."""
    inits = [file for file in sources() if file.name == "__init__.py"]
    outermost = {folder / "__init__.py" for folder in package_folders().values()}
    assert outermost < set(inits)
    for file in set(inits) - outermost:
        body = ast.parse(file.read_text(encoding="utf-8")).body
        docstring = ast.get_docstring(ast.Module(body, [])) or ""
        assert len(body) > 1 or "\n" in docstring, f"{file} has neither code nor a reason"


def test_every_package_is_typed() -> None:
    """Type checkers of users follow only packages with this file."""
    assert settings()["tool"]["setuptools"]["package-data"]["*"] == ["py.typed"]
    assert [name for name, folder in package_folders().items() if not (folder / "py.typed").is_file()] == []


def test_no_link_is_under_version_control() -> None:
    listed = subprocess.run(["git", "ls-files", "--stage"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert len(listed.splitlines()) > 1000
    assert [line for line in listed.splitlines() if line.startswith("120000")] == []


def test_every_file_of_models_and_grammar_is_package_data() -> None:
    patterns = settings()["tool"]["setuptools"]["package-data"]
    for folder in ("grammar", "models"):
        shipped = {file for pattern in patterns[f"gpusched_dsl.{folder}"] for file in (ROOT / folder).glob(pattern)}
        for file in (ROOT / folder).rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                assert file in shipped, f"{file} would be missing from the wheel"


def test_an_editable_install_hides_no_package_of_others() -> None:
    """Its folders are on the path: what has an `__init__.py` there would be found in place of a namespace package."""
    folders = {ROOT, *(folder.parent for folder in package_folders().values())}
    found = {init.parent for folder in folders for init in folder.glob("*/__init__.py")}
    assert found == set(package_folders().values())
    assert {path.name for folder in folders for path in folder.glob("*.py")} == {"conftest.py"}


def test_an_editable_install_has_all_packages_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One path file that lists their folders, which type checkers read; without code, and with a fitting record."""
    pytest.importorskip("setuptools")
    monkeypatch.syspath_prepend(str(ROOT / "build_backend"))
    from reproducible import package_parents, with_folders

    before = tmp_path / "before.whl"
    with zipfile.ZipFile(before, "w") as wheel:
        wheel.writestr("__editable__.p-1.pth", "/elsewhere\n")
        wheel.writestr("p-1.dist-info/RECORD", "__editable__.p-1.pth,sha256=x,11\np-1.dist-info/RECORD,,\n")
    folders = package_parents(ROOT)
    assert folders == list(dict.fromkeys(folder.parent for folder in package_folders().values()))
    with zipfile.ZipFile(io.BytesIO(with_folders(before.read_bytes(), folders))) as wheel:
        paths = wheel.read("__editable__.p-1.pth")
        record = wheel.read("p-1.dist-info/RECORD").decode().splitlines()
    assert paths.decode().splitlines() == [str(folder) for folder in folders]
    digest = base64.urlsafe_b64encode(hashlib.sha256(paths).digest()).decode().rstrip("=")
    assert record == ["p-1.dist-info/RECORD,,", f"__editable__.p-1.pth,sha256={digest},{len(paths)}"]


def test_every_entry_point_can_be_loaded() -> None:
    groups = settings()["project"]["entry-points"]
    assert len(groups["gpusched_dsl.commands"]) > 2
    for group, points in groups.items():
        for name, target in points.items():
            found = metadata.EntryPoint(name, target, group).load()
            if group in (FORMATS_GROUP, GENERATORS_GROUP):
                assert found[name].name == name
            else:
                assert callable(found) or name == "protocol"


def test_the_installed_entry_points_are_those_of_the_project() -> None:
    """`make` installs again after a change of pyproject.toml; else `pip install -e .`."""
    points = settings()["project"]["entry-points"].items()
    stated = {(group, name, target) for group, names in points for name, target in names.items()}
    installed = {(p.group, p.name, p.value) for p in metadata.distribution("gpusched-dsl").entry_points}
    assert stated <= installed


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
        package, *rest = module.split(".")
        file = package_folders()[package].joinpath(*rest).with_suffix(".py")
        assert file.is_file(), f"{target}: {file} is missing"
        assert re.search(rf"^(class {attribute}\b|{attribute} = )", file.read_text(encoding="utf-8"), re.MULTILINE)
