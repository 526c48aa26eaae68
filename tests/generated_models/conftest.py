"""Helpers of this folder are imported by name (importlib mode adds no folder to the path)."""

import sys
from pathlib import Path

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)
