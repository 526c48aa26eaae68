"""Solvers read numbers alike in every locale of the process."""

from __future__ import annotations

import subprocess
import sys

import pytest
from solvers import ALL

CHILD = """
import locale, sys
locale.setlocale(locale.LC_ALL, sys.argv[2])
import gpusched_dsl as gs
model = gs.loads('''model Packing {
  set I = 1..5; var x[I] integer >= 0 <= 3; maximize z: sum[i in I] (i + 0.5) * x[i];
  constraint c: sum[i in I] (2 * i + 1.5) * x[i] <= 17.5; constraint d: x[1] + x[3] <= 2; }''')
print(model.solve(backend=sys.argv[1]).objective, locale.setlocale(locale.LC_NUMERIC))
"""


@pytest.mark.parametrize("solver", ALL)
def test_after_a_program_set_the_locale_of_a_container(solver: str) -> None:
    """`locale.getlocale` calls "C.UTF-8" "en_US.UTF-8", which is unknown here, and PySCIPOpt sets it after reading."""
    command = [sys.executable, "-c", CHILD, solver, "C.UTF-8"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    if "unsupported locale setting" in found.stderr and "setlocale(locale.LC_ALL" in found.stderr:
        pytest.skip("the machine has no locale C.UTF-8")
    expected = "8.0 C.UTF-8\n"
    assert (found.stdout, found.stderr[-500:]) == (expected, "")
