"""Lets these tests use the problem builders of the conformance list."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "conformance"))
sys.path.insert(0, str(Path(__file__).parent.parent / "compiling" / "passes"))  # the builder of small problems
sys.path.insert(0, str(Path(__file__).parent))  # what these tests share
sys.path.insert(0, str(Path(__file__).parent.parent / "ir"))  # the problems whose columns come and go
