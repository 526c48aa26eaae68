"""The command line of Slurm: runs `squeue`, `sinfo` and `scontrol`, and reads their JSON."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from gpusched_dsl.data.sources.json_keys import decode_distinct
from gsdsl_clusters.drivers.protocol import ActionRefused, ClusterUnavailable

# What the commands say if the controller, not the request, is the problem.
_UNREACHABLE = (
    "unable to contact slurm controller", "connect failure", "connection refused", "timed out", "socket timed out",
    "transport endpoint", "zero bytes were transmitted", "slurm backup controller in standby", "unexpected message",
    "resource temporarily unavailable", "authentication", "credential", "munge", "slurmctld", "slurm_load",
)  # fmt: skip


@dataclass(frozen=True)
class Commands:
    """`path` is the folder of the commands, None for those on PATH; each may take `timeout` seconds. `variables` are
    set in their environment.
    """

    path: str | None = None
    timeout: float = 30.0
    variables: Mapping[str, str] = field(default_factory=dict)

    def json(self, command: Sequence[str]) -> dict[str, Any]:
        """The JSON document that a command prints. Raises ClusterUnavailable."""
        out = self.text(command)
        try:
            document = decode_distinct(out)
        except (ValueError, RecursionError) as failure:
            raise ClusterUnavailable(f"`{' '.join(command)}` printed no JSON: {failure}") from failure
        if not isinstance(document, dict):
            raise ClusterUnavailable(f"`{' '.join(command)}` printed no JSON object")
        return document

    def text(self, command: Sequence[str], variables: Mapping[str, str] | None = None) -> str:
        """What a command prints, with further `variables` in its environment. Raises ClusterUnavailable."""
        code, out, error = self._run(command, variables or {})
        if code != 0:
            raise ClusterUnavailable(f"`{' '.join(command)}` ended with {code}: {_first_line(error)}")
        return out

    def change(self, command: Sequence[str]) -> None:
        """Run a command that changes something. Raises ActionRefused, and ClusterUnavailable without an answer."""
        code, out, error = self._run(command)
        if code == 0:
            return
        message = _first_line(error or out)
        if is_unreachable(error):
            raise ClusterUnavailable(message)
        raise ActionRefused(message)

    def has(self, name: str) -> bool:
        return shutil.which(name, path=self._search_path()) is not None

    def _search_path(self) -> str | None:
        return self.path if self.path is not None else os.environ.get("PATH")

    def _run(self, command: Sequence[str], variables: Mapping[str, str] = MappingProxyType({})) -> tuple[int, str, str]:
        program = shutil.which(command[0], path=self._search_path())
        if program is None:
            raise ClusterUnavailable(f"there is no command `{command[0]}`")
        # tasks of arrays are not shortened
        environment = {**os.environ, "LC_ALL": "C", "SLURM_BITSTR_LEN": "0", **self.variables, **variables}
        try:
            done = subprocess.run(
                [program, *command[1:]], capture_output=True, timeout=self.timeout, env=environment, check=False,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise ClusterUnavailable(f"`{' '.join(command)}` did not answer in {self.timeout:g} s") from None
        except OSError as failure:
            raise ClusterUnavailable(f"`{program}` cannot be run: {failure.strerror}") from failure
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def is_unreachable(message: str) -> bool:
    """Whether a message of Slurm says that the controller, not the request, is the problem."""
    return any(words in message.lower() for words in _UNREACHABLE)


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "no message"
