"""Does actions under guard rails: records the intent, acts, records the outcome.

In shadow mode the intents are recorded and nothing is done.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from gpusched_dsl.online.live.seen_names import SeenNames
from gsdsl_clusters.drivers.protocol import (
    Action,
    ActionKind,
    ActionRefused,
    Allocation,
    ClusterUnavailable,
    DrivenCluster,
)
from gsdsl_clusters.drivers.reconcile import Contradiction, Difference
from gsdsl_clusters.drivers.records import RecordFile
from gsdsl_clusters.drivers.settings import GuardSettings

HOUR = 3600.0
Tell = Callable[[str, str], None]  # code, message
_Key: TypeAlias = tuple[str, str, tuple[str, ...]]  # job, kind and nodes of an action


@dataclass
class Actuator:
    """`now` is the wall clock in seconds; `tell` is called once for each new problem. After `attempts` refusals of the
    same action it is not tried again for `retry` seconds. `started` has the last start of each job that was accepted.
    """

    cluster: DrivenCluster
    record: RecordFile
    guard: GuardSettings
    freeze: Path
    acts: bool
    now: Callable[[], float]
    tell: Tell
    on_action: Callable[[Action], None] = lambda action: None
    done: int = 0
    started: dict[str, Allocation] = field(default_factory=dict)
    _refused: Counter[_Key] = field(default_factory=Counter)
    _until: dict[_Key, float] = field(default_factory=dict)  # when an action may be tried again
    _times: deque[float] = field(default_factory=deque)
    _told: SeenNames = field(default_factory=SeenNames)
    _shadow: dict[str, Any] = field(default_factory=dict)
    _number: int = 0

    def __post_init__(self) -> None:
        """Continue the record: the number of changes in the last hour, and refusals."""
        unfinished: dict[int, dict[str, Any]] = {}
        times: dict[int, float] = {}
        for line in self.record.lines():
            number = int(line["n"])
            self._number = max(self._number, number)
            if "result" in line:
                begun = unfinished.pop(number, None)
                if line["result"] == "refused":  # it has changed nothing
                    times.pop(number, None)
                elif line["result"] == "done" and begun is not None and begun["action"] == ActionKind.START:
                    self.started[begun["job"]] = begun["nodes"]
            elif line.get("shadow"):
                self._shadow[line["job"]] = _signature(line)
            else:
                times[number] = float(line["at"])
                unfinished[number] = line
        self._times.extend(times.values())
        for number in unfinished:  # the process was killed in between: the next observation shows what happened
            self.record.append({"n": number, "result": "unknown", "at": self.now()})

    def apply(self, found: Difference) -> tuple[tuple[Action, str], ...]:
        """Do what is permitted; return the actions that were refused too often, with the reason."""
        for contradiction in found.contradictions:
            if self.acts or contradiction.stops_all:  # in shadow mode jobs always run elsewhere
                self._tell_once("GSM5408", contradiction.about, contradiction.message)
        if not self.acts:
            self._note(found.actions)
            return ()
        if stopped := _stop_reason(found.contradictions):
            self._tell_once("GSM5408", "stopped", f"no action is done: {stopped.message}")
            return ()
        if self.freeze.exists():
            if found.actions:
                self._tell_once("GSM5410", "frozen", f"no action is done while `{self.freeze}` exists")
            return ()
        return self._do(found.actions)

    def forget(self, present: Collection[str]) -> None:
        """Keep only what is known of jobs that are there, so that the memory does not grow."""
        if len(self.started) + len(self._refused) + len(self._until) > 3 * len(present) + 1000:
            self.started = {job: nodes for job, nodes in self.started.items() if job in present}
            self._refused = Counter({key: n for key, n in self._refused.items() if key[0] in present})
            self._until = {key: time for key, time in self._until.items() if key[0] in present}

    def _do(self, actions: Sequence[Action]) -> tuple[tuple[Action, str], ...]:
        given_up: list[tuple[Action, str]] = []
        failed: set[str] = set()
        for action in actions:
            if action.job in failed or self._until.get(_key(action), 0.0) > self.now():
                failed.add(action.job)
                continue
            if not self._has_budget():
                limit = self.guard.changes_per_hour
                self._tell_once("GSM5410", "limit", f"the limit of {limit} changes per hour is reached; actions wait")
                break
            try:
                self._do_one(action)
            except ActionRefused as refusal:
                failed.add(action.job)
                key = _key(action)
                self._refused[key] += 1
                self._tell_once(
                    "GSM5407", f"{key[:2]}", f"`{action.kind}` of job `{action.job}` was refused: {refusal}"
                )
                if self._refused[key] >= self.guard.attempts:
                    del self._refused[key]
                    self._until[key] = self.now() + self.guard.retry
                    given_up.append((action, str(refusal)))
            except ClusterUnavailable as failure:
                self._tell_once("GSM5405", "unavailable", f"the cluster does not answer: {failure}")
                break  # observe before anything else is done
        return tuple(given_up)

    def _do_one(self, action: Action) -> None:
        number = self._begin(action, shadow=False)
        self._times.append(self.now())
        try:
            self.cluster.act(action)
        except ActionRefused as refusal:
            self.record.append({"n": number, "result": "refused", "message": str(refusal), "at": self.now()})
            self._times.pop()  # it has changed nothing
            raise
        except ClusterUnavailable as failure:
            self.record.append({"n": number, "result": "unknown", "message": str(failure), "at": self.now()})
            raise
        self.done += 1
        self.on_action(action)
        self._refused.pop(_key(action), None)
        if action.kind is ActionKind.START:
            self.started[action.job] = dict(action.allocation)
        else:
            self.started.pop(action.job, None)
        self.record.append({"n": number, "result": "done", "at": self.now()})

    def _note(self, actions: Sequence[Action]) -> None:
        """Record the actions of shadow mode that differ from the last one of their job."""
        for action in actions:
            signature = [action.kind.value, dict(action.allocation)]
            if self._shadow.get(action.job) != signature:
                self._begin(action, shadow=True)
                self._shadow[action.job] = signature
                self.done += 1
                self.on_action(action)
        if len(self._shadow) > 2 * len(actions) + 1000:  # jobs that have left
            wanted = {action.job for action in actions}
            self._shadow = {job: signature for job, signature in self._shadow.items() if job in wanted}

    def _begin(self, action: Action, *, shadow: bool) -> int:
        self._number += 1
        line: dict[str, Any] = {
            "n": self._number, "at": self.now(), "job": action.job, "action": action.kind.value,
            "nodes": dict(action.allocation), "reason": action.reason,
        }  # fmt: skip
        self.record.append({**line, "shadow": True} if shadow else line)
        return self._number

    def _has_budget(self) -> bool:
        while self._times and self._times[0] <= self.now() - HOUR:
            self._times.popleft()
        return len(self._times) < self.guard.changes_per_hour

    def _tell_once(self, code: str, about: str, message: str) -> None:
        if f"{about} {message}" not in self._told:
            self._told.add(f"{about} {message}")
            self.tell(code, message)


def _key(action: Action) -> _Key:
    return action.job, action.kind.value, tuple(action.allocation)


def _stop_reason(contradictions: Sequence[Contradiction]) -> Contradiction | None:
    return next((c for c in contradictions if c.stops_all), None)


def _signature(line: dict[str, Any]) -> list[Any]:
    return [line["action"], line["nodes"]]
