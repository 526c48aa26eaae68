"""`profile` and `admit` of a policy: problems that are solved for all jobs at once before the queue is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpusched_dsl.language.checked import CheckedParam, Core, IndexingCore
from gpusched_dsl.language.source import Span


@dataclass(frozen=True, slots=True)
class StageKey:
    value: Core
    descending: bool = False


@dataclass(frozen=True, slots=True)
class CheckedStage:
    """What is asked, and the parameters that the answer fills.

    `verb` is `profile` or `admit`, `indexing` lists the pairs of job and kind of node, `over` the choices of each pair,
    which see it. `parts` holds the numbers by their role, `keys` those roles that order something, the first key first.
    `results` are parameters of the policy's model by the word that follows the name: `cost` for `plan_cost`.
    """

    verb: str
    name: str
    span: Span
    indexing: IndexingCore
    over: IndexingCore
    parts: Mapping[str, Core]
    keys: Mapping[str, tuple[StageKey, ...]]
    results: Mapping[str, CheckedParam]
    doc: str | None = None
