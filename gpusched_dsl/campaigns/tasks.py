"""A run as a message to a worker, and its record."""

from __future__ import annotations

from typing import Final

import msgspec

FORMAT: Final = 1  # of stores, tasks and records
DONE, FAILED = "done", "failed"
UNFINISHED: Final = ("stuck", "events")  # how runs end before their jobs: their costs are those of a part
UNSOLVED: Final = ("infeasible", "unbounded", "infeasible_or_unbounded", "broken")  # solves without a valid solution

Number = float | int | None
OptionValue = bool | float | str


class TextSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where a worker reads the model: a file (`path`), or a text with its name and base folder."""

    path: str | None = None
    text: str | None = None
    name: str = "<text>"
    base: str | None = None
    outside: bool = False
    memory: int


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `texts` is the hash of all texts that were read for the plan, `data` those of the data files by name,
    `code` that of the sources of gsdsl where its version does not tell them.
    """

    key: str
    source: TextSource
    texts: str
    data: dict[str, str]
    verb: str
    scenario: str
    online: str | None
    method: str
    options: dict[str, OptionValue]
    settings: dict[str, str]
    seed: int
    code: str = ""


class StoredDiagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """A diagnostic with its place as text."""

    code: str
    message: str
    severity: str = "error"
    place: str = ""
    help: str = ""


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run.

    `state` is `done` or `failed`; `status` that of the solve, or how the run ended. `metrics` are numbers by name,
    `units` their units. `inputs` are the hashes of the files read, `versions` those of the programs used.
    """

    format: int = FORMAT
    key: str
    state: str
    status: str = ""
    objective: Number = None
    unit: str = ""
    bound: Number = None
    gap: Number = None
    metrics: dict[str, Number] = {}
    units: dict[str, str] = {}
    seconds: float = 0.0
    diagnostics: list[StoredDiagnostic] = []
    inputs: dict[str, str] = {}
    versions: dict[str, str] = {}
    finished: str = ""
    host: str = ""
    attempts: int = 1

    @property
    def failed(self) -> bool:
        return self.state == FAILED

    @property
    def failure(self) -> tuple[str, str] | None:
        """Return the code and the message of the first error of a failed run; None if it is unknown."""
        errors = [each for each in self.diagnostics if each.severity == "error"] or self.diagnostics
        return (errors[0].code, errors[0].message) if self.failed and errors else None

    @property
    def shortfall(self) -> str:
        """Return the status of a run that ended before its jobs, or of a solve without a solution; else nothing."""
        unsolved = self.status in UNSOLVED or (self.status == "limit" and self.objective is None)
        return "" if self.failed or not (unsolved or self.status in UNFINISHED) else self.status

    @property
    def outcome(self) -> tuple[object, ...]:
        """Everything that must not depend on the engine: all but times, host and attempts."""
        metrics = {name: value for name, value in self.metrics.items() if not is_time(name)}
        inputs = sorted(self.inputs.values())
        return self.key, self.state, self.status, self.objective, self.bound, self.gap, metrics, inputs


def is_time(metric: str) -> bool:
    """Whether a metric is a measured computing time."""
    return metric.endswith("seconds") or "_seconds_" in metric


def encode(message: Task | RunRecord) -> bytes:
    return msgspec.json.encode(message)


def read_task(data: bytes) -> Task:
    return msgspec.json.decode(data, type=Task)


def read_record(data: bytes) -> RunRecord:
    """Raises msgspec.DecodeError (also for valid JSON of another form)."""
    return msgspec.json.decode(data, type=RunRecord)
