"""Writes a synthetic instance as CSV files, with a scenario: `python -m benchmarks.capacity.data FOLDER [NODES SEED]`.

The jobs come from the generator that also made the instances under models/data/synthetic; ten jobs a node, and the
nine VM types of the papers.
"""

import shutil
import sys
from pathlib import Path

from benchmarks.data_scripts import script

HERE = Path(__file__).resolve().parent


def write(folder: Path, nodes: int = 40, seed: int = 1) -> None:
    """nodes.csv, types.csv, instance_jobs.csv and instance_times.csv, and the scenario that reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    made = script("synthetic/generate_instances.py")
    made.write(made.generate(seed, nodes, 10 * nodes, 30, made.read_catalogue("full9")), folder / "instance")
    shutil.copy(made.CATALOGUES / "full9.csv", folder / "types.csv")
    names = "".join(f"n{i}\n" for i in range(1, nodes + 1))
    (folder / "nodes.csv").write_text("node\n" + names, encoding="utf-8")
    shutil.copy(HERE / "synthetic.gsm", folder)


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:]))
