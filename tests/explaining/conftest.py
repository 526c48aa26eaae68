"""Lets the tests of this folder share modules, and use the problem builders and the reader of schemas of others."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "conformance"))
sys.path.insert(0, str(Path(__file__).parent.parent / "reporting"))
