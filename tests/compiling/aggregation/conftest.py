"""Helpers of this folder and of tests/models are imported by name (importlib mode adds no folder to the path)."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE, HERE.parents[1] / "models"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
