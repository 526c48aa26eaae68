"""Slurm as a cluster: observed and changed by commands or by REST."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from gsdsl_clusters.drivers.protocol import Action, ActionKind, ActionRefused, ClusterUnavailable, Observation
from gsdsl_clusters.drivers.slurm.arrays import name_of
from gsdsl_clusters.drivers.slurm.commands import Commands
from gsdsl_clusters.drivers.slurm.demands import asked_nodes, with_asked
from gsdsl_clusters.drivers.slurm.json_values import UnknownJson
from gsdsl_clusters.drivers.slurm.observe import FIELDS, observation_of
from gsdsl_clusters.drivers.slurm.reservations import COMMAND, VARIABLES, from_text, reservations_of
from gsdsl_clusters.drivers.slurm.rest import RestInterface, error_text
from gsdsl_clusters.drivers.slurm.rest_keys import ACTING_VERSIONS, eligible, has_comment, held, placed, resized
from gsdsl_clusters.drivers.toml_reader import timeout_of

_VERSION = re.compile(r"v0\.0\.\d+$")
_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "partition": str, "api": str, "version": str, "token_file": str, "user": str, "commands": str, "actions": str,
    "timeout": (int, float),
}  # fmt: skip


@dataclass
class SlurmCluster:
    """Jobs and nodes of one partition, or of all. With `rest`, observations need no command of Slurm.

    With `acts_by_rest`, jobs are placed, held, released and resized by REST; its interface has no action that puts a
    running job back: this needs `scontrol`. So do tasks of arrays, and in v0.0.38 the AdminComment.
    """

    partition: str | None = None
    commands: Commands = field(default_factory=Commands)
    rest: RestInterface | None = None
    acts_by_rest: bool = False
    fields: frozenset[str] = FIELDS
    now: Callable[[], float] = time.time
    _asked: dict[str, str] = field(default_factory=dict)  # the nodes that users ask for, by job

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> SlurmCluster:
        """Read the section [slurm]. Raises ValueError with `key: reason` for a wrong entry."""
        for key, value in settings.items():
            kind = _KEYS.get(key)
            if kind is None:
                raise ValueError(f"{key}: is unknown; known are {', '.join(_KEYS)}")
            if isinstance(value, bool) or not isinstance(value, kind):
                raise ValueError(f"{key}: must be a {'number' if key == 'timeout' else 'text'}")
            if value == "":
                raise ValueError(f"{key}: must not be empty; omit it for the default")
        timeout = timeout_of(settings)
        commands = Commands(settings.get("commands"), timeout)
        address, actions = settings.get("api", "commands"), settings.get("actions", "commands")
        if actions not in ("commands", "rest") or (actions == "rest" and address == "commands"):
            raise ValueError('actions: must be "commands", or "rest" with an `api`')
        if address == "commands":
            return cls(settings.get("partition"), commands)
        if not address.startswith(("http://", "https://", "unix:/")):
            raise ValueError('api: must be "commands", "http://host:port", "https://..." or "unix:/path"')
        if address.startswith("unix:") and sys.platform == "win32":
            raise ValueError('api: Windows has no Unix sockets; use "http://host:port"')
        version = settings.get("version", "")
        if not _VERSION.match(version):
            raise ValueError('version: is needed with REST, such as "v0.0.40"')
        if actions == "rest" and version not in ACTING_VERSIONS:
            raise ValueError(f'actions: by REST are known for {", ".join(ACTING_VERSIONS)}; use "commands"')
        rest = RestInterface(address, version, settings.get("token_file"), settings.get("user"), timeout)
        return cls(settings.get("partition"), commands, rest, actions == "rest")

    # --- observe -----------------------------------------------------------------------------------------------------

    def observe(self) -> Observation:
        """Read the nodes, then the jobs: a job that ends in between seems to be there, and not a free node."""
        nodes = self._records("nodes")
        jobs = self._records("jobs")
        self._asked = {}
        for record in jobs:
            with suppress(UnknownJson, AttributeError):  # what is not understood is told below
                if asked := asked_nodes(record):
                    self._asked[name_of(record)] = asked
        unread: list[str] = []
        reservations = tuple(reservations_of(self._reservations(unread), unread))
        seen = observation_of(jobs, nodes, self.partition, self.now(), reservations)
        return replace(seen, unread=(*seen.unread, *unread))

    def _reservations(self, unread: list[str]) -> Sequence[Any]:
        """The records of reservations; without an answer none, and `unread` says so."""
        try:
            if self.rest is not None:
                return _list_of(self.rest.get("reservations"), "reservations")
            return from_text(self.commands.text(COMMAND, VARIABLES))
        except ClusterUnavailable as failure:
            unread.append(f"reservations that begin later are left out: {failure}")
            return ()

    def _records(self, what: str) -> Sequence[Any]:
        if self.rest is not None:
            return _list_of(self.rest.get(what), what)
        if what == "jobs":
            return _list_of(self.commands.json(("squeue", "--json")), what)
        document = self.commands.json(("sinfo", "--json"))
        if "nodes" not in document:  # since 23.02 `sinfo` groups nodes, and `scontrol` lists them
            document = self.commands.json(("scontrol", "show", "nodes", "--json"))
        return _list_of(document, what)

    # --- act ---------------------------------------------------------------------------------------------------------

    def act(self, action: Action) -> None:
        """Change a job. A start places a held job first and releases it last."""
        if self.acts_by_rest and not self._uses_rest(action.job) and not self.commands.has("scontrol"):
            raise ActionRefused("the REST interface of Slurm changes no single task, and there is no `scontrol`")
        match action.kind:
            case ActionKind.START:
                self._start(action)
            case ActionKind.HOLD:
                self._hold(action)
            case ActionKind.REQUEUE:
                self._tell_reason(action)
                if self.acts_by_rest and not self.commands.has("scontrol"):
                    raise ActionRefused("the REST interface of Slurm cannot put a job back, and there is no `scontrol`")
                self.commands.change(("scontrol", "requeuehold", action.job))
            case ActionKind.RESIZE:
                self._resize(action.job, sum(action.allocation.values()), len(action.allocation))

    def _start(self, action: Action) -> None:
        job, nodes, comment = action.job, ",".join(action.allocation), self._comment(action)
        if self._uses_rest(job) and not has_comment(self._version):
            self._tell_reason(action)
        words = ("update", f"JobId={job}", f"ReqNodeList={nodes}", f"AdminComment={comment}")
        self._change(job, placed(self._version, tuple(action.allocation), comment), words)
        self._change(job, eligible(self._version), ("update", f"JobId={job}", "StartTime=now"))
        self._change(job, {"hold": False}, ("release", job))

    def _hold(self, action: Action) -> None:
        """Hold a job as its user would: the hold of an operator is never released."""
        if self.commands.has("scontrol"):
            self.commands.change(("scontrol", "uhold", action.job))
        else:
            self._change(action.job, held(self._version, self._comment(action, " by REST")), ())

    @property
    def _version(self) -> str:
        """The version of the REST interface, "" without it."""
        return "" if self.rest is None else self.rest.version

    def _comment(self, action: Action, how: str = "") -> str:
        """The AdminComment of an action. It keeps the nodes that the user asks for, which a start replaces."""
        array = action.job.partition("_")[0]  # while the task has no record of its own
        asked = self._asked.get(action.job) or self._asked.get(array, "")
        return with_asked(action.reason + how, asked)

    def _uses_rest(self, job: str) -> bool:
        """Whether a job is changed by REST, which changes no single task of an array."""
        return self.acts_by_rest and "_" not in job

    def _change(self, job: str, properties: Mapping[str, Any], words: Sequence[str]) -> None:
        """Change properties of a job by REST, else by `scontrol` with these words."""
        if self.rest is not None and self._uses_rest(job):
            self.rest.change(job, properties)
        else:
            self.commands.change(("scontrol", *words))

    def _tell_reason(self, action: Action) -> None:
        """Set the AdminComment; by REST it is left out where there is no `scontrol`."""
        if not self.acts_by_rest or self.commands.has("scontrol"):
            words = ("update", f"JobId={action.job}", f"AdminComment={self._comment(action)}")
            self.commands.change(("scontrol", *words))

    def _resize(self, job: str, gpus: int, nodes: int) -> None:
        """Change the GPUs of a pending job. Raises ActionRefused also where Slurm accepts the change and ignores it."""
        before = self.observe().jobs.get(job)
        kind = f"{before.fields['gpu_type']}:" if before is not None and before.fields["gpu_type"] else ""
        resources = f"gpu:{kind}{gpus // max(nodes, 1)}"
        self._change(job, resized(self._version, resources), ("update", f"JobId={job}", f"Gres={resources}"))
        seen = self.observe().jobs.get(job)
        if seen is None or seen.gpus != gpus:
            raise ActionRefused("Slurm cannot change the GPUs of this job: request them by `--gres`")


def _list_of(document: Mapping[str, Any], what: str) -> Sequence[Any]:
    """The records of a document. Raises ClusterUnavailable with the errors that it has."""
    errors = document.get("errors")
    if errors:
        raise ClusterUnavailable(f"Slurm reports: {error_text(errors)}")
    records = document.get(what)
    if not isinstance(records, list):
        raise ClusterUnavailable(f"the JSON of Slurm has no list of {what}")
    return records
