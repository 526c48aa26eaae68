"""The limits of data files grow with the memory limit."""

from __future__ import annotations

import pytest

from gpusched_dsl.data.sources.files import FileLimits

GIB = 1 << 30


@pytest.mark.parametrize(
    ("memory", "file", "decoded"), [(1, 1, 1), (4, 1, 2), (8, 1, 2), (16, 2, 4)], ids=lambda size: f"{size} GiB"
)
def test_more_memory_allows_larger_files(memory: int, file: int, decoded: int) -> None:
    limits = FileLimits.within(memory * GIB, allow_outside=False)
    assert (limits.file_bytes, limits.decoded_bytes, limits.memory) == (file * GIB, decoded * GIB, memory * GIB)
