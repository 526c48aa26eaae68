"""The papers of the repository: all claims beside the campaigns of the models."""

from __future__ import annotations

from pathlib import Path

from gpusched_dsl.campaigns.claims.claims import SUFFIX, Paper, read_paper

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "models"


def read_papers(models: Path = MODELS) -> list[Paper]:
    """Return the papers of all families, by path. Raises ValueError for claims that cannot be computed."""
    return [read_paper(path) for path in sorted(models.glob(f"*/campaigns/*{SUFFIX}"))]
