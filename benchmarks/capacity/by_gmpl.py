"""GMPL (GLPK's modelling language, translated by `glpsol`)."""

from pathlib import Path
from typing import Any

from benchmarks import glpsol
from benchmarks.child import Lap


def run(folder: Path, lap: Lap) -> Any:
    return glpsol.load(Path(__file__).with_name("printed.mod"), folder, lap)
