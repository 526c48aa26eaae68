"""Reads the published claims of a paper: `<paper>.claims.toml` beside `<paper>.gsm` with the campaigns."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from gpusched_dsl.language.blocks.campaigns.constants import plain_text

SUFFIX = ".claims.toml"

# saving: percentage by which `method` costs less than the best of `against`, both averaged over the runs of each cell
# ratio: mean of the best of `against` divided by the mean of `method`
# order: whether `method` is less than every one of `against`
# equal: whether `method` and `against` differ by less than `within` percent
# most, mean, median: the largest value, the mean and the median of `measure` for `method`: at most `published`
# value: the mean of `measure` for `method`
# growth: the exponent b of measure ~ factor^b for `method`; with `against`, that of the ratio of their measures
# total: the sum of `measure` over all `runs` runs of a campaign, which has `sizes` of `factor` and equally many runs of
#   each pair of a size and an arm, a combination of the columns `arms`; sizes without runs follow a power law by arm
Kind = Literal["saving", "ratio", "order", "equal", "most", "mean", "median", "value", "growth", "total"]
PAIRED = ("saving", "ratio", "order", "equal")
LIMITS = ("most", "mean", "median", "total")
KINDS = (*PAIRED, *LIMITS, "value", "growth")


@dataclass(frozen=True)
class Claim:
    """A published statement, and how it is computed from a campaign; without `campaign` it cannot be repeated.

    `published` is a number or a range in `unit`; None for claims about an order. `where` selects runs by factors; the
    other factors make up the cells. With `factor` and `value`, a comparison is between values of that factor with one
    method: `value` takes the place of `method`, and `against` lists other values. `exact`: methods without draws on one
    instance, so that differences are certain. `together`: factors that the campaign varies together with `factor`,
    so that they make up no cells of a growth. `reason` says why ours differs; `tests` are statements that follow
    from it and are computed like claims. `proved`: it needs no test, since it follows from the sources.
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
    factor: str = ""
    value: str = ""
    where: dict[str, Any] = field(default_factory=dict)
    within: float = 0.0
    exact: bool = False
    runs: int = 0
    sizes: tuple[float, ...] = ()
    arms: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    reason: str = ""
    proved: bool = False
    tests: tuple[Claim, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of the runs; none for a total over all methods."""
        if not self.method:
            return ()
        return (self.method,) if self.value else (self.method, *self.against)

    @property
    def roles(self) -> tuple[str, ...]:
        """Ours first, then what it is compared with: methods, or values of the factor."""
        return (self.value or self.method, *self.against)


@dataclass(frozen=True)
class Paper:
    """A paper: its reference, how our runs differ from its runs, and its claims."""

    path: Path
    title: str
    setup: str
    claims: tuple[Claim, ...]

    @property
    def campaigns(self) -> list[str]:
        """The campaigns that claims and their tests need."""
        return sorted({c.campaign for claim in self.claims for c in (claim, *claim.tests) if c.campaign})

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
    row["against"] = tuple(plain_text(name) for name in row.get("against", ()))
    row["value"] = plain_text(row.get("value", ""))
    for name in ("sizes", "arms", "together"):
        row[name] = tuple(row.get(name, ()))
    named = {"place": f"{row.get('place', '')}, test"}
    row["tests"] = tuple(_claim({**named, **test}, path) for test in row.pop("test", ()))
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
    if not claim.measure or (not claim.method and claim.kind != "total"):
        raise ValueError(f"{place}: `method` and `measure` are needed")
    if (claim.kind in PAIRED) != bool(claim.against) and not (claim.kind == "growth" and len(claim.against) == 1):
        raise ValueError(f"{place}: `against` is needed for a comparison, and only there")
    if bool(claim.factor) != (bool(claim.value) or claim.kind in ("growth", "total")):
        raise ValueError(f"{place}: `factor` is needed with `value`, `growth` and `total`, and only there")
    if claim.kind == "total" and not (claim.runs and claim.sizes and claim.arms):
        raise ValueError(f"{place}: `runs`, `sizes` and `arms` of the campaign are needed")
    if claim.kind not in ("order", "equal") and claim.published is None:
        raise ValueError(f"{place}: `published` is needed")
    return claim
