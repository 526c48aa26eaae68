"""Common properties of all generators: declared columns, equal tables for equal seeds, others for other seeds."""

from __future__ import annotations

import pytest
from drawing import draw
from polars.testing import assert_frame_equal

from gpusched_dsl.data.formats.registry import generator, shipped

FIXED = {
    "allocation_gpus",
    "capacity_types",
    "capacity_nodes",
    "sharing_gpus",
    "sharing_rates",
    "sharing_law",
    "price_aware_types",
}
FIXED |= {"price_aware_nodes", "price_aware_services", "price_aware_serving"}
# Columns of numbers in these are drawn only with other options.
FIXED |= {"price_aware_training", "price_aware_load", "sharing_nodes"}


@pytest.mark.parametrize("name", shipped(True))
def test_columns_and_seeds(name: str) -> None:
    described = generator(name)
    first = draw(name)
    assert first.columns == [column.name for column in described.columns]
    assert first.null_count().sum_horizontal()[0] == 0
    assert_frame_equal(first, draw(name))
    if name not in FIXED:
        assert not first.equals(draw(name, seed=2))


@pytest.mark.parametrize(("name", "options"), [
    ("sharing_nodes", {"mix": "random", "nodes": 30}),
    ("sharing_nodes", {"gpus": 0, "nodes": 30}),
    ("price_aware_load", {"load_noise": 0.1}),
])  # fmt: skip
def test_what_options_make_random(name: str, options: dict[str, int | str | float]) -> None:
    assert not draw(name, **options).equals(draw(name, seed=2, **options))


@pytest.mark.parametrize("name", ["sharing_jobs", "sharing_times", "price_aware_training"])
def test_the_first_jobs_do_not_depend_on_how_many_there_are(name: str) -> None:
    few, many = draw(name, jobs=10), draw(name, jobs=50)
    assert_frame_equal(few, many.head(few.height))


@pytest.mark.parametrize(("name", "changed", "columns"), [
    ("price_aware_jobs", {"slack": 2.0}, ["network", "epochs"]),
    ("price_aware_jobs", {"median_epochs": 20.0}, ["network"]),
    ("price_aware_prices", {"jobs": 3, "rate": 1.0}, ["price"]),
    ("sharing_jobs", {"arrivals": "high"}, ["network", "deadline", "weight", "epochs"]),
    ("sharing_jobs", {"due_extra": 0.2}, ["network", "submitted", "weight", "epochs"]),
    ("sharing_jobs", {"outcomes": 3, "gpus": 0}, ["network", "weight", "epochs"]),
])  # fmt: skip
def test_streams_are_separate(name: str, changed: dict[str, float | str], columns: list[str]) -> None:
    before, after = draw(name), draw(name, **changed)
    assert_frame_equal(before.select(columns), after.select(columns))
    assert changed.keys() & {"jobs", "outcomes"} or not before.equals(after)
