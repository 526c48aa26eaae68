"""Runs a call in a process of its own, with the model in a temporary folder or in the folder of the server.

A model may need all memory or never end, and a solver cannot be stopped in all places; a process can be ended from
outside.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from gpusched_dsl.language.text.numbers import count_text
from gsdsl_assistants.limits import GRACE, CallLimits, CallRefused

MAIN = "model.gsm"
SECONDS = "seconds"  # the argument of a tool for `time_limit`
CHILD = "gsdsl_assistants.child"


@dataclass(frozen=True, slots=True)
class ModelText:
    """The model of a call: a `text` with the `files` that it imports or reads, or a `file` in the server's folder."""

    text: str | None = None
    file: str | None = None
    files: Mapping[str, str] | None = None

    @property
    def is_given(self) -> bool:
        return self.text is not None or self.file is not None


class Calls:
    """Runs calls, a limited number at the same time."""

    def __init__(self, folder: Path, limits: CallLimits, *, allow_outside: bool = False) -> None:
        self.folder, self.limits, self.allow_outside = folder.resolve(), limits, allow_outside
        self._running = asyncio.Semaphore(limits.calls)

    def limited(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return options with the time limit of a call: the wanted `seconds`, at most the limit of the server."""
        wanted = options.pop(SECONDS)
        limit = self.limits.seconds if wanted is None else max(0.0, min(wanted, self.limits.seconds))
        return {**options, "time_limit": limit}

    async def run(self, tool: str, model: ModelText, /, *, here: bool = False, **arguments: Any) -> dict[str, Any]:
        """Return the answer of a tool; `here`: it works in the folder of the server, without a model.

        Raises CallRefused if the call exceeds a limit or names no model.
        """
        with self._place_model(model) as (folder, name):
            call = {
                "tool": tool,
                "file": name,
                "allow_outside": self.allow_outside and model.file is not None,
                "limits": asdict(self.limits),
                "arguments": arguments,
            }
            async with self._running:
                found = await self._answer(json.dumps(call).encode(), self.folder if here else folder)
        if "refused" in found:
            raise CallRefused(str(found["refused"]))
        return found

    @contextlib.contextmanager
    def _place_model(self, model: ModelText) -> Iterator[tuple[Path, str | None]]:
        """Yield the folder of a call and the name of its main file in it; None without a model."""
        if model.text is not None and model.file is not None:
            raise CallRefused("give either `text` or `file`, not both")
        if model.file is not None:
            yield self._file(model.file)
            return
        self._check_texts(model)
        with tempfile.TemporaryDirectory(prefix="gsdsl-") as name:
            folder = Path(name).resolve()
            for path, text in (model.files or {}).items():
                _write(folder, path, text)
            if model.text is not None:
                (folder / MAIN).write_bytes(model.text.encode("utf-8", "replace"))
            yield folder, None if model.text is None else MAIN

    def _file(self, name: str) -> tuple[Path, str]:
        if not name.endswith(".gsm"):
            raise CallRefused(f"`{name}` is not a .gsm file: `file` names a model in the folder of the server")
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder):
            raise CallRefused(f"`{name}` is outside the folder of the server, `{self.folder}`")
        if not path.is_file():
            raise CallRefused(f"there is no file `{name}` in the folder of the server, `{self.folder}`")
        return self.folder, path.relative_to(self.folder).as_posix()

    def _check_texts(self, model: ModelText) -> None:
        files = model.files or {}
        if files and model.text is None:
            raise CallRefused("`files` belong to a `text`")
        if len(files) > self.limits.files:
            raise CallRefused(f"{count_text(len(files), 'file')}; at most {self.limits.files} are accepted")
        characters = sum(map(len, files.values())) + len(model.text or "")
        if characters > self.limits.characters:
            raise CallRefused(
                f"the texts have {characters:,} characters; at most {self.limits.characters:,} are accepted: write "
                "large tables into files of the server's folder, and give `file`"
            )

    async def _answer(self, call: bytes, folder: Path) -> dict[str, Any]:
        # -P: Python files in the folder of a model are never imported.
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", CHILD, cwd=folder, start_new_session=os.name == "posix",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            output, _ = await asyncio.wait_for(process.communicate(call), self.limits.seconds + GRACE)
        except TimeoutError:
            raise CallRefused(f"the call took longer than {self.limits.seconds:g} s and was stopped") from None
        finally:
            _end(process)
            await process.wait()
        try:
            found: dict[str, Any] = json.loads(output)
        except ValueError:
            raise CallRefused("the call failed; `gsdsl check` on the same text may show why") from None
        return found


def _write(folder: Path, name: str, text: str) -> None:
    """Write a file of a call below its folder; raise CallRefused for names that lead elsewhere."""
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or "\\" in name or ":" in name or {"..", "."} & set(path.parts):
        raise CallRefused(f"`{name}` is not the name of a file below the folder of the model, such as `data/jobs.csv`")
    if path.as_posix() == MAIN:
        raise CallRefused(f"`{MAIN}` is the name of `text`; choose another one")
    target = folder / path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", "replace"))
    except (OSError, ValueError) as failure:
        raise CallRefused(f"cannot write the file `{name}`: {failure}") from None


def _end(process: asyncio.subprocess.Process) -> None:
    """End a process that still runs, with its children."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            if sys.platform != "win32":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
