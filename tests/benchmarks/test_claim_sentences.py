"""The sentence of each claim and its tests agrees with the fields that they are computed with."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from claim_sentences import differences

from benchmarks.reproduction.papers import ROOT, read_papers
from gpusched_dsl.campaigns.claims.claims import Claim, Paper, read_paper

PAPERS = read_papers()


def computed(paper: Paper) -> list[Claim]:
    """Return the claims and tests of a paper that are computed, each test once."""
    claims = [claim for claim in paper.claims if claim.campaign]
    return [one for claim in claims for one in (claim, *(() if claim.reason_of else claim.tests))]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.model_file.stem)
def test_every_sentence_agrees_with_its_fields(paper: Paper) -> None:
    assert {f"{one.place}: {one.claim}": differences(one) for one in computed(paper) if differences(one)} == {}


def enlarged(claim: Claim) -> Claim:
    low, high = claim.published or (1.0, 1.0)
    return dataclasses.replace(claim, published=(1.37 * low, 1.37 * high), within=1.37 * claim.within)


CHANGES: dict[str, tuple[Callable[[Claim], bool], Callable[[Claim], Claim]]] = {
    "measure": (lambda claim: True, lambda claim: dataclasses.replace(claim, measure="elsewhere")),
    "method": (lambda claim: bool(claim.method), lambda claim: dataclasses.replace(claim, method="Other")),
    "one more": (
        lambda claim: bool(claim.against),
        lambda claim: dataclasses.replace(claim, against=(*claim.against, "Other")),
    ),
    "number": (lambda claim: any(map(abs, (*(claim.published or ()), claim.within))), enlarged),
    "unit": (lambda claim: bool(claim.unit), lambda claim: dataclasses.replace(claim, unit="GB")),
    "swapped": (
        lambda claim: claim.kind in ("saving", "ratio", "order") and len(claim.against) == 1 and not claim.value,
        lambda claim: dataclasses.replace(claim, method=claim.against[0], against=(claim.method,)),
    ),
    "swapped values": (
        lambda claim: claim.kind in ("saving", "ratio", "order") and len(claim.against) == 1 and bool(claim.value),
        lambda claim: dataclasses.replace(claim, value=claim.against[0], against=(claim.value,)),
    ),
    "sign": (
        lambda claim: claim.kind == "saving" and claim.published is not None and claim.published[0] > 0,
        lambda claim: dataclasses.replace(claim, published=tuple(-end for end in reversed(claim.published or ()))),
    ),
    "statistic": (
        lambda claim: claim.kind in ("value", "median"),
        lambda claim: dataclasses.replace(claim, kind="most"),
    ),
    "no bound": (
        lambda claim: claim.kind == "value" and claim.published is not None and claim.published[0] > -math.inf,
        lambda claim: dataclasses.replace(claim, kind="median"),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_change_of_a_field_contradicts_the_sentence(name: str) -> None:
    applies, change = CHANGES[name]
    claims = [one for paper in PAPERS for one in computed(paper) if applies(one)]
    assert claims
    assert [one.place for one in claims if not differences(change(one))] == []


def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "campaigns.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "sizes.claims.toml").write_text(example, encoding="utf-8")
    found = computed(read_paper(tmp_path / "sizes.claims.toml"))
    assert [differences(one) for one in found] == [[], []]


def test_a_number_that_is_not_published_is_explained() -> None:
    claim = Claim("T", "It is 3 times as much.", "", (2.0, 2.0), "C", "ratio", "cost", "A", ("B",))
    assert differences(dataclasses.replace(claim, reading="`A` has 2 times less `cost` than `B`.")) == [
        "the number 2 is not published"
    ]
    explained = dataclasses.replace(
        claim, reading="`A` has 2 times less `cost` than `B` (3 of the table are 2 of ours)."
    )
    assert differences(explained) == []
