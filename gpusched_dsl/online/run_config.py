"""How to drive a scenario over time: the one set of options that runs, live runs, estimates and questions share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from gpusched_dsl.compiling.build import Permissions
from gpusched_dsl.data.chunks import DataChunk
from gsdsl_backends.protocol import SolveOptions

MOST_EVENTS: Final = 10_000_000
PROGRAM: Final = "program:"


def is_program(method: str) -> bool:
    """Whether a method is the command of a program."""
    return method.startswith(PROGRAM)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """The configuration of a run.

    `online` and `scenario` may be None where the text has only one. `method`, a policy or a solver, makes the plans,
    `fallback` those that it fails to make; each has `time_limit` seconds. `gap`, `threads`, `solver_options` and
    `without` (skipped passes) are for solvers. Each of several `controllers` plans for its own jobs and nodes. All
    draws follow from `seed`. The run ends after `most_events` events.

    `journal` records the run, or resumes the one in the file. With `replay` its plans are made again and compared.
    With `bound`, runs are bounded by a relaxation of the whole horizon, or over time; `why_gap` divides the gaps to
    these bounds.
    `verify` says which plans are checked: `none`, a `sample`, the `rows` of all, or `full`. With `refuses_broken` all
    are, and those that violate the model take no effect: the fallback plans, or running jobs continue. `replaced` are
    values in place of those of the scenario, and `permissions` say what may be read and built.
    """

    online: str | None = None
    scenario: str | None = None
    method: str = "highs"
    fallback: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    time_limit: float | None = None
    gap: float = 1e-4
    threads: int | None = None
    controllers: int = 1
    solver_options: Mapping[str, bool | int | float | str] = field(default_factory=dict)
    without: frozenset[str] = frozenset()
    most_events: int = MOST_EVENTS
    journal: Path | None = None
    replay: bool = False
    bound: bool = False
    why_gap: bool = False
    verify: str = "rows"
    refuses_broken: bool = False
    replaced: Mapping[str, Sequence[DataChunk]] | None = None
    permissions: Permissions = field(default_factory=Permissions)

    @classmethod
    def of(cls, values: Mapping[str, Any], **more: Any) -> RunConfig:
        """Return the configuration with the values of options by their names in the table; others keep the default."""
        given = {name: values[name] for name in cls.__dataclass_fields__ if name in values}
        given["without"] = frozenset(given.get("without", ()))
        given["solver_options"] = dict(given.get("solver_options") or {})
        journal = given.get("journal")
        return cls(**{**given, "journal": None if journal is None else Path(journal), **more})

    def allowing(self, *methods: str | None) -> RunConfig:
        """Return the configuration in which those of these methods that are programs may start.

        Only for methods that the user of this process wrote, never for one from a text, a file or a request.
        """
        programs = self.permissions.programs.union(m for m in methods if m is not None and is_program(m))
        return replace(self, permissions=structs.replace(self.permissions, programs=programs))

    @property
    def is_bounded(self) -> bool:
        """Return whether a relaxation bounds the run: asked for, or needed to divide the gap."""
        return self.bound or self.why_gap

    @property
    def for_solver(self) -> SolveOptions:
        """Return the request of every plan of a solver; its time limit comes with the plan."""
        return SolveOptions(gap=self.gap, threads=self.threads, extra=dict(self.solver_options), without=self.without)
