"""Lets these tests use the texts of price-aware instances, the builders of problems and the benchmarks."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
for folder in (TESTS / "models", TESTS / "conformance", Path(__file__).parent, TESTS.parent):
    sys.path.insert(0, str(folder))
