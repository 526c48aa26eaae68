"""Writes sparse random data as CSV files: `python -m benchmarks.sparse.data FOLDER [NODES ARCS]`.

A network, with each node's arcs numbered for the hand-indexed form; and 250,000 triples (job, type, size) out of
8,000,000 possible ones.
"""

import csv
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

JOBS, TYPES, SIZES, TRIPLES = 20_000, 50, 8, 250_000


def write(folder: Path, nodes: int = 2_000, arcs: int = 200_000, seed: int = 1) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    _network(folder, random, nodes, arcs)
    _triples(folder, random)
    for model in Path(__file__).parent.glob("*.gsm"):
        shutil.copy(model, folder)


def _network(folder: Path, random: np.random.Generator, nodes: int, arcs: int) -> None:
    flat = np.sort(random.choice(nodes * (nodes - 1), arcs, replace=False))
    tail, head = np.divmod(flat, nodes - 1)
    head += head >= tail  # no arc from a node to itself
    cost = random.integers(1, 100, arcs)
    supply = random.integers(-5, 6, nodes)
    supply[-1] -= supply.sum()
    arriving, leaving = np.bincount(head, minlength=nodes), np.bincount(tail, minlength=nodes)
    name = [f"n{i}" for i in range(nodes)]
    _write(
        folder / "nodes.csv",
        ["node", "supply", "arriving", "leaving"],
        zip(name, supply.tolist(), arriving.tolist(), leaving.tolist(), strict=True),
    )
    _write(
        folder / "arcs.csv",
        ["tail", "head", "cost"],
        ((name[i], name[k], c) for i, k, c in zip(tail, head, cost.tolist(), strict=True)),
    )
    for file, own, other in (("arriving.csv", head, tail), ("leaving.csv", tail, head)):
        order = np.argsort(own, kind="stable")
        counts = np.bincount(own, minlength=nodes)
        position = np.arange(arcs) - np.repeat(np.cumsum(counts) - counts, counts) + 1
        _write(
            folder / file,
            ["node", "position", "other"],
            ((name[a], p, name[b]) for a, p, b in zip(own[order], position.tolist(), other[order], strict=True)),
        )


def _triples(folder: Path, random: np.random.Generator) -> None:
    flat = np.sort(random.choice(JOBS * TYPES * SIZES, TRIPLES, replace=False))
    job, rest = np.divmod(flat, TYPES * SIZES)
    type_, size = np.divmod(rest, SIZES)
    hours = random.integers(1, 1000, TRIPLES) / 8
    _write(folder / "jobs.csv", ["job"], ([f"j{i}"] for i in range(JOBS)))
    _write(folder / "types.csv", ["type"], ([f"v{i}"] for i in range(TYPES)))
    _write(
        folder / "triples.csv",
        ["job", "type", "size", "hours"],
        ((f"j{j}", f"v{v}", g + 1, t) for j, v, g, t in zip(job, type_, size, hours.tolist(), strict=True)),
    )


def _write(path: Path, header: list[str], rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:]))
