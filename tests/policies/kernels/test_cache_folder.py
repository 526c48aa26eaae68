"""Machine code of earlier versions is never taken: its folder depends on each file with functions that are compiled."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpusched_dsl.policies.kernels import machine_code

ROOT = Path(__file__).parents[3]
CALLED = re.compile(r"^@compiled_(?:in_place|inline)$", re.MULTILINE)  # by functions of other files, too


def test_the_folder_depends_on_all_files_with_functions_that_others_call(monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[Path] = set()
    real = Path.read_bytes

    def recording(path: Path) -> bytes:
        read.add(path.resolve())
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", recording)
    machine_code.cache_folder.__wrapped__()
    files = [path for folder in ("gpusched_dsl", "backends") for path in (ROOT / folder).rglob("*.py")]
    compiled = {path.resolve() for path in files if CALLED.search(path.read_text(encoding="utf-8"))}
    assert len(compiled) > 10
    assert {ROOT / "backends/search/kernels" / name for name in ("jumps.py", "annealing.py")} <= compiled
    assert compiled <= read
