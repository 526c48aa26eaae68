"""Dependencies point one way: a layer imports only itself and what stands below it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# From the bottom up, as docs/design.md lists them from the top down.
LAYERS = [
    "gpusched_dsl.version",
    "gpusched_dsl.language",
    "gpusched_dsl.ir",
    "gpusched_dsl.data",
    "gpusched_dsl.profiles",
    "gpusched_dsl.compiling",
    "gpusched_dsl.policies",
    "gpusched_dsl.backends",
    "gpusched_dsl.solving",
    "gpusched_dsl.online",
    "gpusched_dsl.reporting",
    "gpusched_dsl.explaining",
    "gpusched_dsl.workflows",
    "gpusched_dsl",
    "gpusched_dsl.cli",
]
FOLDERS = {"gpusched_dsl.backends": ROOT / "backends", "gpusched_dsl.grammar": ROOT / "grammar"}


def layer_of(module: str) -> int:
    named = [at for at, layer in enumerate(LAYERS) if module == layer or module.startswith(layer + ".")]
    return max(named, key=lambda at: len(LAYERS[at]))


def modules() -> list[tuple[str, Path]]:
    found = []
    for layer in LAYERS:
        folder = FOLDERS.get(layer, ROOT / layer.replace(".", "/"))
        if not folder.is_dir():
            found.append((layer, folder.with_suffix(".py")))
            continue
        paths = folder.glob("*.py") if layer == "gpusched_dsl" else folder.rglob("*.py")
        for path in paths:
            parts = path.relative_to(folder).with_suffix("").parts
            found.append((".".join((layer, *(p for p in parts if p != "__init__"))), path))
    return list(dict.fromkeys(found))


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            if node.module == "gpusched_dsl":  # `__version__` is no module
                names.update(f"{node.module}.{a.name}" for a in node.names if not a.name.startswith("__"))
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {
        n
        for n in names
        if n.startswith("gpusched_dsl.") and not n.startswith(("gpusched_dsl.grammar", "gpusched_dsl.models"))
    }


@pytest.mark.parametrize(("module", "path"), modules(), ids=lambda value: value if isinstance(value, str) else "")
def test_imports_point_down(module: str, path: Path) -> None:
    above = {name for name in imported(path) if layer_of(name) > layer_of(module)}
    assert not above, f"{module} imports {sorted(above)}, which stand above it"


def test_every_layer_is_looked_at() -> None:
    found = {layer_of(module) for module, _ in modules()}
    assert found == set(range(len(LAYERS)))
