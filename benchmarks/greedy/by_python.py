"""The same functions without a compiler."""

import os

os.environ["GSDSL_PYTHON_KERNELS"] = "1"

from benchmarks.greedy.by_gsdsl import run

__all__ = ["run"]
