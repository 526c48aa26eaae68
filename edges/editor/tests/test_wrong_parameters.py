"""Requests and notifications with parameters of wrong types: each request is answered, and none ends the server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

types = pytest.importorskip("lsprotocol.types")
server = pytest.importorskip("gsdsl_editor.server")

TEXT = "model M { set S; var x[S] >= 0; minimize x_all: sum[s in S] x[s]; }\nscenario A for M { S = { a }; }\n"
START: dict[str, Any] = {"line": 0, "character": 21}
NOTIFICATION = object()
WRONG: tuple[Any, ...] = (None, 3, -1, 1e300, "text", True, [], [[]], {}, {"line": "x"})


def parameters(uri: str) -> dict[str, dict[str, Any]]:
    """Right parameters of every request that the server handles."""
    document: dict[str, Any] = {"textDocument": {"uri": uri}}
    place: dict[str, Any] = {**document, "position": START}
    part: dict[str, Any] = {**document, "range": {"start": START, "end": {"line": 0, "character": 22}}}
    return {
        types.TEXT_DOCUMENT_HOVER: place,
        types.TEXT_DOCUMENT_DEFINITION: place,
        types.TEXT_DOCUMENT_REFERENCES: {**place, "context": {"includeDeclaration": True}},
        types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: place,
        types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: document,
        types.TEXT_DOCUMENT_COMPLETION: place,
        types.TEXT_DOCUMENT_PREPARE_RENAME: place,
        types.TEXT_DOCUMENT_RENAME: {**place, "newName": "y"},
        types.TEXT_DOCUMENT_FORMATTING: {**document, "options": {"tabSize": 2, "insertSpaces": True}},
        types.TEXT_DOCUMENT_CODE_ACTION: {**part, "context": {"diagnostics": [], "only": ["quickfix"]}},
        types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: document,
        types.TEXT_DOCUMENT_FOLDING_RANGE: document,
        types.TEXT_DOCUMENT_INLAY_HINT: part,
        types.TEXT_DOCUMENT_CODE_LENS: document,
        types.WORKSPACE_EXECUTE_COMMAND: {"command": "nothing", "arguments": ["file:///nowhere.gsm", "A"]},
    }


def handled() -> set[str]:
    return {name for name in server.create_server().protocol.fm.features if types.METHOD_TO_TYPES[name][1] is not None}


def damaged(value: Any) -> Iterator[Any]:
    """The value with one part of it replaced by another type, or missing."""
    yield from (wrong for wrong in WRONG if wrong != value)
    if isinstance(value, dict):
        for key, inner in value.items():
            yield {k: v for k, v in value.items() if k != key}
            yield from ({**value, key: each} for each in damaged(inner))
    if isinstance(value, list):
        for at, inner in enumerate(value):
            yield from ([*value[:at], each, *value[at + 1 :]] for each in damaged(inner))


class Client:
    """The server in a process of its own, spoken to without a library that could refuse wrong messages."""

    def __init__(self, log: Path) -> None:
        self.log = log
        with log.open("w") as errors:
            words = [sys.executable, "-m", "gpusched_dsl", "lsp"]
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)

    def send(self, method: str, params: Any, number: Any = NOTIFICATION) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | (
            {} if number is NOTIFICATION else {"id": number}
        )
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def answer(self, method: str, params: Any, number: int) -> dict[str, Any]:
        self.send(method, params, number)
        found = self.next_message()
        assert found["id"] == number, found
        return found

    def next_message(self) -> dict[str, Any]:
        """The next answer; notifications of the server are skipped."""
        assert self.process.stdout is not None
        while True:
            length = 0
            while line := self.process.stdout.readline().strip():
                if line.lower().startswith(b"content-length"):
                    length = int(line.split(b":")[1])
            assert length, self.log.read_text()
            found: dict[str, Any] = json.loads(self.process.stdout.read(length))
            if "method" not in found:
                return found


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    made = Client(tmp_path / "log")
    assert "result" in made.answer("initialize", {"capabilities": {}, "processId": None, "rootUri": None}, 0)
    made.send("initialized", {})
    yield made
    made.process.kill()
    made.process.communicate()


@pytest.mark.timeout(120)
def test_wrong_parameters_of_requests(client: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "m.gsm").as_uri()
    right = parameters(uri)
    assert set(right) | {"initialize", "completionItem/resolve"} >= handled()
    opened = {"textDocument": {"uri": uri, "languageId": "gsm", "version": 1, "text": TEXT}}
    client.send("textDocument/didOpen", opened)
    number, refused = 0, 0
    for method, params in right.items():
        number += 1
        if method != types.WORKSPACE_EXECUTE_COMMAND:
            assert "result" in client.answer(method, params, number), method
        for wrong in damaged(params):
            number += 1
            error = client.answer(method, wrong, number).get("error", {"code": 0})
            assert error["code"] in (0, -32602), (method, wrong, error)
            refused += error["code"] != 0
    arguments = (None, [], [3], [uri], [uri, 3, 4], {}, [{}, {}], ["", ""], ["http://x/y", "A"])
    for wrong in ({"command": c, "arguments": a} for c in (server.SOLVE, server.TEST) for a in arguments):
        number += 1
        error = client.answer(types.WORKSPACE_EXECUTE_COMMAND, wrong, number).get("error", {"code": 0})
        assert error["code"] == -32602, (wrong, error)
    assert refused > 500
    assert "Traceback" not in client.log.read_text()


def test_wrong_parameters_of_notifications(client: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "m.gsm").as_uri()
    opened = {"textDocument": {"uri": uri, "languageId": "gsm", "version": 1, "text": TEXT}}
    changed = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": TEXT}]}
    folders = {"event": {"added": [{"uri": uri, "name": "x"}], "removed": []}}
    for method, params in {
        "textDocument/didOpen": opened, "textDocument/didChange": changed, "textDocument/didSave": changed,
        "textDocument/didClose": changed, "workspace/didChangeWorkspaceFolders": folders,
        "workspace/didChangeWatchedFiles": {"changes": [{"uri": uri, "type": 1}]},
        "workspace/didChangeConfiguration": {"settings": {}}, "$/cancelRequest": {"id": 1},
        "$/setTrace": {"value": "off"},
    }.items():  # fmt: skip
        for wrong in damaged(params):
            client.send(method, wrong)
    for wrong in ([], {}, 1.5, None):
        client.send("textDocument/hover", {}, wrong)
        assert client.next_message()["error"]["code"] == -32602
    client.send("textDocument/didOpen", opened)
    place = {"textDocument": {"uri": uri}, "position": START}
    assert client.answer("textDocument/hover", place, 1)["result"]["contents"]
    assert "Traceback" not in client.log.read_text()
