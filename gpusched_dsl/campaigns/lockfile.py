"""`gsdsl.lock`: the pinned inputs of a campaign, and whether its results still belong to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gpusched_dsl.campaigns.code_fingerprint import PIN
from gpusched_dsl.campaigns.plan import CampaignPlan, columns_of
from gpusched_dsl.campaigns.store import Store
from gpusched_dsl.campaigns.tasks import FORMAT, RunRecord
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.numbers import count_text

LOCKFILE: Final = "gsdsl.lock"
_SHOWN = 5


def lock_text(plan: CampaignPlan) -> str:
    """Return the lock file: texts, data and versions by name, the seeds, and the runs by key."""
    document = {
        "format": FORMAT,
        "campaign": plan.name,
        "inputs": plan.pins,
        "seeds": sorted({run.run.seed for run in plan.runs}),
        "runs": {run.key: columns_of(run.run) for run in plan.runs},
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True, eq=False)
class StoreVerification:
    """Which results of a store belong to the present inputs.

    `current` are runs with a result, `failed` those whose record is a failure, `missing` runs without a record,
    `outdated` records of inputs that are no longer there. `changes` compares the inputs with the lock file, `damaged`
    are unreadable results.
    """

    current: int
    failed: int
    missing: int
    outdated: int
    changes: tuple[str, ...]
    damaged: tuple[Diagnostic, ...]

    @property
    def holds(self) -> bool:
        """Whether all results of the last run of the campaign belong to the present inputs."""
        return not self.changes and not self.damaged

    def diagnostics(self, folder: Path) -> tuple[Diagnostic, ...]:
        """Return the damaged results, and GSM5307 with the changed inputs."""
        if not self.changes:
            return self.damaged
        shown = [*self.changes[:_SHOWN]]
        if len(self.changes) > _SHOWN:
            shown.append(f"and {len(self.changes) - _SHOWN} more")
        message = (
            f"results in `{folder}` do not belong to the present inputs: {count_text(self.missing, 'run')} missing"
        )
        help = "`gsdsl campaign run` executes the missing runs; earlier results stay in the store"
        return (*self.damaged, Diagnostic("GSM5307", message, notes=tuple(shown), help=help))


def verify(plan: CampaignPlan, store: Store) -> StoreVerification:
    """Compare a store with the present inputs; raises DiagnosticError if the lock file is missing or damaged."""
    locked = read_lock(store)
    keys = set(store.keys())
    records: dict[str, RunRecord] = store.read_all(sorted(keys))
    planned = set(plan.by_key)
    failed = sum(records[key].failed for key in planned & records.keys())
    changes = tuple(_changes(locked["inputs"], plan.pins))
    if not changes and set(locked["runs"]) != planned:
        changes = (_grid_change(set(locked["runs"]), planned),)
    return StoreVerification(
        current=len(planned & records.keys()) - failed,
        failed=failed,
        missing=len(planned - records.keys()),
        outdated=len(records.keys() - planned),
        changes=changes,
        damaged=tuple(store.warnings),
    )


def read_lock(store: Store) -> dict[str, Any]:
    """Return the document of the lock file; raises DiagnosticError (GSM5307)."""
    path = store.folder / LOCKFILE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(document, dict) and all(isinstance(document.get(part), dict) for part in ("inputs", "runs")):
            return document
        reason = "it has another form"
    except (OSError, ValueError, RecursionError) as failure:
        reason = getattr(failure, "strerror", None) or "it is not JSON"
    message = f"`{path}` cannot be read: {reason}"
    help = "`gsdsl campaign run` writes it again; it executes only what is missing"
    raise DiagnosticError([Diagnostic("GSM5307", message, help=help, severity=Severity.ERROR)])


def _changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return a line for each input that changed, appeared or disappeared."""
    lines: list[str] = []
    for name in sorted(before.keys() | now.keys()):
        kind, _, own = name.partition(" ")
        if name == PIN:
            if before.get(name) != now.get(name):
                lines.append(_code_change(before.get(name), now.get(name)))
        elif name not in now:
            lines.append(f"{kind} `{own}` is no longer used")
        elif name not in before:
            lines.append(f"{kind} `{own}` is new")
        elif before[name] != now[name]:
            change = f": {before[name]} before, {now[name]} now" if kind == "version" else ""
            lines.append(f"{kind} `{own}` changed{change}")
    return lines


def _code_change(before: str | None, now: str | None) -> str:
    """Return the change of the sources of gsdsl; None stands for a released version."""
    if before is None or now is None:
        words = ("a development install", "a released version")
        return f"gsdsl was {words[before is None]}, and is {words[now is None]} now"
    return f"the code of gsdsl changed: {before} before, {now} now"


def _grid_change(before: set[str], now: set[str]) -> str:
    return f"the grid changed: {count_text(len(now - before), 'new run')}, {count_text(len(before - now), 'run')} gone"
