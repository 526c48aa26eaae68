"""Calls of assistants: each text of each tool, found from the schemas that the server publishes."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from hostile_values import TOKEN, VALUES, nothing_reached
from mcp.server.mcpserver.exceptions import ToolError

from gsdsl_assistants import calls as module
from gsdsl_assistants.calls import Calls
from gsdsl_assistants.child import answer
from gsdsl_assistants.limits import CallLimits
from gsdsl_assistants.server import build_server

MODEL = """model M { set J; param w[J] >= 0; var x[J] binary; minimize t: sum[j in J] w[j] * x[j]; }
scenario S for M { J = { a }; w[a] = 1; }
"""


CRITICAL = ("file", "method")


def in_its_folder(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether a file of a call is written below the temporary folder of the call, or removed with it."""
    place = str(arguments[0])
    if event in ("os.remove", "os.rmdir"):  # by the number of the open folder
        return "/" not in place and arguments[1] >= 0
    folder = Path(tempfile.gettempdir()).resolve()
    at = Path(place)
    return (
        event in ("open", "os.mkdir")
        and at.parts[: len(folder.parts)] == folder.parts
        and (at.parts[len(folder.parts)].startswith("gsdsl-") and ".." not in at.parts)
    )


def texts_of(schema: dict[str, Any], least: Any = None) -> Iterator[Any]:
    """Yield values of a JSON schema with a hostile text in each place."""
    kinds = schema.get("anyOf", [schema])
    for kind in kinds:
        match kind.get("type"):
            case "string":
                yield from VALUES
            case "object":
                for text in VALUES:
                    yield {text: "1"}
                    yield {"a": text}
            case "array":
                for value in texts_of(kind.get("items", {})):
                    yield [value]


def test_every_text_of_every_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child's part runs in this process, whose operations are watched."""

    async def in_process(self: Calls, call: bytes, folder: Path) -> dict[str, Any]:
        before = Path.cwd()
        os.chdir(folder)
        try:
            found: dict[str, Any] = json.loads(json.dumps(answer(json.loads(call)), default=str))
            return found
        finally:
            os.chdir(before)

    monkeypatch.setattr(module.Calls, "_answer", in_process)
    (tmp_path / "m.gsm").write_text(MODEL)
    (tmp_path / "secret.txt").write_text(f"password {TOKEN}")
    server = build_server(tmp_path, CallLimits(seconds=5.0))
    seen: set[tuple[str, str]] = set()

    async def run() -> None:
        for tool in await server.list_tools():
            properties: dict[str, Any] = tool.input_schema["properties"]
            honest = {name: MODEL for name in ("text",) if name in properties}
            for name, schema in properties.items():
                step = 1 if "text" not in properties or name in CRITICAL else 7  # each text occurs somewhere
                for value in list(texts_of(schema))[len(seen) % step :: step]:
                    made = {**honest, name: value}
                    if name == "file":
                        made.pop("text", None)
                    seen.add((tool.name, name))
                    with nothing_reached(in_its_folder if name == "files" else None), suppress(ToolError):
                        await server.call_tool(tool.name, made)

    asyncio.run(run())
    assert {("solve", "method"), ("solve", "settings"), ("check", "file"), ("read_model", "name")} <= seen
    with pytest.raises(ToolError, match=r"is not a \.gsm file"):  # its lines would be shown beside the errors
        asyncio.run(server.call_tool("check", {"file": "secret.txt"}))
    assert {path.name for path in tmp_path.iterdir()} == {"m.gsm", "secret.txt"}
