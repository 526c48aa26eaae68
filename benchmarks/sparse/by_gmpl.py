"""GMPL (translated by `glpsol`) on one of the sparse models."""

from pathlib import Path
from typing import Any

from benchmarks import glpsol
from benchmarks.child import Lap


def run(folder: Path, lap: Lap, model: str) -> Any:
    return glpsol.load(Path(__file__).with_name(f"{model}.mod"), folder, lap)
