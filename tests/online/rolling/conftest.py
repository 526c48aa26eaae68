"""Helpers of this folder and the yardstick of tests/models are imported by name (importlib mode adds no folder)."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE, HERE.parents[1] / "models"):
    sys.path.insert(0, str(folder))
