"""Checks test, policy, online and campaign blocks, without running them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from gpusched_dsl.language.blocks.known_methods import with_names
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.errors import Diagnostics

if TYPE_CHECKING:
    from gpusched_dsl.language.blocks.campaigns.campaign import RunObstacles
    from gpusched_dsl.language.checked_online import CheckedOnline
    from gpusched_dsl.language.checked_policy import CheckedPolicy


def check_blocks(
    workspace: Workspace,
    diagnostics: Diagnostics,
    known_methods: Collection[str] | None = None,
    known_measures: Collection[str] | None = None,
    obstacles: RunObstacles | None = None,
) -> None:
    """Check every policy, online block, test and campaign.

    `known_methods` are the names of all backends and policies, `known_measures` those of the metrics of runs.
    `obstacles` returns why a run of a campaign cannot be executed.
    """
    known = None if known_methods is None else with_names(known_methods, workspace.policies)
    # Imported only for blocks that exist: each kind takes a twentieth of the time in which a file is checked.
    if workspace.policies:
        from gpusched_dsl.language.blocks.policies.policy import check_policy

        for policy in workspace.policies.values():
            _require_calendar(workspace, check_policy(workspace, policy, diagnostics, known=known), diagnostics)
    if workspace.onlines:
        from gpusched_dsl.language.blocks.online.online_block import check_online

        for online in workspace.onlines.values():
            _require_calendar(workspace, check_online(workspace, online, diagnostics), diagnostics)
    if workspace.tests:
        from gpusched_dsl.language.blocks.tests.test_block import check_test

        for test in workspace.tests.values():
            check_test(workspace, test, diagnostics, known)
    if workspace.campaigns:
        from gpusched_dsl.language.blocks.campaigns.campaign import check_campaign

        for campaign in workspace.campaigns.values():
            check_campaign(workspace, campaign, diagnostics, known, known_measures, obstacles)


def _require_calendar(
    workspace: Workspace, block: CheckedOnline | CheckedPolicy | None, diagnostics: Diagnostics
) -> None:
    if block is None:
        return
    from gpusched_dsl.language.blocks.missing_calendar import warn_of_missing_calendar

    warn_of_missing_calendar(workspace, block, diagnostics)
