"""Generated policies: checking, describing and listing them never fails, and every diagnostic has its place."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from gpusched_dsl.language.blocks.blocks import check_blocks
from gpusched_dsl.language.blocks.policies.describe import policies_of, policy_in_words, settings_of
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import load_workspace, workspace_from_text

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = sorted((ROOT / "models").glob("*/policies.gsm"))
WORDS = re.compile(r'"[^"\n]*"|\w+|\.\.|[<>=!]=|=>|\s+|.', re.DOTALL)
MODEL = """
model M {
  set Jobs; set Nodes; set Types; set Configs = { (v, g) : v in Types, g in 1..4 };
  param time[Jobs, Configs] in h; param due[Jobs] in h; param weight[Jobs] in $/h;
  var run[Jobs, Nodes, Configs] binary;
  minimize total: sum[j in Jobs, n in Nodes, (v, g) in Configs] run[j, n, v, g];
  placement run[j, n, v, g] { job j; node n; node_type v; lasts time[j, v, g]; }
}
"""
POLICIES = """
policy Greedy for M {
  let hurry[j in Jobs] in h = min[(v, g) in Configs] time[j, v, g] - due[j] - now;
  order j in Jobs by hurry[j] descending, weight[j] * remaining[j];
  choose (v, g) in Configs where time[j, v, g] <= due[j] by g, time[j, v, g];
  otherwise (v, g) in Configs by time[j, v, g];
  place best_fit, new_node exclusive, postpone;
  finish smaller_type, grow by speedup;
  keep running;
}
policy Drawn extends Greedy {
  randomise order swapping with probability 1 / (1 + weight[j] / 1[$/h]);
  randomise choose from 3 by inverse cost;
  randomise place from 2 by idle;
  repeat 10 keep best first_end;
  improve 3 best rounds all with swap_tardy_any(5), halve_gpus;
  split 2 controllers;
}
"""


def try_mutations(seed: int, times: int) -> None:
    chance = random.Random(seed)
    pool = [word for word in WORDS.findall(MODEL + POLICIES) if not word.isspace()]
    for _ in range(times):
        words = WORDS.findall(POLICIES)
        places = [i for i, word in enumerate(words) if not word.isspace()]
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            at, other = chance.choice(places), chance.choice(places)
            change = chance.randrange(4)
            if change == 0:
                words[at] = ""
            elif change == 1:
                words[at] = chance.choice(pool)
            elif change == 2:
                words[at], words[other] = words[other], words[at]
            else:
                words[at] += " " + chance.choice(pool)
        look_at(MODEL + "".join(words))


def look_at(text: str) -> None:
    found = Diagnostics()
    workspace = workspace_from_text(text, "m.gsm", found)
    check_blocks(workspace, found)
    for finding in found:
        assert isinstance(finding.primary, Span), text
        assert 0 <= finding.primary.start <= finding.primary.end <= len(text), text
    assert len(policies_of(workspace)) == len(workspace.policies)
    for policy in workspace.policies.values():
        own = Diagnostics()
        checked = check_policy(workspace, policy, own)
        if checked is not None:
            assert not own.has_errors
            assert policy_in_words(checked)
            assert all(setting.text for setting in settings_of(checked))


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(3))
def test_mutated_policies(seed: int) -> None:
    try_mutations(seed, 20)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_mutated_policies(seed: int) -> None:
    try_mutations(seed, 150)


@pytest.mark.quick(4)
@pytest.mark.parametrize("path", LIBRARY, ids=lambda p: p.parent.name)
def test_policies_that_ship_are_told_in_words(path: Path) -> None:
    found = Diagnostics()
    workspace = load_workspace(path, found)
    for policy in workspace.policies.values():
        checked = check_policy(workspace, policy, found)
        assert checked is not None, [d.message for d in found]
        assert policy_in_words(checked)[0].startswith("1. ")
    assert list(found) == []


def test_the_policies_of_the_language_page_are_sound() -> None:
    page = (ROOT / "docs" / "reference" / "language.md").read_text(encoding="utf-8")
    example = page[page.index('policy Greedy "most urgent') :].partition("```")[0]
    found = Diagnostics()
    text = f'import "gsdsl:capacity_planning/model.gsm";\n{example}'
    workspace = workspace_from_text(text, "page.gsm", found, base=ROOT)
    check_blocks(workspace, found)
    assert [d.message for d in found] == []
    assert len(workspace.policies) == 2
