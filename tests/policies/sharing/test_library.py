"""The file of policies is correct and formatted, and describes each policy."""

from __future__ import annotations

import pytest
from deciding_help import MODELS

from gpusched_dsl.cli import main
from gpusched_dsl.language.blocks.policies.describe import policy_in_words
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace

FILE = MODELS / "gpu_sharing" / "policies.gsm"


@pytest.mark.slow
def test_file_checks_and_is_formatted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(FILE)]) == 0, capsys.readouterr()
    assert main(["fmt", "--check", str(FILE)]) == 0, capsys.readouterr()


def test_every_policy_says_what_it_is_and_can_be_told() -> None:
    found = Diagnostics()
    workspace = load_workspace(FILE, found)
    assert len(workspace.policies) >= 16
    for block in workspace.policies.values():
        policy = check_policy(workspace, block, found)
        assert policy is not None
        assert policy.doc
        assert len(policy_in_words(policy)) > 5
    found.raise_if_errors()


def test_what_is_solved_is_told_with_its_meaning() -> None:
    found = Diagnostics()
    workspace = load_workspace(FILE, found)
    policy = check_policy(workspace, workspace.policies["DPShares"], found)
    assert policy is not None
    words = "\n".join(policy_in_words(policy))
    assert "the running and the waiting jobs" in words
    assert "`turn_amount`, capacity of this node type that the job gets" in words
    assert "smallest `submitted[j]` first" in words


def test_profiles_with_a_cost_of_tardiness_are_told() -> None:
    found = Diagnostics()
    workspace = load_workspace(FILE, found)
    words = {}
    for name in ("STS", "ExpectedSTS"):
        policy = check_policy(workspace, workspace.policies[name], found)
        assert policy is not None
        words[name] = "\n".join(policy_in_words(policy))
    assert "such that the due date is certainly met" in words["STS"]
    assert "at least expected cost, that of tardiness included" in words["ExpectedSTS"]
