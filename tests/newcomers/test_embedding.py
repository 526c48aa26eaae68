"""Path (c): an engineer embeds gsdsl with extensions of another package; all of it type checks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).with_name("embedding")
ROOT = Path(__file__).resolve().parents[2]
ENTRY_POINTS = """
[gpusched_dsl.backends]
enumeration = shop:Enumeration
[gpusched_dsl.rules]
last_used = shop:last_used
[gpusched_dsl.formats]
orders = shop:orders
[gpusched_dsl.tightenings]
round_bounds = shop:RoundBounds
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as it is installed."""
    folder = tmp_path_factory.mktemp("installed")
    metadata = folder / "shop-1.0.dist-info"
    metadata.mkdir()
    (folder / "shop.py").write_bytes((HERE / "shop.py").read_bytes())
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


@pytest.mark.slow
def test_a_service(installed: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed), "GSDSL_PYTHON_KERNELS": "1"}
    done = subprocess.run(
        [sys.executable, str(HERE / "service.py")], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout.split()[-1] == "fine"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_service_type_checks_where_gsdsl_is_installed_for_editing(tmp_path: Path) -> None:
    """An editable install leaves a path that type checkers read; here in a folder of installed packages of its own."""
    pytest.importorskip("mypy")
    built = subprocess.run(
        [sys.executable, "-c", f"import reproducible as b; print(b.build_editable({str(tmp_path)!r}))"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "build_backend")},
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if built.returncode:
        pytest.skip("setuptools is not here")
    unpacked = tmp_path / "unpacked"
    wheel = tmp_path / built.stdout.split()[-1]
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), str(unpacked)], check=True)
    [path] = unpacked.glob("*.pth")
    folders = path.read_text().splitlines()
    for file in (HERE / "shop.py", HERE / "service.py", ROOT / "tests/extensions_package/extras.py"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "kinds.py").write_text(
        "import gpusched_dsl as gs\n"
        'model = gs.loads("")\n'
        "reveal_type(model.run())\n"
        'reveal_type(model.run("S", "O", ["a", "b"]))\n'
        'reveal_type(model.solve("S").objective)\n'
    )
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(folders)}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache"),
         "shop.py", "service.py", "extras.py", "kinds.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    told = [line.split('"')[1].rsplit(".", 1)[-1] for line in done.stdout.splitlines() if "Revealed" in line]
    assert told == ["RunResult", "RunComparison", "float | None"]
