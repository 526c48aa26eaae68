"""The tracks: their scenarios, seeds, content hashes and bounds."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import Workspace, workspace_from_text
from gpusched_dsl.online.open import setup_of
from gpusched_dsl.online.run_config import RunConfig

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "tracks"
FROZEN = HERE / "frozen.toml"
SCENARIO = "Track"
_SEED = re.compile(r"\bseed = 1\b")
_DATA = re.compile(r'\bdata "([^"]+)"')


@dataclass(frozen=True)
class Track:
    """A workload. `generated`: its instance depends on the seed; `drawn`: the run draws by the seed."""

    name: str
    family: str
    online: str
    title: str
    text: str
    generated: bool = False
    drawn: bool = False
    seeds: tuple[int, ...] = (0,)

    @property
    def file(self) -> Path:
        return FOLDER / f"{self.name}.gsm"

    @cached_property
    def source(self) -> str:
        return self.file.read_text(encoding="utf-8")

    def instance_text(self, seed: int, more: str = "") -> str:
        """Return the text of one instance, with further blocks after it."""
        text = _SEED.sub(f"seed = {seed}", self.source) if self.generated else self.source
        return f"{text}\n{more}"

    def workspace(self, seed: int, more: str = "") -> Workspace:
        """Return the workspace of one instance. Raises DiagnosticError for errors in the further blocks."""
        return _workspace(self, seed, more)

    def config(self, seed: int, method: str, **more: Any) -> RunConfig:
        config = RunConfig(online=self.online, scenario=SCENARIO, method=method, seed=seed, **more)
        return config.allowing(method)  # an entry is a program of this repository

    def content_hash(self) -> str:
        """Return the SHA-256 of the scenario, its data files, and the tables that its generators draw for one seed."""
        digest = hashlib.sha256(self.source.encode())
        for name in sorted(set(_DATA.findall(self.source))):
            digest.update(f"{name}\n".encode())
            digest.update((FOLDER / name).read_bytes())
        if self.generated:
            seed = self.seeds[0]
            reader = setup_of(self.workspace(seed), self.config(seed, "FIFO")).base.instance.reader
            for name, table in sorted(reader.hashes.items()):
                digest.update(f"{name} {table}\n".encode())
        return digest.hexdigest()


@cache
def _workspace(track: Track, seed: int, more: str) -> Workspace:
    """Read a text once for all entries of an instance."""
    found = Diagnostics()
    workspace = workspace_from_text(track.instance_text(seed, more), f"{track.name}.gsm", found, FOLDER)
    found.raise_if_errors()
    return workspace


@dataclass(frozen=True)
class Frozen:
    """The frozen content of a track: its hash, and a proved lower bound of the cost by seed."""

    sha256: str
    bounds: dict[int, float]


def read_tracks() -> list[Track]:
    """Return the tracks in the order of their file."""
    content = tomllib.loads((HERE / "tracks.toml").read_text(encoding="utf-8"))
    return [Track(**{**entry, "seeds": tuple(entry.get("seeds", (0,)))}) for entry in content["track"]]


def read_frozen() -> dict[str, Frozen]:
    """Return the frozen content by track."""
    if not FROZEN.is_file():
        return {}
    content = tomllib.loads(FROZEN.read_text(encoding="utf-8"))
    return {
        name: Frozen(entry["sha256"], {int(seed): float(value) for seed, value in entry["bounds"].items()})
        for name, entry in content.items()
    }


def write_frozen(frozen: dict[str, Frozen]) -> None:
    """Write the frozen content of all tracks."""
    lines = ["# Written by `python -m benchmarks.leaderboard freeze`: contents of the tracks, and bounds by seed in $."]
    for name, content in frozen.items():
        bounds = ", ".join(f"{seed} = {value!r}" for seed, value in content.bounds.items())
        lines += ["", f"[{name}]", f'sha256 = "{content.sha256}"', f"bounds = {{ {bounds} }}"]
    FROZEN.write_text("\n".join(lines) + "\n", encoding="utf-8")
