"""Whoever follows one value from its cell to the schedule has few functions to read."""

import pytest

from benchmarks.calls_followed import follow

BEFORE = 91, 64  # functions, and how often one handles the value, before the stages were simplified


def test_a_value_passes_through_a_third_fewer_functions() -> None:
    found = follow()
    for now, before in zip((len(found.functions), found.handling.total()), BEFORE, strict=True):
        assert now <= before * 2 / 3


@pytest.mark.slow
def test_the_whole_way_is_followed() -> None:
    found = follow()
    files = {file for file, _ in found.handling}
    for folder in ("data/sources", "compiling/evaluation", "compiling/lowering", "reporting"):
        assert any(file.startswith(f"gpusched_dsl/{folder}/") for file in files), folder
    assert found.handling.keys() < follow(objects=True).handling.keys()
