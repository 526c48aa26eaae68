"""Reads the published claims of a paper: `<paper>.claims.toml` beside `<paper>.gsm` with the campaigns."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from gpusched_dsl.language.blocks.campaigns.constants import plain_text
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean

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
# A source names a place in the paper: `Section 3.1.4`, `Table 12`, `Appendix A`, `(16)`; not a year, `(2019)`.
PARTS = r"(?:(?:Section|Table|Figure|Algorithm|Equation|Chapter|page)s?|Appendix|Appendices)"
NUMBER = r"[(]?(?:[0-9]|[A-Z][.-]?[0-9]|[IVX]+\b|[A-Z]\b)"
CITED = re.compile(rf"\b{PARTS} {NUMBER}|\babstract\b|[(][0-9]{{1,3}}[)]")
Scalar: TypeAlias = str | int | float | bool


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
    where: dict[str, Scalar | list[Scalar]] = field(default_factory=dict)
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


ENTRIES = frozenset(one.name for one in fields(Claim)) - {"tests"} | {"test"}
REASONS = frozenset({"reason", "source", "reason_of", "test"})  # of claims, not of tests
WITHOUT_RUNS = frozenset({"place", "claim", "reading", "published", "unit", "kind", "reason", "source", "reason_of"})
ONLY_FOR: dict[str, tuple[str, ...]] = {
    "within": ("equal",),
    "runs": ("total",),
    "sizes": ("total",),
    "arms": ("total",),
    "together": ("growth",),
    "published": tuple(kind for kind in KINDS if kind not in ("order", "equal")),
}


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
    _refuse_unknown(text, ("title", "setup", "claim"), path.name)
    for name in ("title", "setup"):
        if not isinstance(text[name], str):
            raise ValueError(f"{path.name}: `{name}` is not a text")
    if not isinstance(text["claim"], list):
        raise ValueError(f"{path.name}: each claim begins with `[[claim]]`")
    claims = tuple(_claim(row, path) for row in text["claim"])
    claims = tuple(_with_shared_reason(claim, claims, path) for claim in claims)
    return Paper(path, text["title"], _one_line(text["setup"]), claims)


def _with_shared_reason(claim: Claim, claims: tuple[Claim, ...], path: Path) -> Claim:
    """Return the claim with the reason, source and tests of the claim that `reason_of` names."""
    if not claim.reason_of:
        return claim
    others = [one for one in claims if one.place == claim.reason_of and one.reason]
    if len(others) != 1 or claim.tests or claim.source or claim.reason:
        problem = "names no other claim with a reason, or several, or is not alone"
        raise ValueError(f"{path.name}, {claim.place}: `reason_of` {problem}")
    (other,) = others
    return replace(claim, reason=f"As for {other.place}: {other.reason}", source=other.source, tests=other.tests)


def _refuse_unknown(row: Mapping[str, Any], known: Collection[str], place: str) -> None:
    """Raise ValueError for an entry that is not known."""
    for name in row:
        if name not in known:
            help = did_you_mean(name, known)
            raise ValueError(f"{place}: unknown entry `{name}`" + (f", {help}" if help else ""))


def _claim(row: Any, path: Path, of: str | None = None) -> Claim:
    """Return a claim, or the test of the reason of the claim at the place `of`; raises ValueError."""
    if not isinstance(row, dict):
        raise ValueError(f"{path.name}: each claim is a table of entries")
    row = dict(row) if of is None else {"place": f"{of}, test", **row}
    place = f"{path.name}, {row.get('place', 'a claim')}"
    _refuse_unknown(row, ENTRIES if of is None else ENTRIES - REASONS, place)
    tests = row.pop("test", [])
    published = row.get("published")
    if published is not None and not isinstance(published, list):
        row["published"] = [published, published]
    if isinstance(row.get("against"), list):
        row["against"] = [plain_text(name) for name in row["against"]]
    if "value" in row:
        row["value"] = plain_text(row["value"])
    if row.get("kind", KINDS[0]) not in KINDS:
        raise ValueError(f"{place}: unknown kind `{row['kind']}`")
    if not isinstance(tests, list):
        raise ValueError(f"{place}: each test begins with `[[claim.test]]`")
    try:
        claim = msgspec.convert(row, Claim)
    except msgspec.ValidationError as failure:
        raise ValueError(f"{place}: {failure}") from failure
    claim = replace(
        claim,
        claim=_one_line(claim.claim),
        reading=_one_line(claim.reading),
        reason=_one_line(claim.reason),
        source=_one_line(claim.source),
        tests=tuple(_claim(test, path, claim.place) for test in tests),
    )
    problem = _problem(claim, row.keys())
    if problem:
        raise ValueError(f"{place}: {problem}")
    return claim


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _problem(claim: Claim, entries: Collection[str]) -> str:
    """Return why a claim cannot be computed as it is written; empty if it can."""
    if claim.source and not CITED.search(claim.source):
        return "`source` names no place in the paper, as `Section 4.2` or `Table 3`"
    if (claim.source or claim.tests) and not claim.reason and not claim.reason_of:
        return "`source` and tests support a `reason`, which is missing"
    if not claim.campaign:
        if computed := sorted(set(entries) - WITHOUT_RUNS):
            return f"`campaign` is needed with `{computed[0]}`"
        return "" if claim.reason else "a claim without a campaign needs a reason"
    if not claim.measure or (not claim.method and claim.kind != "total"):
        return "`method` and `measure` are needed"
    if (claim.kind in PAIRED) != bool(claim.against) and not (claim.kind == "growth" and len(claim.against) == 1):
        return "`against` is needed for a comparison, and only there"
    if len(set(claim.roles)) < len(claim.roles):
        return "`against` has what it is compared with, or a name twice"
    if bool(claim.factor) != (bool(claim.value) or claim.kind in ("growth", "total")):
        return "`factor` is needed with `value`, `growth` and `total`, and only there"
    if claim.kind == "total" and not (claim.runs and claim.sizes and claim.arms):
        return "`runs`, `sizes` and `arms` of the campaign are needed"
    for name, kinds in ONLY_FOR.items():
        if name in entries and claim.kind not in kinds:
            return f"`{name}` is not used by the kind `{claim.kind}`"
    if claim.kind == "equal" and ("within" not in entries or not 0.0 <= claim.within < math.inf):
        return "`within` is needed: the largest difference in %, which is not negative"
    if claim.kind in ("saving", "equal") and claim.unit not in ("", "%"):
        return f"`unit` is `{claim.unit}`, but a difference of the kind `{claim.kind}` is in %"
    if claim.kind in ("order", "equal"):
        return ""
    if claim.published is None:
        return "`published` is needed"
    low, high = claim.published
    if not (low < high or (low == high and math.isfinite(low))):
        return "`published` is neither a number nor a range from a smaller to a larger one"
    return ""
