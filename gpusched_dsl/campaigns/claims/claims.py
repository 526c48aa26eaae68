"""Reads the published claims of a paper: `<paper>.claims.toml` beside `<paper>.gsm` with the campaigns."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass, field, replace
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
COMPUTING = frozenset({"seconds", "build_seconds", "solve_seconds", "plan_seconds_mean", "plan_seconds_max"})
TOLERANCE = 0.1  # a single published number is a range of this share of it on both sides; of an exponent, +-0.1
# A source names a place in the paper: `Section 3.1.4`, `Table 12`, `(16)`.
CITED = re.compile(r"\b(Section|Table|Figure|Algorithm|Equation|Chapter|page)s? [(]?[0-9IVX]|\babstract\b|[(][0-9]+[)]")


@dataclass(frozen=True)
class Claim:
    """A published statement, and how it is computed from a campaign; without `campaign` it cannot be repeated.

    `published` is a number or a range in `unit`; None for claims about an order. `where` selects runs by factors; the
    other factors make up the cells. With `factor` and `value`, a comparison is between values of that factor with one
    method: `value` takes the place of `method`, and `against` lists other values. `exact`: methods without draws on one
    instance, so that differences are certain. `together`: factors that the campaign varies together with `factor`,
    so that they make up no cells of a growth. `solved`: a claim about optima, for which runs that stopped at a limit of
    the solver do not count. `reason` says why ours differs, or why the claim has no runs; `tests` are
    statements that follow from it and are computed like claims; `source` cites the place of the paper from which it
    follows. `reading` says how the published sentence is understood where it can be understood in several ways;
    `reason_of` is the place of another claim with the same reason and tests.
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
    solved: bool = False
    runs: int = 0
    sizes: tuple[float, ...] = ()
    arms: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    reading: str = ""
    reason: str = ""
    source: str = ""
    reason_of: str = ""
    tests: tuple[Claim, ...] = ()

    @property
    def is_time_limit(self) -> bool:
        """Whether it is an upper bound on a computing time, which another machine can meet."""
        return self.kind in LIMITS and self.measure in COMPUTING

    @property
    def accepted(self) -> tuple[float, float] | None:
        """The range in which a number of ours reproduces the claim; None for an order."""
        if self.kind == "equal":
            return -self.within, self.within
        if self.published is None:
            return None
        low, high = self.published
        if self.kind in LIMITS:
            return -math.inf, high
        if low < high:
            return low, high
        margin = TOLERANCE if self.kind == "growth" else TOLERANCE * abs(low)
        return low - margin, high + margin

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
    by_place = {claim.place: claim for claim in claims}
    claims = tuple(_with_shared_reason(claim, by_place, path) for claim in claims)
    return Paper(path, text["title"], " ".join(text["setup"].split()), claims)


def _with_shared_reason(claim: Claim, by_place: dict[str, Claim], path: Path) -> Claim:
    """Return the claim with the reason, source and tests of the claim that `reason_of` names."""
    if not claim.reason_of:
        return claim
    other = by_place.get(claim.reason_of)
    if other is None or not other.reason or claim.tests or claim.source or claim.reason:
        raise ValueError(f"{path.name}, {claim.place}: `reason_of` names no other claim with a reason, or is not alone")
    return replace(claim, reason=f"As for {other.place}: {other.reason}", source=other.source, tests=other.tests)


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
    for name in ("claim", "reading", "reason", "source"):
        row[name] = " ".join(row.get(name, "").split())
    claim = Claim(**row)
    place = f"{path.name}, {claim.place}"
    if claim.kind not in KINDS:
        raise ValueError(f"{place}: unknown kind `{claim.kind}`")
    if claim.source and not CITED.search(claim.source):
        raise ValueError(f"{place}: `source` names no place in the paper, as `Section 4.2` or `Table 3`")
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
