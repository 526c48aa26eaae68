"""Writes capacity planning instances, each in a folder of its own: `python -m benchmarks.scale.data FOLDER 40x1 ...`.

`40x1` is 40 nodes and 400 jobs drawn with seed 1, as printed, in the folder of that name.
"""

import sys
from pathlib import Path

from benchmarks.capacity.data import write


def main(folder: Path, *wanted: str) -> None:
    for name in wanted:
        nodes, seed = map(int, name.split("x"))
        write(folder / name, nodes, seed)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
