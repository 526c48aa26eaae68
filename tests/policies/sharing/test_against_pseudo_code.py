"""Complete plans of the stochastic scheduler against the pseudo-code in plain Python, on clusters with shared GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest
from deciding_help import case_of

from benchmarks.sharing.data import write
from benchmarks.sts.by_python import read, step

# Nodes that are there cannot become smaller: this keeps parts as they were placed.
PLACED = 'import "gsdsl:gpu_sharing/policies.gsm"; policy Placed for GpuSharing extends STS { finish smaller_type; }'
CASES = [(10, 20, 1), (10, 60, 2), *(pytest.param(20, 140, s, marks=pytest.mark.slow) for s in range(3, 8))]


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "jobs", "seed"), CASES)
def test_same_plan(nodes: int, jobs: int, seed: int, tmp_path: Path) -> None:
    path = write(tmp_path, nodes, jobs, seed)
    path.write_text(path.read_text(encoding="utf-8") + PLACED, encoding="utf-8")
    found = case_of("Placed", "Sharing", path).plan()
    expected, _ = step(read(tmp_path))
    assert found == {job: (f"n{at + 1}", gpus, part) for job, (at, gpus, part) in expected.items()}
    assert {part for _, _, part in found.values()} > {20}
    assert (len(found) == jobs) == (jobs == 20)  # the larger ones are more than the nodes hold
