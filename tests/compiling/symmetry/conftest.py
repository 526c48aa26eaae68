"""Helpers of this folder, of aggregation and of tests/models are imported by name (importlib mode adds no folder)."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent / "aggregation", HERE.parents[1] / "models"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
