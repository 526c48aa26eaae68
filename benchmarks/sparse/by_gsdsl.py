"""gsdsl on one of the sparse models."""

from pathlib import Path
from typing import Any

from benchmarks import gsdsl
from benchmarks.child import Lap


def run(folder: Path, lap: Lap, model: str) -> Any:
    return gsdsl.load(folder / f"{model}.gsm", lap)
