"""The package of the extension for VS Code is made from files of the repository, without a network."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import pytest

import gpusched_dsl

FOLDER = Path(__file__).resolve().parents[1] / "editors" / "vscode"
SPACE = "{http://schemas.microsoft.com/developer/vsx-schema/2011}"
STUB = """
const Module = require("node:module"), load = Module._load;
const asked = new Set();
const anything = new Proxy(function () {}, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => "" : name === "prototype" ? {} : anything),
  apply: () => anything, construct: () => ({}),
});
Module._load = (name, ...rest) => (asked.add(name), name === "vscode" ? anything : load(name, ...rest));
const extension = require(process.argv[1]);
console.log(JSON.stringify([Object.keys(extension).sort(), [...asked].filter((n) => !Module.isBuiltin(n))]));
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, made by a Python without any package of others, of a copy without those of npm."""
    folder = tmp_path_factory.mktemp("editor")
    shutil.copytree(FOLDER, folder / "vscode", ignore=shutil.ignore_patterns("node_modules", "*.vsix"))
    out = folder / "gsdsl.vsix"
    subprocess.run([sys.executable, "-I", "-S", folder / "vscode" / "package.py", out], check=True, timeout=60)
    shutil.unpack_archive(out, folder / "unpacked", "zip")
    return folder / "unpacked"


def test_all_that_the_manifests_name_is_inside(package: Path) -> None:
    extension = package / "extension"
    stated = json.loads((extension / "package.json").read_text(encoding="utf-8"))
    contributed = stated["contributes"]
    named = [
        stated["main"],
        *(each["configuration"] for each in contributed["languages"]),
        *(each["path"] for each in contributed["grammars"]),
    ]
    assert len(named) == 3
    assert [file for file in named if not (extension / file).is_file()] == []
    root = ElementTree.parse(package / "extension.vsixmanifest").getroot()
    identity = root.find(f"{SPACE}Metadata/{SPACE}Identity")
    assert identity is not None
    assert (identity.get("Id"), identity.get("Publisher"), identity.get("Version")) == (
        stated["name"], stated["publisher"], gpusched_dsl.__version__)  # fmt: skip
    assets = [asset.get("Path", "") for asset in root.iter(f"{SPACE}Asset")]
    assert len(assets) == 3
    assert [path for path in assets if not (package / path).is_file()] == []
    types = (package / "[Content_Types].xml").read_text(encoding="utf-8")
    suffixes = {path.suffix for path in package.rglob("*") if path.is_file() and path.name != "[Content_Types].xml"}
    assert suffixes == set(re.findall(r'Extension="([^"]+)"', types))


def test_equal_files_give_equal_bytes(package: Path, tmp_path: Path) -> None:
    packages = [tmp_path / "one.vsix", tmp_path / "two.vsix"]
    for out in packages:
        subprocess.run([sys.executable, FOLDER / "package.py", out], check=True, timeout=60)
    one, two = (out.read_bytes() for out in packages)
    assert one == two
    assert zipfile.ZipFile(packages[0]).testzip() is None


def test_the_script_is_built_from_this_source() -> None:
    """After a change of the source or of a dependency, `npm run build` must be run and its result committed."""
    built = (FOLDER / "dist" / "extension.js").read_text(encoding="utf-8")
    source = hashlib.sha256((FOLDER / "src" / "extension.js").read_bytes()).hexdigest()
    assert built.endswith(f"// built from src/extension.js, sha256 {source}\n")
    packages = json.loads((FOLDER / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    locked = {f"{key.rpartition('node_modules/')[2]} {each['version']}" for key, each in packages.items() if key}
    notice = (FOLDER / "dist" / "NOTICE.txt").read_text(encoding="utf-8")
    inside = {part.partition(" (")[0] for part in notice.split("\n----\n\n")}
    assert any(name.startswith("vscode-languageclient ") for name in inside)
    assert inside <= locked


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_script_needs_only_the_editor(package: Path) -> None:
    script = package / "extension" / "dist" / "extension.js"
    done = subprocess.run(["node", "-e", STUB, script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert json.loads(done.stdout) == [["activate", "deactivate"], [str(script), "vscode"]]
