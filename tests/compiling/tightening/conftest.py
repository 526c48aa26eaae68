"""Lets the tests of tightening passes use what stands beside the tests of the other passes, and their own instances."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "passes")]
