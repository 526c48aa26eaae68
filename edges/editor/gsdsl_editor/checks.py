"""Checks the blocks of a text again after an edit: those that the edit can concern, the edited one first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.campaigns.campaign import check_campaign
from gpusched_dsl.language.blocks.online.online_block import check_online
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.blocks.tests.test_block import check_test
from gpusched_dsl.language.checking import check_model, variants
from gpusched_dsl.language.checking.total_size import allow_size
from gpusched_dsl.language.checking.workspace_blocks import ModelKey, StatementMemos
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import Workspace
from gsdsl_editor.words import BlockWords

NamedBlock: TypeAlias = tree.ModelBlock | tree.Scenario | tree.Test | tree.Policy | tree.Online | tree.Campaign


@dataclass(frozen=True, slots=True)
class _Concerned:
    """What the findings on a block depend on: blocks (as objects), and names."""

    blocks: tuple[tree.TopLevelBlock, ...]
    names: frozenset[str]
    lost: frozenset[str]

    def same(self, other: _Concerned) -> bool:
        return (
            len(self.blocks) == len(other.blocks)
            and all(a is b for a, b in zip(self.blocks, other.blocks, strict=True))
            and self.names == other.names
            and self.lost == other.lost
        )


class BlockChecks:
    """The findings on the blocks of one document, kept while nothing that they depend on changes."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[_Concerned, tuple[Diagnostic, ...]]] = {}
        self._models: dict[str, tuple[_Concerned, Workspace]] = {}
        self._words = BlockWords()
        self._memos: StatementMemos = {}

    def check(self, workspace: Workspace, first: NamedBlock | None = None) -> Iterator[tuple[Diagnostic, ...]]:
        """Yield, after each block that was checked, the findings so far on all blocks of the main file.

        Findings on blocks that are not checked yet are those of before. `first` is checked first. The last result is
        complete. A workspace beyond the limit of statements is not checked, as by `gsdsl check`.
        """
        too_large = Diagnostics()
        if not allow_size(workspace, too_large):
            yield tuple(too_large)
            return
        blocks = [b for b in workspace.main_blocks() if isinstance(b, NamedBlock) and _is_known(workspace, b)]
        self._forget(workspace, blocks)
        workspace.memos = self._memos
        known = self._all_blocks(workspace)
        names = frozenset(known)
        lost = frozenset(workspace.lost)
        stale: list[tuple[NamedBlock, _Concerned]] = []
        for block in blocks:
            concerned = _Concerned(self._related_blocks(block, known), names, lost)
            before = self._found.get(_key(block))
            if before is None or not before[0].same(concerned):
                stale.append((block, concerned))
        stale.sort(key=lambda each: each[0] is not first)
        self._reuse_models(workspace, known, names, lost)
        for block, concerned in stale:
            self._found[_key(block)] = concerned, _findings(workspace, block)
            yield self._result(blocks)
        if not stale:
            yield self._result(blocks)

    def _result(self, blocks: Sequence[NamedBlock]) -> tuple[Diagnostic, ...]:
        keys = [_key(block) for block in blocks]
        return tuple(dict.fromkeys(d for key in keys if key in self._found for d in self._found[key][1]))

    def _forget(self, workspace: Workspace, blocks: Sequence[NamedBlock]) -> None:
        """Drop what belongs to blocks that no longer exist."""
        keys = {_key(block) for block in blocks}
        for gone in [key for key in self._memos if key[0] not in workspace.models]:
            del self._memos[gone]
        self._found = {key: found for key, found in self._found.items() if key in keys}
        self._words.keep([block for file in workspace.files for block in file.blocks])

    def _reuse_models(
        self, workspace: Workspace, known: dict[str, list[NamedBlock]], names: frozenset[str], lost: frozenset[str]
    ) -> None:
        """Take over checked models whose blocks are the same as before."""
        models: dict[str, tuple[_Concerned, Workspace]] = {}
        for name, block in workspace.models.items():
            concerned = _Concerned(self._related_blocks(block, known), names, lost)
            before = self._models.get(name)
            if before is not None and before[0].same(concerned):
                entries = before[1].checked
                own: list[ModelKey] = [key for key in entries if key[0] == name]
                workspace.checked.update({key: entries[key] for key in own})
            models[name] = concerned, workspace
        self._models = models

    @staticmethod
    def _all_blocks(workspace: Workspace) -> dict[str, list[NamedBlock]]:
        known: dict[str, list[NamedBlock]] = {}
        for file in workspace.files:
            for block in file.blocks:
                if isinstance(block, NamedBlock):
                    known.setdefault(block.name.text, []).append(block)
        return known

    def _related_blocks(self, block: NamedBlock, known: dict[str, list[NamedBlock]]) -> tuple[tree.TopLevelBlock, ...]:
        """A block, and all blocks that it names, directly or through others."""
        found: dict[int, tree.TopLevelBlock] = {id(block): block}
        pending: list[tree.TopLevelBlock] = [block]
        while pending:
            for word in self._words.of(pending.pop()) & known.keys():
                for other in known[word]:
                    if id(other) not in found:
                        found[id(other)] = other
                        pending.append(other)
        return tuple(sorted(found.values(), key=id))


def _key(block: NamedBlock) -> str:
    return f"{type(block).__name__} {block.name.text}"


def _is_known(workspace: Workspace, block: NamedBlock) -> bool:
    """Whether it is the block of its name; a second one has been reported, and is not checked."""
    match block:
        case tree.ModelBlock():
            return workspace.models.get(block.name.text) is block
        case tree.Scenario():
            return workspace.scenarios.get(block.name.text) is block
        case tree.Test():
            return workspace.tests.get(block.name.text) is block
        case tree.Policy():
            return workspace.policies.get(block.name.text) is block
        case tree.Online():
            return workspace.onlines.get(block.name.text) is block
        case tree.Campaign():
            return workspace.campaigns.get(block.name.text) is block


def _findings(workspace: Workspace, block: NamedBlock) -> tuple[Diagnostic, ...]:
    found = Diagnostics()
    match block:
        case tree.ModelBlock():
            for options in variants(workspace, block.name.text):
                check_model(workspace, block.name.text, options, found)
        case tree.Scenario():
            check_scenario(workspace, block.name.text, {}, found)
        case tree.Test():
            check_test(workspace, block, found, _methods(workspace))
        case tree.Policy():
            check_policy(workspace, block, found, known=_methods(workspace))
        case tree.Online():
            check_online(workspace, block, found)
        case tree.Campaign():
            check_campaign(workspace, block, found, _methods(workspace), _measures())
    return tuple(found)


def _methods(workspace: Workspace) -> Collection[str]:
    """The names of all solvers and policies."""
    return {*shipped_methods(), *workspace.policies}


@cache
def shipped_methods() -> frozenset[str]:
    """The names of the solvers and of the policies of the library."""
    from gpusched_dsl.policies.library import policy_names
    from gsdsl_backends.registry import backend_names

    return frozenset((*backend_names(), *policy_names(Workspace(None))))


@cache
def _measures() -> tuple[str, ...]:
    from gpusched_dsl.reporting.runs.metrics import METRICS

    return tuple(METRICS)
