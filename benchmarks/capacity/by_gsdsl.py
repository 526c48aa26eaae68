"""gsdsl: the printed model that ships, with a scenario that reads the instance's CSV files."""

from pathlib import Path
from typing import Any

from benchmarks import gsdsl
from benchmarks.child import Lap


def run(folder: Path, lap: Lap, backend: str = "highs") -> Any:
    load = {"highs": gsdsl.load, "scip": gsdsl.load_scip}[backend]
    return load(folder / "synthetic.gsm", lap)
