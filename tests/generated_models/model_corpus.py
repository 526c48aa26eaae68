"""Models that were once solved wrongly, each a `.gsm` file with the correct result in its first lines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from enumerated_optimum import Reference

FOLDER = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Case:
    """A file with its status and, of an optimum, the values of its objectives in order."""

    path: Path
    status: str
    objectives: tuple[float, ...]


def heading(right: Reference) -> str:
    lines = [f"# status {right.status}"]
    if right.status == "optimal":
        lines.append("# objectives " + " ".join(f"{float(v):.12g}" for v in right.objectives))
    return "\n".join(lines) + "\n"


def cases() -> list[Case]:
    return [_case(path) for path in sorted(FOLDER.glob("*.gsm"))]


def _case(path: Path) -> Case:
    first, second, *_ = path.read_text(encoding="utf-8").splitlines()
    values = second.removeprefix("# objectives ").split() if second.startswith("# objectives ") else []
    return Case(path, first.removeprefix("# status "), tuple(float(v) for v in values))
