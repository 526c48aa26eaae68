"""The scripts of pages: their tests under Node, their order, and the charting library as it was published."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gpusched_dsl.reporting.pages import assets

FOLDER = Path(assets.__file__).parent
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_scripts_without_a_browser() -> None:
    done = subprocess.run(
        [str(NODE), "--test", str(Path(__file__).with_name("scripts.test.mjs"))],
        env={**os.environ, "GSDSL_PAGE_SCRIPTS": str(FOLDER)}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 11" in done.stdout or "pass 11" in done.stdout


def test_every_script_is_on_the_page() -> None:
    files = {file.stem for file in FOLDER.glob("*.js") if file.name != assets.LIBRARY}
    assert files == set(assets.SCRIPTS)
    assert "</script" not in assets.scripts()


def test_the_charting_library_is_the_published_one() -> None:
    content = (FOLDER / assets.LIBRARY).read_bytes()
    assert hashlib.sha256(content).hexdigest() == assets.LIBRARY_SHA256
    assert b"Apache License, Version 2.0" in content[:900]
    assert "Apache ECharts" in assets.licence()
    assert {"LICENSE", "LICENSE-d3", "LICENSE-zrender", "NOTICE"} <= {file.name for file in FOLDER.iterdir()}
