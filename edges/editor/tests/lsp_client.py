"""A client of the language server: a process `gsdsl lsp`, spoken to over its standard input and output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient


class Client:
    """One server process with the diagnostics that it has published, by URI and version."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lsp = LanguageClient("tests", "1")
        self.published: list[types.PublishDiagnosticsParams] = []
        self.messages: list[str] = []
        self.arrived = asyncio.Event()
        self.version = 0

        @self.lsp.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.published.append(params)
            self.arrived.set()

        @self.lsp.feature(types.WINDOW_SHOW_MESSAGE)
        def shown(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)

        @self.lsp.feature(types.WINDOW_LOG_MESSAGE)
        def logged(params: types.LogMessageParams) -> None:
            pass

    async def start(self, **options: Any) -> types.InitializeResult:
        await self.lsp.start_io(sys.executable, "-m", "gpusched_dsl", "lsp", "--stdio")
        uri = self.folder.as_uri()
        result = await self.lsp.initialize_async(
            types.InitializeParams(
                capabilities=types.ClientCapabilities(),
                workspace_folders=[types.WorkspaceFolder(uri, self.folder.name)],
                initialization_options={"checkData": False, **options},
            )
        )
        self.lsp.initialized(types.InitializedParams())
        return result

    async def stop(self) -> int | None:
        await self.lsp.shutdown_async(None)
        self.lsp.exit(None)
        server = self.lsp._server
        await asyncio.wait_for(server.wait(), 120)
        await self.lsp.stop()
        return server.returncode

    def uri(self, name: str) -> str:
        return (self.folder / name).resolve().as_uri()

    def open(self, name: str, text: str) -> str:
        uri = self.uri(name)
        self.version += 1
        item = types.TextDocumentItem(uri, "gsm", self.version, text)
        self.lsp.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, text: str) -> int:
        self.version += 1
        self.lsp.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.version, uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )
        return self.version

    async def diagnostics(self, uri: str, version: int | None = None) -> list[types.Diagnostic]:
        """The diagnostics of a version, by default of the last one; the last that were published by now."""
        wanted = self.version if version is None else version
        while True:
            found = [p for p in self.published if p.uri == uri and p.version == wanted]
            if found:
                return list(found[-1].diagnostics)
            self.arrived.clear()
            await asyncio.wait_for(self.arrived.wait(), 60)


def with_server(folder: Path, talk: Callable[[Client], Awaitable[None]], **options: Any) -> None:
    """Start a server, talk to it, and stop it; its exit code must be 0."""

    async def run() -> None:
        client = Client(folder)
        await client.start(**options)
        await talk(client)
        assert await client.stop() == 0

    asyncio.run(run())
