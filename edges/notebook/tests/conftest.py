"""A shell with our magics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from notebook_shell import opened_shell


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A new shell after `%load_ext gpusched_dsl`; the current folder is empty."""
    monkeypatch.chdir(tmp_path)
    with opened_shell(tmp_path) as found:
        found.run_cell("%load_ext gpusched_dsl").raise_error()
        yield found
