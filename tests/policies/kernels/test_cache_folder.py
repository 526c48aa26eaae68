"""Machine code of earlier versions is never taken: its folder depends on each file that others take kernels from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.packages import sources
from gpusched_dsl.policies.kernels import machine_code

ROOT = Path(__file__).parents[3]
CALLED = re.compile(r"^@compiled_(?:in_place|inline)$", re.MULTILINE)  # by functions of other files, too


def test_the_folder_depends_on_all_files_that_others_take_kernels_from(monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[Path] = set()
    real = Path.read_bytes

    def recording(path: Path) -> bytes:
        read.add(path.resolve())
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", recording)
    machine_code.cache_folder.__wrapped__()
    texts = {path: path.read_text(encoding="utf-8") for path in sources()}
    texts = {path: text for path, text in texts.items() if "\n@compiled" in text}
    shared = {
        path for path, text in texts.items()
        if CALLED.search(text) and any(
            re.search(rf"^from (?:gpusched_dsl|gsdsl_backends)[\w.]*\.{path.stem} import", other, re.MULTILINE)
            for at, other in texts.items() if at != path
        )
    }  # fmt: skip
    assert len(shared) > 10
    assert ROOT / "backends/gsdsl_backends/search/kernels/jumps.py" in shared
    assert shared <= read
