"""GMPL through `glpsol`: translated to a free MPS file, which HiGHS reads."""

import subprocess
from pathlib import Path
from typing import Any

import highspy

from benchmarks.child import Lap


def load(model: Path, folder: Path, lap: Lap) -> Any:
    """Translate `model` with `folder` as the place of its data; phases `build` (glpsol) and `load` (HiGHS)."""
    target = (folder / f"{model.stem}.mps").resolve()
    subprocess.run(
        ["glpsol", "--math", str(model.resolve()), "--check", "--wfreemps", str(target)],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    lap("build")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(target))
    lap("load")
    target.unlink()
    return highs
