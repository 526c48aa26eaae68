"""The helpers of this folder are imported by name (tests run in importlib mode, which adds no folder to the path)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
