"""Dependencies have one direction: a layer imports only itself and lower layers, without import cycles."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from benchmarks.calls_followed import follow
from benchmarks.packages import ROOT, package_folders, sources

# In the order of docs/design.md: a layer may import those before it.
LAYERS = [
    "gpusched_dsl.version",
    "gpusched_dsl.options",
    "gpusched_dsl.language",
    "gpusched_dsl.engines",
    "gpusched_dsl.ir",
    "gpusched_dsl.data",
    "gpusched_dsl.profiles",
    "gpusched_dsl.compiling",
    "gpusched_dsl.policies",
    "gsdsl_backends",
    "gpusched_dsl.solving",
    "gpusched_dsl.online",
    "gpusched_dsl.reporting",
    "gpusched_dsl.explaining",
    "gpusched_dsl.workflows",
    "gpusched_dsl.campaigns",
    "gpusched_dsl.drivers",
    "gpusched_dsl.interface",
    "gpusched_dsl",
    "gpusched_dsl.cli",
    "gpusched_dsl.__main__",
    "gsdsl_formats",
    "gsdsl_clusters",
    "gsdsl_service",
    "gsdsl_editor",
    "gsdsl_assistants",
    "gsdsl_notebook",
]
PACKAGES = package_folders()
EDGES = {name for name, folder in PACKAGES.items() if folder.is_relative_to(ROOT / "edges")}
# Files of the core with the name of an edge: in the words of a warning, and for type checkers in the public face.
NAME_EDGES = {
    "gpusched_dsl/notebook.py",
    "gpusched_dsl/drivers/protocol.py",
    "gpusched_dsl/__init__.py",
}
IMPORT = re.compile(
    r"^ *(?:from (?P<module>[\w.]+) import (?P<names>\([^)]*\)|.*)|import (?P<others>\w.*))$", re.MULTILINE
)
COMMENT = re.compile("#.*")
PUBLIC_CLASS = re.compile(r"^class ([^\W_]\w*)", re.MULTILINE)


def layer_of(module: str) -> int:
    named = [at for at, layer in enumerate(LAYERS) if module == layer or module.startswith(layer + ".")]
    return max(named, key=lambda at: len(LAYERS[at]))


def modules() -> list[tuple[str, Path]]:
    found = []
    for layer in LAYERS:
        package, _, rest = layer.partition(".")
        folder = PACKAGES[package].joinpath(*rest.split("."))
        if not folder.is_dir():
            found.append((layer, folder.with_suffix(".py")))
            continue
        paths = folder.glob("*.py") if layer == "gpusched_dsl" else folder.rglob("*.py")
        for path in paths:
            parts = path.relative_to(folder).with_suffix("").parts
            found.append((".".join((layer, *(p for p in parts if p != "__init__"))), path))
    return list(dict.fromkeys(found))


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def imports(path: Path) -> frozenset[tuple[str, str]]:
    """What a file imports: pairs of module and name, also for type checkers only and within functions.

    Statements are found by their first words, since to parse all files takes a hundred times as long.
    """
    found: set[tuple[str, str]] = set()
    for statement in IMPORT.finditer(text_of(path)):
        module, names, others = statement.group("module", "names", "others")
        if module:
            assert not module.startswith("."), f"{path.name}: write imports in full"
            found.update(
                (module, name.split()[0]) for name in COMMENT.sub("", names.strip("()")).split(",") if name.strip()
            )
        else:
            found.update((name.split()[0], "") for name in COMMENT.sub("", others).split(","))
    return frozenset(found)


def listed(names: str) -> list[str]:
    """The first word of each name: another that follows is `as`."""
    return [name.split()[0] for name in COMMENT.sub("", names).split(",") if name.strip()]


def parsed_imports(path: Path) -> frozenset[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for node in ast.walk(ast.parse(text_of(path))):
        if isinstance(node, ast.ImportFrom):
            assert node.module
            found.update((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update((alias.name, "") for alias in node.names)
    return frozenset(found)


def imported(path: Path) -> set[str]:
    names = {module for module, _ in imports(path)}
    # `__version__` is no module
    names |= {f"{module}.{name}" for module, name in imports(path) if module == "gpusched_dsl" and name[:2] != "__"}
    return {n for n in names if n != "gpusched_dsl" and n.partition(".")[0] in PACKAGES}


def circles(files: Mapping[str, Path]) -> list[list[str]]:
    """Groups of modules that import each other, directly or through others."""
    graph = nx.DiGraph()
    for module, path in files.items():
        for source, name in imports(path):
            target = f"{source}.{name}" if f"{source}.{name}" in files else source
            if target in files and target != module:
                graph.add_edge(module, target)
    return sorted(sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1)


def test_imports_point_down() -> None:
    found = modules()
    assert len(found) > 500
    above = {
        module: names
        for module, path in found
        if module != "gpusched_dsl"  # the public face names edges for type checkers
        and (names := sorted(name for name in imported(path) if layer_of(name) > layer_of(module)))
    }
    assert not above, "these modules import others that are above them"


def test_the_core_does_not_know_the_edges() -> None:
    """Neither by an import nor by a name in a text: it finds commands and readers of edges by entry points."""
    assert len(EDGES) > 3
    named = re.compile(rf"\b(?:{'|'.join(EDGES)})\b")
    core = [(module, path) for module, path in modules() if module.partition(".")[0] not in EDGES]
    importing = {module for module, path in core if any(name.partition(".")[0] in EDGES for name in imported(path))}
    assert importing == {"gpusched_dsl"}  # the public face, for type checkers
    public = text_of(PACKAGES["gpusched_dsl"] / "__init__.py")
    assert not named.search(re.sub(r"^if TYPE_CHECKING:\n(?: .*\n)+", "", public, flags=re.MULTILINE))
    assert {p.relative_to(ROOT).as_posix() for _, p in core if named.search(text_of(p))} == NAME_EDGES


def test_an_edge_imports_no_other_edge() -> None:
    own = {(module.partition(".")[0], path) for module, path in modules()}
    found = {(edge, name) for edge, path in own if edge in EDGES for name in imported(path)}
    assert len(found) > 50
    assert not {(edge, name) for edge, name in found if name.partition(".")[0] in EDGES - {edge}}


def test_no_stage_calls_back_up() -> None:
    """No function that a value passes through is called from a layer below its own: stages return values instead."""

    def layer(function: tuple[str, str]) -> int:
        module = function[0].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return layer_of(re.sub(r"^(backends|edges\.\w+)\.", "", module))

    calls = follow(objects=True).calls
    assert {(caller, called) for caller, called in calls if layer(called) > layer(caller)} == set()


@pytest.mark.slow
def test_no_import_and_no_class_is_overlooked() -> None:
    """What else is found is in a text, such as a program for another process."""
    for _, path in modules():
        assert imports(path) >= parsed_imports(path), path
        body = ast.parse(text_of(path)).body
        classes = [node.name for node in body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
        assert set(PUBLIC_CLASS.findall(text_of(path))) >= set(classes), path


def test_every_layer_is_looked_at() -> None:
    found = {layer_of(module) for module, _ in modules()}
    assert found == set(range(len(LAYERS)))


def test_every_module_is_looked_at() -> None:
    assert {path for _, path in modules()} == set(sources())


def test_the_top_is_the_public_face() -> None:
    assert {path.name for path in (ROOT / "gpusched_dsl").glob("*.py")} == {
        "__init__.py",
        "__main__.py",
        "api.py",
        "notebook.py",
        "version.py",
    }


def test_no_two_public_classes_have_one_name() -> None:
    found: dict[str, list[str]] = {}
    for module, path in modules():
        for name in PUBLIC_CLASS.findall(text_of(path)):
            found.setdefault(name, []).append(module)
    assert len(found) > 500
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_no_modules_import_each_other() -> None:
    assert circles(dict(modules())) == []


@pytest.mark.parametrize(
    "closing",
    [
        "from p.a import A",
        "from p import a",
        "import p.a",
        "if TYPE_CHECKING:\n    from p.a import A",
        "def f():\n    from p.a import A",
    ],
)
def test_every_kind_of_import_closes_a_circle(closing: str, tmp_path: Path) -> None:
    texts = {"p": "", "p.a": "from p.b import B", "p.b": "from p import c", "p.c": closing, "p.d": "from p import a"}
    for module, text in texts.items():
        (tmp_path / f"{module}.py").write_text(text)
    files = {module: tmp_path / f"{module}.py" for module in texts}
    assert circles(files) == [["p.a", "p.b", "p.c"]]
    (tmp_path / "open.py").write_text("from p import d")
    assert circles({**files, "p.c": tmp_path / "open.py"}) == [["p.a", "p.b", "p.c", "p.d"]]
    assert circles({**files, "p.b": tmp_path / "p.py"}) == []


def test_names_that_tests_import_are_of_one_file_each() -> None:
    """Which of two files is found depends on the order of the folders of the path, else."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    files: dict[str, list[str]] = {}
    for folder in settings["pythonpath"]:
        for path in sorted((ROOT / folder).glob("*.py")):
            files.setdefault(path.stem, []).append(str(path.relative_to(ROOT)))
    imported = {
        str(match["module"] or match["others"])
        for folder in ("tests", "edges/*/tests")
        for path in ROOT.glob(f"{folder}/**/*.py")
        for match in IMPORT.finditer(COMMENT.sub("", path.read_text(encoding="utf-8")))
    }
    assert len(imported & set(files)) > 100
    assert {name: files[name] for name in imported & set(files) if len(files[name]) > 1} == {}


DESIGN = ROOT / "docs" / "design.md"


def test_the_page_of_the_layout_has_the_layers_in_their_order() -> None:
    """Of the core, the small modules at the top left out, and each package of the edges once."""
    rows = re.findall(r"^\| (`[^|]*`) \|", DESIGN.read_text(encoding="utf-8").partition("\n## ")[0], re.MULTILINE)
    named = [name.rstrip("/") for row in rows for name in re.findall("`([^`]*)`", row)]
    core = [name for name in named if not name.startswith("edges/") and name not in ("grammar", "api.py")]
    small = {"gpusched_dsl", "gpusched_dsl.version", "gpusched_dsl.__main__", "gpusched_dsl.drivers"}  # a former place
    layers = [layer for layer in LAYERS if layer not in small and layer not in EDGES]
    assert core == ["backends" if layer == "gsdsl_backends" else layer.partition(".")[2] for layer in layers]
    edges = sorted(str(PACKAGES[name].parent.relative_to(ROOT)) for name in EDGES)
    assert sorted(name for name in named if name.startswith("edges/")) == edges


def test_paths_on_the_page_of_the_layout_exist() -> None:
    """Paths in the third column are within the folder of the row."""
    text = DESIGN.read_text(encoding="utf-8")
    missing = []
    for row in re.findall(r"^\|(.*)\|$", text, re.MULTILINE):
        cells = row.split("|")
        folders = [DESIGN.parent.parent, ROOT / "gpusched_dsl"]
        if len(cells) == 3:
            folders += [folder / name for name in re.findall("`([^`]*/)`", cells[0]) for folder in folders]
        for name in re.findall("`([^`]*)`", row):
            if ("/" in name or name.endswith(".py")) and not any((folder / name).exists() for folder in folders):
                missing.append(name)
    assert missing == []
