"""Helpers of this folder, of the one above and of tests/models are imported by name (importlib mode adds no folder)."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent, HERE.parents[1] / "models"):
    sys.path.insert(0, str(folder))
