"""Reads the published claims of a paper: `models/<family>/campaigns/<paper>.claims.toml`, beside the campaigns."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "models"
SUFFIX = ".claims.toml"

# saving: percentage by which `method` costs less than the best of `against`, both averaged over the runs of each cell
# ratio: mean of the best of `against` divided by the mean of `method`
# order: whether `method` is less than every one of `against`
# equal: whether `method` and `against` differ by less than `within` percent
# most, mean: the largest value and the mean of `measure` for `method`: at most `published`
# value: the mean of `measure` for `method`
Kind = Literal["saving", "ratio", "order", "equal", "most", "mean", "value"]
PAIRED = ("saving", "ratio", "order", "equal")
KINDS = (*PAIRED, "most", "mean", "value")


@dataclass(frozen=True)
class Claim:
    """A published statement, and how it is computed from a campaign; without `campaign` it cannot be repeated.

    `published` is a number or a range in `unit`; None for claims about an order. `where` selects runs by factors; the
    other factors make up the cells. `exact`: methods without draws on one instance, so that differences are certain.
    `reason` says why ours differs.
    """

    place: str
    claim: str
    unit: str = ""
    published: tuple[float, float] | None = None
    campaign: str = ""
    kind: Kind = "saving"
    measure: str = ""
    method: str = ""
    against: tuple[str, ...] = ()
    where: dict[str, Any] = field(default_factory=dict)
    within: float = 0.0
    exact: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper: its reference, how our runs differ from its runs, and its claims."""

    path: Path
    title: str
    setup: str
    claims: tuple[Claim, ...]

    @property
    def family(self) -> Path:
        return self.path.parent.parent

    @property
    def model_file(self) -> Path:
        """The file with the campaigns."""
        return self.path.with_name(self.path.name.removesuffix(SUFFIX) + ".gsm")

    def results_file(self, campaign: str) -> Path:
        """The stored results of a campaign."""
        return self.path.parent / "results" / f"{campaign}.csv"


def read_papers(models: Path = MODELS) -> list[Paper]:
    """Return the papers of all families, by path. Raises ValueError for claims that cannot be computed."""
    return [read_paper(path) for path in sorted(models.glob(f"*/campaigns/*{SUFFIX}"))]


def read_paper(path: Path) -> Paper:
    """Return the claims of one file; raises ValueError."""
    text = tomllib.loads(path.read_text(encoding="utf-8"))
    claims = tuple(_claim(row, path) for row in text["claim"])
    return Paper(path, text["title"], " ".join(text["setup"].split()), claims)


def _claim(row: dict[str, Any], path: Path) -> Claim:
    row = dict(row)
    published = row.pop("published", None)
    if published is not None:
        low, high = published if isinstance(published, list) else (published, published)
        row["published"] = (float(low), float(high))
    row["against"] = tuple(row.get("against", ()))
    for name in ("claim", "reason"):
        row[name] = " ".join(row.get(name, "").split())
    claim = Claim(**row)
    place = f"{path.name}, {claim.place}"
    if claim.kind not in KINDS:
        raise ValueError(f"{place}: unknown kind `{claim.kind}`")
    if not claim.campaign:
        if not claim.reason:
            raise ValueError(f"{place}: a claim without a campaign needs a reason")
        return claim
    if not (claim.method and claim.measure) or (claim.kind in PAIRED) != bool(claim.against):
        raise ValueError(f"{place}: `method`, `measure` and, for a comparison, `against` are needed")
    if claim.kind not in ("order", "equal") and claim.published is None:
        raise ValueError(f"{place}: `published` is needed")
    return claim
