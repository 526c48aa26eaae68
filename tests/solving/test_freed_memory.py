"""Nothing that a solve leaves behind waits for a garbage collection: arrays are freed with the last reference."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest

import gpusched_dsl as gs

MODELS = "models/"


@pytest.fixture
def garbage() -> Iterator[list[object]]:
    """What only a garbage collection would free, from the beginning of the test until it is looked at."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def arrays_in(garbage: list[object]) -> list[str]:
    """Return the classes of objects of the package in the garbage that have arrays."""
    gc.collect()
    own = [o for o in garbage if type(o).__module__.startswith(("gpusched_dsl", "gsdsl_backends"))]
    found = {type(o).__qualname__ for o in own for part in gc.get_referents(o) if isinstance(part, np.ndarray)}
    return sorted(found)


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("file", "scenario", "method"),
    [
        ("capacity_planning/scenarios/three_jobs.gsm", "ThreeJobs", "highs"),
        ("capacity_planning/scenarios/three_jobs.gsm", "ThreeJobs", "Greedy"),
        ("price_aware/tests/policies.gsm", "Baselines", "highs"),
        ("price_aware/tests/rejecting_by_type.gsm", "CrowdByNode", "highs"),  # attempts to aggregate its nodes fail
        ("price_aware/tests/policies.gsm", "Baselines", "FIFO"),
        ("gpu_sharing/tests/model.gsm", "OneGpuForTwo", "highs"),
    ],
)
def test_solves_leave_no_arrays_to_a_garbage_collection(
    file: str, scenario: str | None, method: str, garbage: list[object]
) -> None:
    with gs.load(f"{MODELS}{file}") as model:
        result = model.solve(scenario, backend=method)
        assert result.status in ("optimal", "feasible")
    del result, model
    assert arrays_in(garbage) == []
